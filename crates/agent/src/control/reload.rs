//! `reload_skills`, `reload_plugins`, `reload_output_styles`: what a client changed on disk while the session runs.
//!
//! Deliberately absent: settings, which are looked at before every question to the model, and holding a reload back
//! for the sake of the prompt cache; a client that asks for that is told nothing was held.

use super::error::FieldError;
use super::group::{Group, Reply};
use super::{initialize, plugins, servers};
use crate::{Options, init};
use context::style;
use conversation::{HookRunner, frontmatter_hooks};
use mcp::SessionServers;
use options::Choices;
use project::{Plugin, PluginDir, Skill};
use serde_json::{Value, json};
use std::rc::Rc;

pub struct ReloadRequests {
    pub options: Rc<Options>,
    pub choices: Rc<Choices>,
    pub hooks: Rc<HookRunner>,
    pub servers: Rc<SessionServers>,
}

#[derive(Debug, thiserror::Error)]
enum ReloadError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("add_plugins: {0} has no absolute \"path\"")]
    NoPath(Value),
}

impl Group for ReloadRequests {
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply> {
        Some(match subtype {
            "reload_skills" => Reply::value(skills(&self.options, &self.choices)),
            "reload_plugins" => Reply::now(plugins(&self, &request)),
            "reload_output_styles" => Reply::value(output_styles(&self.options, &self.choices)),
            _ => return None,
        })
    }
}

fn skills(options: &Options, choices: &Choices) -> Value {
    let plugins = Rc::clone(&choices.setup().plugins);
    read_skills(options, choices, &plugins.loaded, &[]);
    json!({"skills": initialize::skills(&choices.setup())})
}

/// What is there now, and what was found below the folder since the start and is still there. `gone` are plugins
/// whose skills must not stay.
fn read_skills(options: &Options, choices: &Choices, plugins: &[Plugin], gone: &[Plugin]) {
    if !options.slash {
        return;
    }
    let mut skills = project::skills(&options.places, options.sources, &options.extra_roots);
    skills.extend(plugins.iter().flat_map(|plugin| plugin.skills.iter().cloned()));
    project::override_skills(&mut skills, &options.settings);
    choices.change_setup(|setup| {
        let was_brought = |skill: &Skill| gone.iter().any(|plugin| skill.path.starts_with(&plugin.folders.root));
        let kept = setup.skills.iter().filter(|skill| skill.plugin.is_none() && skill.path.is_file());
        let kept: Vec<Skill> = kept.filter(|skill| !was_brought(skill)).cloned().collect();
        for skill in kept {
            if !skills.iter().any(|known| known.path == skill.path || known.name == skill.name) {
                skills.push(skill);
            }
        }
        if let Some(names) = &setup.only_skills {
            skills.retain(|skill| skill.is_among(names));
        }
        setup.skills = skills;
    });
}

fn output_styles(options: &Options, choices: &Choices) -> Value {
    choices.mark_stale();
    json!({"available_output_styles": style::names(options, choices)})
}

/// Reads every plugin again, and those that the client adds.
fn plugins(handles: &ReloadRequests, request: &Value) -> Result<Value, ReloadError> {
    let ReloadRequests { options, choices, hooks, servers } = handles;
    let added = added(request)?;
    let before = Rc::clone(&choices.setup().plugins);
    let mut dirs: Vec<PluginDir> = before.loaded.iter().map(again).collect();
    let (installed, problems) = project::enabled_plugins(&options.places, &options.settings);
    for dir in added.into_iter().chain(installed) {
        if !dirs.iter().any(|known| known.path == dir.path) {
            dirs.push(dir);
        }
    }
    let mut after = project::plugins(&options.places, &dirs);
    after.problems.extend(problems);
    let errors = after.problems.len();
    read_skills(options, choices, &after.loaded, &before.loaded);
    choices.change_setup(|setup| {
        let old = |name: &str| before.loaded.iter().any(|plugin| plugin.agents.iter().any(|agent| agent.name == name));
        setup.agents.retain(|agent| !old(&agent.name));
        setup.agents.extend(after.loaded.iter().flat_map(|plugin| plugin.agents.iter().cloned()));
    });
    take_hooks(options, hooks, &after.loaded);
    for plugin in &after.loaded {
        let known = before.loaded.iter().find(|known| known.name == plugin.name);
        if known.is_none_or(|known| known.mcp_servers != plugin.mcp_servers) {
            servers.add_plugin_servers(&plugin.mcp_servers);
        }
    }
    choices.change_setup(|setup| setup.plugins = Rc::new(after));
    let mut answer = initialize::lists(options, &choices.setup(), servers);
    answer["plugins"] = json!(init::plugins(&choices.setup().plugins));
    answer["mcpServers"] = servers::status(servers)["mcpServers"].take();
    answer["error_count"] = json!(errors);
    if request["hold_on_cache_impact"] == true {
        answer["held"] = json!(false);
    }
    Ok(answer)
}

fn take_hooks(options: &Options, hooks: &HookRunner, loaded: &[Plugin]) {
    hooks.change(|list| {
        list.forget_plugins();
        for plugin in loaded {
            list.add(frontmatter_hooks::of_plugin(options, plugin));
        }
    });
}

fn added(request: &Value) -> Result<Vec<PluginDir>, ReloadError> {
    let listed = match request.get("add_plugins") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(listed) => listed.as_array().ok_or(FieldError::Value { key: "add_plugins", wanted: "a list" })?,
    };
    let one = |plugin: &Value| {
        let dir = plugins::dir(plugin).filter(|dir| dir.path.is_absolute());
        dir.ok_or_else(|| ReloadError::NoPath(plugin.clone()))
    };
    listed.iter().map(one).collect()
}

/// A plugin whose servers were left out, or that had none, is read without them.
fn again(plugin: &Plugin) -> PluginDir {
    PluginDir { path: plugin.folders.root.clone(), with_mcp: plugin.with_mcp, called: Some(plugin.name.clone()) }
}
