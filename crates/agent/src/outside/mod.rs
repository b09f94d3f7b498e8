//! Tools from outside: MCP servers, as this conversation sees them.
//!
//! Servers are started at the first need, none where none is configured. Deliberately absent: the
//! protocol (`mcp`), and where configurations come from (the binary).

mod call;
mod control;
mod hired;
mod people;
pub mod resources;

pub use call::{call_for_text, call_named, is_outside, meta, missing_prompter, run, wants_a_person};
pub use control::{control, status};
pub use hired::{Hired, hire, start_for_session};
pub use people::{call_prompt, prompts};
pub use resources::specs;

use crate::InputFormat;
use crate::hearing;
use crate::shared::Shared;
use crate::toolset::Tool;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use hooks::HookEvent;
use mcp::{Deps, SdkLink, ServerConfig, Servers};
use serde_json::{Value, json};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::{Rc, Weak};
use std::time::Duration;
use wire::{AgentRequest, McpMessage};

/// For what a server has only to look up; it may be on the other side of the world.
const LOOKUP: Duration = Duration::from_mins(1);

/// The servers of one process.
#[derive(Default)]
pub struct Outside {
    servers: OnceCell<Servers>,
    /// Names that the client announced as its own.
    announced: RefCell<Vec<String>>,
    /// Servers that agents brought, and how many use each.
    hired: RefCell<HashMap<String, usize>>,
    /// What the toolset was last made of.
    shown: Cell<usize>,
    /// Servers whose failure was said on stderr.
    said: RefCell<Vec<String>>,
}

/// Starts what is configured. Nothing happens where nothing is.
pub fn start(shared: &Rc<Shared>) {
    let configs = shared.options.outside.servers.clone();
    if !configs.is_empty() {
        servers(shared).start(configs);
    }
}

/// Servers that live in the client's process, by name. One that the configuration has already is not doubled.
pub fn add_sdk_servers(shared: &Rc<Shared>, names: &Value) {
    let names: Vec<&str> = names.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let mut announced = shared.outside.announced.borrow_mut();
    let new: Vec<ServerConfig> = names
        .into_iter()
        .filter(|name| !announced.iter().any(|known| known == name))
        .map(|name| ServerConfig::sdk(name, "dynamic"))
        .collect();
    announced.extend(new.iter().map(|config| config.name.clone()));
    if !new.is_empty() {
        servers(shared).start(new);
    }
}

/// The servers that a plugin brings.
pub fn add_plugin_servers(shared: &Rc<Shared>, plugin: &project::Plugin) {
    if plugin.mcp_servers.is_empty() || shared.options.outside.strict {
        return;
    }
    let (configs, problems) = mcp::parse(&json!({"mcpServers": plugin.mcp_servers}), "plugin", &variable(shared));
    for problem in problems {
        crate::front::warn(&format!("warning: MCP server {}: {}", problem.name, problem.message));
    }
    servers(shared).start(configs);
}

/// The environment, for configurations that name variables.
fn variable(shared: &Shared) -> impl Fn(&str) -> Option<String> {
    move |name| {
        let found = shared.options.env.iter().find(|(known, _)| known == name);
        found.and_then(|(_, value)| value.to_str().map(str::to_owned))
    }
}

/// Waits, bounded, until no server is pending, and has the lane equipped anew where tools have changed.
pub async fn settle(shared: &Shared) {
    let Some(servers) = shared.outside.servers.get() else { return };
    servers.ready().await;
    say_failures(shared, servers);
    let fingerprint = servers.tools().iter().fold(1, |sum: usize, tool| {
        sum.wrapping_mul(31).wrapping_add(tool.full_name.len() + tool.schema.to_string().len())
    });
    if shared.outside.shown.replace(fingerprint) != fingerprint {
        shared.live.stale.set(true);
    }
}

/// A server that does not come up is said once, with its reason: its tools are missing from the run.
fn say_failures(shared: &Shared, servers: &Servers) {
    let mut said = shared.outside.said.borrow_mut();
    for server in servers.statuses() {
        if let Some(error) = server.error.filter(|_| !said.contains(&server.name)) {
            crate::front::warn(&format!("warning: MCP server {} {}: {error}", server.name, server.status));
            said.push(server.name);
        }
    }
}

/// Whether a server of this name is configured.
pub fn is_server(shared: &Shared, name: &str) -> bool {
    let statuses = shared.outside.servers.get().map(Servers::statuses).unwrap_or_default();
    statuses.iter().any(|server| server.name == name)
}

/// Whether there are servers at all.
pub fn any(shared: &Shared) -> bool {
    shared.outside.servers.get().is_some()
}

/// Their tools, for the lane's toolset.
pub fn tools(shared: &Shared) -> Vec<Tool> {
    let Some(servers) = shared.outside.servers.get() else { return Vec::new() };
    let tools = servers.tools();
    let hired = shared.outside.hired.borrow();
    let everybodys = tools.iter().filter(|tool| !hired.contains_key(&tool.server));
    everybodys.map(|tool| Tool::new(&tool.full_name, tool.read_only, &tool.description, &tool.schema)).collect()
}

/// For the system prompt: what servers say about their use.
pub fn instructions(shared: &Shared) -> Option<String> {
    let told = shared.outside.servers.get()?.instructions();
    if told.is_empty() {
        return None;
    }
    let parts: Vec<String> = told.into_iter().map(|(name, text)| format!("## {name}\n{text}")).collect();
    Some(format!("# What MCP servers say about their tools\n{}", parts.join("\n\n")))
}

/// For people: every server and how it stands.
pub fn in_words(shared: &Shared) -> String {
    let statuses = shared.outside.servers.get().map(Servers::statuses).unwrap_or_default();
    if statuses.is_empty() {
        return "No MCP server is configured.".to_owned();
    }
    let line = |server: mcp::Status| match server.error {
        Some(error) => format!("{}: {} ({error})", server.name, server.status),
        None => format!("{}: {}, {} tools", server.name, server.status, server.tools.len()),
    };
    statuses.into_iter().map(line).collect::<Vec<_>>().join("\n")
}

/// For `init`: names and how they stand.
pub fn summary(shared: &Shared) -> Vec<Value> {
    let statuses = shared.outside.servers.get().map(Servers::statuses).unwrap_or_default();
    statuses
        .into_iter()
        .map(|server| {
            let mut value = json!({"name": server.name, "status": server.status});
            if let Some(source) = server.source {
                value["source"] = json!(source);
            }
            value
        })
        .collect()
}

/// For `init`: configurations that could not be used and servers that did not come up, with the reason.
pub fn errors(shared: &Shared) -> Vec<Value> {
    let statuses = shared.outside.servers.get().map(Servers::statuses).unwrap_or_default();
    let failed = statuses.into_iter().filter_map(|server| {
        let error = server.error?;
        Some(json!({"name": server.name, "type": server.status, "message": error}))
    });
    let problems = shared.options.outside.problems.iter();
    let problems =
        problems.map(|problem| json!({"name": problem.name, "type": problem.kind, "message": problem.message}));
    problems.chain(failed).collect()
}

pub async fn end(shared: &Shared) {
    if let Some(servers) = shared.outside.servers.get() {
        servers.shutdown().await;
    }
}

fn servers(shared: &Rc<Shared>) -> &Servers {
    shared.outside.servers.get_or_init(|| Servers::new(deps(shared)))
}

fn deps(shared: &Rc<Shared>) -> Deps {
    let options = &shared.options;
    let access = options.access.client.clone();
    let can_answer = options.input == InputFormat::StreamJson || hearing::wants(shared, HookEvent::Elicitation);
    Deps {
        cwd: options.cwd.clone(),
        env: options.outside.env.clone(),
        roots: std::iter::once(options.cwd.clone()).chain(options.extra_roots.iter().cloned()).collect(),
        sdk: Some(Rc::new(Client(Rc::downgrade(shared)))),
        user: can_answer.then(|| Rc::new(people::User(Rc::downgrade(shared))) as _),
        client: ("ralph".into(), env!("CARGO_PKG_VERSION").into()),
        start_timeout: options.outside.start_timeout,
        call_timeout: options.outside.call_timeout,
        lookup_timeout: LOOKUP,
        idle_timeout: options.outside.idle_timeout,
        http: Rc::new(move |_| model::plain_client(&access)),
        max_output_tokens: options.outside.max_output_tokens,
        spill_dir: options.tools.shell.spill_dir.clone(),
    }
}

/// The way to servers in the client's own process: each message is a question to the client.
struct Client(Weak<Shared>);

impl SdkLink for Client {
    fn send(&self, server: &str, message: Value) -> LocalBoxFuture<'static, Result<Value, String>> {
        let shared = self.0.clone();
        let request =
            AgentRequest::McpMessage(McpMessage { server_name: server.to_owned(), message, ..McpMessage::default() });
        async move {
            let shared = shared.upgrade().ok_or("the session is over")?;
            let answer = shared.link.ask(&shared.emitter, request).await.map_err(|error| error.to_string())?;
            Ok(answer.get("mcp_response").cloned().unwrap_or(Value::Null))
        }
        .boxed_local()
    }
}
