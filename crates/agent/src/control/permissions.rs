//! Requests that change what may be done: the permission mode, the folders to work in.

use super::error::{FieldError, text};
use super::group::{Group, Reply};
use super::roots;
use crate::Options;
use conversation::rules::Rules;
use conversation::{HookRunner, MainMachine, Updates};
use serde_json::{Value, json};
use std::rc::Rc;
use wire::PermissionMode;

pub struct PermissionRequests {
    pub options: Rc<Options>,
    pub rules: Rc<Rules>,
    pub updates: Rc<Updates>,
    pub hooks: Rc<HookRunner>,
    pub machine: Rc<MainMachine>,
}

#[derive(Debug, thiserror::Error)]
enum ModeError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("unknown permission mode '{0}'; known: {known}", known = PermissionMode::NAMES.join(", "))]
    Unknown(String),
    #[error("the permission mode auto is switched off by the settings (disableAutoMode)")]
    Auto,
    #[error("bypassPermissions needs --dangerously-skip-permissions or --allow-dangerously-skip-permissions at start")]
    Bypass,
}

impl Group for PermissionRequests {
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply> {
        Some(match subtype {
            "set_permission_mode" => Reply::now(self.set_mode(&request)),
            "register_repo_root" => Reply::now(roots::register(&self.options, &self.rules, &self.hooks, &request)),
            _ => return None,
        })
    }
}

impl PermissionRequests {
    fn set_mode(&self, request: &Value) -> Result<Value, ModeError> {
        let name = text(request, "mode")?;
        let mode = PermissionMode::parse(name).ok_or_else(|| ModeError::Unknown(name.to_owned()))?;
        if !self.rules.may_enter(mode) {
            return Err(if mode == PermissionMode::Auto { ModeError::Auto } else { ModeError::Bypass });
        }
        self.machine.let_wait(self.updates.enter_mode(mode));
        Ok(json!({"mode": mode.as_str()}))
    }
}
