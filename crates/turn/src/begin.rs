//! How a turn begins: the runtime prepares, hooks hear of the session, a call that was put off comes first.

use crate::books::Books;
use crate::effect::{Effect, Gather};
use crate::hook::{Hook, HookAnswer};
use crate::input::{Prepared, SubagentTask};
use crate::result::End;
use crate::settings::Role;
use crate::state::{AfterInstructions, AfterStart, HookContext, Start, Step, ToolUse, Work};
use crate::turn::{Cx, Turn};
use serde_json::{Value, json};
use wire::{Event, Message, User, UserInput};

impl Turn {
    pub(crate) fn begin_turn(&mut self, mut work: Work, cx: &mut Cx) {
        let origin = match &work {
            Work::Prompt(prompt) => prompt.origin.clone().filter(|origin| origin["kind"] == "human"),
            Work::Notice(_) => Some(json!({"kind": "task-notification"})),
            Work::GoOn => None,
        };
        self.forget_last_turn(origin, cx);
        if let Work::Prompt(prompt) = &mut work {
            self.name_prompt(prompt);
        }
        let is_first = !self.has_started;
        let ticket = self.wait(Step::Prepare(work));
        cx.push(Effect::Prepare { ticket, is_first });
    }

    fn forget_last_turn(&mut self, origin: Option<Value>, cx: &Cx) {
        self.is_running = true;
        self.books = Books::begin(cx.now.ms, origin);
        self.denials.clear();
        self.no_prompter = None;
        self.skill_model = None;
        self.interrupt = None;
        self.command_contexts.clear();
        self.command_stop = None;
        self.prompt_id = None;
    }

    /// The client's own id where it is one and was not used yet; two entries of one id would break the transcript.
    fn name_prompt(&mut self, prompt: &mut UserInput) {
        let given = prompt.uuid.take().filter(|id| uuid::Uuid::parse_str(id).is_ok() && !self.used_ids.contains(id));
        let id = given.unwrap_or_else(|| self.ids.next_id());
        self.used_ids.insert(id.clone());
        prompt.uuid = Some(id);
    }

    pub(crate) fn prepared(&mut self, work: Work, prepared: Prepared, cx: &mut Cx) {
        if let Some(preamble) = prepared.preamble {
            self.conversation.set_preamble(preamble);
        }
        let start = Start { work, problem: prepared.problem, initial_prompt: prepared.initial_prompt };
        let start = Box::new(start);
        if self.has_started {
            return self.started(*start, cx);
        }
        self.has_started = true;
        match self.settings.setup_trigger {
            Some(trigger) => self.fire(Hook::Setup { trigger }, Step::SetupHook(start), cx),
            None => self.start_session(self.settings.start_source, AfterStart::Turn(start), cx),
        }
    }

    pub(crate) fn setup_done(&mut self, start: Box<Start>, answer: HookAnswer, cx: &mut Cx) {
        self.push_contexts(HookContext::all("Setup", answer.contexts), cx);
        self.start_session(self.settings.start_source, AfterStart::Turn(start), cx);
    }

    /// Before the first turn, and after the conversation was cleared.
    pub(crate) fn start_session(&mut self, source: &'static str, after: AfterStart, cx: &mut Cx) {
        let hook = Hook::SessionStart {
            source,
            model: self.model().to_owned(),
            agent_type: self.settings.session_agent.clone(),
            title: self.settings.session_title.clone(),
        };
        self.fire(hook, Step::SessionStart(after), cx);
    }

    pub(crate) fn session_started(&mut self, after: AfterStart, answer: HookAnswer, cx: &mut Cx) {
        Self::name_session(answer.session_title.as_deref(), cx);
        if let Some(message) = answer.initial_user_message.filter(|message| !message.trim().is_empty()) {
            self.append_user(json!({"role": "user", "content": message}), false, cx);
            self.conversation.push_user(Value::String(message));
        }
        self.push_contexts(HookContext::all("SessionStart", answer.contexts), cx);
        self.tell_instructions(AfterInstructions::Start(after), cx);
    }

    pub(crate) fn tell_instructions(&mut self, after: AfterInstructions, cx: &mut Cx) {
        let ticket = self.wait(Step::Instructions(after));
        cx.push(Effect::Gather { ticket, what: Gather::InstructionsLoaded });
    }

    pub(crate) fn instructions_told(&mut self, after: AfterInstructions, cx: &mut Cx) {
        match after {
            AfterInstructions::Start(AfterStart::Turn(start)) => self.started(*start, cx),
            AfterInstructions::Start(AfterStart::Clear) => self.command_done(Ok(String::new()), cx),
            AfterInstructions::Task => self.next_question(cx),
            AfterInstructions::Compaction(compaction) => self.compaction_done(&compaction, cx),
        }
    }

    /// Everything is ready: clients are told, then the work begins.
    fn started(&mut self, start: Start, cx: &mut Cx) {
        cx.push(Effect::EmitInit);
        if let Work::Prompt(prompt) = &start.work
            && self.settings.replays_prompts
        {
            replay(prompt, cx);
        }
        if let Some(problem) = start.problem {
            return self.finish(End::BadCommand(problem), cx);
        }
        let work = match start.work {
            Work::Prompt(prompt) => Work::Prompt(with_initial(prompt, start.initial_prompt)),
            work => work,
        };
        match self.deferred.take() {
            Some(call) if self.settings.tools.find(&call.name).is_none() => {
                let name = call.name.clone();
                self.deferred = Some(call);
                self.finish(End::DeferredGone(name), cx);
            }
            // The model waits for its result.
            Some(call) => self.run_calls(vec![ToolUse::from(call)], Some(work), cx),
            None => self.begin_work(work, cx),
        }
    }

    pub(crate) fn begin_work(&mut self, work: Work, cx: &mut Cx) {
        match work {
            Work::Prompt(prompt) => self.begin_prompt(prompt, cx),
            Work::Notice(text) => {
                self.push_meta(Value::String(text), cx);
                self.next_question(cx);
            }
            Work::GoOn => self.next_question(cx),
        }
    }

    /// A sub-agent begins with its task.
    pub(crate) fn begin_task(&mut self, task: SubagentTask, cx: &mut Cx) {
        if self.is_running {
            return;
        }
        self.forget_last_turn(None, cx);
        self.has_started = true;
        for text in task.skills {
            self.push_meta(json!([{"type": "text", "text": text}]), cx);
        }
        let id = self.append_user(json!({"role": "user", "content": task.task}), false, cx);
        self.show_task(&task.task, id, cx);
        self.task.clone_from(&task.task);
        self.conversation.push_user(Value::String(task.task));
        match &self.role {
            Role::Sub(sub) if !sub.answers_a_hook => {
                let (agent_id, agent_type) = (sub.agent_id.clone(), sub.agent_type.clone());
                self.fire(Hook::SubagentStart { agent_id, agent_type }, Step::SubagentStart, cx);
            }
            _ => self.tell_instructions(AfterInstructions::Task, cx),
        }
    }

    /// Clients see the task of a sub-agent as its first message.
    fn show_task(&self, task: &str, id: String, cx: &mut Cx) {
        if self.role.answers_a_hook() {
            return;
        }
        let message = json!({"role": "user", "content": [{"type": "text", "text": task}]});
        let event =
            User { message: Message(message), parent_tool_use_id: self.role.parent_tool_use_id(), ..User::default() };
        cx.push(Effect::Emit { event: Box::new(Event::User(Box::new(event))), id: Some(id) });
    }

    pub(crate) fn subagent_started(&mut self, answer: HookAnswer, cx: &mut Cx) {
        self.push_contexts(HookContext::all("SubagentStart", answer.contexts), cx);
        self.tell_instructions(AfterInstructions::Task, cx);
    }
}

/// Shows the client that its prompt was taken, whatever becomes of it; its entry will have this id.
fn replay(prompt: &UserInput, cx: &mut Cx) {
    let message = json!({"role": "user", "content": prompt.message.content});
    let event = Event::User(Box::new(User { message: Message(message), is_replay: Some(true), ..User::default() }));
    cx.push(Effect::Emit { event: Box::new(event), id: prompt.uuid.clone() });
}

/// The agent that a session runs as may have something to say before the first prompt.
fn with_initial(mut prompt: Box<UserInput>, initial: Option<String>) -> Box<UserInput> {
    let content = &mut prompt.message.content;
    if let Some(initial) = initial.filter(|initial| crate::conversation::text_of(content) != *initial)
        && !crate::conversation::is_blank(content)
    {
        let mut blocks = vec![json!({"type": "text", "text": initial})];
        blocks.extend(crate::conversation::blocks_of(content.take()));
        *content = Value::Array(blocks);
    }
    prompt
}
