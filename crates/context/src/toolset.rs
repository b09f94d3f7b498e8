//! Which tools a conversation has, under which names, and how they are told to the model.

use crate::conversation_tools::{
    self,
    tool_search::{self, Findable},
};
use mcp::McpTool;
use model::{ProfileName, ToolDefinition};
use options::{Options, Prompter, Setup, ToolChoice, ToolSearch};
use policy::names::{
    CRON_CREATE, CRON_DELETE, CRON_LIST, ENTER_PLAN_MODE, ENTER_WORKTREE, EXIT_WORKTREE, LIST_AGENTS, MONITOR,
    SCHEDULE_WAKEUP, SEND_MESSAGE,
};
use policy::{Offered, ToolEntry};
use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use tools::ToolSpec;
use turn::{ToolFacts, ToolTable};
use wire::PermissionMode;

/// One tool as a conversation knows it.
#[derive(Debug, Clone)]
pub struct Tool {
    pub name: String,
    pub may_run_beside_others: bool,
    definition: ToolDefinition,
    /// It is not loaded before a search has found it, where there is a search.
    is_searched: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Toolset {
    tools: Vec<Tool>,
    definitions: Arc<[ToolDefinition]>,
}

pub use policy::names::canonical;

impl Toolset {
    /// The main conversation's tools. Those of servers are there where any server is.
    pub fn main(options: &Options, mode: PermissionMode, setup: &Setup, from_servers: Option<Vec<Tool>>) -> Self {
        let has_servers = from_servers.is_some();
        let wanted = |entry: &ToolEntry| match &options.tools.choice {
            _ if options.bare => entry.in_bare_mode,
            ToolChoice::Default => true,
            ToolChoice::Only(names) => names.iter().any(|wanted| canonical(wanted) == entry.name),
        };
        let named = matches!(options.tools.choice, ToolChoice::Only(_));
        let searches = searches(options, from_servers.as_deref().unwrap_or_default());
        let available = |entry: &ToolEntry| match entry.offered {
            // Where nobody searches, or nothing may be searched any more from the start.
            _ if entry.name == policy::names::WEB_SEARCH.name && options.tools.web_searches == 0 => false,
            Offered::Always => true,
            Offered::OptIn => named,
            Offered::WithTodoList => options.tools.todo_write,
            Offered::WithTaskList => options.tools.task_list || named,
            Offered::ForPlans => mode == PermissionMode::Plan || options.permissions.prompter == Prompter::Client,
            Offered::WithPrompter => options.permissions.prompter == Prompter::Client,
            Offered::WithSkills => !setup.skills.is_empty() || named,
            Offered::WithServers => has_servers,
            Offered::WithOutputSchema => setup.schema.is_some(),
            Offered::WithToolSearch => searches,
            Offered::Searched => searches || named || !is_local(options),
        };
        let specs = tools::builtin()
            .map(tools::Tool::spec)
            .chain(conversation_tools::specs())
            .chain([&mcp::LIST_RESOURCES, &mcp::READ_RESOURCE]);
        let mut tools: Vec<Tool> = specs
            .filter(|spec| wanted(spec.entry) && available(spec.entry))
            .map(|spec| Tool::from_spec(spec, setup))
            .collect();
        tools.extend(from_servers.into_iter().flatten());
        if let Some(schema) = &setup.schema {
            tools.push(conversation_tools::structured_tool(&schema.source));
        }
        tools.retain(|tool| tool.name == turn::STRUCTURED_OUTPUT || !removed(options, &tool.name));
        tools.retain(|tool| options.tools.scheduling || !is_by_clock(&tool.name));
        Self::of(tools)
    }

    /// A sub-agent's: some of ours, never a structured output, never deeper than allowed.
    #[must_use]
    pub fn narrowed(&self, only: Option<&[String]>, without: &[String], may_nest: bool) -> Self {
        self.keeping(|name| {
            listed(only, without, name)
                && !is_clients(name)
                && name != conversation_tools::ASK_USER
                && !is_mains(name)
                && (may_nest || name != "Agent")
        })
    }

    /// The main conversation's where it runs as an agent: that agent's, and what the client asked for.
    #[must_use]
    pub fn running_as(&self, only: Option<&[String]>, without: &[String]) -> Self {
        self.keeping(|name| listed(only, without, name) || is_clients(name))
    }

    /// The same and more.
    #[must_use]
    pub fn with(&self, more: Vec<Tool>, without: &[String]) -> Self {
        let more = more.into_iter().filter(|tool| listed(None, without, &tool.name));
        Self::of(self.tools.iter().cloned().chain(more).collect())
    }

    fn keeping(&self, keep: impl Fn(&str) -> bool) -> Self {
        Self::of(self.tools.iter().filter(|tool| keep(&tool.name)).cloned().collect())
    }

    fn of(mut tools: Vec<Tool>) -> Self {
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        tools.dedup_by(|a, b| a.name == b.name);
        if !tools.iter().any(|tool| tool.is_searched) {
            tools.retain(|tool| !tool.is_search());
        }
        let searches = tools.iter().any(Tool::is_search);
        let definitions = tools.iter().map(|tool| match tool {
            tool if tool.is_search() => searching(&tools),
            tool if searches && tool.is_searched => tool.definition.deferred(),
            tool => tool.definition.clone(),
        });
        let definitions = definitions.collect();
        Self { tools, definitions }
    }

    pub fn find(&self, name: &str) -> Option<&Tool> {
        let name = canonical(name);
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// What the machine has to know of them. Calls of older names and of the client's own mean one of these.
    pub fn table(&self, aliases: &BTreeMap<String, String>) -> ToolTable {
        let facts = |tool: &Tool| ToolFacts {
            runs_beside_others: tool.may_run_beside_others,
            starts_subagent: tool.name == "Agent",
        };
        let former =
            |entry: &'static ToolEntry| entry.aliases.iter().map(|alias| ((*alias).to_owned(), entry.name.to_owned()));
        let older = policy::names::TABLE.iter().flat_map(former);
        let theirs = aliases.iter().map(|(from, to)| (from.clone(), canonical(to).to_owned()));
        ToolTable {
            tools: self.tools.iter().map(|tool| (tool.name.clone(), facts(tool))).collect(),
            aliases: older.chain(theirs).collect(),
        }
    }

    /// For the request: byte-stable, so that the prompt cache holds.
    pub fn definitions(&self) -> Arc<[ToolDefinition]> {
        Arc::clone(&self.definitions)
    }

    /// The same for a model that knows no search: everything in full.
    pub fn full_definitions(&self) -> Arc<[ToolDefinition]> {
        let loaded = self.tools.iter().filter(|tool| !tool.is_search());
        loaded.map(|tool| tool.definition.clone()).collect()
    }

    /// Some tools are not loaded before a search has found them.
    pub fn is_searched(&self) -> bool {
        self.tools.iter().any(Tool::is_search)
    }

    /// What a search can find.
    pub fn findable(&self) -> Vec<Findable<'_>> {
        let found = self.tools.iter().filter(|tool| tool.is_searched);
        found.map(|tool| Findable { name: &tool.name, description: tool.description() }).collect()
    }

    /// The definitions of the tools that run without a conversation.
    pub fn builtin_definitions(&self) -> Vec<Value> {
        let builtin = self.tools.iter().filter(|tool| tools::find(&tool.name).is_some() && !is_mains(&tool.name));
        builtin.filter_map(|tool| serde_json::from_str(tool.definition.text()).ok()).collect()
    }

    /// For `system/init`, which calls some tools by an older name.
    pub fn names(&self) -> Vec<String> {
        let init_name = |name: &str| policy::names::find(name).and_then(|entry| entry.init_name);
        self.tools.iter().map(|tool| init_name(&tool.name).map_or_else(|| tool.name.clone(), str::to_owned)).collect()
    }
}

impl Tool {
    pub fn new(name: &str, may_run_beside_others: bool, description: &str, schema: &impl Serialize) -> Self {
        let definition = ToolDefinition::new(name, description, schema);
        Self { name: name.into(), may_run_beside_others, definition, is_searched: false }
    }

    pub fn of_server(tool: &McpTool) -> Self {
        let is_searched = !tool.always_load;
        Self { is_searched, ..Self::new(&tool.full_name, tool.read_only, &tool.description, &tool.schema) }
    }

    /// Characters of its definition in a request.
    pub fn size(&self) -> usize {
        self.definition.text().len()
    }

    fn from_spec(spec: &ToolSpec, setup: &Setup) -> Self {
        let description = conversation_tools::description(spec, setup);
        let is_searched = spec.entry.offered == Offered::Searched;
        Self { is_searched, ..Self::new(&spec.name, spec.may_run_beside_others, &description, &spec.schema) }
    }

    fn description(&self) -> &str {
        self.definition.value()["description"].as_str().unwrap_or_default()
    }

    fn is_search(&self) -> bool {
        self.name == policy::names::TOOL_SEARCH.name
    }
}

/// Whether tools are searched for in the main conversation: its model and endpoint must know how.
fn searches(options: &Options, from_servers: &[Tool]) -> bool {
    let asking = &options.asking;
    let search = options.tools.search;
    if search == ToolSearch::Off || !model::takes_deferred_tools(&options.access.client, &asking.model) {
        return false;
    }
    let window = model::info(&asking.model).context_window;
    let window = asking.window.map_or(window, |most| most.min(window));
    let chars = || from_servers.iter().filter(|tool| tool.is_searched).map(Tool::size).sum();
    search.is_on(if search == ToolSearch::On { 0 } else { chars() }, window)
}

/// The search, with the names of what it can find.
fn searching(tools: &[Tool]) -> ToolDefinition {
    let names = tools.iter().filter(|tool| tool.is_searched).map(|tool| tool.name.as_str());
    let spec = &tool_search::SPEC;
    ToolDefinition::new(&spec.name, &tool_search::description(names), &spec.schema)
}

fn listed(only: Option<&[String]>, without: &[String], name: &str) -> bool {
    let named = |names: &[String]| names.iter().any(|wanted| canonical(wanted) == name || wanted == "*");
    only.is_none_or(named) && !named(without)
}

/// There because of a flag of the client's, whatever an agent's own list says.
fn is_clients(name: &str) -> bool {
    matches!(name, turn::STRUCTURED_OUTPUT | "ExitPlanMode")
}

/// Only the main conversation plans with a person, hears of agents and tasks, has a clock and moves.
fn is_mains(name: &str) -> bool {
    let one = [ENTER_PLAN_MODE, LIST_AGENTS, SEND_MESSAGE];
    let moves = [ENTER_WORKTREE, EXIT_WORKTREE, MONITOR];
    is_by_clock(name) || one.iter().chain(&moves).any(|entry| entry.name == name)
}

/// The tools that `CLAUDE_CODE_DISABLE_CRON` takes away.
fn is_by_clock(name: &str) -> bool {
    [CRON_CREATE, CRON_DELETE, CRON_LIST, SCHEDULE_WAKEUP].iter().any(|entry| entry.name == name)
}

/// A model on the user's own machine reads every definition anew with every request, and small ones lose their way among
/// many tools.
fn is_local(options: &Options) -> bool {
    let client = &options.access.client;
    client.cloud.is_none() && client.profile.name == ProfileName::Local
}

fn removed(options: &Options, name: &str) -> bool {
    options.permissions.rules.removes(name)
}
