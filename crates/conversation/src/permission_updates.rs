//! Permission updates that a client hands back with its answer.

use crate::hook_runner::HookRunner;
use crate::main_machine::MainMachine;
use crate::rules::Rules;
use crate::settings_files::SettingsFiles;
use hooks::DirectoryAdded;
use options::{Choices, Options};
use policy::{Rule, RuleSet, Source};
use serde_json::Value;
use std::path::PathBuf;
use std::rc::Rc;
use turn::Change;
use wire::{Event, PermissionMode};

/// Whose rules a client may take back beside the session's own.
const PLACES: [&str; 4] = ["userSettings", "projectSettings", "localSettings", "cliArg"];

pub struct Updates {
    pub options: Rc<Options>,
    pub rules: Rc<Rules>,
    pub choices: Rc<Choices>,
    pub machine: Rc<MainMachine>,
    pub hooks: Rc<HookRunner>,
    pub settings: Rc<SettingsFiles>,
}

impl Updates {
    /// Applies one update to this session, and stores it where it names a settings file. An update that is
    /// not understood changes nothing.
    pub async fn apply(&self, update: &Value) {
        match update["type"].as_str() {
            Some("setMode") => self.set_mode(update).await,
            Some("addRules" | "replaceRules" | "removeRules") => self.change_rules(update),
            Some("addDirectories") => {
                for folder in self.directories(update, true) {
                    let payload = DirectoryAdded { directory: &folder, source: "permission_update" };
                    self.hooks.tell_outside(&payload).await;
                }
            }
            Some("removeDirectories") => drop(self.directories(update, false)),
            _ => return,
        }
        if let Some(problem) = settings::store_permission_update(&self.options.places, update).err() {
            output::warn(&format!("warning: the permission was not stored: {problem}"));
        }
        self.settings.remember();
    }

    async fn set_mode(&self, update: &Value) {
        let mode = update["mode"].as_str().and_then(PermissionMode::parse);
        if let Some(mode) = mode.filter(|mode| self.rules.may_enter(*mode)) {
            self.change_mode(mode).await;
        }
    }

    pub async fn change_mode(&self, mode: PermissionMode) {
        self.machine.send(self.enter_mode(mode)).await;
    }

    /// From here on calls are judged in this mode. The tools of the next turn may be others. The events that tell of it.
    pub fn enter_mode(&self, mode: PermissionMode) -> Vec<Event> {
        if self.rules.mode() == mode {
            return Vec::new();
        }
        self.rules.set_mode(mode);
        self.choices.mark_stale();
        self.machine.change(Change::Mode(mode))
    }

    fn change_rules(&self, update: &Value) {
        let source = Source { name: "session".into(), anchor: self.options.cwd.clone() };
        let texts = update["rules"].as_array().into_iter().flatten().filter_map(rule_text);
        let rules: Vec<Rule> = texts.filter_map(|text| policy::parse_rule(&text, &source).ok()).collect();
        self.rules.change(|live| change_list(live, update, rules));
    }

    /// Those that are new.
    fn directories(&self, update: &Value, add: bool) -> Vec<PathBuf> {
        let folders = update["directories"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let folders: Vec<PathBuf> =
            folders.filter_map(|folder| std::fs::canonicalize(self.options.cwd.join(folder)).ok()).collect();
        let mut roots = self.rules.extra_roots();
        let new = folders.iter().filter(|folder| add && !roots.contains(folder)).cloned().collect();
        roots.retain(|root| !folders.contains(root));
        if add {
            roots.extend(folders);
        }
        self.rules.set_extra_roots(roots);
        new
    }
}

fn change_list(live: &mut RuleSet, update: &Value, rules: Vec<Rule>) {
    let list = match update["behavior"].as_str() {
        Some("allow") => &mut live.allow,
        Some("deny") => &mut live.deny,
        Some("ask") => &mut live.ask,
        _ => return,
    };
    match update["type"].as_str() {
        Some("replaceRules") => {
            list.retain(|rule| rule.source.name != "session");
            list.extend(rules);
        }
        Some("removeRules") => {
            // From where the client says and from this session; an administrator's rules are nobody else's to take.
            let named = update["destination"].as_str().filter(|place| PLACES.contains(place));
            let is_theirs = |rule: &Rule| rule.source.name == "session" || Some(rule.source.name.as_str()) == named;
            list.retain(|rule| !is_theirs(rule) || !rules.iter().any(|gone| gone.text == rule.text));
        }
        _ => list.extend(rules),
    }
}

fn rule_text(rule: &Value) -> Option<String> {
    let tool = rule["toolName"].as_str()?;
    Some(match rule["ruleContent"].as_str() {
        Some(content) => format!("{tool}({content})"),
        None => tool.to_owned(),
    })
}
