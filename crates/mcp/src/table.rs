//! Which servers there are and how each is doing. Nobody holds a borrow over an await.

use crate::config::{ServerConfig, Transport};
use crate::connect::Offers;
use crate::deps::Deps;
use crate::live::Life;
use crate::names::{Names, prefix};
use crate::prompt::Prompt;
use crate::spill::Spill;
use crate::tool::McpTool;
use crate::waits::wait_for;
use rmcp::model::{ServerJsonRpcMessage, ServerPeerInfo};
use rmcp::{Peer, RoleClient};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio::sync::mpsc::Sender;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// A server's standing, in the words of `init` and `mcp_status`.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub name: String,
    /// connected, failed, needs-auth, pending or disabled.
    pub status: &'static str,
    pub server_info: Option<Value>,
    pub error: Option<String>,
    pub config: Value,
    pub scope: String,
    /// `sdk` for a server of the client, else where it was configured.
    pub source: String,
    pub tools: Vec<Value>,
}

pub(crate) struct Connection {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) info: Option<Arc<ServerPeerInfo>>,
    pub(crate) incoming: Option<Sender<ServerJsonRpcMessage>>,
}

#[derive(Clone)]
pub(crate) enum State {
    Pending,
    Connected(Rc<Connection>),
    Failed { reason: String, needs_auth: bool },
    Disabled,
}

impl State {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Connected(_) => "connected",
            Self::Failed { needs_auth: true, .. } => "needs-auth",
            Self::Failed { needs_auth: false, .. } => "failed",
            Self::Disabled => "disabled",
        }
    }
}

struct Entry {
    config: Rc<ServerConfig>,
    life: u64,
    state: State,
    /// When the present life began.
    since: Instant,
    /// Kept when the connection is lost: the model was told of its tools, and a call brings the server back.
    offers: Offers,
    running: Option<Running>,
}

struct Running {
    task: JoinHandle<()>,
    close: Rc<Notify>,
}

pub(crate) struct Table {
    pub(crate) deps: Rc<Deps>,
    pub(crate) spill: Spill,
    entries: RefCell<Vec<Entry>>,
    /// Servers on their way out.
    leaving: RefCell<Vec<JoinHandle<()>>>,
    lives: Cell<u64>,
    /// Counts changes of what servers offer.
    offers_version: Cell<u64>,
    /// Rung whenever a server's state changes.
    pub(crate) news: Notify,
}

impl Table {
    pub(crate) fn new(deps: Deps) -> Self {
        let spill = Spill::new(deps.spill_dir.clone());
        Self {
            deps: Rc::new(deps),
            spill,
            entries: RefCell::default(),
            leaving: RefCell::default(),
            lives: Cell::new(0),
            offers_version: Cell::new(0),
            news: Notify::new(),
        }
    }

    pub(crate) fn config(&self, name: &str) -> Option<Rc<ServerConfig>> {
        self.entries.borrow().iter().find(|entry| entry.config.name == name).map(|entry| entry.config.clone())
    }

    pub(crate) fn configs(&self) -> Vec<Rc<ServerConfig>> {
        self.entries.borrow().iter().map(|entry| entry.config.clone()).collect()
    }

    pub(crate) fn state(&self, name: &str) -> Option<State> {
        self.entries.borrow().iter().find(|entry| entry.config.name == name).map(|entry| entry.state.clone())
    }

    pub(crate) fn any_pending(&self) -> bool {
        self.entries.borrow().iter().any(|entry| matches!(entry.state, State::Pending))
    }

    /// Whether one of these servers is pending.
    pub(crate) fn any_pending_of(&self, names: &[String]) -> bool {
        names.iter().any(|name| matches!(self.state(name), Some(State::Pending)))
    }

    /// Whether a tool of this name may still come from a server that is pending.
    pub(crate) fn may_come(&self, full_name: &str) -> bool {
        let entries = self.entries.borrow();
        let mut pending = entries.iter().filter(|entry| matches!(entry.state, State::Pending));
        pending.any(|entry| full_name.starts_with(&prefix(&entry.config.name)))
    }

    /// Until when requests wait for a server that is pending: the next such moment after `now`.
    pub(crate) fn waited_for_until(&self, now: Instant) -> Option<Instant> {
        let entries = self.entries.borrow();
        let pending = entries.iter().filter(|entry| matches!(entry.state, State::Pending));
        let until = |entry: &Entry| entry.since + wait_for(&entry.config, self.deps.waits, self.deps.start_timeout);
        pending.map(until).filter(|until| *until > now).min()
    }

    /// Another number after every change of what servers offer.
    pub(crate) fn offers_version(&self) -> u64 {
        self.offers_version.get()
    }

    fn offers_changed(&self) {
        self.offers_version.set(self.offers_version.get() + 1);
    }

    /// Adds a server that is not known by that name and connects it.
    pub(crate) fn add(self: &Rc<Self>, config: ServerConfig) {
        if self.config(&config.name).is_some() {
            return;
        }
        let name = config.name.clone();
        let entry = Entry {
            config: Rc::new(config),
            life: 0,
            state: State::Disabled,
            since: Instant::now(),
            offers: Offers::default(),
            running: None,
        };
        self.entries.borrow_mut().push(entry);
        self.begin(&name);
    }

    /// Starts a new life of the server; the one it has ends.
    pub(crate) fn begin(self: &Rc<Self>, name: &str) {
        self.end(name, State::Pending);
        let number = self.lives.replace(self.lives.get() + 1) + 1;
        self.change(name, |entry| {
            let close = Rc::new(Notify::new());
            let life = Life { config: entry.config.clone(), number, table: Rc::downgrade(self), close: close.clone() };
            let task = tokio::task::spawn_local(life.run(self.deps.clone()));
            entry.life = number;
            entry.since = Instant::now();
            entry.running = Some(Running { task, close });
        });
    }

    /// Ends the server's life, if it has one; a connected one is given the time to take its leave.
    pub(crate) fn end(&self, name: &str, state: State) {
        let mut leaving = self.leaving.borrow_mut();
        leaving.retain(|task| !task.is_finished());
        self.change(name, |entry| {
            entry.life = 0;
            let before = std::mem::replace(&mut entry.state, state);
            let Some(running) = entry.running.take() else { return };
            match before {
                State::Connected(_) => running.close.notify_one(),
                _ => running.task.abort(),
            }
            leaving.push(running.task);
        });
    }

    pub(crate) fn remove(&self, name: &str) {
        self.end(name, State::Disabled);
        self.entries.borrow_mut().retain(|entry| entry.config.name != name);
        self.offers_changed();
    }

    pub(crate) fn forget_tools(&self, name: &str) {
        self.change(name, |entry| entry.offers = Offers::default());
        self.offers_changed();
    }

    pub(crate) fn take_leaving(&self) -> Vec<JoinHandle<()>> {
        self.leaving.take()
    }

    fn change(&self, name: &str, how: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.entries.borrow_mut().iter_mut().find(|entry| entry.config.name == name) {
            how(entry);
        }
        self.news.notify_waiters();
    }

    /// What a life tells of itself counts only while it is the server's present one.
    fn tell(&self, life: &Life, how: impl FnOnce(&mut Entry)) {
        self.change(&life.config.name, |entry| {
            if entry.life == life.number {
                how(entry);
            }
        });
    }

    pub(crate) fn connected(&self, life: &Life, connection: Connection, offers: Offers) {
        self.offers_changed();
        self.tell(life, |entry| {
            entry.state = State::Connected(Rc::new(connection));
            entry.offers = offers;
        });
    }

    pub(crate) fn failed(&self, life: &Life, reason: String, needs_auth: bool) {
        self.tell(life, |entry| entry.state = State::Failed { reason, needs_auth });
    }

    pub(crate) fn lost(&self, life: &Life, reason: String) {
        self.failed(life, reason, false);
    }

    pub(crate) fn listed(&self, life: &Life, offers: Offers) {
        self.offers_changed();
        self.tell(life, |entry| entry.offers = offers);
    }

    pub(crate) fn statuses(&self) -> Vec<Status> {
        self.entries.borrow().iter().map(status).collect()
    }

    /// All tools under the names the model knows them by.
    pub(crate) fn tools(&self) -> Vec<McpTool> {
        self.named(|tool, full_name| Some(McpTool { full_name, ..tool.clone() }))
    }

    pub(crate) fn tool(&self, full_name: &str) -> Option<McpTool> {
        self.named(|tool, name| (name == full_name).then(|| McpTool { full_name: name, ..tool.clone() })).pop()
    }

    /// Names are given in the order of the servers, so always in full.
    fn named<T>(&self, mut pick: impl FnMut(&McpTool, String) -> Option<T>) -> Vec<T> {
        let mut names = Names::default();
        let entries = self.entries.borrow();
        let tools = entries.iter().flat_map(|entry| &entry.offers.tools);
        tools.filter_map(|tool| pick(tool, names.name(&tool.server, &tool.name))).collect()
    }

    /// All prompts under the names people call them by.
    pub(crate) fn prompts(&self) -> Vec<Prompt> {
        let mut names = Names::default();
        let entries = self.entries.borrow();
        let prompts = entries.iter().flat_map(|entry| &entry.offers.prompts);
        let named = |prompt: &Prompt| Prompt { full_name: names.name(&prompt.server, &prompt.name), ..prompt.clone() };
        prompts.map(named).collect()
    }
}

fn status(entry: &Entry) -> Status {
    let (server_info, error) = match &entry.state {
        State::Connected(connection) => {
            let info = connection.info.as_ref().and_then(|info| info.server_info.as_ref());
            (info.and_then(|info| serde_json::to_value(info).ok()), None)
        }
        State::Failed { reason, .. } => (None, Some(reason.clone())),
        State::Pending | State::Disabled => (None, None),
    };
    Status {
        name: entry.config.name.clone(),
        status: entry.state.word(),
        server_info,
        error,
        config: shown_config(&entry.config),
        scope: entry.config.scope.clone(),
        source: entry.config.source.clone().unwrap_or_else(|| entry.config.scope.clone()),
        tools: entry.offers.tools.iter().map(McpTool::shown).collect(),
    }
}

/// The entry as it was written, with the type that it has without saying so.
fn shown_config(config: &ServerConfig) -> Value {
    let kind = match config.transport {
        Transport::Stdio { .. } => "stdio",
        Transport::Http { .. } => "http",
        Transport::Sse { .. } => "sse",
        Transport::Sdk => "sdk",
    };
    match &config.raw {
        Value::Object(fields) if !fields.contains_key("type") => {
            let mut shown = serde_json::Map::from_iter([("type".to_owned(), Value::from(kind))]);
            shown.extend(fields.clone());
            Value::Object(shown)
        }
        raw => raw.clone(),
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        let entries = self.entries.borrow();
        for running in entries.iter().filter_map(|entry| entry.running.as_ref()) {
            running.task.abort();
        }
    }
}
