//! `system/init`: what a client is told of the session before each turn.

use crate::Options;
use context::builtin_commands;
use conversation::Conversation;
use conversation::rules::Rules;
use mcp::SessionServers;
use options::Choices;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use wire::Init;

/// An answer to `interrupt` lists what still waits, and takes prompts back where it is asked to.
const CAPABILITIES: [&str; 2] = ["interrupt_receipt_v1", "interrupt_cancel_queued_v1"];

pub fn init(
    options: &Options,
    choices: &Choices,
    rules: &Rules,
    servers: &SessionServers,
    conversation: &Conversation,
) -> Init {
    let setup = choices.setup();
    let user_skills = setup.skills.iter().filter(|skill| skill.user_invocable).map(|skill| skill.name.clone());
    let own = builtin_commands::listed(options).map(|(name, ..)| name.to_owned());
    let own = own.filter(|name| !setup.skills.iter().any(|skill| skill.name == *name));
    let prompts = servers.prompts().into_iter().map(|prompt| prompt.full_name);
    let added = rules.extra_roots();
    let roots = options.extra_roots.iter().chain(&added);
    Init {
        cwd: options.cwd.display().to_string(),
        tools: conversation.toolset.borrow().names(),
        mcp_servers: servers.summary(),
        mcp_server_errors: servers.errors(),
        model: Some(conversation.model()),
        permission_mode: rules.mode_of(conversation).as_str().into(),
        slash_commands: user_skills.chain(prompts).chain(own).collect(),
        api_key_source: options.access.key_source(),
        claude_code_version: options.version.into(),
        output_style: choices.style().unwrap_or_else(|| "default".into()),
        agents: setup.agents.iter().map(|agent| agent.name.clone()).collect(),
        skills: setup.skills.iter().map(|skill| skill.name.clone()).collect(),
        plugins: plugins(&setup.plugins),
        plugin_errors: plugin_errors(&setup.plugins),
        betas: options.asking.betas.clone(),
        analytics_disabled: true,
        product_feedback_disabled: true,
        memory_paths: memory_paths(options),
        fast_mode_state: "off".into(),
        fast_mode_disabled_reason: options.access.client.cloud.as_ref().map(|_| "not_first_party".to_owned()),
        capabilities: CAPABILITIES.map(str::to_owned).to_vec(),
        original_cwd: options.cwd.display().to_string(),
        additional_directories: roots.map(|root| root.display().to_string()).collect(),
        extra: wire::Extra::new(),
    }
}

/// Where the automatic memory is, where there is one.
fn memory_paths(options: &Options) -> BTreeMap<String, String> {
    let index = options.memory.as_ref().and_then(|memory| memory.auto.as_ref());
    let folder = index.and_then(|index| index.parent()).map(|folder| folder.display().to_string());
    folder.map(|folder| ("auto".to_owned(), folder)).into_iter().collect()
}

pub fn plugins(plugins: &project::Plugins) -> Vec<Value> {
    let one = |plugin: &project::Plugin| {
        let mut value = json!({"name": plugin.name, "path": plugin.folders.root});
        if let Some(version) = &plugin.version {
            value["version"] = json!(version);
        }
        value
    };
    plugins.loaded.iter().map(one).collect()
}

fn plugin_errors(plugins: &project::Plugins) -> Vec<Value> {
    let one = |problem: &project::PluginProblem| json!({"plugin": problem.plugin, "type": problem.kind, "message": problem.message, "path": problem.path});
    plugins.problems.iter().map(one).collect()
}
