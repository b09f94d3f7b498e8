//! Another model for the session, asked for by the client or typed as a command. Hooks may refuse it.

use crate::hook_payload::{Switch, model_switch};
use crate::hook_runner::HookRunner;
use crate::main_machine::MainMachine;
use hooks::{Decision, HookEvent, PostModelSwitch, PreModelSwitch};
use options::{Choices, Options};
use serde_json::{Value, json};
use std::rc::Rc;
use turn::Change;

/// Why the model stays.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    #[error("the model must be a string or null")]
    Type,
    #[error("the settings do not allow the model '{0}' (availableModels)")]
    NotAllowed(String),
    /// Clients of the reference look for these words.
    #[error("Model switch blocked by a PreModelSwitch hook: {0}")]
    Hook(String),
}

pub struct ModelSwitcher {
    pub options: Rc<Options>,
    pub choices: Rc<Choices>,
    pub hooks: Rc<HookRunner>,
    pub machine: Rc<MainMachine>,
}

impl ModelSwitcher {
    /// Whether hooks are asked or told.
    pub fn waits_for_hooks(&self) -> bool {
        [HookEvent::PreModelSwitch, HookEvent::PostModelSwitch].iter().any(|event| self.hooks.wants(*event))
    }

    pub async fn set_model(&self, model: &Value) -> Result<Value, SwitchError> {
        let wanted = match model {
            Value::Null => None,
            Value::String(name) => Some(name.as_str()),
            _ => return Err(SwitchError::Type),
        };
        self.switch(wanted, "sdk").await.map(|model| json!({"model": model}))
    }

    /// Changes the model unless a hook refuses; the id of the new one.
    pub async fn switch(&self, wanted: Option<&str>, source: &'static str) -> Result<String, SwitchError> {
        let asking = &self.options.asking;
        let named = wanted.filter(|name| !name.is_empty() && *name != "default");
        let to = named.map_or_else(|| asking.model.clone(), |name| model::resolve(name, &asking.model_env));
        if let (Some(name), false) = (named, asking.model_env.allows(&to)) {
            return Err(SwitchError::NotAllowed(name.to_owned()));
        }
        let switch = Switch { from: self.choices.model(), to, requested: named.map(str::to_owned), source };
        let changes = switch.from != switch.to;
        if changes {
            self.may_switch(&switch).await?;
        }
        self.take(&switch.to);
        if changes {
            let payload = model_switch(&self.options, self.machine.context_tokens(), &switch);
            self.hooks.tell_outside(&PostModelSwitch { to_model: &switch.to, switch: &payload }).await;
        }
        Ok(switch.to)
    }

    /// From here on this model answers.
    pub fn take(&self, id: &str) {
        self.choices.set_model(id);
        self.machine.set(Change::Model(id.to_owned()));
    }

    /// Why a hook refuses the change.
    async fn may_switch(&self, switch: &Switch) -> Result<(), SwitchError> {
        let payload = model_switch(&self.options, self.machine.context_tokens(), switch);
        let answer = self.hooks.fire_outside(&PreModelSwitch { to_model: &switch.to, switch: &payload }).await;
        let refused = answer.blocked.or(answer.stop);
        // Nobody can be asked in the middle of a switch, so a hook that wants that has its answer.
        let unsettled = matches!(answer.decision, Some(Decision::Ask | Decision::Defer | Decision::Deny));
        let reason = refused.or_else(|| unsettled.then(|| answer.reason.unwrap_or_default()));
        reason.map_or(Ok(()), |reason| Err(SwitchError::Hook(reason)))
    }
}
