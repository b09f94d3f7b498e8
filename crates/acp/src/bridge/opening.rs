//! From the agent's start to an open session: initialize, a login where it is needed, the session, the model.

use super::{Bridge, PendingRequest, Stage};
use crate::rpc::{RpcError, code};
use serde_json::{Value, json};
use wire::{Event, Init, System};

/// What the agent said of itself.
#[derive(Debug, Default)]
pub(super) struct Opening {
    can_load: bool,
    can_resume: bool,
    pub(super) takes_steering: bool,
    auth_methods: Vec<Value>,
    has_authenticated: bool,
    is_load: bool,
}

impl Opening {
    fn read(&mut self, result: &Value) {
        let capabilities = &result["agentCapabilities"];
        self.can_load = capabilities["loadSession"] == true;
        self.can_resume = capabilities["sessionCapabilities"]["resume"].is_object();
        self.takes_steering = result["_meta"]["steering"]["supported"] == true;
        self.auth_methods = result["authMethods"].as_array().cloned().unwrap_or_default();
    }

    /// A login that needs nobody: by a key that is there already.
    fn unattended_login(&self) -> Option<String> {
        let by_key = |method: &&Value| {
            let text = format!("{} {}", method["id"], method["name"]).to_lowercase();
            method["type"].as_str().is_none_or(|kind| kind == "agent") && text.contains("key")
        };
        self.auth_methods.iter().find(by_key)?["id"].as_str().map(str::to_owned)
    }
}

impl Bridge {
    pub(super) fn opening_answered(&mut self, asked: PendingRequest, result: Result<Value, RpcError>) {
        match (asked, result) {
            (PendingRequest::Initialize, Ok(result)) => {
                if result["protocolVersion"] != 1 {
                    let text = format!(
                        "the agent speaks version {} of ACP, and only 1 is known here",
                        result["protocolVersion"]
                    );
                    return self.fail(None, &text);
                }
                self.opening.read(&result);
                self.open();
            }
            (PendingRequest::Authenticate, Ok(_)) => self.open(),
            (PendingRequest::Open, Ok(result)) => self.opened(&result),
            (PendingRequest::Open, Err(error)) => self.not_opened(&error),
            (PendingRequest::Model, result) => {
                if let Err(error) = result {
                    self.tell(format!("the agent did not take the model: {}", error.text()));
                }
                self.ready();
            }
            (_, Ok(_)) => {}
            (_, Err(error)) => self.fail_with(&error),
        }
    }

    fn fail_with(&mut self, error: &RpcError) {
        let (status, text) = super::failure::of_error(error);
        self.fail(status, &text);
    }

    fn open(&mut self) {
        let mut params = json!({"cwd": self.options.cwd, "mcpServers": []});
        let method = match &self.options.resume {
            Some(session) if self.opening.can_resume || self.opening.can_load => {
                params["sessionId"] = json!(session);
                self.opening.is_load = true;
                if self.opening.can_resume { "session/resume" } else { "session/load" }
            }
            Some(_) => {
                self.options.resume = None;
                self.tell("the agent cannot go on with an earlier session; it begins a new one");
                "session/new"
            }
            None => "session/new",
        };
        self.ask(PendingRequest::Open, method, params);
    }

    /// Authentication is asked for only by those who need it, whatever they list.
    fn not_opened(&mut self, error: &RpcError) {
        let method = self.opening.unattended_login().filter(|_| error.code == code::NO_LOGIN);
        match method.filter(|_| !self.opening.has_authenticated) {
            Some(method) => {
                self.opening.has_authenticated = true;
                self.ask(PendingRequest::Authenticate, "authenticate", json!({"methodId": method}));
            }
            None => self.fail_with(error),
        }
    }

    fn opened(&mut self, result: &Value) {
        if !self.opening.is_load {
            result["sessionId"].as_str().unwrap_or_default().clone_into(&mut self.session);
        }
        if self.session.is_empty() {
            return self.fail(None, "the agent opened a session without an id");
        }
        self.model = current_model(result).or_else(|| self.model.take());
        match self.options.model.clone().map(|wish| choose_model(result, &wish)) {
            Some(Some(Choice::Option { id, value })) => {
                self.model = Some(value.clone());
                let params = json!({"sessionId": self.session, "configId": id, "value": value});
                self.ask(PendingRequest::Model, "session/set_config_option", params);
            }
            Some(Some(Choice::Old(value))) => {
                self.model = Some(value.clone());
                self.ask(
                    PendingRequest::Model,
                    "session/set_model",
                    json!({"sessionId": self.session, "modelId": value}),
                );
            }
            Some(None) => {
                let wish = self.options.model.clone().unwrap_or_default();
                let own = self.model.clone().map_or(String::new(), |model| format!(", {model}"));
                self.tell(format!("the agent lists no model '{wish}', so it uses its own{own}"));
                self.ready();
            }
            None => self.ready(),
        }
    }

    fn ready(&mut self) {
        self.stage = Stage::Ready;
        self.next_prompt();
        self.stop_if_idle();
    }

    pub(super) fn emit_init(&mut self) {
        let init = Init {
            cwd: self.options.cwd.to_string_lossy().into_owned(),
            model: self.model.clone(),
            permission_mode: self.options.decision.mode().into(),
            claude_code_version: format!("acp {}", self.options.name),
            ..Init::default()
        };
        self.emit(&Event::System(System::Init(Box::new(init))));
    }
}

/// The model in use, from a session's answer or an update of options.
pub(super) fn current_model(holder: &Value) -> Option<String> {
    let option = model_option(holder).and_then(|option| option["currentValue"].as_str());
    option.or_else(|| holder["models"]["currentModelId"].as_str()).map(str::to_owned)
}

fn model_option(holder: &Value) -> Option<&Value> {
    holder["configOptions"].as_array()?.iter().find(|option| option["category"] == "model")
}

#[derive(Debug, PartialEq)]
enum Choice {
    Option { id: String, value: String },
    Old(String),
}

/// By value or by name, in any case; a part of a value only where it is the only one that has it.
fn choose_model(result: &Value, wish: &str) -> Option<Choice> {
    if let Some(option) = model_option(result) {
        let groups = option["options"].as_array().into_iter().flatten();
        let flat = groups.flat_map(|one| match one["options"].as_array() {
            Some(inside) => inside.iter().collect::<Vec<_>>(),
            None => vec![one],
        });
        let models = flat.filter_map(|one| Some((one["value"].as_str()?, one["name"].as_str().unwrap_or_default())));
        let value = find(&models.collect::<Vec<_>>(), wish)?;
        return Some(Choice::Option { id: option["id"].as_str()?.to_owned(), value });
    }
    let models = result["models"]["availableModels"].as_array().into_iter().flatten();
    let models = models.filter_map(|one| Some((one["modelId"].as_str()?, one["name"].as_str().unwrap_or_default())));
    find(&models.collect::<Vec<_>>(), wish).map(Choice::Old)
}

fn find(models: &[(&str, &str)], wish: &str) -> Option<String> {
    let same = models.iter().find(|(value, name)| value.eq_ignore_ascii_case(wish) || name.eq_ignore_ascii_case(wish));
    let wish = wish.to_lowercase();
    let mut like = models.iter().filter(|(value, _)| value.to_lowercase().contains(&wish));
    let only = like.next().filter(|_| like.next().is_none());
    same.or(only).map(|(value, _)| (*value).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_chosen_from_what_the_agent_lists() {
        let options = json!({"configOptions": [{"id": "m", "category": "model", "currentValue": "a", "options": [
            {"group": "g", "name": "G", "options": [{"value": "gpt-5-codex", "name": "Codex"}]}, {"value": "a", "name": "A"}]}]});
        let old = json!({"models": {"currentModelId": "x", "availableModels": [{"modelId": "x"}, {"modelId": "gemini-2.5-pro"}]}});
        let option = |value: &str| Some(Choice::Option { id: "m".into(), value: value.into() });
        for (result, wish, expected) in [
            (&options, "codex", option("gpt-5-codex")),
            (&options, "GPT-5-CODEX", option("gpt-5-codex")),
            (&options, "opus", None),
            (&old, "2.5-pro", Some(Choice::Old("gemini-2.5-pro".into()))),
            (&old, "opus", None),
            (&json!({}), "opus", None),
        ] {
            assert_eq!(choose_model(result, wish), expected, "{wish}");
        }
        assert_eq!(current_model(&options).as_deref(), Some("a"));
        assert_eq!(current_model(&old).as_deref(), Some("x"));
    }

    #[test]
    fn only_a_login_by_key_needs_nobody() {
        let opening =
            |methods: Value| Opening { auth_methods: methods.as_array().cloned().unwrap(), ..Opening::default() };
        assert_eq!(opening(json!([{"id": "oauth", "name": "Browser"}])).unattended_login(), None);
        assert_eq!(opening(json!([{"id": "t", "type": "terminal", "name": "API key"}])).unattended_login(), None);
        let methods = json!([{"id": "oauth", "name": "Browser"}, {"id": "openai-api-key", "name": "k"}]);
        assert_eq!(opening(methods).unattended_login().as_deref(), Some("openai-api-key"));
    }
}
