//! Changes of mode, model and effort, by the client and by the agent.

use super::{Context, Control, Session, Stage};
use crate::rpc::RpcError;
use crate::server::options::DEFAULT;
use serde_json::{Value, json};
use wire::{ApplyFlagSettings, ClientRequest, Extra, SetModel, SetPermissionMode};

impl Session {
    pub(crate) fn set_mode(&mut self, request: Value, mode: &str, as_option: bool, context: &mut Context<'_>) {
        let is_known = self.options.is_mode(mode);
        let Some(request) = self.may_choose(request, is_known, "mode", mode, context) else { return };
        let asked = SetPermissionMode { mode: mode.to_owned().into(), ..SetPermissionMode::default() };
        let control = Control::Mode { request, mode: mode.into(), as_option };
        self.control(control, &ClientRequest::SetPermissionMode(asked), context.out);
    }

    pub(crate) fn set_model(&mut self, request: Value, model: &str, is_old: bool, context: &mut Context<'_>) {
        let is_known = self.options.is_model(model);
        let Some(request) = self.may_choose(request, is_known, "model", model, context) else { return };
        let asked = SetModel { model: Some(model.into()), ..SetModel::default() };
        let control = Control::Model { request, model: model.into(), is_old };
        self.control(control, &ClientRequest::SetModel(asked), context.out);
    }

    pub(crate) fn set_option(&mut self, request: Value, option: &str, value: &str, context: &mut Context<'_>) {
        match option {
            "mode" => self.set_mode(request, value, true, context),
            "model" => self.set_model(request, value, false, context),
            "effort" => self.set_effort(request, value, context),
            other => {
                let error =
                    RpcError::bad_params(format!("there is no option {other}")).with(json!({"configId": other}));
                Self::reply(request, Err(error), context.out);
            }
        }
    }

    fn set_effort(&mut self, request: Value, effort: &str, context: &mut Context<'_>) {
        let is_known = self.options.is_effort(effort);
        let Some(request) = self.may_choose(request, is_known, "effort", effort, context) else { return };
        let level = if effort == DEFAULT { Value::Null } else { effort.into() };
        let settings: Extra = [("effortLevel".to_owned(), level)].into_iter().collect();
        let asked = ApplyFlagSettings { settings, ..ApplyFlagSettings::default() };
        self.control(
            Control::Effort { request, effort: effort.into() },
            &ClientRequest::ApplyFlagSettings(asked),
            context.out,
        );
    }

    /// Gives the request back where it can be carried out, and answers it where not.
    fn may_choose(
        &self,
        request: Value,
        is_known: bool,
        what: &str,
        value: &str,
        context: &mut Context<'_>,
    ) -> Option<Value> {
        let error = match &self.stage {
            Stage::Ready if is_known => return Some(request),
            Stage::Ready => {
                RpcError::bad_params(format!("there is no {what} {value} in this session")).with(json!({ what: value }))
            }
            Stage::Dead(why) => RpcError::internal(why.clone()),
            _ => RpcError::internal("the session is not open yet"),
        };
        Self::reply(request, Err(error), context.out);
        None
    }

    pub(super) fn choice_answered(
        &mut self,
        chosen: Control,
        result: Result<Value, Option<String>>,
        context: &mut Context<'_>,
    ) {
        let failed = result.err().map(|why| RpcError::bad_params(why.unwrap_or_else(|| "the agent refused".into())));
        match chosen {
            Control::Mode { request, mode, as_option } => {
                if let Some(error) = failed {
                    return Self::reply(request, Err(error), context.out);
                }
                self.options.mode = mode;
                if as_option {
                    self.answer_options(request, context);
                    self.tell_mode(context);
                } else {
                    Self::reply(request, Ok(json!({})), context.out);
                    self.tell_options(context);
                }
            }
            Control::Model { request, model, is_old } => {
                if let Some(error) = failed {
                    return Self::reply(request, Err(error), context.out);
                }
                self.options.set_model(&model);
                if is_old {
                    Self::reply(request, Ok(json!({})), context.out);
                    self.tell_options(context);
                } else {
                    self.answer_options(request, context);
                }
            }
            Control::Effort { request, effort } => {
                if let Some(error) = failed {
                    return Self::reply(request, Err(error), context.out);
                }
                self.options.effort = effort;
                self.answer_options(request, context);
            }
            Control::Initialize | Control::Settings | Control::Servers | Control::Interrupt => {}
        }
    }

    fn answer_options(&self, request: Value, context: &mut Context<'_>) {
        Self::reply(request, Ok(json!({"configOptions": self.options.config_options()})), context.out);
    }

    fn tell_options(&self, context: &mut Context<'_>) {
        let update = json!({"sessionUpdate": "config_option_update", "configOptions": self.options.config_options()});
        self.send(update, context.out);
    }

    fn tell_mode(&self, context: &mut Context<'_>) {
        self.send(json!({"sessionUpdate": "current_mode_update", "currentModeId": self.options.mode}), context.out);
    }

    /// The agent says its mode. Where the client has just asked for one, its answer tells.
    pub(super) fn mode_changed(&mut self, mode: &str, context: &mut Context<'_>) {
        let is_asked = self.controls.values().any(|control| matches!(control, Control::Mode { .. }));
        if mode.is_empty() || is_asked || self.options.mode == mode {
            return;
        }
        self.options.mode = mode.into();
        self.tell_mode(context);
        self.tell_options(context);
    }
}
