//! Requests about who answers, and how: the model, thinking, settings that a client may change.

use super::error::FieldError;
use super::group::{Group, Reply};
use crate::Options;
use conversation::{FlagSettings, ModelSwitcher};
use options::Choices;
use serde_json::{Value, json};
use std::rc::Rc;

pub struct SettingsRequests {
    pub options: Rc<Options>,
    pub choices: Rc<Choices>,
    pub models: Rc<ModelSwitcher>,
    pub flags: Rc<FlagSettings>,
}

impl Group for SettingsRequests {
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply> {
        let asks_hooks = self.models.waits_for_hooks();
        Some(match subtype {
            "set_model" => {
                let set = async move { self.models.set_model(&request["model"]).await };
                if asks_hooks { Reply::before_turn(set) } else { Reply::soon(set) }
            }
            "apply_flag_settings" => {
                let changes_model = request["settings"].get("model").is_some();
                let apply = async move { self.flags.apply(&request["settings"]).await };
                if changes_model && asks_hooks { Reply::before_turn(apply) } else { Reply::soon(apply) }
            }
            "set_max_thinking_tokens" => Reply::now(self.set_thinking(&request)),
            "get_settings" => Reply::value(self.settings()),
            "list_models" => Reply::value(json!({"models": model::listing(&self.options.asking.model_env)})),
            _ => return None,
        })
    }
}

impl SettingsRequests {
    fn set_thinking(&self, request: &Value) -> Result<Value, FieldError> {
        let own = &self.options.asking.thinking;
        let mut thinking = self.choices.thinking_mut();
        match request.get("max_thinking_tokens") {
            None => {}
            Some(Value::Null) => thinking.flag_budget = own.flag_budget,
            Some(number) => {
                let wrong = FieldError::Value { key: "max_thinking_tokens", wanted: "a whole number or null" };
                thinking.flag_budget = Some(number.as_u64().ok_or(wrong)?);
            }
        }
        match request.get("thinking_display") {
            None => {}
            Some(Value::Null) => thinking.display.clone_from(&own.display),
            Some(display) => {
                let known = display.as_str().filter(|display| ["summarized", "omitted"].contains(display));
                let wrong = FieldError::Value { key: "thinking_display", wanted: "summarized, omitted or null" };
                thinking.display = Some(known.ok_or(wrong)?.to_owned());
            }
        }
        Ok(json!({}))
    }

    fn settings(&self) -> Value {
        json!({
            "effective": self.options.settings.merged,
            "sources": [],
            "applied": {"model": self.choices.model(), "effort": self.choices.effort()},
        })
    }
}
