//! Local plugins: folders, or archives of them, that bring commands, agents, skills, styles, hooks and MCP servers under one name.
//!
//! The user names them on the command line, so their files count like the user's own. Absent: marketplaces,
//! running hooks, starting servers. Those come back as values with the plugin's folders filled in.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::document_error::DocumentError;
use crate::documents::{Shelf, is_markdown, sorted_entries};
use crate::manifest::Manifest;
use crate::reach::Reach;
use crate::{AgentDef, OutputStyle, Skill, agents, skills, styles, unpack};
use settings::text::is_plain_name;
use settings::{Places, files};

/// Configuration written by hand; larger is something else.
const JSON_MAX: u64 = 1024 * 1024;

/// Where a plugin lives and where it may keep things.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginFolders {
    pub root: PathBuf,
    pub data: PathBuf,
}

#[derive(Debug, Clone)]
pub struct Plugin {
    pub name: String,
    pub version: Option<String>,
    pub folders: PluginFolders,
    /// Commands too, all as `plugin:name`.
    pub skills: Vec<Skill>,
    pub agents: Vec<AgentDef>,
    pub styles: Vec<OutputStyle>,
    /// The agent that a session runs as where the plugin is switched on and nobody chose another.
    pub main_agent: Option<String>,
    /// Each `{Event: […]}`, as settings have them.
    pub hooks: Vec<Value>,
    /// By the name they have among all servers, `plugin_<plugin>_<server>`.
    pub mcp_servers: Map<String, Value>,
    /// Whether they were wanted at all.
    pub with_mcp: bool,
}

/// What kept a plugin, or a part of one, from being loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginProblem {
    pub plugin: String,
    pub kind: &'static str,
    pub message: String,
    pub path: PathBuf,
}

/// A folder that the user named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginDir {
    pub path: PathBuf,
    pub with_mcp: bool,
    /// What it is called where it does not say; else the folder's name.
    pub called: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub struct Plugins {
    pub loaded: Vec<Plugin>,
    pub problems: Vec<PluginProblem>,
}

/// In the order of the command line; a name is taken once.
pub fn plugins(places: &Places, dirs: &[PluginDir]) -> Plugins {
    let mut all = Plugins::default();
    for dir in dirs {
        match load(places, dir) {
            Ok(plugin) if all.loaded.iter().any(|known| known.name == plugin.name) => {
                let message = format!("another plugin is called {} already; this one is left out", plugin.name);
                all.problems.push(PluginProblem { message, ..problem(dir, "duplicate-name", &plugin.name) });
            }
            Ok(plugin) => all.loaded.push(plugin),
            Err(problem) => all.problems.push(*problem),
        }
    }
    all
}

fn problem(dir: &PluginDir, kind: &'static str, plugin: &str) -> PluginProblem {
    PluginProblem { plugin: plugin.to_owned(), kind, message: String::new(), path: dir.path.clone() }
}

fn load(places: &Places, dir: &PluginDir) -> Result<Plugin, Box<PluginProblem>> {
    let named = if dir.path.is_file() { dir.path.file_stem() } else { dir.path.file_name() };
    let folder = || named.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = dir.called.clone().unwrap_or_else(folder);
    let fail = |kind: &'static str, why: &dyn std::fmt::Display| {
        Box::new(PluginProblem { message: why.to_string(), ..problem(dir, kind, &folder) })
    };
    let place = unpack::or_folder(places, &dir.path).map_err(|why| fail("archive-error", &why))?;
    let root = place.canonicalize().ok().filter(|root| root.is_dir());
    let root = root.ok_or_else(|| fail("path-not-found", &format!("{} is not a folder", dir.path.display())))?;
    let manifest = Manifest::read(&root, &folder).map_err(|why| fail("manifest-error", &why))?;
    let data = places.config_dir.join("plugins/data").join(&manifest.name);
    let folders = PluginFolders { root: root.clone(), data };
    let parts = Parts { manifest: &manifest, folders: &folders, shelf: Shelf { dir: root, source: "plugin" } };
    let reach = Reach::new(places, &[]);
    let hooks = parts.hooks().map_err(|why| fail("hook-load-failed", &why))?;
    let mcp_servers =
        if dir.with_mcp { parts.mcp_servers().map_err(|why| fail("mcp-config-invalid", &why))? } else { Map::new() };
    let agents = parts.agents(&reach);
    Ok(Plugin {
        skills: parts.skills(&reach),
        main_agent: parts.main_agent(&agents),
        agents,
        styles: parts.styles(&reach),
        hooks,
        mcp_servers,
        with_mcp: dir.with_mcp,
        version: manifest.version.clone(),
        name: manifest.name,
        folders,
    })
}

/// One plugin while it is being read.
struct Parts<'a> {
    manifest: &'a Manifest,
    folders: &'a PluginFolders,
    shelf: Shelf,
}

impl Parts<'_> {
    fn skills(&self, reach: &Reach) -> Vec<Skill> {
        let own = self.shelf.dir.join("skills");
        let folders = std::iter::once(&own)
            .chain(&self.manifest.skills)
            .flat_map(|dir| if dir.join("SKILL.md").is_file() { vec![dir.clone()] } else { sorted_entries(dir) });
        let mut found: Vec<Skill> =
            folders.filter_map(|dir| skills::in_folder(&dir, skills::SkillKind::Skill, &self.shelf, reach)).collect();
        for place in self.places("commands", self.manifest.commands.as_deref()) {
            let base = if is_markdown(&place) { place.parent().unwrap_or(&place).to_owned() } else { place.clone() };
            let commands = skills::commands_below(&base, &self.shelf, reach).into_iter();
            found.extend(commands.filter(|command| command.path.starts_with(&place)));
        }
        let mut unique: Vec<Skill> = Vec::with_capacity(found.len());
        for mut skill in found {
            skill.name = self.named(&skill.name);
            skill.aliases = skill.aliases.iter().map(|alias| self.named(alias)).collect();
            skill.plugin = Some(self.folders.clone());
            if !unique.iter().any(|known| known.name == skill.name) {
                unique.push(skill);
            }
        }
        unique
    }

    /// Without hooks, servers and a mode of their own: a plugin has other places for those.
    fn agents(&self, reach: &Reach) -> Vec<AgentDef> {
        let mut found: Vec<AgentDef> = Vec::new();
        for place in self.places("agents", self.manifest.agents.as_deref()) {
            for (inner, agent) in agents::below(&place, &self.shelf, reach) {
                let name = inner.into_iter().chain([agent.name.clone()]).collect::<Vec<_>>().join(":");
                let agent = AgentDef {
                    name: self.named(&name),
                    hooks: None,
                    mcp_servers: None,
                    permission_mode: None,
                    ..agent
                };
                if !found.iter().any(|known| known.name == agent.name) {
                    found.push(agent);
                }
            }
        }
        found
    }

    /// `settings.json` of a plugin says this and nothing else that counts here.
    fn main_agent(&self, agents: &[AgentDef]) -> Option<String> {
        let settings = json(&self.shelf.dir.join("settings.json")).ok()??;
        let name = self.named(settings.get("agent")?.as_str()?);
        agents.iter().any(|agent| agent.name == name).then_some(name)
    }

    fn styles(&self, reach: &Reach) -> Vec<OutputStyle> {
        let places = self.places("output-styles", self.manifest.output_styles.as_deref());
        let found = places.iter().flat_map(|place| styles::below(place, &self.shelf, reach));
        found.map(|style| OutputStyle { name: self.named(&style.name), ..style }).collect()
    }

    /// What the manifest names instead of the usual folder.
    fn places(&self, usual: &str, named: Option<&[PathBuf]>) -> Vec<PathBuf> {
        named.map_or_else(|| vec![self.shelf.dir.join(usual)], <[PathBuf]>::to_vec)
    }

    fn named(&self, name: &str) -> String {
        format!("{}:{name}", self.manifest.name)
    }

    fn hooks(&self) -> Result<Vec<Value>, DocumentError> {
        let usual = self.shelf.dir.join("hooks/hooks.json");
        let mut found = Vec::new();
        for file in std::iter::once(&usual).chain(self.manifest.hook_files.iter().filter(|file| **file != usual)) {
            let Some(mut value) = json(file)? else { continue };
            found.push(value.get_mut("hooks").map(Value::take).unwrap_or(value));
        }
        found.extend(self.manifest.hooks.iter().map(|hooks| hooks.get("hooks").unwrap_or(hooks).clone()));
        match found.iter().find(|hooks| !hooks.is_object()) {
            Some(_) => Err(DocumentError::Hooks),
            None => Ok(found),
        }
    }

    fn mcp_servers(&self) -> Result<Map<String, Value>, DocumentError> {
        let usual = self.shelf.dir.join(".mcp.json");
        let mut found = Map::new();
        let mut configs = Vec::new();
        for file in std::iter::once(&usual).chain(self.manifest.mcp_files.iter().filter(|file| **file != usual)) {
            configs.extend(json(file)?);
        }
        configs.extend(self.manifest.mcp_servers.iter().cloned());
        for config in configs {
            let servers = config.get("mcpServers").unwrap_or(&config).as_object();
            let servers = servers.ok_or(DocumentError::Servers)?;
            for (name, server) in servers {
                let name = format!("plugin_{}_{name}", self.manifest.name).replace(|c: char| !is_tool_char(c), "_");
                found.insert(name, self.filled(server));
            }
        }
        Ok(found)
    }

    /// The plugin's own folders in place of their variables; everything else is left to whoever uses it.
    fn filled(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => {
                let (root, data) = (self.folders.root.to_string_lossy(), self.folders.data.to_string_lossy());
                Value::String(text.replace("${CLAUDE_PLUGIN_ROOT}", &root).replace("${CLAUDE_PLUGIN_DATA}", &data))
            }
            Value::Array(items) => items.iter().map(|item| self.filled(item)).collect(),
            Value::Object(map) => map.iter().map(|(key, item)| (key.clone(), self.filled(item))).collect(),
            other => other.clone(),
        }
    }
}

fn is_tool_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// A JSON file; `None` where there is none.
pub(crate) fn json(file: &Path) -> Result<Option<Value>, DocumentError> {
    let text = files::read_text(file, JSON_MAX);
    let text = text.map_err(|failure| DocumentError::Read { file: file.to_owned(), failure })?;
    let Some(text) = text else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|error| DocumentError::NotJson { file: file.to_owned(), error })
}

pub(crate) fn is_plugin_name(name: &str) -> bool {
    is_plain_name(name) && !name.contains(':') && !name.starts_with('.')
}

#[cfg(test)]
#[path = "plugins_tests.rs"]
mod tests;
