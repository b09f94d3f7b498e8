//! `initialize`: what a client sets up before its first prompt, and what it learns about us.

use super::group::{Group, Reply};
use crate::{Options, Schema, SessionPlan, Setup};
use context::builtin_commands;
use context::style;
use conversation::{HookRunner, ModelSwitcher};
use mcp::SessionServers;
use options::{Choices, SchemaError, session_agent};
use output::Transcripts;
use project::ProjectError;
use serde_json::{Value, json};
use std::rc::Rc;

/// Between the part of a system prompt that never changes and the part that does; we need no mark.
const BOUNDARY: &str = "__SYSTEM_PROMPT_DYNAMIC_BOUNDARY__";

pub struct Initialize {
    pub options: Rc<Options>,
    pub choices: Rc<Choices>,
    pub hooks: Rc<HookRunner>,
    pub servers: Rc<SessionServers>,
    pub transcripts: Rc<Transcripts>,
    pub models: Rc<ModelSwitcher>,
}

#[derive(Debug, thiserror::Error)]
enum InitializeError {
    #[error("jsonSchema is not a valid JSON Schema: {0}")]
    Schema(#[from] SchemaError),
    #[error(transparent)]
    Agents(#[from] ProjectError),
}

impl Group for Initialize {
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply> {
        Some(match subtype {
            "initialize" => Reply::now(apply(&self, &request)),
            _ => return None,
        })
    }
}

/// Applies it. May come again; then everything it names is set anew.
fn apply(handles: &Initialize, request: &Value) -> Result<Value, InitializeError> {
    let schema = match &request["jsonSchema"] {
        Value::Null => None,
        schema => Some(Schema::parse(&schema.to_string())?),
    };
    let agents = match &request["agents"] {
        Value::Null => Vec::new(),
        agents => project::agents_from_json(agents)?,
    };
    let Initialize { options, choices, hooks, servers, .. } = handles;
    choices.change_setup(|setup| {
        if let Some(schema) = schema {
            setup.schema = Some(Rc::new(schema));
        }
        for agent in agents.into_iter().rev() {
            setup.agents.retain(|known| known.name != agent.name);
            setup.agents.insert(0, agent);
        }
        if let Some(prompt) = system_prompt(&request["systemPrompt"]) {
            setup.prompting.system = Some(prompt);
        }
        if let Some(append) = request["appendSystemPrompt"].as_str().filter(|text| !text.is_empty()) {
            setup.prompting.append = Some(append.to_owned());
        }
        if let Some(plan) = request["planModeInstructions"].as_str().filter(|text| !text.trim().is_empty()) {
            setup.prompting.plan = Some(plan.to_owned());
        }
        if request["excludeDynamicSections"] == true {
            setup.prompting.static_system = true;
        }
        if let Some(aliases) = request["toolAliases"].as_object() {
            let named = |(from, to): (&String, &Value)| Some((from.clone(), to.as_str()?.to_owned()));
            setup.tool_aliases = aliases.iter().filter_map(named).collect();
        }
        if request["promptSuggestions"] == true {
            setup.suggestions = options.may_suggest;
        }
        if request["forwardSubagentText"] == true {
            setup.subagent_text = true;
        }
    });
    let plugins_applied = super::plugins::apply(options, choices, hooks, servers, &request["plugins"]);
    if let Some(names) = request["skills"].as_array() {
        let names: Vec<String> = names.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        choices.change_setup(|setup| {
            setup.skills.retain(|skill| skill.is_among(&names));
            setup.only_skills = Some(names);
        });
    }
    if let Some(title) = request["title"].as_str().filter(|_| options.session.plan == SessionPlan::New) {
        handles.transcripts.name_session(title);
    }
    follow_agent(options, choices, &handles.models);
    let hooks_applied = request["hooks"].is_object();
    if hooks_applied {
        hooks.change(|list| list.set_callbacks(&request["hooks"]));
    }
    servers.add_sdk_servers(&request["sdkMcpServers"]);
    let mut payload = describe(options, choices, servers, hooks_applied);
    if plugins_applied {
        payload["plugins_applied"] = json!(true);
    }
    Ok(payload)
}

/// The agent that the session runs as may only just have come, with a model of its own.
fn follow_agent(options: &Options, choices: &Choices, models: &ModelSwitcher) {
    let setup = choices.setup();
    let own = session_agent(&setup).and_then(|agent| agent.model.as_deref()).filter(|model| *model != "inherit");
    let env = &options.asking.model_env;
    let own = own.map(|own| model::resolve(own, env)).filter(|own| env.allows(own));
    if let (false, Some(own)) = (options.asking.model_named, own) {
        models.take(&own);
    }
}

/// A string or a list of parts. Newer clients send `[""]` for "no prompt of ours".
fn system_prompt(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(Value::as_str).filter(|part| *part != BOUNDARY).collect();
            Some(texts.join("\n\n"))
        }
        _ => None,
    }
}

/// The skills that people may call, as clients list them.
pub fn skills(setup: &Setup) -> Vec<Value> {
    let skills = setup.skills.iter().filter(|skill| skill.user_invocable);
    skills
        .map(|skill| {
            let hint = skill.argument_hint.as_deref().unwrap_or_default();
            json!({"name": skill.name, "description": skill.description, "argumentHint": hint})
        })
        .collect()
}

/// Every command and every agent.
pub fn lists(options: &Options, setup: &Setup, servers: &SessionServers) -> Value {
    let own = builtin_commands::listed(options)
        .map(|(name, what, hint)| json!({"name": name, "description": what, "argumentHint": hint, "builtin": true}));
    let prompts = servers.prompts().into_iter().map(
        |prompt| json!({"name": prompt.full_name, "description": prompt.description, "argumentHint": prompt.hint()}),
    );
    let commands: Vec<Value> = skills(setup).into_iter().chain(prompts).chain(own).collect();
    let agents: Vec<Value> = setup
        .agents
        .iter()
        .map(|agent| {
            let mut value = json!({"name": agent.name, "description": agent.description});
            if let Some(model) = &agent.model {
                value["model"] = json!(model);
            }
            value
        })
        .collect();
    json!({"commands": commands, "agents": agents})
}

fn describe(options: &Options, choices: &Choices, servers: &SessionServers, hooks_applied: bool) -> Value {
    let mut lists = lists(options, &choices.setup(), servers);
    let chosen = options.access.credentials.chosen.as_ref().filter(|_| options.access.client.cloud.is_none());
    let source = chosen.map(|chosen| chosen.source.clone());
    let mut payload = json!({
        "commands": lists["commands"].take(),
        "agents": lists["agents"].take(),
        "output_style": choices.style().as_deref().unwrap_or("default"),
        "available_output_styles": style::names(options, choices),
        "models": model::listing(&options.asking.model_env),
        "account": {"apiKeySource": source, "apiProvider": options.access.provider()},
        "claude_code_version": options.version,
        "pid": std::process::id(),
        "fast_mode_state": "off",
    });
    if hooks_applied {
        payload["hooks_applied"] = json!(true);
        payload["hook_on_failure_supported"] = json!(true);
    }
    payload
}
