//! What an agent is given beside its prompt: notes of its own, rules that follow it into its checkout, servers.

use crate::outside::{self, Hired};
use crate::own::errand::Errand;
use crate::own::worktree::Worktree;
use crate::shared::Shared;
use crate::words;
use policy::{Rule, RuleSet, Source};
use project::AgentDef;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// What lives as long as the agent works.
pub struct Outfit {
    pub worktree: Option<Worktree>,
    pub servers: Option<Hired>,
    /// Beside everybody's rules.
    pub rules: RuleSet,
    /// For its system prompt.
    pub notes: Option<String>,
}

pub async fn outfit(shared: &Rc<Shared>, errand: &Errand<'_>, agent_id: &str) -> Result<Outfit, String> {
    let worktree = if errand.isolated { Some(Worktree::create(shared, agent_id).await?) } else { None };
    let mut rules = worktree.as_ref().map(|worktree| moved(shared, &worktree.cwd)).unwrap_or_default();
    let folder = notes_folder(shared, errand.agent);
    rules.allow.extend(folder.as_deref().and_then(may_read));
    let notes = folder.map(|folder| notes(&folder));
    let servers = outside::hire(shared, errand.agent).await;
    Ok(Outfit { worktree, servers, rules, notes })
}

/// Rules about the project's paths, for the same paths in another checkout of it.
fn moved(shared: &Shared, cwd: &Path) -> RuleSet {
    let here = &shared.options.cwd;
    let again = |rules: &[Rule]| -> Vec<Rule> {
        let anchored = rules.iter().filter_map(|rule| {
            let inner = rule.source.anchor.strip_prefix(here).ok()?;
            policy::parse_rule(&rule.text, &Source { name: rule.source.name.clone(), anchor: cwd.join(inner) }).ok()
        });
        anchored.collect()
    };
    let rules = shared.live.rules.borrow();
    RuleSet { allow: again(&rules.allow), ask: again(&rules.ask), deny: again(&rules.deny) }
}

/// Where an agent with a memory keeps what it has learnt.
fn notes_folder(shared: &Shared, agent: &AgentDef) -> Option<PathBuf> {
    let places = &shared.options.places;
    let parent = match agent.memory.as_deref()? {
        "user" => places.config_dir.join("agent-memory"),
        "project" => places.project_dir().join(".claude/agent-memory"),
        "local" => places.project_dir().join(".claude/agent-memory-local"),
        _ => return None,
    };
    let name: String = agent.name.chars().map(|c| if c.is_alphanumeric() || c == '_' { c } else { '-' }).collect();
    Some(parent.join(name))
}

fn may_read(folder: &Path) -> Option<Rule> {
    let source = Source { name: "agent memory".into(), anchor: folder.to_owned() };
    policy::parse_rule(&format!("Read(/{}/**)", folder.display()), &source).ok()
}

fn notes(folder: &Path) -> String {
    let index = project::memory_index(&folder.join("MEMORY.md")).unwrap_or_else(|| "(nothing yet)".to_owned());
    format!("# Your notes\n{} {}\n\nIts index, MEMORY.md:\n\n{index}", words::AGENT_NOTES, folder.display())
}
