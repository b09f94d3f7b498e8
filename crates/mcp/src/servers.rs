//! The servers of one conversation, as the agent uses them.
//!
//! Deliberately absent: whether a call may run (`policy`), and what is shown of it (`agent`).

use crate::ask::{AskError, Listed, Patience, ask, list};
use crate::config::{ServerConfig, Transport};
use crate::content::{Called, Limits, ResultWriter, read_resource};
use crate::deps::Deps;
use crate::error::ServerError;
use crate::message;
use crate::prompt::{self, Prompt};
use crate::table::{Connection, State, Status, Table};
use crate::text::shown;
use crate::tool::{DESCRIPTION_MAX, McpTool};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, GetPromptRequest, GetPromptRequestParams, ReadResourceRequest,
    ReadResourceRequestParams,
};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::time::{Instant, timeout, timeout_at};

/// Without a word from a remote server during a call: its connection is likely dead.
const IDLE_REMOTE: Duration = Duration::from_mins(5);

/// A process of ours tells by ending; silence is most likely work.
const IDLE_PROCESS: Duration = Duration::from_mins(30);

/// For the reason of a broken connection to be known.
const REASON: Duration = Duration::from_secs(1);

/// For all servers together to take their leave; then they are killed.
const SHUTDOWN: Duration = Duration::from_millis(250);

/// Added to a server's own start limit when a call waits for it: the server's reason is better.
const SLACK: Duration = Duration::from_millis(500);

/// Of an answer that goes to a host as it is; a line on the wire stays below a mebibyte.
const RAW_MAX: usize = 900 * 1024;

/// Where a server set by [`Servers::set`] is said to come from.
pub const DYNAMIC: &str = "dynamic";

/// What [`Servers::set`] did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct SetResult {
    pub added: Vec<String>,
    pub removed: Vec<String>,
    pub errors: BTreeMap<String, String>,
}

/// Must be used inside a [`tokio::task::LocalSet`], where its servers live. Dropping the last clone ends them.
#[derive(Clone)]
pub struct Servers {
    table: Rc<Table>,
}

impl Servers {
    pub fn new(deps: Deps) -> Self {
        Self { table: Rc::new(Table::new(deps)) }
    }

    /// Connects all of them in the background, at the same time. A name that is taken is passed over.
    pub fn start(&self, configs: Vec<ServerConfig>) {
        for config in configs {
            self.table.add(config);
        }
    }

    /// Returns when no server is pending any more, or after `start_timeout`.
    pub async fn ready(&self) {
        let patience = self.table.deps.start_timeout;
        // A server that is pending then is reported as pending.
        let _ = timeout(patience, self.until(|table| !table.any_pending())).await;
    }

    /// Returns when no server is pending that requests still wait for.
    pub async fn settled(&self) {
        loop {
            let news = self.table.news.notified();
            let Some(until) = self.table.waited_for_until(Instant::now()) else { return };
            // A server that is pending then is reported as pending.
            let _ = timeout_at(until, news).await;
        }
    }

    /// Returns when none of these servers is pending any more, or after `start_timeout`.
    pub(crate) async fn ready_of(&self, names: &[String]) {
        let patience = self.table.deps.start_timeout;
        let _ = timeout(patience, self.until(|table| !table.any_pending_of(names))).await;
    }

    /// Returns when a tool of this name is there, or when no server is pending that could have it.
    pub(crate) async fn ready_for(&self, full_name: &str) {
        let is_decided = |table: &Table| table.tool(full_name).is_some() || !table.may_come(full_name);
        let _ = timeout(self.table.deps.start_timeout, self.until(is_decided)).await;
    }

    /// Another number after every change of what servers offer.
    pub fn offers_version(&self) -> u64 {
        self.table.offers_version()
    }

    async fn until(&self, reached: impl Fn(&Table) -> bool) {
        loop {
            let news = self.table.news.notified();
            if reached(&self.table) {
                return;
            }
            news.await;
        }
    }

    pub fn statuses(&self) -> Vec<Status> {
        self.table.statuses()
    }

    pub fn tools(&self) -> Vec<McpTool> {
        self.table.tools()
    }

    /// What connected servers say about their use: name and text.
    pub fn instructions(&self) -> Vec<(String, String)> {
        let told = |config: &Rc<ServerConfig>| {
            let Some(State::Connected(connection)) = self.table.state(&config.name) else { return None };
            let text = connection.info.as_ref()?.instructions.as_deref().filter(|text| !text.trim().is_empty())?;
            Some((config.name.clone(), shown(text, DESCRIPTION_MAX)))
        };
        self.table.configs().iter().filter_map(told).collect()
    }

    /// Calls a tool. Dropping the future tells the server that nobody waits any more. Whatever the
    /// server does, it ends nothing but this call.
    pub async fn call(&self, full_name: &str, arguments: Value) -> Result<Called, ServerError> {
        self.ready_for(full_name).await;
        let Some(tool) = self.table.tool(full_name) else {
            return Err(ServerError::NoTool(full_name.to_owned()));
        };
        let mut params = CallToolRequestParams::new(tool.name.clone());
        params.arguments = Some(object(arguments)?);
        let connection = self.connection(&tool.server).await?;
        let request = CallToolRequest::new(params).into();
        let result = ask(&connection.peer, request, self.patience(&tool.server)).await;
        let result = self.with_reason(&tool.server, &connection, result).await?;
        let limits = Limits { chars: tool.max_result_chars, ..self.limits() };
        Ok(ResultWriter { server: &tool.server, tool: &tool.name, limits, spill: &self.table.spill }.called(&result))
    }

    /// Calls a tool for a program instead of a model: the server's own content, as long as it may be. A server of the client's own
    /// process is not called through us.
    pub async fn call_raw(&self, full_name: &str, arguments: Value) -> Result<Value, ServerError> {
        self.ready_for(full_name).await;
        let tool = self.table.tool(full_name).ok_or_else(|| ServerError::NoTool(full_name.to_owned()))?;
        self.refuse_sdk(&tool.server)?;
        let mut params = CallToolRequestParams::new(tool.name.clone());
        params.arguments = Some(object(arguments)?);
        let connection = self.connection(&tool.server).await?;
        let result = ask(&connection.peer, CallToolRequest::new(params).into(), self.patience(&tool.server)).await;
        let result = self.with_reason(&tool.server, &connection, result).await?;
        fitting(&tool.server, result)
    }

    /// The contents of a page that a server brings for a host to show: `ui://` addresses only.
    pub async fn page(&self, server: &str, uri: &str) -> Result<Value, ServerError> {
        if !uri.starts_with("ui://") {
            return Err(ServerError::failed(
                server,
                format!("{uri:?} is no ui:// address; only those are read for a host"),
            ));
        }
        self.refuse_sdk(server)?;
        let connection = self.connection(server).await?;
        let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri)).into();
        let result = ask(&connection.peer, request, self.brief(server)).await;
        let mut result = self.with_reason(server, &connection, result).await?;
        fitting(server, result["contents"].take())
    }

    fn refuse_sdk(&self, server: &str) -> Result<(), ServerError> {
        match self.table.config(server) {
            None => Err(ServerError::NoServer(server.to_owned())),
            Some(config) if config.transport == Transport::Sdk => {
                Err(ServerError::failed(server, "it lives in the client, which can ask it without us"))
            }
            Some(_) => Ok(()),
        }
    }

    /// What people may call like commands.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.table.prompts()
    }

    /// The text of a prompt, with the words after its name, as blocks for a message.
    pub async fn prompt(&self, prompt: &Prompt, words: &[String]) -> Result<Vec<Value>, ServerError> {
        let params = GetPromptRequestParams::new(prompt.name.clone()).with_arguments(prompt.filled(words)?);
        let connection = self.connection(&prompt.server).await?;
        let result = ask(&connection.peer, GetPromptRequest::new(params).into(), self.brief(&prompt.server)).await;
        let result = self.with_reason(&prompt.server, &connection, result).await?;
        let writer = ResultWriter {
            server: &prompt.server,
            tool: &prompt.name,
            limits: self.limits(),
            spill: &self.table.spill,
        };
        Ok(writer.called(&prompt::contents(&result)).content)
    }

    /// What servers offer to read, each entry with the name of its `server`; all servers without a name.
    pub async fn resources(&self, server: Option<&str>) -> Result<Vec<Value>, ServerError> {
        let names: Vec<String> = match server {
            Some(name) => vec![name.to_owned()],
            None => self.table.configs().iter().map(|config| config.name.clone()).collect(),
        };
        let mut all = Vec::new();
        for name in names {
            match self.resources_of(&name).await {
                Ok(found) => all.extend(found),
                Err(reason) if server.is_some() => return Err(reason),
                // One that cannot be asked does not hide the others.
                Err(_) => {}
            }
        }
        Ok(all)
    }

    async fn resources_of(&self, server: &str) -> Result<Vec<Value>, ServerError> {
        let connection = self.connection(server).await?;
        let offered = connection.info.as_ref().is_some_and(|info| info.capabilities.resources.is_some());
        if !offered {
            return Ok(Vec::new());
        }
        let listed = list(&connection.peer, Listed::Resources, self.brief(server)).await;
        let mut listed = self.with_reason(server, &connection, listed).await?;
        for resource in listed.iter_mut().filter_map(Value::as_object_mut) {
            resource.insert("server".into(), server.into());
        }
        Ok(listed)
    }

    /// The contents of a resource: `uri`, `mimeType` and `text`, or `blobSavedTo` for what is no text.
    pub async fn read_resource(&self, server: &str, uri: &str) -> Result<Vec<Value>, ServerError> {
        let connection = self.connection(server).await?;
        let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri)).into();
        let result = ask(&connection.peer, request, self.brief(server)).await;
        let result = self.with_reason(server, &connection, result).await?;
        Ok(read_resource(server, &result, self.limits(), &self.table.spill))
    }

    /// The entry of a server, for what is done with it beside its connection.
    pub(crate) fn config_and_deps(&self, name: &str) -> Result<(Rc<ServerConfig>, Rc<Deps>), ServerError> {
        let config = self.table.config(name).ok_or_else(|| ServerError::NoServer(name.to_owned()))?;
        Ok((config, Rc::clone(&self.table.deps)))
    }

    fn limits(&self) -> Limits {
        Limits { tokens: self.table.deps.max_output_tokens, chars: None }
    }

    fn patience(&self, server: &str) -> Patience {
        let Some(config) = self.table.config(server) else { return Patience::default() };
        let usual = match config.transport {
            Transport::Stdio { .. } => Some(IDLE_PROCESS),
            Transport::Http { .. } | Transport::Sse { .. } => Some(IDLE_REMOTE),
            // It may well ask a person.
            Transport::Sdk => None,
        };
        let idle = self.table.deps.idle_timeout.or(usual).filter(|idle| !idle.is_zero());
        Patience { total: Some(config.timeout.unwrap_or(self.table.deps.call_timeout)), idle }
    }

    /// For a question that only looks something up: a tool may work for hours, a list may not.
    fn brief(&self, server: &str) -> Patience {
        let patience = self.patience(server);
        let most = self.table.deps.lookup_timeout;
        Patience { total: Some(patience.total.map_or(most, |total| total.min(most))), ..patience }
    }

    /// The server's connection; one that was lost is brought back, once.
    async fn connection(&self, server: &str) -> Result<Rc<Connection>, ServerError> {
        let deadline = Instant::now() + self.table.deps.start_timeout + SLACK;
        let mut tried = false;
        loop {
            let news = self.table.news.notified();
            match self.table.state(server) {
                None => return Err(ServerError::NoServer(server.to_owned())),
                Some(State::Disabled) => return Err(ServerError::Disabled(server.to_owned())),
                Some(State::Connected(connection)) if !connection.peer.is_transport_closed() => return Ok(connection),
                Some(State::Failed { reason, needs_auth }) if tried || needs_auth => {
                    return Err(ServerError::failed(server, reason));
                }
                Some(State::Failed { .. }) => {
                    tried = true;
                    self.table.begin(server);
                    continue;
                }
                Some(State::Pending | State::Connected(_)) => {}
            }
            if timeout_at(deadline, news).await.is_err() {
                return Err(ServerError::failed(server, "it did not become ready in time"));
            }
        }
    }

    /// A broken connection is explained by the server's end, which is known a moment later.
    async fn with_reason<T>(
        &self,
        server: &str,
        connection: &Rc<Connection>,
        answer: Result<T, AskError>,
    ) -> Result<T, ServerError> {
        let error = match answer {
            Ok(answer) => return Ok(answer),
            Err(error @ AskError::Refused { .. }) => return Err(ServerError::Refused(error.to_string())),
            Err(error) => error,
        };
        if matches!(error, AskError::Closed) {
            let still = |table: &Table| matches!(table.state(server), Some(State::Connected(now)) if Rc::ptr_eq(&now, connection));
            let _ = timeout(REASON, self.until(|table| !still(table))).await;
            if let Some(State::Failed { reason, .. }) = self.table.state(server) {
                return Err(ServerError::failed(server, reason));
            }
        }
        Err(ServerError::failed(server, error.to_string()))
    }

    /// Connects a server anew and waits for it.
    pub async fn reconnect(&self, name: &str) -> Result<(), ServerError> {
        match self.table.state(name) {
            None => return Err(ServerError::NoServer(name.to_owned())),
            Some(State::Disabled) => return Err(ServerError::Disabled(name.to_owned())),
            Some(_) => self.table.begin(name),
        }
        self.outcome(name).await
    }

    async fn outcome(&self, name: &str) -> Result<(), ServerError> {
        let settled = |table: &Table| !matches!(table.state(name), Some(State::Pending));
        let _ = timeout(self.table.deps.start_timeout + SLACK, self.until(settled)).await;
        match self.table.state(name) {
            Some(State::Connected(_)) => Ok(()),
            Some(State::Failed { reason, .. }) => Err(ServerError::failed(name, reason)),
            state => Err(ServerError::failed(name, state.map_or("it was removed", |state| state.word()))),
        }
    }

    /// Disables a server, or enables it again and connects it in the background.
    pub fn toggle(&self, name: &str, enabled: bool) -> Result<(), ServerError> {
        match (self.table.state(name), enabled) {
            (None, _) => return Err(ServerError::NoServer(name.to_owned())),
            (Some(State::Disabled), true) => self.table.begin(name),
            (Some(_), true) => {}
            (Some(_), false) => {
                self.table.end(name, State::Disabled);
                self.table.forget_tools(name);
            }
        }
        Ok(())
    }

    /// Ends a server and forgets it.
    pub fn stop(&self, name: &str) {
        self.table.remove(name);
    }

    /// Makes these the servers set at run time, waits for the new ones, and leaves all others alone. One
    /// whose configuration is the same stays as it is.
    pub async fn set(&self, configs: Vec<ServerConfig>) -> SetResult {
        let mut result = SetResult::default();
        let mut wanted = Vec::new();
        for mut config in configs {
            match self.table.config(&config.name) {
                Some(known) if known.scope != DYNAMIC => {
                    let reason = format!("a server of this name is configured already (scope {})", known.scope);
                    result.errors.insert(config.name, reason);
                }
                _ => {
                    DYNAMIC.clone_into(&mut config.scope);
                    wanted.push(config);
                }
            }
        }
        for known in self.table.configs().iter().filter(|known| known.scope == DYNAMIC) {
            if !wanted.iter().any(|config| *config == **known) {
                self.table.remove(&known.name);
                result.removed.push(known.name.clone());
            }
        }
        wanted.retain(|config| self.table.config(&config.name).is_none());
        result.added = wanted.iter().map(|config| config.name.clone()).collect();
        self.start(wanted);
        for name in &result.added {
            if let Err(reason) = self.outcome(name).await {
                result.errors.insert(name.clone(), reason.to_string());
            }
        }
        result
    }

    /// A message that a server of the client sent unasked. One for nobody is dropped.
    pub fn deliver(&self, server: &str, message: Value) {
        let Some(State::Connected(connection)) = self.table.state(server) else { return };
        if let (Some(incoming), Some(message)) = (&connection.incoming, message::read_value(message)) {
            // Full means that it sends faster than we read: such a server loses messages, not we memory.
            let _ = incoming.try_send(message);
        }
    }

    /// Ends all servers: gone when this returns, a quarter of a second at most.
    pub async fn shutdown(&self) {
        for config in self.table.configs() {
            self.table.end(&config.name, State::Disabled);
            self.table.forget_tools(&config.name);
        }
        let mut leaving = self.table.take_leaving();
        let deadline = Instant::now() + SHUTDOWN;
        for task in &mut leaving {
            if timeout_at(deadline, &mut *task).await.is_err() {
                task.abort();
                let _ = task.await;
            }
        }
    }
}

/// What a host gets must fit into one line of the wire.
fn fitting(server: &str, result: Value) -> Result<Value, ServerError> {
    let length = result.to_string().len();
    if length <= RAW_MAX {
        return Ok(result);
    }
    Err(ServerError::failed(server, format!("its answer of {length} bytes is longer than the limit of {RAW_MAX}")))
}

fn object(arguments: Value) -> Result<Map<String, Value>, ServerError> {
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        Value::Null => Ok(Map::new()),
        other => Err(ServerError::Arguments(other)),
    }
}
