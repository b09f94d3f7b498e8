//! The client's requests.

use super::session::{OpenKind, Opening, Session};
use super::{Capabilities, Launch, SESSIONS_MAX, Server, ServerOutput};
use crate::rpc::{RpcError, code};
use agent_client_protocol_schema::v1;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The version that we speak. A client that asks for another one gets this one, and decides.
const PROTOCOL_VERSION: u64 = 1;

pub(crate) const NO_LOGIN: &str =
    "no credential was found; set ANTHROPIC_API_KEY for this agent, or run 'ralph acp login' in a terminal";

/// Login methods.
const BY_ENVIRONMENT: &str = "environment";
const BY_TERMINAL: &str = "login";

fn read<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
    serde_json::from_value(params).map_err(|error| RpcError::bad_params(format!("bad params: {error}")))
}

/// A method either has its answer at once, or answers later.
type Answered = Result<Option<Value>, RpcError>;

impl Server {
    pub(super) fn request(&mut self, id: Value, method: &str, params: Value) {
        if self.client.is_none() && method != "initialize" {
            let error = RpcError::new(code::INVALID_REQUEST, "the first request must be initialize");
            return self.answer(id, Err(error));
        }
        let answered = match method {
            "initialize" => self.initialize(&params),
            "authenticate" => self.authenticate(id.clone(), params),
            "session/new" => self.new_session(id.clone(), params),
            "session/load" => self.load(id.clone(), params),
            "session/resume" => self.resume(id.clone(), params),
            "session/fork" => self.fork(id.clone(), params),
            "session/list" => self.list(id.clone(), params),
            "session/close" => self.close(params),
            "session/delete" => self.delete(id.clone(), params),
            "session/prompt" => self.prompt(id.clone(), params),
            "session/set_mode" => self.set_mode(id.clone(), params),
            "session/set_config_option" => self.set_option(id.clone(), params),
            "session/set_model" => self.set_model(id.clone(), &params),
            other => Err(RpcError::new(code::NO_METHOD, format!("there is no method {other}"))),
        };
        match answered {
            Ok(None) => {}
            Ok(Some(result)) => self.answer(id, Ok(result)),
            Err(error) => self.answer(id, Err(error)),
        }
    }

    fn initialize(&mut self, params: &Value) -> Answered {
        if !params["protocolVersion"].is_u64() {
            return Err(RpcError::bad_params("initialize needs protocolVersion, a number"));
        }
        let client = capabilities(&params["clientCapabilities"]);
        let mut methods = vec![json!({
            "id": BY_ENVIRONMENT,
            "name": "API key of the environment",
            "description": "Uses ANTHROPIC_API_KEY or another credential that 'ralph auth status' lists",
        })];
        if client.terminal_login {
            methods.push(json!({
                "type": "terminal",
                "id": BY_TERMINAL,
                "name": "Log in with an API key",
                "description": "Asks for an API key in a terminal and keeps it for the next session",
                "args": ["login"],
                "env": {},
            }));
        }
        self.client = Some(client);
        Ok(Some(json!({
            "protocolVersion": PROTOCOL_VERSION,
            "agentCapabilities": {
                "loadSession": true,
                "promptCapabilities": {"image": true, "audio": false, "embeddedContext": true},
                "mcpCapabilities": {"http": true, "sse": true},
                "sessionCapabilities": {
                    "list": {}, "resume": {}, "close": {}, "delete": {}, "fork": {}, "additionalDirectories": {},
                },
                "_meta": {"claudeCode": {"promptQueueing": true}},
            },
            "authMethods": methods,
            "agentInfo": {"name": "ralph", "title": "Ralph", "version": self.options.version},
        })))
    }

    fn authenticate(&mut self, id: Value, params: Value) -> Answered {
        let request: v1::AuthenticateRequest = read(params)?;
        match &*request.method_id.0 {
            BY_ENVIRONMENT => {
                self.out.push(ServerOutput::CheckLogin { id });
                Ok(None)
            }
            BY_TERMINAL => Err(RpcError::bad_params("run 'ralph acp login' in a terminal, then connect again")),
            other => Err(RpcError::bad_params(format!("there is no login method {other}"))),
        }
    }

    fn new_session(&mut self, id: Value, params: Value) -> Answered {
        let meta = params["_meta"].clone();
        let request: v1::NewSessionRequest = read(params)?;
        let session = (self.ids)();
        let mut launch = self.launch(session, request.cwd, request.additional_directories, &request.mcp_servers)?;
        launch.set_meta(&meta);
        self.open(id, OpenKind::New, launch)
    }

    fn load(&mut self, id: Value, params: Value) -> Answered {
        let meta = params["_meta"].clone();
        let request: v1::LoadSessionRequest = read(params)?;
        let (old, folders) = (request.session_id.0.to_string(), request.additional_directories);
        let mut launch = self.launch(old.clone(), request.cwd, folders, &request.mcp_servers)?;
        launch.set_meta(&meta);
        launch.resume = Some(old);
        self.open(id, OpenKind::Load, launch)
    }

    fn resume(&mut self, id: Value, params: Value) -> Answered {
        let meta = params["_meta"].clone();
        let request: v1::ResumeSessionRequest = read(params)?;
        let (old, folders) = (request.session_id.0.to_string(), request.additional_directories);
        let mut launch = self.launch(old.clone(), request.cwd, folders, &request.mcp_servers)?;
        launch.set_meta(&meta);
        launch.resume = Some(old);
        self.open(id, OpenKind::Resume, launch)
    }

    fn fork(&mut self, id: Value, params: Value) -> Answered {
        let meta = params["_meta"].clone();
        let request: v1::ForkSessionRequest = read(params)?;
        let session = (self.ids)();
        let mut launch = self.launch(session, request.cwd, request.additional_directories, &request.mcp_servers)?;
        launch.set_meta(&meta);
        launch.resume = Some(request.session_id.0.to_string());
        launch.is_fork = true;
        self.open(id, OpenKind::Fork, launch)
    }

    fn launch(
        &self,
        session: String,
        cwd: PathBuf,
        folders: Vec<PathBuf>,
        servers: &[v1::McpServer],
    ) -> Result<Launch, RpcError> {
        for path in [&cwd].into_iter().chain(&folders) {
            require_absolute(path)?;
        }
        let client = self.client.as_ref();
        let mut launch = Launch {
            cwd,
            session,
            folders,
            may_question: client.is_some_and(|client| client.form_elicitation),
            may_bypass: self.options.may_bypass,
            ..Launch::default()
        };
        launch.set_servers(servers);
        Ok(launch)
    }

    fn open(&mut self, id: Value, how: OpenKind, launch: Launch) -> Answered {
        let session = launch.session.clone();
        if let Some(old) = self.sessions.remove(&session) {
            // Two processes would write one conversation.
            self.out.push(ServerOutput::Stop { child: old.child() });
        }
        if self.sessions.len() >= SESSIONS_MAX {
            return Err(RpcError::internal(format!("{SESSIONS_MAX} sessions are open; close one with session/close")));
        }
        self.children += 1;
        let client = self.client.clone().unwrap_or_default();
        let opening = Opening { request: id, how };
        let opened = Session::open(self.children, opening, launch, &client, &self.options, &mut self.out);
        self.sessions.insert(session, opened);
        Ok(None)
    }

    fn list(&mut self, id: Value, params: Value) -> Answered {
        let request: v1::ListSessionsRequest = read(if params.is_null() { json!({}) } else { params })?;
        request.cwd.as_deref().map_or(Ok(()), require_absolute)?;
        self.out.push(ServerOutput::List { id, cwd: request.cwd, cursor: request.cursor });
        Ok(None)
    }

    fn close(&mut self, params: Value) -> Answered {
        let request: v1::CloseSessionRequest = read(params)?;
        self.end_session(&request.session_id.0)?;
        Ok(Some(json!({})))
    }

    /// Its turns are answered as cancelled, and its process ends.
    fn end_session(&mut self, session: &str) -> Result<(), RpcError> {
        let child = self.known(session)?;
        self.with_child(child, Session::end);
        Ok(())
    }

    fn delete(&mut self, id: Value, params: Value) -> Answered {
        let request: v1::DeleteSessionRequest = read(params)?;
        let session = request.session_id.0.to_string();
        // Only one that is open has something to end.
        let _ = self.end_session(&session);
        self.out.push(ServerOutput::Delete { id, session });
        Ok(None)
    }

    fn prompt(&mut self, id: Value, params: Value) -> Answered {
        let request: v1::PromptRequest = read(params)?;
        let child = self.known(&request.session_id.0)?;
        let content = super::prompt::content(&request.prompt);
        if content.is_empty() {
            return Err(RpcError::bad_params("the prompt has nothing that this agent can read"));
        }
        let title = super::prompt::first_text(&request.prompt).map(str::to_owned);
        let uuid = (self.ids)();
        self.with_child(child, |session, context| session.prompt(id, uuid, content, title, context));
        Ok(None)
    }

    fn set_mode(&mut self, id: Value, params: Value) -> Answered {
        let request: v1::SetSessionModeRequest = read(params)?;
        let child = self.known(&request.session_id.0)?;
        let mode = request.mode_id.0.to_string();
        self.with_child(child, |session, context| session.set_mode(id, &mode, false, context));
        Ok(None)
    }

    fn set_option(&mut self, id: Value, params: Value) -> Answered {
        let value = params["value"].clone();
        let request: v1::SetSessionConfigOptionRequest = read(params)?;
        let child = self.known(&request.session_id.0)?;
        let value = value.as_str().ok_or_else(|| RpcError::bad_params("the value of an option here is a string"))?;
        let option = request.config_id.0.to_string();
        self.with_child(child, |session, context| session.set_option(id, &option, value, context));
        Ok(None)
    }

    /// The older way to choose a model.
    fn set_model(&mut self, id: Value, params: &Value) -> Answered {
        let (Some(session), Some(model)) = (params["sessionId"].as_str(), params["modelId"].as_str()) else {
            return Err(RpcError::bad_params("session/set_model needs sessionId and modelId"));
        };
        let child = self.known(session)?;
        self.with_child(child, |session, context| session.set_model(id, model, true, context));
        Ok(None)
    }

    fn known(&self, session: &str) -> Result<super::ChildKey, RpcError> {
        self.sessions.get(session).map(Session::child).ok_or_else(|| RpcError::no_session(session))
    }
}

fn require_absolute(path: &Path) -> Result<(), RpcError> {
    if path.is_absolute() {
        return Ok(());
    }
    let path = path.display().to_string();
    Err(RpcError::bad_params(format!("{path} is not an absolute path")).with(json!({"path": path})))
}

fn capabilities(client: &Value) -> Capabilities {
    let is_object = |pointer: &str| client.pointer(pointer).is_some_and(Value::is_object);
    Capabilities {
        form_elicitation: is_object("/elicitation/form"),
        url_elicitation: is_object("/elicitation/url"),
        notices: is_object("/session/notices"),
        compaction: is_object("/session/compaction"),
        terminal_login: client["auth"]["terminal"] == true || client["_meta"]["terminal-auth"] == true,
    }
}
