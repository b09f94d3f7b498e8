//! `apply_flag_settings`: what a client changes of the settings while a session runs. A null takes a value back.
//!
//! Deliberately absent: everything that was used up when the session started, such as servers and the environment.
//! Naming it is no error, and changes nothing.

use crate::model_switcher::{ModelSwitcher, SwitchError};
use crate::permission_updates::Updates;
use crate::rules::Rules;
use options::{Choices, Options};
use policy::{Rule, RuleError, Source};
use serde_json::{Value, json};
use std::rc::Rc;
use wire::PermissionMode;

/// Whose rules these are; the next ones take their place.
const SOURCE: &str = "applied settings";

/// What can be changed by a single value.
pub const CHANGEABLE: [&str; 4] = ["model", "effortLevel", "alwaysThinkingEnabled", "outputStyle"];

/// Why settings are not applied.
#[derive(Debug, thiserror::Error)]
pub enum FlagSettingsError {
    #[error("apply_flag_settings needs \"settings\", an object")]
    NoSettings,
    #[error("the administrator alone sets permission rules here")]
    ManagedOnly,
    #[error("permissions.{0} must be a list")]
    NoList(&'static str),
    #[error("permissions.{0} must be a list of rules")]
    NoRules(&'static str),
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error("unknown permission mode {0}")]
    UnknownMode(Value),
    #[error("{} was not made possible at the start", .0.as_str())]
    Mode(PermissionMode),
    #[error(transparent)]
    Model(#[from] SwitchError),
}

pub struct FlagSettings {
    pub options: Rc<Options>,
    pub choices: Rc<Choices>,
    pub rules: Rc<Rules>,
    pub updates: Rc<Updates>,
    pub models: Rc<ModelSwitcher>,
}

impl FlagSettings {
    pub async fn apply(&self, settings: &Value) -> Result<Value, FlagSettingsError> {
        let map = settings.as_object().ok_or(FlagSettingsError::NoSettings)?;
        if let Some(permissions) = map.get("permissions") {
            self.permit(permissions).await?;
        }
        for (key, value) in map {
            match key.as_str() {
                "model" => drop(self.models.set_model(value).await?),
                "effortLevel" => {
                    let own = self.options.asking.effort.clone();
                    self.choices.set_effort(value.as_str().map(str::to_owned).or(own));
                }
                "alwaysThinkingEnabled" => self.choices.thinking_mut().always = value.as_bool().unwrap_or(false),
                "outputStyle" => {
                    let own = self.options.settings.output_style.clone();
                    self.choices.set_style(value.as_str().map(str::to_owned).or(own));
                }
                _ => {}
            }
        }
        Ok(json!({}))
    }

    /// All of it or nothing: a list with a mistake in it is no list.
    async fn permit(&self, permissions: &Value) -> Result<(), FlagSettingsError> {
        if self.options.settings.managed["allowManagedPermissionRulesOnly"] == true {
            return Err(FlagSettingsError::ManagedOnly);
        }
        let [allow, ask, deny] = ["allow", "ask", "deny"].map(|kind| self.listed(permissions, kind));
        let (allow, ask, deny) = (allow?, ask?, deny?);
        let mode = match &permissions["defaultMode"] {
            Value::Null => None,
            name => Some(self.mode(name)?),
        };
        self.rules.change(|live| {
            for (list, new) in [(&mut live.allow, allow), (&mut live.ask, ask), (&mut live.deny, deny)] {
                list.retain(|rule| rule.source.name != SOURCE);
                list.extend(new);
            }
        });
        self.choices.mark_stale();
        if let Some(mode) = mode {
            self.updates.change_mode(mode).await;
        }
        Ok(())
    }

    fn listed(&self, permissions: &Value, kind: &'static str) -> Result<Vec<Rule>, FlagSettingsError> {
        let listed = match &permissions[kind] {
            Value::Null => return Ok(Vec::new()),
            listed => listed.as_array().ok_or(FlagSettingsError::NoList(kind))?,
        };
        let source = Source { name: SOURCE.into(), anchor: self.options.cwd.clone() };
        let one = |rule: &Value| {
            let text = rule.as_str().ok_or(FlagSettingsError::NoRules(kind))?;
            Ok(policy::parse_rule(text, &source)?)
        };
        listed.iter().map(one).collect()
    }

    fn mode(&self, name: &Value) -> Result<PermissionMode, FlagSettingsError> {
        let mode = name.as_str().and_then(PermissionMode::parse);
        let mode = mode.ok_or_else(|| FlagSettingsError::UnknownMode(name.clone()))?;
        if self.rules.may_enter(mode) { Ok(mode) } else { Err(FlagSettingsError::Mode(mode)) }
    }
}
