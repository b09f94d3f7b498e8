//! The border of this crate: a session takes commands (prompts, interrupts, requests, answers) and gives events, which leave
//! through its [`Output`]. A front end translates a protocol to these and knows nothing else.
//!
//! [`Session`] is the handle that any number of places may hold; [`Turns`] runs its turns, one after another.

use crate::Options;
use crate::direct_calls;
use crate::driver::Driver;
use crate::elicitation::UserElicit;
use crate::executor::{AgentDriver, Executor, Parts};
use crate::model_asker::ModelAsker;
use crate::small::{self, QUESTIONS_MAX};
use crate::subagents::{Assignment, Drive, SubagentError, Subagents};
use crate::wiring::{self, Wired, add_builtin_agents, setup_trigger, start_source, wire};
use conversation::{Advisers, Conversation, HOOK_AGENT, scheduled_input};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use hooks::{AskError, HookEvent, Hooks, Question};
use mcp::SessionServers;
use output::{Secrets, Writer, earlier};
use project::AgentDef;
use serde_json::{Value, json};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tools::TaskEvent;
use turn::{Hook, Input, InterruptCause};
use wire::{ControlResponse, Event, PromptSuggestion, UserInput};

pub use conversation::Agents;
pub use options::initial_prompt;
pub use output::Output;
pub use output::State;

/// What we started gets this long between SIGTERM and SIGKILL when we go.
const CHILD_GRACE: Duration = Duration::from_millis(300);

/// Interrupts that wait. One is enough to end a turn.
const INBOX_MAX: usize = 16;

/// What an agent may look around with before it judges for a hook.
const JUDGES_TOOLS: [&str; 4] = ["Read", "Glob", "Grep", "Bash"];

/// Answers of such an agent; the contract's number.
const JUDGES_TURNS: u64 = 50;

pub struct Session {
    wired: Wired,
    /// Held here, known to others only as long as the session lives.
    _drive: Rc<dyn Drive>,
    _advisers: Rc<dyn Advisers>,
}

/// Runs the turns of a session.
pub struct Turns {
    session: Rc<Session>,
    driver: Driver<Executor>,
    inbox: Receiver<Input>,
}

/// A session that could not be opened, and what is needed to say so.
pub struct NotOpened {
    pub output: Rc<Output>,
    pub message: String,
}

/// Something that happened beside the turns.
pub enum News {
    Task(TaskEvent),
    /// A hook in the background wants to be heard.
    Woken(String),
    /// The time of this prompt has come.
    Due(String),
}

/// Whether the session to go on with waits for a call that a hook put off. Then it needs no prompt.
pub fn has_deferred(options: &Options) -> bool {
    earlier(options).is_ok_and(|earlier| earlier.deferred.is_some())
}

impl Session {
    /// Must be called where local tasks can be spawned.
    pub fn open(mut options: Options, writer: Rc<dyn Writer>) -> Result<(Rc<Self>, Turns), Box<NotOpened>> {
        let secrets = Secrets::of(&options);
        let hidden = secrets.clone();
        options.observer.hide_with(move |text| hidden.hide_text(text));
        let output = Output::new(options.output, options.ascii, options.session.id.clone(), writer)
            .log_to(options.debug_file.as_deref())
            .hiding(secrets.clone());
        let output = Rc::new(output);
        let loaded = match earlier(&options) {
            Ok(loaded) => loaded,
            Err(error) => return Err(Box::new(NotOpened { output, message: error.to_string() })),
        };
        add_builtin_agents(&mut options);
        let (questions, asked) = channel(QUESTIONS_MAX);
        let (sender, inbox) = channel(INBOX_MAX);
        let wired = wire(Rc::new(options), output, secrets, loaded, questions, sender);
        let (drive, advisers) = connect(&wired);
        // Tools run on any thread and ask the small model through a channel; its answers come from here.
        tokio::task::spawn_local(small::serve(Rc::clone(&wired.parts.model), asked));
        let executor = Executor::new(Rc::clone(&wired.parts), Rc::clone(&wired.main));
        let driver = Driver::new(Rc::clone(&wired.main.machine), executor);
        let session = Rc::new(Self { wired, _drive: drive, _advisers: advisers });
        Ok((Rc::clone(&session), Turns { session, driver, inbox }))
    }

    fn parts(&self) -> &Parts {
        &self.wired.parts
    }

    pub fn options(&self) -> &Options {
        &self.parts().options
    }

    pub fn output(&self) -> &Output {
        &self.parts().output
    }

    /// Starts what is configured to run beside the conversation.
    pub fn start_servers(&self) {
        self.parts().preparer.git.start(self.options());
        self.parts().servers.start();
    }

    pub fn prompt(&self, prompt: Box<UserInput>) {
        self.parts().machine.prompt(prompt);
    }

    /// Goes on with the call that a hook put off.
    pub fn go_on(&self) {
        self.parts().machine.go_on();
    }

    pub fn is_deferred(&self) -> bool {
        self.parts().machine.is_deferred()
    }

    pub fn interrupt(&self, cause: InterruptCause) {
        self.parts().machine.interrupt(cause);
    }

    /// A prompt or a notice waits for its turn.
    pub fn has_next(&self) -> bool {
        self.parts().machine.has_next()
    }

    /// Another prompt may be queued.
    pub fn has_room(&self) -> bool {
        self.parts().machine.has_room()
    }

    /// Answers a request; the response is an event.
    pub async fn request(&self, request_id: String, request: Value) {
        self.wired.requests.handle(request_id, request).await;
    }

    /// The client's answer to a question of ours.
    pub fn answer(&self, response: ControlResponse) {
        self.wired.client.answer(response);
    }

    /// Nobody can answer any more.
    pub fn client_left(&self) {
        self.wired.client.close();
    }

    pub async fn tell_state(&self, state: State) {
        self.wired.states.tell(state).await;
    }

    /// Waits for what happens beside the turns. May be dropped at any time without losing anything.
    pub async fn news(&self, takes_wakes: bool) -> News {
        tokio::select! {
            event = self.wired.task_news.tasks.next_event() => News::Task(event),
            words = self.parts().hooks.woken(), if takes_wakes => News::Woken(words),
            prompt = self.parts().tools.schedule.next(), if takes_wakes => News::Due(prompt),
        }
    }

    /// Tells the client, and the model with its next turn.
    pub async fn take_news(&self, news: News) {
        let notice = match news {
            News::Task(event) => self.wired.task_news.tell(event).await,
            News::Due(prompt) => {
                let (parts, setup) = (self.parts(), self.parts().tools.choices.setup());
                let given = (&*parts.options, &*setup);
                self.prompt(Box::new(scheduled_input(prompt, given, &parts.tools.rules, &self.wired.main)));
                None
            }
            News::Woken(words) => {
                Some(format!("<system-reminder>\nA hook in the background says:\n{words}\n</system-reminder>"))
            }
        };
        if let Some(text) = notice {
            self.parts().machine.notice(text);
        }
    }

    /// Agents in the background that are at work.
    pub fn agents(&self) -> Agents {
        self.wired.task_news.agents()
    }

    /// Background tasks run, or have something to say.
    pub fn has_tasks(&self) -> bool {
        let tasks = &self.wired.task_news.tasks;
        tasks.running_count() > 0 || tasks.has_news()
    }

    /// The model has set itself a time to go on.
    pub fn has_wakeup(&self) -> bool {
        self.parts().tools.schedule.has_wakeup()
    }

    pub fn has_task_news(&self) -> bool {
        self.wired.task_news.tasks.has_news()
    }

    pub fn is_suggestion_due(&self) -> bool {
        self.wired.suggester.is_due()
    }

    /// Tells the client what the user may want to say next.
    pub async fn suggest(&self) {
        if let Some(suggestion) = self.wired.suggester.guess().await {
            let suggestion = PromptSuggestion { suggestion, ..PromptSuggestion::default() };
            self.output().send(Event::PromptSuggestion(suggestion)).await;
        }
    }

    /// Makes ready for calls without a model, and tells the tools that can be called so.
    pub async fn prepare_calls(&self) -> Vec<Value> {
        self.client_left();
        let main = &self.wired.main;
        self.parts().preparer.prepare(main, true).await;
        main.toolset.borrow().builtin_definitions()
    }

    /// Calls a built-in tool where settings, rules and hooks allow it. The content of its result, and whether it is an error.
    pub async fn call_tool(&self, name: &str, input: Value) -> (Value, bool) {
        direct_calls::call(self.parts(), &self.wired.main, name, input).await
    }

    /// Setup and SessionStart hooks, and nothing else.
    pub async fn prepare_only(&self) {
        let (parts, main) = (self.parts(), &self.wired.main);
        self.client_left();
        self.start_servers();
        parts.servers.settle().await;
        if let Some(trigger) = setup_trigger(&parts.options) {
            parts.hooks.fire_for(main, Hook::Setup { trigger }).await;
        }
        let hook = Hook::SessionStart {
            source: start_source(&parts.options),
            model: main.model(),
            agent_type: parts.choices.setup().agent.clone(),
            title: parts.options.session.title.clone(),
        };
        let answer = parts.hooks.fire_for(main, hook).await;
        if let Some(title) = answer.session_title.as_deref().map(str::trim).filter(|title| !title.is_empty()) {
            main.transcript.borrow_mut().meta(&json!({"type": "custom-title", "customTitle": title}));
        }
    }

    /// Ends hooks and servers that run beside the conversation.
    pub async fn end_helpers(&self) {
        self.parts().hooks.end().await;
        self.parts().servers.end().await;
        self.options().observer.servers_end();
    }

    /// Ends everything that was started. What was stopped with us is told, because clients wait for every task that started.
    pub async fn end_tasks(&self) {
        let tasks = &self.wired.task_news.tasks;
        tasks.stop_all(CHILD_GRACE).await;
        while let Some(event) = tasks.try_next_event() {
            self.wired.task_news.tell(event).await;
        }
        self.tell_state(State::Idle).await;
        process::end_all(CHILD_GRACE).await;
        for task in tasks.list() {
            self.parts().secrets.hide_in_file(&task.output_file);
        }
    }
}

impl Turns {
    /// Begins a turn with what is queued and runs it to its end. True where its result was an error.
    pub async fn run(&mut self) -> bool {
        // Nothing that came before concerns this turn.
        while self.inbox.try_recv().is_ok() {}
        self.driver.feed(Input::Next).await;
        self.go_on().await
    }

    async fn go_on(&mut self) -> bool {
        while !self.driver.is_idle() {
            let input = tokio::select! {
                biased;
                Some(input) = self.inbox.recv() => input,
                input = self.driver.next() => input,
            };
            self.driver.feed(input).await;
        }
        self.session.parts().last_is_error.get()
    }

    /// The session is over: SessionEnd hooks, and what is still to be written.
    pub async fn close(&mut self, reason: &'static str) {
        self.driver.feed(Input::Close { reason }).await;
        while !self.session.parts().is_closed.get() {
            let input = self.driver.next().await;
            self.driver.feed(input).await;
        }
    }
}

/// What could not be connected while the parts were made.
fn connect(wired: &Wired) -> (Rc<dyn Drive>, Rc<dyn Advisers>) {
    let parts = &wired.parts;
    let drive: Rc<dyn Drive> = Rc::new(AgentDriver(Rc::clone(parts)));
    let advisers: Rc<dyn Advisers> = Rc::new(HookAdvisers {
        options: Rc::clone(&parts.options),
        model: Rc::clone(&parts.model),
        servers: Rc::clone(&parts.servers),
        subagents: Rc::clone(&parts.subagents),
    });
    // All are set here and nowhere else.
    let _ = parts.subagents.drive.set(Rc::downgrade(&drive));
    parts.hooks.connect(Rc::downgrade(&advisers), Arc::clone(&wired.main.tools().workspace));
    let (hooks, client, states) = (Rc::downgrade(&parts.hooks), Rc::clone(&wired.client), Rc::clone(&wired.states));
    let talks = wiring::talks(&parts.options);
    parts.servers.connect(Box::new(move || {
        let can_answer = talks || hooks.upgrade().is_some_and(|hooks| hooks.wants(HookEvent::Elicitation));
        let user = || UserElicit { hooks: hooks.clone(), client: Rc::clone(&client), states: Rc::clone(&states) };
        can_answer.then(|| Rc::new(user()) as Rc<dyn mcp::Elicit>)
    }));
    (drive, advisers)
}

/// Models, agents and servers, for hooks that ask them.
struct HookAdvisers {
    options: Rc<Options>,
    model: Rc<ModelAsker>,
    servers: Rc<SessionServers>,
    subagents: Rc<Subagents>,
}

impl Advisers for HookAdvisers {
    fn ask_model(&self, question: Question) -> LocalBoxFuture<'_, Result<String, AskError>> {
        async move {
            let asked = self.model.ask_small(question.model.as_deref(), question.system, question.words);
            asked.await.map_err(AskError::host)
        }
        .boxed_local()
    }

    fn ask_agent<'a>(
        &'a self,
        conversation: &'a Conversation,
        question: Question,
        tool_use_id: Option<&'a str>,
    ) -> LocalBoxFuture<'a, Result<String, AskError>> {
        async move {
            self.subagents.may_start(conversation).map_err(AskError::host)?;
            let counted = self.subagents.count_one();
            let assignment = Assignment {
                agent: AgentDef {
                    name: HOOK_AGENT.into(),
                    description: "judges a condition".into(),
                    prompt: question.system.into(),
                    tools: Some(JUDGES_TOOLS.map(str::to_owned).to_vec()),
                    max_turns: Some(JUDGES_TURNS),
                    source: "builtin",
                    ..AgentDef::default()
                },
                task: question.words,
                description: "judge a hook's condition".into(),
                tool_use_id: tool_use_id.unwrap_or(HOOK_AGENT).to_owned(),
                name: None,
                model: question.model.or_else(|| Some(self.options.asking.small_model.clone())),
                is_isolated: false,
                hooks: Hooks::default(),
            };
            let ready =
                self.subagents.prepare(conversation, &assignment, counted, None).await.map_err(AskError::host)?;
            let (_nobody, inbox) = channel(1);
            let finished = self.subagents.carry_out(ready, inbox).await;
            let text = finished.result.words();
            if finished.result.is_error() { Err(AskError::host(SubagentError::Failed(text))) } else { Ok(text) }
        }
        .boxed_local()
    }

    fn call_tool<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        input: Value,
    ) -> LocalBoxFuture<'a, Result<String, AskError>> {
        async move { self.servers.call_named(server, tool, input).await.map_err(AskError::host) }.boxed_local()
    }
}
