//! The servers of one session: which are configured, announced by the client, or brought by plugins and agents.
//!
//! Servers are started at the first need, none where none is configured. Deliberately absent: the protocol ([`Servers`]), and
//! where configurations come from.

mod agent_servers;
mod call;
mod login;
mod resources;

pub use agent_servers::AgentServers;
pub use call::{SessionCall, is_servers_tool};

use crate::config::{Problem, ServerConfig, parse};
use crate::deps::Deps;
use crate::elicit::Elicit;
use crate::error::ServerError;
use crate::prompt::Prompt;
use crate::servers::Servers;
use crate::table::Status;
use crate::tool::McpTool;
use serde_json::{Map, Value, json};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Where servers of the client's own process are said to come from.
const CLIENT_SCOPE: &str = "dynamic";

/// Where a plugin's server is said to come from.
const PLUGIN_SCOPE: &str = "plugin";

/// Who answers questions of servers; nobody where nobody can. Asked when the first server starts.
pub type FindElicit = Box<dyn Fn() -> Option<Rc<dyn Elicit>>>;

/// The value of a variable of the environment.
pub type Variable = Box<dyn Fn(&str) -> Option<String>>;

/// What is configured before the session begins.
pub struct ConfiguredServers {
    pub servers: Vec<ServerConfig>,
    /// Configurations that cannot be used.
    pub problems: Vec<Problem>,
    /// Only the servers that the command line configures.
    pub strict: bool,
}

/// What a session gives to its servers.
pub struct SessionHandles {
    /// Made when the first server starts.
    pub deps: Box<dyn Fn() -> Deps>,
    /// A variable of the environment, for configurations that name one.
    pub variable: Variable,
    /// Called when the tools of servers have changed, or may have.
    pub changed: Box<dyn Fn()>,
    /// One line for people.
    pub warn: fn(&str),
    /// Clients see `init`, which lists servers that did not come up.
    pub shows_init: bool,
}

/// The servers of one session.
pub struct SessionServers {
    configured: ConfiguredServers,
    handles: SessionHandles,
    elicit: OnceCell<FindElicit>,
    started: OnceCell<Servers>,
    /// Names that the client announced as its own.
    announced: RefCell<Vec<String>>,
    /// Servers that agents brought, and how many use each.
    agent_servers: RefCell<HashMap<String, usize>>,
    /// What the toolset was last made of.
    shown: Cell<usize>,
    /// The version of the offers that this was.
    seen: Cell<u64>,
    /// Servers whose failure was said on stderr.
    said: RefCell<Vec<String>>,
    /// Logins that clients began, by server.
    logins: RefCell<HashMap<String, login::Waiting>>,
}

impl SessionServers {
    pub fn new(configured: ConfiguredServers, handles: SessionHandles) -> Self {
        Self {
            configured,
            handles,
            elicit: OnceCell::new(),
            started: OnceCell::new(),
            announced: RefCell::default(),
            agent_servers: RefCell::default(),
            shown: Cell::default(),
            seen: Cell::default(),
            said: RefCell::default(),
            logins: RefCell::default(),
        }
    }

    /// Once, when everything is there.
    pub fn connect(&self, elicit: FindElicit) {
        let _ = self.elicit.set(elicit);
    }

    /// Starts what is configured. Nothing happens where nothing is.
    pub fn start(&self) {
        let configs = self.configured.servers.clone();
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
            .map(|name| ServerConfig::sdk(name, CLIENT_SCOPE))
            .collect();
        announced.extend(new.iter().map(|config| config.name.clone()));
        drop(announced);
        if !new.is_empty() {
            self.all().start(new);
        }
    }

    /// The servers that a plugin brings.
    pub fn add_plugin_servers(&self, servers: &Map<String, Value>) {
        if servers.is_empty() || self.configured.strict {
            return;
        }
        let (configs, problems) = parse(&json!({"mcpServers": servers}), PLUGIN_SCOPE, self.variable());
        for problem in problems {
            (self.handles.warn)(&format!("warning: MCP server {}: {}", problem.name, problem.message));
        }
        self.all().start(configs);
    }

    /// The environment, for configurations that name variables.
    pub fn variable(&self) -> &dyn Fn(&str) -> Option<String> {
        &*self.handles.variable
    }

    /// Waits for servers that are still connecting, each as long as [`crate::StartWaits`] says, and has tools made anew where
    /// they have changed.
    pub async fn settle(&self) {
        let Some(servers) = self.started.get() else { return };
        servers.settled().await;
        self.say_failures(servers);
        self.refresh();
    }

    /// Has tools made anew where they have changed. True where they have.
    pub fn refresh(&self) -> bool {
        let Some(servers) = self.started.get() else { return false };
        let version = servers.offers_version();
        if self.seen.replace(version) == version {
            return false;
        }
        let fingerprint = servers.tools().iter().fold(1, |sum: usize, tool| {
            sum.wrapping_mul(31).wrapping_add(tool.full_name.len() + tool.schema.to_string().len())
        });
        let is_new = self.shown.replace(fingerprint) != fingerprint;
        if is_new {
            self.note_change();
        }
        is_new
    }

    /// Has the tools of the next turn made anew.
    pub fn note_change(&self) {
        (self.handles.changed)();
    }

    /// A server that does not come up is said once, with its reason: its tools are missing from the run. Where `init` is
    /// shown, that says so.
    fn say_failures(&self, servers: &Servers) {
        if self.handles.shows_init {
            return;
        }
        let mut said = self.said.borrow_mut();
        for server in servers.statuses() {
            if let Some(error) = server.error.filter(|_| !said.contains(&server.name)) {
                (self.handles.warn)(&format!("warning: MCP server {} {}: {error}", server.name, server.status));
                said.push(server.name);
            }
        }
    }

    /// How each stands.
    pub fn statuses(&self) -> Vec<Status> {
        self.started.get().map(Servers::statuses).unwrap_or_default()
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
    pub fn tools(&self) -> Vec<McpTool> {
        let Some(servers) = self.started.get() else { return Vec::new() };
        let of_agents = self.agent_servers.borrow();
        servers.tools().into_iter().filter(|tool| !of_agents.contains_key(&tool.server)).collect()
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
        let line = |server: Status| match server.error {
            Some(error) => format!("{}: {} ({error})", server.name, server.status),
            None => format!("{}: {}, {} tools", server.name, server.status, server.tools.len()),
        };
        statuses.into_iter().map(line).collect::<Vec<_>>().join("\n")
    }

    /// For `init`: names and how they stand.
    pub fn summary(&self) -> Vec<Value> {
        let one = |server: Status| json!({"name": server.name, "status": server.status, "source": server.source});
        self.statuses().into_iter().map(one).collect()
    }

    /// For `init`: configurations that could not be used and servers that did not come up, with the reason.
    pub fn errors(&self) -> Vec<Value> {
        let failed = self.statuses().into_iter().filter_map(|server| {
            let error = server.error?;
            Some(json!({"name": server.name, "type": server.status, "message": error}))
        });
        let problems = self.configured.problems.iter();
        let problems =
            problems.map(|problem| json!({"name": problem.name, "type": problem.kind, "message": problem.message}));
        problems.chain(failed).collect()
    }

    /// The prompts of connected servers, as `/mcp__server__prompt`.
    pub fn prompts(&self) -> Vec<Prompt> {
        self.started.get().map(Servers::prompts).unwrap_or_default()
    }

    /// The text of a prompt for the model, with the words after its name; `None` where no server has one of this name.
    pub async fn prompt(&self, name: &str, words: &[String]) -> Option<Result<Vec<Value>, ServerError>> {
        let servers = self.started.get()?;
        let prompt = servers.prompts().into_iter().find(|prompt| prompt.full_name == name)?;
        Some(servers.prompt(&prompt, words).await)
    }

    pub async fn end(&self) {
        if let Some(servers) = self.started.get() {
            servers.shutdown().await;
        }
    }

    /// The servers, where any was started.
    pub fn started(&self) -> Option<&Servers> {
        self.started.get()
    }

    /// The servers; from now on there are some.
    pub fn all(&self) -> &Servers {
        self.started.get_or_init(|| {
            let user = self.elicit.get().and_then(|find| find());
            Servers::new(Deps { user, ..(self.handles.deps)() })
        })
    }
}
