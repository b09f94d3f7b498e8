//! MCP servers, as this session sees them.
//!
//! Servers are started at the first need, none where none is configured. Deliberately absent: the
//! protocol (`mcp`), and where configurations come from (the binary).

mod call;
mod control;
mod hired;
mod people;
mod resources;

pub use call::is_servers_tool;
pub use hired::Hired;
pub use people::People;

use crate::Options;
use crate::choices::Choices;
use crate::link::Link;
use crate::stderr::warn;
use crate::toolset::Tool;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use mcp::{Deps, Elicit, Prompt, SdkLink, ServerConfig};
use serde_json::{Value, json};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use wire::{AgentRequest, McpMessage};

/// For what a server has only to look up; it may be on the other side of the world.
const LOOKUP: Duration = Duration::from_mins(1);

/// Who answers questions of servers; nobody where nobody can. Asked when the first server starts.
pub type FindPeople = Box<dyn Fn() -> Option<Rc<dyn Elicit>>>;

/// The servers of one session.
pub struct Servers {
    options: Rc<Options>,
    choices: Rc<Choices>,
    link: Rc<Link>,
    people: OnceCell<FindPeople>,
    started: OnceCell<mcp::Servers>,
    /// Names that the client announced as its own.
    announced: RefCell<Vec<String>>,
    /// Servers that agents brought, and how many use each.
    hired: RefCell<HashMap<String, usize>>,
    /// What the toolset was last made of.
    shown: Cell<usize>,
    /// Servers whose failure was said on stderr.
    said: RefCell<Vec<String>>,
}

impl Servers {
    pub fn new(options: Rc<Options>, choices: Rc<Choices>, link: Rc<Link>) -> Self {
        Self {
            options,
            choices,
            link,
            people: OnceCell::new(),
            started: OnceCell::new(),
            announced: RefCell::default(),
            hired: RefCell::default(),
            shown: Cell::default(),
            said: RefCell::default(),
        }
    }

    /// Once, when everything is there.
    pub fn connect(&self, people: FindPeople) {
        let _ = self.people.set(people);
    }

    /// Starts what is configured. Nothing happens where nothing is.
    pub fn start(&self) {
        let configs = self.options.outside.servers.clone();
        if !configs.is_empty() {
            self.all().start(configs);
        }
    }

    /// Servers that live in the client's process, by name. One that the configuration has already is not doubled.
    pub fn add_sdk_servers(&self, names: &Value) {
        let names: Vec<&str> = names.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut announced = self.announced.borrow_mut();
        let new: Vec<ServerConfig> = names
            .into_iter()
            .filter(|name| !announced.iter().any(|known| known == name))
            .map(|name| ServerConfig::sdk(name, "dynamic"))
            .collect();
        announced.extend(new.iter().map(|config| config.name.clone()));
        drop(announced);
        if !new.is_empty() {
            self.all().start(new);
        }
    }

    /// The servers that a plugin brings.
    pub fn add_plugin_servers(&self, plugin: &project::Plugin) {
        if plugin.mcp_servers.is_empty() || self.options.outside.strict {
            return;
        }
        let described = json!({"mcpServers": plugin.mcp_servers});
        let (configs, problems) = mcp::parse(&described, "plugin", &self.variable());
        for problem in problems {
            warn(&format!("warning: MCP server {}: {}", problem.name, problem.message));
        }
        self.all().start(configs);
    }

    /// The environment, for configurations that name variables.
    fn variable(&self) -> impl Fn(&str) -> Option<String> {
        move |name| {
            let found = self.options.env.iter().find(|(known, _)| known == name);
            found.and_then(|(_, value)| value.to_str().map(str::to_owned))
        }
    }

    /// Waits, bounded, until no server is pending, and has tools made anew where they have changed.
    pub async fn settle(&self) {
        let Some(servers) = self.started.get() else { return };
        servers.ready().await;
        self.say_failures(servers);
        let fingerprint = servers.tools().iter().fold(1, |sum: usize, tool| {
            sum.wrapping_mul(31).wrapping_add(tool.full_name.len() + tool.schema.to_string().len())
        });
        if self.shown.replace(fingerprint) != fingerprint {
            self.choices.mark_stale();
        }
    }

    /// A server that does not come up is said once, with its reason: its tools are missing from the run.
    fn say_failures(&self, servers: &mcp::Servers) {
        let mut said = self.said.borrow_mut();
        for server in servers.statuses() {
            if let Some(error) = server.error.filter(|_| !said.contains(&server.name)) {
                warn(&format!("warning: MCP server {} {}: {error}", server.name, server.status));
                said.push(server.name);
            }
        }
    }

    /// How each stands.
    fn statuses(&self) -> Vec<mcp::Status> {
        self.started.get().map(mcp::Servers::statuses).unwrap_or_default()
    }

    /// Whether a server of this name is configured.
    pub fn has(&self, name: &str) -> bool {
        self.statuses().iter().any(|server| server.name == name)
    }

    /// Whether there are servers at all.
    pub fn any(&self) -> bool {
        self.started.get().is_some()
    }

    /// The tools that everybody may use.
    pub fn tools(&self) -> Vec<Tool> {
        let Some(servers) = self.started.get() else { return Vec::new() };
        let tools = servers.tools();
        let hired = self.hired.borrow();
        let everybodys = tools.iter().filter(|tool| !hired.contains_key(&tool.server));
        everybodys.map(|tool| Tool::new(&tool.full_name, tool.read_only, &tool.description, &tool.schema)).collect()
    }

    /// For the system prompt: what servers say about their use.
    pub fn instructions(&self) -> Option<String> {
        let told = self.started.get()?.instructions();
        if told.is_empty() {
            return None;
        }
        let parts: Vec<String> = told.into_iter().map(|(name, text)| format!("## {name}\n{text}")).collect();
        Some(format!("# What MCP servers say about their tools\n{}", parts.join("\n\n")))
    }

    /// For people: every server and how it stands.
    pub fn in_words(&self) -> String {
        let statuses = self.statuses();
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
    pub fn summary(&self) -> Vec<Value> {
        let one = |server: mcp::Status| {
            let mut value = json!({"name": server.name, "status": server.status});
            if let Some(source) = server.source {
                value["source"] = json!(source);
            }
            value
        };
        self.statuses().into_iter().map(one).collect()
    }

    /// For `init`: configurations that could not be used and servers that did not come up, with the reason.
    pub fn errors(&self) -> Vec<Value> {
        let failed = self.statuses().into_iter().filter_map(|server| {
            let error = server.error?;
            Some(json!({"name": server.name, "type": server.status, "message": error}))
        });
        let problems = self.options.outside.problems.iter();
        let problems =
            problems.map(|problem| json!({"name": problem.name, "type": problem.kind, "message": problem.message}));
        problems.chain(failed).collect()
    }

    /// The prompts of connected servers, as `/mcp__server__prompt`.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.started.get().map(mcp::Servers::prompts).unwrap_or_default()
    }

    /// The text of a prompt for the model; `None` where no server has one of this name.
    pub async fn prompt(&self, name: &str, args: &str) -> Option<Result<Vec<Value>, String>> {
        let servers = self.started.get()?;
        let prompt = servers.prompts().into_iter().find(|prompt| prompt.full_name == name)?;
        Some(servers.prompt(&prompt, &project::split_arguments(args)).await.map_err(String::from))
    }

    pub async fn end(&self) {
        if let Some(servers) = self.started.get() {
            servers.shutdown().await;
        }
    }

    fn all(&self) -> &mcp::Servers {
        self.started.get_or_init(|| mcp::Servers::new(self.deps()))
    }

    fn deps(&self) -> Deps {
        let options = &self.options;
        let access = options.access.client.clone();
        Deps {
            cwd: options.cwd.clone(),
            env: options.outside.env.clone(),
            roots: std::iter::once(options.cwd.clone()).chain(options.extra_roots.iter().cloned()).collect(),
            sdk: Some(Rc::new(Client(Rc::clone(&self.link)))),
            user: self.people.get().and_then(|find| find()),
            client: ("ralph".into(), env!("CARGO_PKG_VERSION").into()),
            start_timeout: options.outside.start_timeout,
            call_timeout: options.outside.call_timeout,
            lookup_timeout: LOOKUP,
            idle_timeout: options.outside.idle_timeout,
            http: Rc::new(move |_| model::plain_client(&access).map_err(|error| error.to_string())),
            max_output_tokens: options.outside.max_output_tokens,
            spill_dir: options.tools.shell.spill_dir.clone(),
        }
    }
}

/// The way to servers in the client's own process: each message is a question to the client.
struct Client(Rc<Link>);

impl SdkLink for Client {
    fn send(&self, server: &str, message: Value) -> LocalBoxFuture<'static, Result<Value, String>> {
        let link = Rc::clone(&self.0);
        let request =
            AgentRequest::McpMessage(McpMessage { server_name: server.to_owned(), message, ..McpMessage::default() });
        async move {
            let answer = link.ask(request).await.map_err(|error| error.to_string())?;
            Ok(answer.get("mcp_response").cloned().unwrap_or(Value::Null))
        }
        .boxed_local()
    }
}
