//! Subagents by name: the administrator's, those on the command line, the project's, the user's.
//!
//! Absent: the built-in ones, which the agent adds, and running any of them.

use std::path::Path;

use serde_json::Value;

use crate::ProjectError;
use crate::documents::{self, Shelf, is_markdown};
use crate::frontmatter::{self, Meta};
use crate::reach::Reach;
use settings::text::{is_plain_name, visible};
use settings::{Places, Sources};

#[derive(Debug, Clone, Default, PartialEq)]
pub struct AgentDef {
    pub name: String,
    pub description: String,
    pub prompt: String,
    /// `None`: all of its parent's. `Some` of nothing: none.
    pub tools: Option<Vec<String>>,
    pub disallowed_tools: Vec<String>,
    pub model: Option<String>,
    pub permission_mode: Option<String>,
    pub max_turns: Option<u64>,
    pub skills: Vec<String>,
    pub effort: Option<String>,
    pub background: Option<bool>,
    pub initial_prompt: Option<String>,
    pub memory: Option<String>,
    pub isolation: Option<String>,
    /// Starts without the project's instruction files.
    pub omit_memory: bool,
    /// As written; only where the source may name them.
    pub mcp_servers: Option<Value>,
    pub hooks: Option<Value>,
    /// `managed`, `flag`, `project`, `user` or `plugin`.
    pub source: &'static str,
}

/// Stronger first; a name is taken once. Files without a name, a description or readable frontmatter are skipped.
pub fn agents(places: &Places, sources: Sources, flag_json: Option<&str>) -> Result<Vec<AgentDef>, ProjectError> {
    let reach = Reach::new(places, &[]);
    let shelves = documents::shelves(places, sources);
    let on = |source: &'static str| shelves.iter().filter(move |shelf| shelf.source == source);
    let mut found: Vec<AgentDef> = on("managed").flat_map(|shelf| in_files(shelf, &reach)).collect();
    if let Some(json) = flag_json.filter(|json| !json.trim().is_empty()) {
        let value: Value =
            serde_json::from_str(json).map_err(|error| ProjectError::Agents(format!("not JSON ({error})")))?;
        found.extend(agents_from_json(&value)?);
    }
    found.extend(on("project").chain(on("user")).flat_map(|shelf| in_files(shelf, &reach)));
    let mut unique: Vec<AgentDef> = Vec::with_capacity(found.len());
    for agent in found {
        if !unique.iter().any(|known| known.name == agent.name) {
            unique.push(agent);
        }
    }
    Ok(unique)
}

/// The map of `--agents` and of the `initialize` request: name to definition.
pub fn agents_from_json(value: &Value) -> Result<Vec<AgentDef>, ProjectError> {
    let map = value.as_object().ok_or_else(|| {
        ProjectError::Agents("expected an object such as {\"name\":{\"description\":…,\"prompt\":…}}".to_owned())
    })?;
    map.iter()
        .map(|(name, definition)| {
            let fail = |what: &str| ProjectError::Agents(format!("agent `{}` {what}", settings::text::one_line(name)));
            let meta = definition.as_object().map(Meta::from_object).ok_or_else(|| fail("is not an object"))?;
            if !is_plain_name(name) {
                return Err(fail("needs a name without spaces"));
            }
            let prompt = meta.text("prompt").ok_or_else(|| fail("has no prompt"))?;
            let agent = from_meta(&meta, name.clone(), &prompt, "flag").ok_or_else(|| fail("has no description"))?;
            Ok(agent)
        })
        .collect()
}

fn in_files(shelf: &Shelf, reach: &Reach) -> Vec<AgentDef> {
    let found = below(&shelf.dir.join("agents"), shelf, reach).into_iter().map(|(_, agent)| agent);
    found.map(|agent| if shelf.is_folder() { screened(agent, reach) } else { agent }).collect()
}

/// The agents of a file or of the files below a folder, each with the folders in between.
pub(crate) fn below(base: &Path, shelf: &Shelf, reach: &Reach) -> Vec<(Vec<String>, AgentDef)> {
    let paths = if is_markdown(base) { vec![base.to_owned()] } else { documents::markdown_below(base) };
    paths
        .into_iter()
        .filter_map(|path| {
            let head = documents::head(&path, shelf, reach)?;
            let meta = frontmatter::parse(&head)?.meta;
            let name = meta.text("name").filter(|name| is_plain_name(name) && !name.contains(':'))?;
            let agent = from_meta(&meta, name, &documents::body(&path).ok()?, shelf.source)?;
            let between = path.strip_prefix(base).ok().and_then(Path::parent).into_iter().flat_map(Path::components);
            Some((between.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect(), agent))
        })
        .collect()
}

fn from_meta(meta: &Meta, name: String, prompt: &str, source: &'static str) -> Option<AgentDef> {
    let tools = meta.has("tools").then(|| meta.list("tools")).filter(|tools| tools.as_slice() != ["*"]);
    Some(AgentDef {
        name,
        description: visible(&meta.text("description")?).into_owned(),
        prompt: prompt.trim().to_owned(),
        tools,
        disallowed_tools: meta.list("disallowedTools"),
        model: meta.text("model"),
        permission_mode: meta.text("permissionMode"),
        max_turns: meta.number("maxTurns"),
        skills: meta.list("skills"),
        effort: meta.text("effort"),
        background: meta.flag("background"),
        initial_prompt: meta.text("initialPrompt"),
        memory: meta.text("memory"),
        isolation: meta.text("isolation"),
        omit_memory: meta.flag("omitClaudeMd") == Some(true),
        mcp_servers: meta.value("mcpServers").cloned(),
        hooks: meta.value("hooks").cloned(),
        source,
    })
}

/// An agent file of an untrusted folder may hold itself back, but may not widen its permissions or start programs.
fn screened(mut agent: AgentDef, reach: &Reach) -> AgentDef {
    let holds_back = matches!(agent.permission_mode.as_deref(), None | Some("default" | "manual" | "plan" | "dontAsk"));
    let asks_for_more = !holds_back || agent.mcp_servers.is_some() || agent.hooks.is_some();
    if asks_for_more && !reach.is_trusted() {
        if !holds_back {
            agent.permission_mode = None;
        }
        agent.mcp_servers = None;
        agent.hooks = None;
    }
    agent
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
