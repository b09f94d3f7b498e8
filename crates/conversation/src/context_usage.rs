//! `get_context_usage`: how full the window is.

use crate::conversation::Conversation;
use crate::memory::Memories;
use context::{Tool, system_chars, tools_chars};
use options::{AutoCompact, Choices, Options};
use serde_json::{Value, json};

/// Characters of a token, roughly: for the parts whose size nobody has counted for us.
const CHARS_PER_TOKEN: usize = 4;

/// How full the window is, by what fills it. `servers` are the tools of MCP servers.
pub fn context_usage(
    options: &Options,
    choices: &Choices,
    servers: &[Tool],
    memories: &Memories,
    main: &Conversation,
) -> Value {
    let model = choices.model();
    let window = model::info(&model).context_window;
    let total = main.machine.borrow().context_tokens();
    let system = system_chars(&main.system.borrow()) / CHARS_PER_TOKEN;
    let tools = tools_chars(&main.toolset.borrow()) / CHARS_PER_TOKEN;
    let from_servers: usize = servers.iter().map(|tool| tokens(tool.size())).sum();
    let memory: usize = memories.sizes.borrow().iter().map(|(_, _, chars)| tokens(*chars)).sum();
    let own_tools = tools.saturating_sub(from_servers);
    let messages = total.saturating_sub((system + tools + memory) as u64);
    let category = |id: &str, name: &str, tokens: u64, color: &str| json!({"id": id, "name": name, "tokens": tokens, "color": color, "kind": "used"});
    let percentage = if window == 0 { 0.0 } else { (total as f64 / window as f64 * 1000.0).round() / 10.0 };
    json!({
        "categories": [
            category("system_prompt", "System prompt", system as u64, "promptBorder"),
            category("system_tools", "System tools", own_tools as u64, "inactive"),
            category("mcp_tools", "MCP tools", from_servers as u64, "cyan"),
            category("memory_files", "Memory files", memory as u64, "claude"),
            category("messages", "Messages", messages, "purple"),
            {"id": "free_space", "name": "Free space", "tokens": window.saturating_sub(total), "color": "inactive", "kind": "free"},
        ],
        "totalTokens": total,
        "maxTokens": window,
        "rawMaxTokens": window,
        "percentage": percentage,
        "gridRows": [],
        "model": model,
        "memoryFiles": memory_files(memories),
        "mcpTools": mcp_tools(servers),
        "agents": agents(choices),
        "isAutoCompactEnabled": options.asking.auto_compact != AutoCompact::Off,
        "apiUsage": null,
    })
}

fn tokens(chars: usize) -> usize {
    chars.div_ceil(CHARS_PER_TOKEN)
}

fn memory_files(memories: &Memories) -> Vec<Value> {
    let files = memories.sizes.borrow();
    let one = |(path, kind, chars): &(String, &'static str, usize)| json!({"path": path, "type": kind, "tokens": tokens(*chars)});
    files.iter().map(one).collect()
}

fn mcp_tools(tools: &[Tool]) -> Vec<Value> {
    let one = |tool: &Tool| {
        let server = tool.name.split("__").nth(1).unwrap_or_default();
        json!({"name": tool.name, "serverName": server, "tokens": tokens(tool.size()), "isLoaded": true})
    };
    tools.iter().map(one).collect()
}

fn agents(choices: &Choices) -> Vec<Value> {
    let setup = choices.setup();
    let one = |agent: &project::AgentDef| json!({"agentType": agent.name, "source": agent.source, "tokens": tokens(agent.name.len() + agent.description.len())});
    setup.agents.iter().map(one).collect()
}
