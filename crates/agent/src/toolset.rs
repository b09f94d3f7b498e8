//! Which tools a lane has, under which names, and how they are told to the model.

use crate::outside;
use crate::own;
use crate::shared::Shared;
use crate::{Options, Prompter, Setup, ToolChoice};
use policy::{Offered, ToolEntry};
use serde_json::{Value, json};
use std::sync::Arc;
use tools::ToolSpec;
use wire::PermissionMode;

/// One tool as the lane knows it.
#[derive(Debug, Clone)]
pub struct Tool {
    pub name: String,
    pub may_run_beside_others: bool,
    definition: Value,
}

#[derive(Debug, Clone, Default)]
pub struct Toolset {
    tools: Vec<Tool>,
    definitions: Arc<[Value]>,
}

pub use policy::names::canonical;

impl Toolset {
    /// The main conversation's tools.
    pub fn main(shared: &Shared, setup: &Setup) -> Self {
        let (options, mode) = (&shared.options, shared.live.mode.get());
        let has_servers = outside::any(shared);
        let wanted = |entry: &ToolEntry| match &options.tools.choice {
            _ if options.bare => entry.in_bare_mode,
            ToolChoice::Default => true,
            ToolChoice::Only(names) => names.iter().any(|wanted| canonical(wanted) == entry.name),
        };
        let named = matches!(options.tools.choice, ToolChoice::Only(_));
        let available = |entry: &ToolEntry| match entry.offered {
            Offered::Always => true,
            Offered::OptIn => named,
            Offered::WithTodoList => options.tools.todo_write,
            Offered::WithTaskList => options.tools.task_list || named,
            Offered::InPlanMode => mode == PermissionMode::Plan,
            Offered::WithPrompter => options.permissions.prompter == Prompter::Client,
            Offered::WithSkills => !setup.skills.is_empty() || named,
            Offered::WithServers => has_servers,
            Offered::WithOutputSchema => setup.schema.is_some(),
        };
        let specs = tools::builtin().map(tools::Tool::spec).chain(own::specs()).chain(outside::specs());
        let mut tools: Vec<Tool> = specs
            .filter(|spec| wanted(spec.entry) && available(spec.entry))
            .map(|spec| Tool::from_spec(spec, setup))
            .collect();
        tools.extend(outside::tools(shared));
        if let Some(schema) = &setup.schema {
            tools.push(own::structured_tool(&schema.source));
        }
        tools.retain(|tool| tool.name == own::STRUCTURED_OUTPUT || !removed(options, &tool.name));
        Self::of(tools)
    }

    /// A sub-agent's: some of ours, never a structured output, never deeper than allowed.
    pub fn narrowed(&self, only: Option<&[String]>, without: &[String], may_nest: bool) -> Self {
        self.keeping(|name| {
            listed(only, without, name) && !is_clients(name) && name != own::ASK_USER && (may_nest || name != "Agent")
        })
    }

    /// The main conversation's where it runs as an agent: that agent's, and what the client asked for.
    pub fn running_as(&self, only: Option<&[String]>, without: &[String]) -> Self {
        self.keeping(|name| listed(only, without, name) || is_clients(name))
    }

    /// The same and more.
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
        let definitions = tools.iter().map(|tool| tool.definition.clone()).collect();
        Self { tools, definitions }
    }

    pub fn find(&self, name: &str) -> Option<&Tool> {
        let name = canonical(name);
        self.tools.iter().find(|tool| tool.name == name)
    }

    /// For the request: byte-stable, so that the prompt cache holds.
    pub fn definitions(&self) -> Arc<[Value]> {
        Arc::clone(&self.definitions)
    }

    /// For `system/init`, which calls some tools by an older name.
    pub fn names(&self) -> Vec<String> {
        let init_name = |name: &str| policy::names::find(name).and_then(|entry| entry.init_name);
        self.tools.iter().map(|tool| init_name(&tool.name).map_or_else(|| tool.name.clone(), str::to_owned)).collect()
    }
}

impl Tool {
    pub fn new(name: &str, may_run_beside_others: bool, description: &str, schema: &Value) -> Self {
        let definition = json!({"name": name, "description": description, "input_schema": schema});
        Self { name: name.into(), may_run_beside_others, definition }
    }

    /// Characters of its definition in a request.
    pub fn size(&self) -> usize {
        self.definition.to_string().len()
    }

    fn from_spec(spec: &ToolSpec, setup: &Setup) -> Self {
        let description = own::description(spec, setup);
        Self::new(&spec.name, spec.may_run_beside_others, &description, &spec.schema.to_value())
    }
}

fn listed(only: Option<&[String]>, without: &[String], name: &str) -> bool {
    let named = |names: &[String]| names.iter().any(|wanted| canonical(wanted) == name || wanted == "*");
    only.is_none_or(named) && !named(without)
}

/// There because of a flag of the client's, whatever an agent's own list says.
fn is_clients(name: &str) -> bool {
    matches!(name, own::STRUCTURED_OUTPUT | "ExitPlanMode")
}

fn removed(options: &Options, name: &str) -> bool {
    options.permissions.rules.removes(name)
}
