//! Which tools a lane has, under which names, and how they are told to the model.

use crate::outside;
use crate::own;
use crate::shared::Shared;
use crate::{Options, Prompter, Setup, ToolChoice};
use serde_json::{Value, json};
use std::sync::Arc;
use tools::ToolSpec;
use wire::PermissionMode;

/// One tool as the lane knows it.
#[derive(Debug, Clone)]
pub struct Tool {
    pub name: String,
    pub read_only: bool,
    definition: Value,
}

#[derive(Debug, Clone, Default)]
pub struct Toolset {
    tools: Vec<Tool>,
    definitions: Arc<[Value]>,
}

/// Older and shorter names that models, rules and clients still use.
pub fn canonical(name: &str) -> &str {
    match name {
        "Task" => "Agent",
        "BashOutput" | "AgentOutputTool" => "TaskOutput",
        "KillShell" | "KillBash" => "TaskStop",
        other => other,
    }
}

impl Toolset {
    /// The main conversation's tools.
    pub fn main(shared: &Shared, setup: &Setup) -> Self {
        let (options, mode) = (&shared.options, shared.live.mode.get());
        let has_servers = outside::any(shared);
        let wanted = |name: &str| match &options.tools.choice {
            _ if options.bare => matches!(name, "Bash" | "Read" | "Edit"),
            ToolChoice::Default => true,
            ToolChoice::Only(names) => names.iter().any(|wanted| canonical(wanted) == name),
        };
        let available = |name: &str| match name {
            "TodoWrite" => options.tools.todo_write,
            name if own::is_task_tool(name) => {
                options.tools.task_list || matches!(options.tools.choice, ToolChoice::Only(_))
            }
            "ExitPlanMode" => mode == PermissionMode::Plan,
            own::ASK_USER => options.permissions.prompter == Prompter::Client,
            "Skill" => !setup.skills.is_empty() || matches!(options.tools.choice, ToolChoice::Only(_)),
            _ => !outside::SPECS.iter().any(|spec| spec.name == name) || has_servers,
        };
        let specs = tools::specs().iter().chain(own::SPECS).chain(outside::SPECS);
        let mut tools: Vec<Tool> = specs
            .filter(|spec| wanted(spec.name) && available(spec.name))
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

    /// For `system/init`, which calls the Agent tool by its older name.
    pub fn names(&self) -> Vec<String> {
        self.tools.iter().map(|tool| if tool.name == "Agent" { "Task".into() } else { tool.name.clone() }).collect()
    }
}

impl Tool {
    pub fn new(name: &str, read_only: bool, description: &str, schema: &Value) -> Self {
        let definition = json!({"name": name, "description": description, "input_schema": schema});
        Self { name: name.into(), read_only, definition }
    }

    /// Characters of its definition in a request.
    pub fn size(&self) -> usize {
        self.definition.to_string().len()
    }

    fn from_spec(spec: &ToolSpec, setup: &Setup) -> Self {
        // The schemas are constants of ours and parsed in a test; an empty object would still be a tool.
        let schema = serde_json::from_str(spec.schema).unwrap_or_else(|_| json!({"type": "object"}));
        let description = own::description(spec, setup);
        Self::new(spec.name, spec.read_only, &description, &schema)
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
    options.permissions.rules.removes(name) || (name == "Agent" && options.permissions.rules.removes("Task"))
}
