//! What the runtime has of one conversation (the main one or a sub-agent's): its machine, its transcript, its tools.
//!
//! Deliberately absent: messages, counters and everything else that is decided about a conversation; the machine has that.

use context::{Known, Toolset};
use hooks::Hooks;
use options::Choices;
use policy::{Policy, RuleSet, Targets};
use serde_json::{Value, json};
use session::Transcript;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc::Sender;
use tokio::sync::oneshot;
use turn::{CallResult, InnerCallError, Input, Role, Subagent, Ticket, Turn};
use wire::{PermissionMode, Retry};

/// The name of agents that answer for a hook. Hooks that ask a model are not asked about them: one could ask for ever.
pub const HOOK_AGENT: &str = "hook";

const EFFORT: &str = "CLAUDE_EFFORT";

pub struct Conversation {
    pub role: Role,
    pub machine: Rc<RefCell<Turn>>,
    pub transcript: RefCell<Transcript>,
    pub toolset: RefCell<Toolset>,
    /// Replaced as a whole, so that a tool that runs keeps what it began with.
    tools: RefCell<Rc<tools::ToolContext>>,
    pub system: RefCell<Vec<Value>>,
    /// A sub-agent's own mode; else the session's counts.
    pub mode: Option<PermissionMode>,
    /// A sub-agent's own, or what a skill chose for this turn; else the session's counts.
    pub effort: RefCell<Option<String>>,
    /// Beside everybody's rules.
    pub rules: RefCell<RuleSet>,
    /// The rules that count here, put together when they last changed.
    pub policy: RefCell<Option<(u64, Policy)>>,
    /// Hooks that an agent's own file names, and its skills'; they run for it alone.
    pub hooks: RefCell<Hooks>,
    pub memory: RefCell<Known>,
    /// The tool and the targets of inputs that were checked and wait to be judged and run, by call.
    targets: RefCell<HashMap<String, (String, Targets)>>,
    /// Calls whose input was checked when the model made them, as long as that is sure.
    is_checked: RefCell<HashMap<String, bool>>,
    /// What was said to it while it works.
    mail: RefCell<Vec<String>>,
    waiting: RefCell<HashMap<u64, oneshot::Sender<Inner>>>,
    inner_calls: Cell<u64>,
}

/// What came of a call inside a tool.
pub type Inner = Result<CallResult, InnerCallError>;

/// What a conversation begins with.
pub struct Beginning {
    pub role: Role,
    pub transcript: Transcript,
    pub toolset: Toolset,
    pub tools: tools::ToolContext,
    pub system: Vec<Value>,
    pub mode: Option<PermissionMode>,
    pub effort: Option<String>,
    pub rules: RuleSet,
    pub hooks: Hooks,
    pub memory: Known,
}

impl Conversation {
    pub fn new(beginning: Beginning, machine: Turn) -> Self {
        let Beginning { role, transcript, toolset, tools, system, mode, effort, rules, hooks, memory } = beginning;
        Self {
            role,
            machine: Rc::new(RefCell::new(machine)),
            transcript: RefCell::new(transcript),
            toolset: RefCell::new(toolset),
            tools: RefCell::new(Rc::new(tools)),
            system: RefCell::new(system),
            mode,
            effort: RefCell::new(effort),
            rules: RefCell::new(rules),
            policy: RefCell::default(),
            hooks: RefCell::new(hooks),
            memory: RefCell::new(memory),
            targets: RefCell::default(),
            is_checked: RefCell::default(),
            mail: RefCell::default(),
            waiting: RefCell::default(),
            inner_calls: Cell::default(),
        }
    }

    pub fn subagent(&self) -> Option<&Subagent> {
        match &self.role {
            Role::Main => None,
            Role::Sub(sub) => Some(sub),
        }
    }

    pub fn parent_tool_use_id(&self) -> Option<String> {
        self.subagent().map(|sub| sub.tool_use_id.clone())
    }

    /// Whether it is an agent that answers for a hook.
    pub fn answers_a_hook(&self) -> bool {
        self.subagent().is_some_and(|sub| sub.answers_a_hook)
    }

    /// Says something to it, which it reads before its next question.
    pub fn tell(&self, message: String) {
        self.mail.borrow_mut().push(message);
    }

    pub fn take_mail(&self) -> Vec<String> {
        self.mail.take()
    }

    /// The model that is asked next.
    pub fn model(&self) -> String {
        self.machine.borrow().model().to_owned()
    }

    /// How hard its model is asked to think.
    pub fn effort(&self, choices: &Choices) -> Option<String> {
        self.effort.borrow().clone().or_else(|| choices.effort())
    }

    /// How hard it thinks in the end: what was asked for, as far as the model can, or its own.
    pub fn effort_level(&self, choices: &Choices) -> Option<String> {
        model::effort(&model::info(&self.model()), self.effort(choices).as_deref())
    }

    pub fn tools(&self) -> Rc<tools::ToolContext> {
        Rc::clone(&self.tools.borrow())
    }

    /// The tools work in another place from here on. What they had.
    pub fn replace_tools(&self, tools: Rc<tools::ToolContext>) -> Rc<tools::ToolContext> {
        self.tools.replace(tools)
    }

    /// Commands see how hard the model thinks that runs them.
    pub fn mark_effort(&self, level: Option<String>) {
        let new = self.tools_with(EFFORT, level);
        self.tools.replace(new);
    }

    /// The tools with one variable of commands set, or taken away.
    pub fn tools_with(&self, name: &str, value: Option<String>) -> Rc<tools::ToolContext> {
        let old = self.tools();
        let mut shell = old.shell.clone();
        shell.env.retain(|(known, _)| known != name);
        shell.env.extend(value.map(|value| (name.into(), value.into())));
        Rc::new(tools::ToolContext {
            workspace: Arc::clone(&old.workspace),
            reads: old.reads.clone(),
            todos: old.todos.clone(),
            limits: old.limits,
            must_read_first: old.must_read_first,
            denied: Arc::clone(&old.denied),
            shell,
            tasks: old.tasks.clone(),
            web: old.web.clone(),
        })
    }

    /// The model made a call. Of two calls with one id nothing is sure.
    pub fn note_check(&self, tool_use_id: &str, is_good: bool) {
        let mut known = self.is_checked.borrow_mut();
        known.entry(tool_use_id.to_owned()).and_modify(|known| *known = false).or_insert(is_good);
    }

    /// Whether the input of this call was checked as the model made it. True once: the next input is another.
    pub fn take_check(&self, tool_use_id: &str) -> bool {
        self.is_checked.borrow_mut().get_mut(tool_use_id).is_some_and(|known| std::mem::replace(known, false))
    }

    pub fn keep_targets(&self, tool_use_id: &str, name: &str, targets: Targets) {
        self.targets.borrow_mut().insert(tool_use_id.to_owned(), (name.to_owned(), targets));
    }

    /// The targets of an input as it was checked last. Nothing where it was not: then no tool runs with it.
    pub fn targets(&self, tool_use_id: &str, name: &str) -> Targets {
        let known = self.targets.borrow();
        let found = known.get(tool_use_id).filter(|(tool, _)| tool == name);
        found.map(|(_, targets)| targets.clone()).unwrap_or_default()
    }

    /// The same for the last time.
    pub fn take_targets(&self, tool_use_id: &str, name: &str) -> Targets {
        let known = self.targets.borrow_mut().remove(tool_use_id).filter(|(tool, _)| tool == name);
        known.map(|(_, targets)| targets).unwrap_or_default()
    }

    pub fn forget_checks(&self) {
        self.targets.borrow_mut().clear();
        self.is_checked.borrow_mut().clear();
    }

    /// Has a call made inside of work: it takes the path of every call.
    pub async fn call_inside(&self, inside: &Inside<'_>, tool_use_id: &str, name: &str, input: Value) -> Inner {
        let inner = self.inner_calls.get() + 1;
        self.inner_calls.set(inner);
        let (answer, answered) = oneshot::channel();
        self.waiting.borrow_mut().insert(inner, answer);
        let (tool_use_id, name) = (tool_use_id.to_owned(), name.to_owned());
        let call = Input::InnerCall { inner, owner: inside.ticket, tool_use_id, name, input };
        if inside.early.send(call).await.is_err() {
            return Err(InnerCallError::Over);
        }
        answered.await.unwrap_or(Err(InnerCallError::Over))
    }

    pub fn answer_inner(&self, inner: u64, result: Inner) {
        if let Some(waiting) = self.waiting.borrow_mut().remove(&inner) {
            let _ = waiting.send(result);
        }
    }

    /// Keeps what has come of an answer beside the transcript, where a later process finds it after a crash.
    pub fn keep_unwritten(&self) {
        self.transcript.borrow_mut().keep_unwritten(self.machine.borrow().unwritten());
    }

    /// A question to the model failed and is asked again: a line for readers of the transcript.
    pub fn note_retry(&self, id: &str, retry: &Retry) {
        let fields = json!({
            "level": "error",
            "error": {"status": retry.error_status, "type": retry.error},
            "retryAttempt": retry.attempt,
            "maxRetries": retry.max_retries,
            "retryInMs": retry.retry_delay_ms,
        });
        self.transcript.borrow_mut().system(id, "api_error", &fields, false);
    }

    /// A transcript that cannot be written never fails a run; it is said once.
    pub fn report_transcript(&self) {
        if let Some(warning) = self.transcript.borrow_mut().take_warning() {
            output::warn(&warning);
        }
    }
}

/// Work of a machine that may want calls made.
#[derive(Clone, Copy)]
pub struct Inside<'a> {
    pub ticket: Ticket,
    pub early: &'a Sender<Input>,
}
