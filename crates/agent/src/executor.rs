//! Which part executes which effect. Nothing is decided here.

use crate::commands::Commands;
use crate::driver::{Driver, Execute, panic_words};
use crate::gatherer::Gatherer;
use crate::model_asker::ModelAsker;
use crate::permission_asker::PermissionAsker;
use crate::preparer::Preparer;
use crate::subagents::{Assignment, Counted, Drive, Subagents};
use crate::tool_runner::{Permitted, ToolRunner, with_heartbeat};
use crate::{Options, init};
use context::conversation_tools::agent;
use conversation::rules::{Rules, suggestions};
use conversation::{Conversation, HookRunner, Inside, MainMachine, Memories, Reader, Updates, values};
use futures_util::FutureExt as _;
use futures_util::future::{LocalBoxFuture, ready};
use hooks::Hooks;
use mcp::SessionServers;
use model::Ledger;
use observer::ServerSeen;
use options::{Choices, failpoint};
use output::{Output, Secrets, Transcripts, clock};
use policy::Verdict;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Instant;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tools::Checkpoints;
use turn::{
    AgentWait, CallResult, CommandFailure, Effect, Entry, Gather, Hook, Input, InterruptCause, ModelQuestion, Now,
    PermissionQuestion, Report, SubagentResult, SubagentStatus, SubagentTask, Ticket, ToolFinish,
};
use wire::{ConversationReset, Event, Outcome, System};

/// An agent is told to end once; more words are not listened to.
const AGENT_INBOX: usize = 4;

/// One of each kind.
pub struct Parts {
    pub options: Rc<Options>,
    pub output: Rc<Output>,
    pub secrets: Secrets,
    pub ledger: Rc<Ledger>,
    pub choices: Rc<Choices>,
    pub rules: Rc<Rules>,
    pub servers: Rc<SessionServers>,
    pub hooks: Rc<HookRunner>,
    pub machine: Rc<MainMachine>,
    pub model: Rc<ModelAsker>,
    pub tools: ToolRunner,
    pub permissions: PermissionAsker,
    pub updates: Rc<Updates>,
    pub subagents: Rc<Subagents>,
    pub commands: Commands,
    pub preparer: Preparer,
    pub gatherer: Gatherer,
    pub memories: Rc<Memories>,
    pub transcripts: Rc<Transcripts>,
    pub checkpoints: Rc<Checkpoints>,
    pub started: Instant,
    /// The last turn's result was an error.
    pub last_is_error: Cell<bool>,
    pub is_closed: Cell<bool>,
}

impl Parts {
    /// Tells whoever watches how the servers stand.
    pub fn show_servers(&self) {
        let observer = &self.options.observer;
        if !observer.is_on() {
            return;
        }
        let lasted_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        for status in self.servers.statuses() {
            let transport = status.config["type"].as_str().unwrap_or("stdio");
            let (name, scope, error) = (&*status.name, &*status.scope, status.error.as_deref());
            observer.server_seen(&ServerSeen { name, status: status.status, transport, scope, error }, lasted_ms);
        }
    }
}

/// Executes the effects of one conversation's machine.
#[derive(Clone)]
pub struct Executor(Rc<Inner>);

struct Inner {
    parts: Rc<Parts>,
    conversation: Rc<Conversation>,
    /// What a sub-agent came to.
    ended: RefCell<Option<SubagentResult>>,
    /// Agents that this conversation waits for.
    agents: RefCell<HashMap<Ticket, Sender<Input>>>,
}

impl Executor {
    pub fn new(parts: Rc<Parts>, conversation: Rc<Conversation>) -> Self {
        Self(Rc::new(Inner { parts, conversation, ended: RefCell::default(), agents: RefCell::default() }))
    }
}

impl Execute for Executor {
    fn now(&self) -> Now {
        let parts = &self.0.parts;
        Now {
            ms: u64::try_from(parts.started.elapsed().as_millis()).unwrap_or(u64::MAX),
            spent_usd: parts.ledger.spent_usd(),
            subagents: parts.subagents.running.get(),
        }
    }

    fn heard(&self, input: &Input) {
        let (observer, conversation) = (&self.0.parts.options.observer, &self.0.conversation);
        if observer.is_on() {
            observer.heard(&conversation.role, self.0.parts.rules.mode_of(conversation), input);
        }
    }

    fn wanted(&self, effects: &[Effect]) {
        let (observer, conversation) = (&self.0.parts.options.observer, &self.0.conversation);
        if observer.is_on() {
            observer.wanted(&conversation.role, self.0.parts.rules.mode_of(conversation), effects);
        }
    }

    fn at_once(&self, effect: Effect) -> Result<Input, Effect> {
        self.0.answer_at_once(effect)
    }

    /// Each kind has a future of its own, which is no larger than it must be.
    fn work(&self, effect: Effect, early: Sender<Input>) -> LocalBoxFuture<'static, Input> {
        let inner = Rc::clone(&self.0);
        match effect {
            Effect::Prepare { ticket, is_first } => inner.prepare(ticket, is_first).boxed_local(),
            Effect::Gather { ticket, what } => inner.gather(ticket, what).boxed_local(),
            Effect::ExpandCommand { ticket, name, args } => inner.expand(ticket, name, args, early).boxed_local(),
            Effect::RunCommand { ticket, name, args } => inner.run_command(ticket, name, args).boxed_local(),
            Effect::ResetConversation { ticket } => inner.reset(ticket).boxed_local(),
            Effect::FireHook { ticket, hook } => inner.fire(ticket, hook).boxed_local(),
            Effect::AskModel { ticket, question } => inner.ask_model(ticket, question, early).boxed_local(),
            Effect::RenewCredentials { ticket } => inner.renew(ticket).boxed_local(),
            Effect::Summarise { ticket, model, messages } => inner.summarise(ticket, model, messages).boxed_local(),
            Effect::AskPermission { ticket, question } => inner.ask_permission(ticket, question).boxed_local(),
            Effect::ApplyUpdates { ticket, updates } => inner.apply(ticket, updates).boxed_local(),
            Effect::RunTool { ticket, tool_use_id, name, input, run } => {
                inner.run_tool(ticket, Permitted { tool_use_id, name, input, run }, early).boxed_local()
            }
            Effect::StartAgent { ticket, tool_use_id, input, wait } => {
                // Counted from this very step on.
                let counted = inner.parts.subagents.count_one();
                let (sender, inbox) = channel(AGENT_INBOX);
                inner.agents.borrow_mut().insert(ticket, sender);
                let started = async move {
                    let inside = Inside { ticket, early: &early };
                    let call = AgentCall { tool_use_id, input, wait };
                    let (result, stopped) = inner.start_agent(call, counted, inside, inbox).await;
                    inner.agents.borrow_mut().remove(&ticket);
                    Input::AgentFinished { ticket, result, stopped }
                };
                started.boxed_local()
            }
            // What is answered at once and what does not come back are not work.
            effect => ready(Input::Broken { message: format!("nobody executes {effect:?}") }).boxed_local(),
        }
    }

    fn perform(&self, effect: Effect) -> impl Future<Output = ()> {
        self.0.perform(effect)
    }

    /// A sub-agent ends its own calls and says that it was stopped.
    fn ask_to_end(&self, ticket: Ticket) -> bool {
        let agents = self.0.agents.borrow();
        agents.get(&ticket).is_some_and(|agent| agent.try_send(Input::Interrupt(InterruptCause::Client)).is_ok())
    }

    fn gone(&self) -> impl Future<Output = ()> {
        process::killed_are_gone()
    }
}

impl Inner {
    /// What needs nobody outside.
    #[expect(clippy::result_large_err, reason = "as the trait has it")]
    fn answer_at_once(&self, effect: Effect) -> Result<Input, Effect> {
        let (parts, conversation) = (&*self.parts, &*self.conversation);
        Ok(match effect {
            Effect::FireHook { ticket, hook } if !parts.hooks.has_listener(conversation, &hook) => {
                failpoint::hit(&parts.options, hook.name());
                Input::HookAnswered { ticket, answer: Box::default() }
            }
            Effect::CheckInput { ticket, tool_use_id, name, input } => {
                let checked = parts.tools.check(conversation, &tool_use_id, &name, input);
                Input::InputChecked { ticket, checked }
            }
            Effect::Judge { ticket, tool_use_id, name, input, is_asked_anyway } => {
                self.judge(ticket, (&tool_use_id, &name), &input, is_asked_anyway)
            }
            Effect::HideSecrets { ticket, result } => {
                Input::SecretsHidden { ticket, result: parts.secrets.hide(result) }
            }
            Effect::ReadCommand { ticket, text } => Input::CommandRead { ticket, command: parts.commands.read(&text) },
            effect => return Err(effect),
        })
    }

    async fn prepare(self: Rc<Self>, ticket: Ticket, is_first: bool) -> Input {
        let prepared = Box::new(self.parts.preparer.prepare(&self.conversation, is_first).await);
        self.parts.show_servers();
        Input::Prepared { ticket, prepared }
    }

    async fn gather(self: Rc<Self>, ticket: Ticket, what: Gather) -> Input {
        let gathered = Box::new(self.parts.gatherer.gather(&self.conversation, what).await);
        Input::Gathered { ticket, gathered }
    }

    async fn expand(self: Rc<Self>, ticket: Ticket, name: String, args: String, early: Sender<Input>) -> Input {
        let inside = Inside { ticket, early: &early };
        let blocks = self.parts.commands.expand(&self.conversation, &name, &args, inside).await;
        Input::CommandExpanded { ticket, blocks: blocks.map_err(|error| CommandFailure(error.to_string())) }
    }

    async fn run_command(self: Rc<Self>, ticket: Ticket, name: &'static str, args: String) -> Input {
        let answer = self.parts.commands.run(name, &args).await;
        Input::CommandDone { ticket, answer: answer.map_err(|error| CommandFailure(error.to_string())) }
    }

    async fn fire(self: Rc<Self>, ticket: Ticket, hook: Box<Hook>) -> Input {
        failpoint::hit(&self.parts.options, hook.name());
        let answer = Box::new(self.parts.hooks.fire_for(&self.conversation, *hook).await);
        Input::HookAnswered { ticket, answer }
    }

    async fn ask_model(self: Rc<Self>, ticket: Ticket, question: ModelQuestion, early: Sender<Input>) -> Input {
        if self.conversation.role.is_main() {
            self.parts.preparer.refresh(&self.conversation);
        }
        self.parts.model.ask(&self.conversation, ticket, question, &early).await
    }

    async fn renew(self: Rc<Self>, ticket: Ticket) -> Input {
        Input::CredentialsRenewed { ticket, renewed: self.parts.model.access.refresh().await }
    }

    async fn ask_permission(self: Rc<Self>, ticket: Ticket, question: Box<PermissionQuestion>) -> Input {
        let (parts, conversation) = (&*self.parts, &*self.conversation);
        let call = (question.tool_use_id.clone(), question.name.clone());
        let asked = parts.permissions.ask(conversation, &question);
        let answer = with_heartbeat(&parts.output, call, conversation.parent_tool_use_id(), Box::pin(asked)).await;
        Input::PermissionAnswered { ticket, answer }
    }

    async fn apply(self: Rc<Self>, ticket: Ticket, updates: Vec<Value>) -> Input {
        for update in &updates {
            self.parts.updates.apply(update).await;
        }
        Input::UpdatesApplied { ticket }
    }

    async fn run_tool(self: Rc<Self>, ticket: Ticket, permitted: Permitted, early: Sender<Input>) -> Input {
        let (parts, conversation) = (&*self.parts, &*self.conversation);
        let call = (permitted.tool_use_id.clone(), permitted.name.clone());
        let work = parts.tools.run(conversation, permitted, Inside { ticket, early: &early });
        let work = with_heartbeat(&parts.output, call, conversation.parent_tool_use_id(), work);
        let finish = AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| {
            let words = format!("The tool broke off with an internal error: {}", panic_words(&*panic));
            ToolFinish::from(CallResult::error(words))
        });
        Input::ToolFinished { ticket, finish: Box::new(finish) }
    }

    fn judge(&self, ticket: Ticket, (tool_use_id, name): (&str, &str), input: &Value, is_asked_anyway: bool) -> Input {
        let (parts, conversation) = (&*self.parts, &*self.conversation);
        let targets = conversation.targets(tool_use_id, name);
        let wants_a_person = parts.servers.wants_a_person(name);
        let decision = parts.rules.judge(conversation, name, input, &targets, wants_a_person);
        let suggestions = if decision.verdict == Verdict::Ask || is_asked_anyway {
            suggestions(name, input, &decision, &conversation.tools().workspace)
        } else {
            Vec::new()
        };
        Input::Judged { ticket, decision, suggestions }
    }

    async fn summarise(self: Rc<Self>, ticket: Ticket, model: String, messages: Vec<Value>) -> Input {
        match self.parts.model.summarise(&model, messages).await {
            Ok(text) => {
                // Nothing to go on from is asked for again.
                let is_usable = !text.trim().is_empty();
                let preamble = is_usable.then(|| self.parts.memories.begin_again(&self.conversation)).flatten();
                Input::SummaryFinished { ticket, text, preamble }
            }
            Err(failure) => Input::SummaryFailed { ticket, failure: Box::new(values::model_failure(*failure)) },
        }
    }

    /// A new conversation under a new id; the old one stays on disk.
    async fn reset(self: Rc<Self>, ticket: Ticket) -> Input {
        let (parts, conversation) = (&self.parts, &self.conversation);
        let new_id = parts.output.ids().next();
        let reset = ConversationReset {
            new_conversation_id: new_id.clone(),
            trigger: "clear".into(),
            ..ConversationReset::default()
        };
        parts.output.send(Event::ConversationReset(reset)).await;
        parts.output.rename_session(new_id.clone());
        parts.options.observer.rename_session(&new_id);
        parts.ledger.reset();
        parts.tools.schedule.clear();
        parts.hooks.change(Hooks::forget_brought);
        let (preamble, known) = parts.memories.begin(Reader::Main);
        conversation.memory.replace(known);
        conversation.transcript.replace(parts.transcripts.begin(&new_id));
        Input::ConversationReset { ticket, preamble }
    }

    async fn start_agent(
        &self,
        call: AgentCall,
        counted: Counted,
        inside: Inside<'_>,
        inbox: Receiver<Input>,
    ) -> (CallResult, bool) {
        let (parts, conversation) = (&self.parts, &*self.conversation);
        let AgentCall { tool_use_id, input, wait } = call;
        let setup = parts.choices.setup();
        let agent = match agent::named(&setup, input["subagent_type"].as_str()) {
            Ok(agent) => agent.clone(),
            Err(error) => return (CallResult::misuse(error.to_string()), false),
        };
        let text = |key: &str| input[key].as_str().unwrap_or_default().to_owned();
        parts.subagents.stats.request(input["run_in_background"].as_bool());
        let call = (tool_use_id.clone(), "Agent".to_owned());
        let assignment = Assignment {
            is_isolated: input["isolation"].as_str().or(agent.isolation.as_deref()) == Some("worktree"),
            agent,
            task: text("prompt"),
            description: text("description"),
            tool_use_id,
            name: input["name"].as_str().map(str::to_owned),
            model: input["model"].as_str().map(str::to_owned),
            hooks: Hooks::default(),
        };
        let subagents = &parts.subagents;
        if wait == AgentWait::No {
            subagents.stats.leave_in_background();
            let launched = subagents.launch(conversation, &assignment, counted, inside).await;
            return (launched.unwrap_or_else(|error| CallResult::error(error.to_string())), false);
        }
        let work = Box::pin(subagents.attend(conversation, &assignment, (counted, inbox), inside, wait));
        match with_heartbeat(&parts.output, call, conversation.parent_tool_use_id(), work).await {
            Ok(finished) => (finished.result, finished.status == SubagentStatus::Stopped),
            Err(error) => (CallResult::error(error.to_string()), false),
        }
    }

    async fn perform(&self, effect: Effect) {
        let (parts, conversation) = (&self.parts, &self.conversation);
        match effect {
            Effect::Emit { event, id } => self.emit(*event, id).await,
            Effect::EmitInit => {
                let told = init::init(&parts.options, &parts.choices, &parts.rules, &parts.servers, conversation);
                parts.output.send(Event::System(System::Init(Box::new(told)))).await;
                parts.hooks.begin_watching();
                failpoint::hit(&parts.options, "panic-in-turn");
            }
            Effect::Append(entry) => self.append(&entry),
            Effect::SetPromptId(id) => parts.hooks.set_prompt_id(id),
            Effect::BeginCheckpoint { id } => parts.checkpoints.begin(&id),
            Effect::ForgetReads => conversation.tools().reads.forget_answers(),
            Effect::Warn(words) => output::warn(&words),
            Effect::Report(report) => self.report(report),
            Effect::AnswerInner { inner, result } => conversation.answer_inner(inner, result),
            Effect::EndTurn { outcome } => self.end_turn(*outcome).await,
            Effect::EndTask { result } => drop(self.ended.replace(Some(*result))),
            Effect::Closed => {
                parts.transcripts.write_notes(&conversation.transcript);
                conversation.report_transcript();
                parts.is_closed.set(true);
            }
            // The answer to a question that only `MainMachine` asks; everything else comes back.
            _ => {}
        }
    }

    async fn emit(&self, mut event: Event, id: Option<String>) {
        if let Event::User(user) = &mut event {
            user.timestamp = clock::now_iso();
        }
        match id {
            Some(id) => self.parts.output.send_as(event, &id).await,
            None => self.parts.output.send(event).await,
        }
    }

    fn append(&self, entry: &Entry) {
        values::append(&mut self.conversation.transcript.borrow_mut(), entry);
        self.conversation.report_transcript();
    }

    fn report(&self, report: Report) {
        if !self.conversation.role.is_main() {
            self.parts.machine.report(report);
        }
    }

    /// The one result, with the costs. Whatever breaks on the way, the client gets it.
    async fn end_turn(&self, outcome: Outcome) {
        let parts = &self.parts;
        let filled = catch_unwind(AssertUnwindSafe(|| {
            parts.transcripts.write_notes(&self.conversation.transcript);
            parts.ledger.add_time(outcome.duration_api_ms, outcome.duration_ms);
            for state in parts.ledger.cost_state().into_iter().chain(parts.tools.schedule.state()) {
                self.conversation.transcript.borrow_mut().meta(&state);
            }
            self.conversation.report_transcript();
            failpoint::hit(&parts.options, "panic-in-result");
            Outcome {
                total_cost_usd: Some(parts.ledger.total_usd()),
                model_usage_since_last_result: Some(parts.ledger.take_untold()),
                model_usage: parts.ledger.by_model(),
                subagent_stats: Some(parts.subagents.stats.shown()),
                ..outcome.clone()
            }
        }));
        let outcome = filled.unwrap_or(outcome);
        parts.last_is_error.set(outcome.is_error());
        parts.output.result(outcome).await;
    }
}

/// A call that starts an agent.
struct AgentCall {
    tool_use_id: String,
    input: Value,
    wait: AgentWait,
}

/// Runs the machines of sub-agents.
pub struct AgentDriver(pub Rc<Parts>);

impl Drive for AgentDriver {
    fn drive(
        &self,
        conversation: Rc<Conversation>,
        task: SubagentTask,
        mut inbox: Receiver<Input>,
    ) -> LocalBoxFuture<'static, SubagentResult> {
        let executor = Executor::new(Rc::clone(&self.0), Rc::clone(&conversation));
        async move {
            let mut driver = Driver::new(Rc::clone(&conversation.machine), executor.clone());
            driver.feed(Input::Task(Box::new(task))).await;
            let mut is_open = true;
            while !driver.is_idle() {
                let told = tokio::select! {
                    biased;
                    told = inbox.recv(), if is_open => told,
                    input = driver.next() => Some(input),
                };
                match told {
                    Some(input) => driver.feed(input).await,
                    // Whoever started it has nothing more to say.
                    None => is_open = false,
                }
            }
            let ended = executor.0.ended.take();
            ended.unwrap_or_else(|| SubagentResult {
                result: CallResult::error("The agent ended without an answer."),
                status: SubagentStatus::Failed,
                totals: Value::Null,
                usage: wire::Usage::default(),
            })
        }
        .boxed_local()
    }
}
