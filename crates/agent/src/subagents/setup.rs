//! What an agent is given beside its prompt: notes of its own, rules that follow it into its checkout, servers.

use super::worktree::Worktree;
use super::{Assignment, SubagentError, Subagents};
use crate::Options;
use context::texts;
use mcp::AgentServers;
use policy::{Rule, RuleSet, Source};
use project::AgentDef;
use std::path::{Path, PathBuf};

/// What lives as long as the agent works.
pub struct SubagentSetup {
    pub worktree: Option<Worktree>,
    pub servers: Option<AgentServers>,
    /// Beside everybody's rules.
    pub rules: RuleSet,
    /// For its system prompt.
    pub notes: Option<String>,
}

impl Subagents {
    pub async fn set_up(&self, assignment: &Assignment, agent_id: &str) -> Result<SubagentSetup, SubagentError> {
        let options = &self.options;
        let agent = &assignment.agent;
        let worktree =
            if assignment.is_isolated { Some(Worktree::create(options, &self.hooks, agent_id).await?) } else { None };
        let all = self.rules.list();
        let mut rules = worktree.as_ref().map(|worktree| moved(&all, &options.cwd, &worktree.cwd)).unwrap_or_default();
        let folder = notes_folder(options, agent);
        rules.allow.extend(folder.as_deref().and_then(may_read));
        let notes = folder.map(|folder| notes(&folder));
        let servers = self.servers.start_for_agent(&agent.name, agent.mcp_servers.as_ref()).await;
        Ok(SubagentSetup { worktree, servers, rules, notes })
    }
}

/// Rules about the project's paths, for the same paths in another checkout of it.
pub fn moved(rules: &RuleSet, here: &Path, cwd: &Path) -> RuleSet {
    let again = |rules: &[Rule]| -> Vec<Rule> {
        let anchored = rules.iter().filter_map(|rule| {
            let inner = rule.source.anchor.strip_prefix(here).ok()?;
            policy::parse_rule(&rule.text, &Source { name: rule.source.name.clone(), anchor: cwd.join(inner) }).ok()
        });
        anchored.collect()
    };
    RuleSet { allow: again(&rules.allow), ask: again(&rules.ask), deny: again(&rules.deny) }
}

/// Where an agent with a memory keeps what it has learnt.
fn notes_folder(options: &Options, agent: &AgentDef) -> Option<PathBuf> {
    let places = &options.places;
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
    format!("# Your notes\n{} {}\n\nIts index, MEMORY.md:\n\n{index}", texts::AGENT_NOTES, folder.display())
}
