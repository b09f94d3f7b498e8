//! The machine: its state, and who takes which input.

use crate::books::Books;
use crate::conversation::{Conversation, blocks_of};
use crate::effect::{Effect, Report};
use crate::fault::Fault;
use crate::hook::Hook;
use crate::ids::Ids;
use crate::input::{Input, InterruptCause, Recall, Ticket};
use crate::settings::{Change, DeferredCall, Limits, Now, Role, Settings};
use crate::state::{Asking, Batch, Call, HookContext, Step, Waiting, Work};
use serde_json::{Value, json};
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use wire::{Event, Informational, PermissionMode, Status, System, UserInput};

/// Prompts that may wait. The runtime stops reading lines while [`Turn::has_room`] says no.
const QUEUE_MAX: usize = 1024;

/// What a machine starts with.
#[derive(Debug, Clone)]
pub struct Config {
    pub role: Role,
    pub settings: Settings,
    pub limits: Limits,
    /// A resumed conversation, as `session` loads it.
    pub messages: Vec<Value>,
    /// The text before the first message.
    pub preamble: Option<String>,
    pub deferred: Option<DeferredCall>,
    /// For ids.
    pub seed: (u64, u64),
}

/// One agent's conversation. It changes in [`step`] only.
#[derive(Debug, Clone)]
pub struct Turn {
    pub(crate) role: Role,
    pub(crate) settings: Settings,
    pub(crate) limits: Limits,
    pub(crate) conversation: Conversation,
    pub(crate) ids: Ids,
    pub(crate) queue: VecDeque<Work>,
    /// Context that a client added without asking for an answer; goes with the next prompt.
    pub(crate) held: Vec<Value>,
    /// SessionStart hooks have been fired.
    pub(crate) has_started: bool,
    pub(crate) deferred: Option<DeferredCall>,
    /// A sub-agent's task.
    pub(crate) task: String,
    /// The model was told that plan mode is on.
    pub(crate) plan_told: bool,
    /// The model that a skill chose for the rest of the turn.
    pub(crate) skill_model: Option<String>,
    pub(crate) is_running: bool,
    pub(crate) books: Books,
    /// The one thing that the turn itself waits for; nothing while calls are on their way.
    pub(crate) waiting: Option<Waiting>,
    pub(crate) asking: Asking,
    pub(crate) batch: Option<Batch>,
    pub(crate) calls: Vec<Call>,
    pub(crate) interrupt: Option<InterruptCause>,
    pub(crate) timer: Option<Ticket>,
    pub(crate) denials: Vec<Value>,
    pub(crate) no_prompter: Option<String>,
    /// What hooks said about shell lines of a command that is being expanded.
    pub(crate) command_contexts: Vec<HookContext>,
    /// The prompt that is being worked on.
    pub(crate) prompt_id: Option<String>,
    pub(crate) command_stop: Option<String>,
    /// Ids of calls and of clients' prompts that are taken.
    pub(crate) used_ids: HashSet<String>,
    /// A signal or a reader that left ends the run: no queued prompt begins any more.
    is_leaving: bool,
    is_closed: bool,
    tickets: u64,
    pub(crate) fault: Option<Fault>,
}

/// One step's surroundings: what is known from outside, and the effects so far.
pub(crate) struct Cx {
    pub(crate) now: Now,
    pub(crate) effects: Vec<Effect>,
    /// Sub-agents started in this step, which `now` does not count yet.
    pub(crate) started: usize,
}

impl Cx {
    pub(crate) fn push(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub(crate) fn emit(&mut self, event: Event) {
        self.push(Effect::Emit { event: Box::new(event), id: None });
    }

    pub(crate) fn inform(&mut self, content: impl Into<String>, level: &'static str) {
        self.emit(Event::System(System::Informational(Informational {
            content: content.into(),
            level: level.into(),
            ..Informational::default()
        })));
    }
}

/// Takes one input and says what is to be done.
pub fn step(turn: &mut Turn, input: Input, now: Now) -> Vec<Effect> {
    let mut cx = Cx { now, effects: Vec::new(), started: 0 };
    turn.take(input, &mut cx);
    cx.effects
}

impl Turn {
    pub fn new(config: Config) -> Self {
        let mut used_ids = HashSet::new();
        for message in &config.messages {
            let blocks = message["content"].as_array().into_iter().flatten();
            let calls = blocks.filter(|block| block["type"] == "tool_use");
            used_ids.extend(calls.filter_map(|block| block["id"].as_str().map(str::to_owned)));
        }
        let plan_told = crate::conversation::was_told_of_plan_mode(&config.messages);
        Self {
            role: config.role,
            settings: config.settings,
            limits: config.limits,
            conversation: Conversation::new(config.messages, config.preamble),
            ids: Ids::seeded(config.seed.0, config.seed.1),
            queue: VecDeque::new(),
            held: Vec::new(),
            has_started: false,
            deferred: config.deferred,
            task: String::new(),
            plan_told,
            skill_model: None,
            is_running: false,
            books: Books::default(),
            waiting: None,
            asking: Asking::default(),
            batch: None,
            calls: Vec::new(),
            interrupt: None,
            timer: None,
            denials: Vec::new(),
            no_prompter: None,
            command_contexts: Vec::new(),
            prompt_id: None,
            command_stop: None,
            used_ids,
            is_leaving: false,
            is_closed: false,
            tickets: 0,
            fault: None,
        }
    }

    /// Breaks the machine on purpose, for the simulation that must find it. `clippy.toml` keeps everybody else from it.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self
    }

    pub(crate) fn has_fault(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// No turn runs.
    pub fn is_idle(&self) -> bool {
        !self.is_running
    }

    /// [`Input::Next`] would begin a turn.
    pub fn has_next(&self) -> bool {
        !self.is_running && !self.is_leaving && !self.is_closed && !self.queue.is_empty()
    }

    /// Prompts that begin a turn of their own after this one.
    pub(crate) fn waiting_prompts(&self) -> u64 {
        if self.is_leaving {
            return 0;
        }
        self.queue.iter().filter(|work| matches!(work, Work::Prompt(_))).count() as u64
    }

    /// Another prompt may be queued.
    pub fn has_room(&self) -> bool {
        self.queue.len() < QUEUE_MAX
    }

    pub fn messages(&self) -> Arc<Vec<Value>> {
        self.conversation.messages()
    }

    /// Size of the context when the model last answered.
    pub fn context_tokens(&self) -> u64 {
        self.conversation.context_tokens
    }

    pub fn role(&self) -> &Role {
        &self.role
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The model that is asked next, before any fallback.
    pub fn model(&self) -> &str {
        self.skill_model.as_deref().unwrap_or(&self.settings.model)
    }

    /// Finished blocks of an answer that has not ended: id, message and request id. Only the runtime can keep them from
    /// being lost in a crash.
    pub fn unwritten(&self) -> impl Iterator<Item = (&str, &Value, Option<&str>)> {
        self.asking.unwritten.iter().map(|block| (&*block.id, &block.message, block.request_id.as_deref()))
    }

    pub fn deferred(&self) -> Option<&DeferredCall> {
        self.deferred.as_ref()
    }

    pub(crate) fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        Ticket(self.tickets)
    }

    /// Fires a hook that the turn itself waits for.
    pub(crate) fn fire(&mut self, hook: Hook, step: Step, cx: &mut Cx) {
        let ticket = self.wait(step);
        cx.push(Effect::FireHook { ticket, hook: Box::new(hook) });
    }

    /// The turn itself waits for the work with this ticket.
    pub(crate) fn wait(&mut self, step: Step) -> Ticket {
        let ticket = self.ticket();
        self.waiting = Some(Waiting { ticket, step, is_cancelled: false });
        ticket
    }

    fn take(&mut self, input: Input, cx: &mut Cx) {
        if self.is_closed {
            return self.take_answer(input, cx);
        }
        match input {
            Input::Prompt(prompt) => self.queue_prompt(prompt),
            Input::Notice { text } if text.trim().is_empty() => {}
            Input::Notice { text } => self.queue.push_back(Work::Notice(text)),
            Input::GoOn => self.queue.push_back(Work::GoOn),
            Input::Task(task) => self.begin_task(*task, cx),
            Input::Next => {
                if self.has_next()
                    && let Some(work) = self.queue.pop_front()
                {
                    self.begin_turn(work, cx);
                }
            }
            Input::Recall(which) => self.recall(&which, cx),
            Input::Changed(change) => self.change(change, cx),
            Input::Reported(report) => self.take_report(report),
            Input::Interrupt(cause) => self.interrupt(cause, cx),
            Input::Broken { message } => self.break_off(message, cx),
            Input::Close { reason } => self.close(reason, cx),
            Input::InnerCall { inner, owner, tool_use_id, name, input } => {
                self.begin_inner(inner, owner, tool_use_id, name, input, cx);
            }
            answer => self.take_answer(answer, cx),
        }
    }

    fn queue_prompt(&mut self, mut prompt: Box<UserInput>) {
        if prompt.should_query == Some(false) {
            self.held.push(prompt.message.content);
            return;
        }
        if !self.held.is_empty() {
            let mut blocks: Vec<Value> = std::mem::take(&mut self.held).into_iter().flat_map(blocks_of).collect();
            blocks.extend(blocks_of(prompt.message.content.take()));
            prompt.message.content = Value::Array(blocks);
        }
        self.queue.push_back(Work::Prompt(prompt));
    }

    fn recall(&mut self, which: &Recall, cx: &mut Cx) {
        let is_meant = |work: &Work| match (which, work.client_id()) {
            (Recall::List, _) | (_, None) => false,
            (Recall::All, Some(_)) => true,
            (Recall::One(id), Some(name)) => id == name,
        };
        let (gone, kept): (VecDeque<Work>, VecDeque<Work>) =
            std::mem::take(&mut self.queue).into_iter().partition(is_meant);
        self.queue = kept;
        let names = |queue: &VecDeque<Work>| queue.iter().filter_map(Work::client_id).map(str::to_owned).collect();
        cx.push(Effect::Recalled { waiting: names(&self.queue), taken_back: names(&gone) });
    }

    fn change(&mut self, change: Change, cx: &mut Cx) {
        let settings = &mut self.settings;
        match change {
            Change::Mode(mode) => self.change_mode(mode, cx),
            Change::Model(model) => settings.model = model,
            Change::TurnModel(model) => self.skill_model = Some(model),
            Change::Tools(tools) => settings.tools = tools,
            Change::Prompter(prompter) => settings.prompter = prompter,
            Change::Structured(wanted) => settings.wants_structured = wanted,
            Change::CompactAt(tokens) => settings.compact_at = tokens,
            Change::OverheadChars(chars) => settings.overhead_chars = chars,
            Change::PlanInstructions(text) => settings.plan_instructions = text,
            Change::SubagentText(shown) => settings.shows_subagent_text = shown,
            Change::Preamble(preamble) => self.conversation.set_preamble(preamble),
            Change::SessionTitle(title) => settings.session_title = title,
            Change::Background(background) => settings.background = background,
        }
    }

    fn change_mode(&mut self, mode: PermissionMode, cx: &mut Cx) {
        if std::mem::replace(&mut self.settings.mode, mode) != mode && self.role.is_main() {
            cx.emit(Event::System(System::Status(Status {
                permission_mode: Some(mode.as_str().into()),
                ..Status::default()
            })));
        }
    }

    fn take_report(&mut self, report: Report) {
        match report {
            Report::Denied(denial) => self.denials.push(denial),
            Report::NoPrompter(message) => self.no_prompter = Some(message),
        }
    }

    /// For the whole session: into this machine's own books, or to the main conversation.
    pub(crate) fn report(&mut self, report: Report, cx: &mut Cx) {
        if !self.role.is_main() {
            cx.push(Effect::Report(report.clone()));
        }
        self.take_report(report);
    }

    fn close(&mut self, reason: &'static str, cx: &mut Cx) {
        self.write_answer(None, cx);
        self.cancel_everything(cx);
        self.calls.clear();
        self.batch = None;
        self.is_running = false;
        self.is_closed = true;
        self.fire(Hook::SessionEnd { reason }, Step::CloseHook, cx);
    }

    /// Context that no prompt took along is kept for a session that is resumed.
    pub(crate) fn closed(&mut self, cx: &mut Cx) {
        for content in std::mem::take(&mut self.held) {
            self.append_user(json!({"role": "user", "content": content}), false, cx);
        }
        cx.push(Effect::Closed);
    }

    /// After a turn that something outside ended, nothing that is queued begins.
    pub(crate) fn leave_if_told(&mut self) {
        self.is_leaving |= matches!(self.interrupt, Some(InterruptCause::Signal | InterruptCause::ReaderLeft));
    }
}

#[cfg(test)]
#[path = "turn_tests.rs"]
mod tests;
