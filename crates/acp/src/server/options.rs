//! The options of a session (mode, model, effort) in the two forms that clients know.

use super::ServerOptions;
use serde_json::{Value, json};

/// Modes that are offered: id, name and description.
pub const MODES: [(&str, &str, &str); 4] = [
    ("default", "Manual", "Ask before each edit and each command"),
    ("acceptEdits", "Accept edits", "Edit files without asking"),
    ("plan", "Plan", "Look around and plan; change nothing"),
    (BYPASS, "Bypass permissions", "Ask nothing"),
];

const BYPASS: &str = "bypassPermissions";

/// Modes that may be set though they are not offered.
const HIDDEN_MODES: [&str; 2] = ["dontAsk", "auto"];

/// The value of an option that means the agent's own choice.
pub(crate) const DEFAULT: &str = "default";

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Model {
    pub value: String,
    pub name: String,
    pub description: String,
    resolved: String,
    efforts: Vec<String>,
}

/// The options of one session, with their current values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Options {
    pub mode: String,
    pub model: String,
    pub effort: String,
    models: Vec<Model>,
    may_bypass: bool,
}

impl Options {
    pub(crate) fn new(options: &ServerOptions) -> Self {
        Self {
            mode: DEFAULT.into(),
            model: DEFAULT.into(),
            effort: DEFAULT.into(),
            models: Vec::new(),
            may_bypass: options.may_bypass,
        }
    }

    /// `models` is what the agent's answer to `initialize` lists.
    pub(crate) fn set_models(&mut self, models: &Value) {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let model = |model: &Value| Model {
            value: text(&model["value"]),
            name: text(&model["displayName"]),
            description: text(&model["description"]),
            resolved: text(&model["resolvedModel"]),
            efforts: model["supportedEffortLevels"].as_array().into_iter().flatten().map(text).collect(),
        };
        self.models =
            models.as_array().into_iter().flatten().map(model).filter(|model| !model.value.is_empty()).collect();
    }

    /// `report` is the agent's answer to `get_settings`.
    pub(crate) fn set_from_settings(&mut self, report: &Value) {
        let applied = report["applied"]["model"].as_str().unwrap_or_default();
        let named = self.models.iter().find(|model| model.value == applied || model.resolved == applied);
        self.model = match named {
            Some(model) => model.value.clone(),
            None if applied.is_empty() => DEFAULT.into(),
            None => {
                // A model that the list does not have, by flag or setting: it is in use, so it must be shown.
                let model = Model {
                    value: applied.into(),
                    name: applied.into(),
                    description: String::new(),
                    resolved: applied.into(),
                    efforts: Vec::new(),
                };
                self.models.push(model);
                applied.into()
            }
        };
        if let Some(effort) =
            report["applied"]["effort"].as_str().filter(|effort| self.efforts().iter().any(|known| known == effort))
        {
            self.effort = effort.into();
        }
        let mode = report["effective"]["permissions"]["defaultMode"].as_str();
        if let Some(mode) = mode.and_then(wire::PermissionMode::parse).map(wire::PermissionMode::as_str) {
            self.mode = mode.into();
        }
    }

    pub(crate) fn is_mode(&self, mode: &str) -> bool {
        HIDDEN_MODES.contains(&mode) || self.offered_modes().any(|(id, ..)| *id == mode)
    }

    pub(crate) fn is_model(&self, model: &str) -> bool {
        self.models.iter().any(|known| known.value == model)
    }

    pub(crate) fn is_effort(&self, effort: &str) -> bool {
        effort == DEFAULT || self.efforts().iter().any(|known| known == effort)
    }

    /// Levels belong to a model; another one may not have the level that was chosen.
    pub(crate) fn set_model(&mut self, model: &str) {
        self.model = model.into();
        if !self.is_effort(&self.effort.clone()) {
            self.effort = DEFAULT.into();
        }
    }

    fn efforts(&self) -> &[String] {
        let model = self.models.iter().find(|model| model.value == self.model);
        model.map_or(&[], |model| &model.efforts)
    }

    fn offered_modes(&self) -> impl Iterator<Item = &'static (&'static str, &'static str, &'static str)> {
        let may_bypass = self.may_bypass;
        MODES.iter().filter(move |(id, ..)| may_bypass || *id != BYPASS)
    }

    /// Offered modes, and the current one where it is another.
    fn modes(&self) -> Vec<(&str, &str, &str)> {
        let mut modes: Vec<_> = self.offered_modes().copied().collect();
        if !modes.iter().any(|(id, ..)| *id == self.mode) {
            modes.push((&self.mode, &self.mode, ""));
        }
        modes
    }

    /// The older form of the mode.
    pub(crate) fn mode_state(&self) -> Value {
        let modes = self.modes();
        let modes = modes.iter().map(|(id, name, about)| json!({"id": id, "name": name, "description": about}));
        json!({"currentModeId": self.mode, "availableModes": modes.collect::<Vec<_>>()})
    }

    /// The older form of the model.
    pub(crate) fn model_state(&self) -> Value {
        let models = self.models.iter();
        let models = models.map(|one| json!({"modelId": one.value, "name": one.name, "description": one.description}));
        json!({"currentModelId": self.model, "availableModels": models.collect::<Vec<_>>()})
    }

    /// All of them, as every message about options has them.
    pub(crate) fn config_options(&self) -> Value {
        let value = |value: &str, name: &str, about: &str| json!({"value": value, "name": name, "description": about});
        let modes: Vec<Value> = self.modes().iter().map(|(id, name, about)| value(id, name, about)).collect();
        let mut options = vec![select("mode", "Mode", "mode", &self.mode, &modes)];
        if self.is_model(&self.model) {
            let models = self.models.iter().map(|model| value(&model.value, &model.name, &model.description));
            options.push(select("model", "Model", "model", &self.model, &models.collect::<Vec<_>>()));
        }
        if !self.efforts().is_empty() {
            let levels = self.efforts().iter().map(|level| value(level, level, ""));
            let levels: Vec<Value> = [value(DEFAULT, "Default", "")].into_iter().chain(levels).collect();
            options.push(select("effort", "Effort", "thought_level", &self.effort, &levels));
        }
        options.into()
    }
}

fn select(id: &str, name: &str, category: &str, current: &str, options: &[Value]) -> Value {
    json!({"id": id, "name": name, "category": category, "type": "select", "currentValue": current, "options": options})
}

/// Commands that mean nothing outside of a terminal.
const HIDDEN_COMMANDS: [&str; 8] =
    ["clear", "cost", "keybindings-help", "login", "logout", "output-style:new", "release-notes", "todos"];

/// The agent's commands as clients list them.
pub(crate) fn commands(commands: &Value) -> Vec<Value> {
    let one = |command: &Value| {
        let name = command["name"].as_str().filter(|name| !HIDDEN_COMMANDS.contains(name))?;
        let name = match name.strip_suffix(" (MCP)") {
            Some(of_server) => format!("mcp:{of_server}"),
            None => name.to_owned(),
        };
        let mut entry = json!({"name": name, "description": command["description"].as_str().unwrap_or_default()});
        if let Some(hint) = command["argumentHint"].as_str().filter(|hint| !hint.is_empty()) {
            entry["input"] = json!({"hint": hint});
        }
        Some(entry)
    };
    commands.as_array().into_iter().flatten().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(may_bypass: bool) -> Options {
        let mut options = Options::new(&ServerOptions { may_bypass, ..ServerOptions::default() });
        options.set_models(&json!([
            {"value": "default", "displayName": "Default", "resolvedModel": "m-1", "supportedEffortLevels": ["low", "high"]},
            {"value": "haiku", "displayName": "Haiku", "resolvedModel": "m-2"},
        ]));
        options
    }

    #[test]
    fn the_current_values_come_from_the_agent() {
        for (report, mode, model, effort) in [
            (json!({}), "default", "default", "default"),
            (json!({"applied": {"model": "m-2", "effort": "high"}}), "default", "haiku", "default"),
            (json!({"applied": {"model": "m-1", "effort": "high"}}), "default", "default", "high"),
            (
                json!({"applied": {"model": "own"}, "effective": {"permissions": {"defaultMode": "plan"}}}),
                "plan",
                "own",
                "default",
            ),
            (json!({"effective": {"permissions": {"defaultMode": "wild"}}}), "default", "default", "default"),
        ] {
            let mut options = options(false);
            options.set_from_settings(&report);
            assert_eq!((&*options.mode, &*options.model, &*options.effort), (mode, model, effort), "{report}");
        }
    }

    #[test]
    fn bypassing_is_offered_only_where_it_is_allowed() {
        for (may, count) in [(false, 3), (true, 4)] {
            let options = options(may);
            assert_eq!(options.mode_state()["availableModes"].as_array().unwrap().len(), count);
            assert_eq!(options.is_mode("bypassPermissions"), may);
            assert!(options.is_mode("dontAsk") && !options.is_mode("wild"));
        }
    }

    #[test]
    fn efforts_follow_the_model() {
        let mut options = options(false);
        options.effort = "high".into();
        assert_eq!(options.config_options().as_array().unwrap().len(), 3);
        options.set_model("haiku");
        assert_eq!((options.effort.as_str(), options.config_options().as_array().unwrap().len()), ("default", 2));
    }

    #[test]
    fn commands_have_their_names_for_clients() {
        let list = commands(&json!([
            {"name": "compact", "description": "d", "argumentHint": "what"}, {"name": "clear"}, {"name": "s:p (MCP)"}]));
        assert_eq!(list[0], json!({"name": "compact", "description": "d", "input": {"hint": "what"}}));
        assert_eq!(list[1]["name"], "mcp:s:p");
        assert_eq!(list.len(), 2);
    }
}
