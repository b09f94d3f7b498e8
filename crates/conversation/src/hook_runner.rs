//! The effect of firing hooks: what they are told, what they may reach, and who sees them run.
//!
//! Deliberately absent: what an answer does to a conversation (`turn`), and the payloads of its events (`hook_payload`).

use crate::conversation::Conversation;
use crate::hook_notes;
use crate::hook_payload::{PayloadFacts, event_of, with_payload};
use crate::rules::Rules;
use crate::values;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use hooks::{
    AskError, Callbacks, Helpers, HookAnswer, HookContext, HookEvent, HookHost, HookPayload, HookRun, Hooks, Judge,
    Question,
};
use observer::HookMeter;
use options::{Choices, Options};
use output::{ClientAsker, Output, Secrets, session_store};
use serde_json::Value;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::sync::Notify;
use wire::{AgentRequest, Event, HookCallback, HookResponse, HookStarted, System};

/// All SessionEnd hooks together, whatever they ask for: a client that closes us waits for the exit.
const SESSION_END: Duration = Duration::from_mins(1);

/// What hooks need of models, agents and servers.
pub trait Advisers {
    fn ask_model(&self, question: Question) -> LocalBoxFuture<'_, Result<String, AskError>>;

    /// An agent looks around in the conversation's folder before it judges.
    fn ask_agent<'a>(
        &'a self,
        conversation: &'a Conversation,
        question: Question,
        tool_use_id: Option<&'a str>,
    ) -> LocalBoxFuture<'a, Result<String, AskError>>;

    fn call_tool<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        input: Value,
    ) -> LocalBoxFuture<'a, Result<String, AskError>>;
}

pub struct HookRunner {
    options: Rc<Options>,
    output: Rc<Output>,
    client: Rc<ClientAsker>,
    rules: Rc<Rules>,
    choices: Rc<Choices>,
    secrets: Secrets,
    tasks: tools::Tasks,
    list: RefCell<Rc<Hooks>>,
    advisers: OnceCell<Weak<dyn Advisers>>,
    /// The main conversation's, for events outside any conversation.
    workspace: OnceCell<Arc<tools::Workspace>>,
    /// The prompt that is being worked on.
    prompt_id: RefCell<Option<String>>,
    /// Said outside a turn; reaches the model with the next request.
    pending_reminders: RefCell<Vec<String>>,
    /// Words of hooks that want to be heard now.
    wakes: RefCell<VecDeque<String>>,
    watched: hooks::file_watch::Watched,
    pub between: Between,
}

/// What hooks are asked between turns, beside the lines that the client goes on writing: the next turn waits
/// for it.
#[derive(Default)]
pub struct Between {
    open: Cell<usize>,
    changed: Notify,
}

impl Between {
    pub fn begin(&self) {
        self.open.set(self.open.get() + 1);
    }

    pub fn end(&self) {
        self.open.set(self.open.get().saturating_sub(1));
        self.changed.notify_one();
    }

    /// Hooks have their time limits, so this ends.
    pub async fn settled(&self) {
        while self.open.get() > 0 {
            self.changed.notified().await;
        }
    }
}

/// What a runner is made of.
pub struct HookParts {
    pub options: Rc<Options>,
    pub output: Rc<Output>,
    pub client: Rc<ClientAsker>,
    pub rules: Rc<Rules>,
    pub choices: Rc<Choices>,
    pub secrets: Secrets,
    pub tasks: tools::Tasks,
    pub list: Hooks,
}

impl HookRunner {
    pub fn new(parts: HookParts) -> Self {
        let HookParts { options, output, client, rules, choices, secrets, tasks, list } = parts;
        Self {
            options,
            output,
            client,
            rules,
            choices,
            secrets,
            tasks,
            list: RefCell::new(Rc::new(list)),
            advisers: OnceCell::new(),
            workspace: OnceCell::new(),
            prompt_id: RefCell::default(),
            pending_reminders: RefCell::default(),
            wakes: RefCell::default(),
            watched: hooks::file_watch::Watched::default(),
            between: Between::default(),
        }
    }

    /// Once, when everything is there.
    pub fn connect(&self, advisers: Weak<dyn Advisers>, workspace: Arc<tools::Workspace>) {
        let _ = (self.advisers.set(advisers), self.workspace.set(workspace));
    }

    pub fn list(&self) -> Rc<Hooks> {
        Rc::clone(&self.list.borrow())
    }

    pub fn change(&self, change: impl FnOnce(&mut Hooks)) {
        change(Rc::make_mut(&mut self.list.borrow_mut()));
    }

    pub fn wants(&self, event: HookEvent) -> bool {
        self.list.borrow().wants(event)
    }

    pub fn set_prompt_id(&self, id: String) {
        self.prompt_id.replace(Some(id));
    }

    /// Whether anybody listens to an event of a machine.
    pub fn has_listener(&self, conversation: &Conversation, hook: &turn::Hook) -> bool {
        let event = event_of(hook);
        self.wants(event) || conversation.hooks.borrow().wants(event)
    }

    /// An event of a machine that somebody listens to.
    pub async fn fire_for(&self, conversation: &Conversation, hook: turn::Hook) -> turn::HookAnswer {
        if !self.has_listener(conversation, &hook) {
            return turn::HookAnswer::default();
        }
        let list = self.hooks_of(conversation);
        let is_end = matches!(hook, turn::Hook::SessionEnd { .. });
        let facts = PayloadFacts {
            options: &self.options,
            secrets: &self.secrets,
            tasks: &self.tasks,
            session_id: self.output.session_id(),
            context_tokens: conversation.machine.borrow().context_tokens(),
        };
        let fired = with_payload(hook, &facts, async |payload: &dyn HookPayload| {
            Box::pin(self.fire_at(Some(conversation), &list, payload)).await
        });
        if is_end {
            return values::hook_answer(tokio::time::timeout(SESSION_END, fired).await.unwrap_or_default());
        }
        values::hook_answer(fired.await)
    }

    /// Fires an event and merges what its hooks say. Costs nothing where nobody listens.
    pub async fn fire(&self, conversation: &Conversation, payload: &dyn HookPayload) -> HookAnswer {
        let list = self.hooks_of(conversation);
        if !list.wants(payload.event()) {
            return HookAnswer::default();
        }
        // Boxed: it is large and rarely needed.
        Box::pin(self.fire_at(Some(conversation), &list, payload)).await
    }

    /// The same for what happens to the session as a whole, at any time.
    pub async fn fire_outside(&self, payload: &dyn HookPayload) -> HookAnswer {
        let list = self.list();
        if !list.wants(payload.event()) {
            return HookAnswer::default();
        }
        Box::pin(self.fire_at(None, &list, payload)).await
    }

    /// And what they say reaches the model with the next request.
    pub async fn tell_outside(&self, payload: &dyn HookPayload) {
        let contexts = self.fire_outside(payload).await.contexts;
        self.pending_reminders.borrow_mut().extend(contexts);
    }

    /// Everybody's hooks, and those of the agent itself.
    fn hooks_of(&self, conversation: &Conversation) -> Rc<Hooks> {
        let mut list = self.list();
        let own = conversation.hooks.borrow();
        if !own.is_empty() {
            Rc::make_mut(&mut list).add(own.clone());
        }
        list
    }

    async fn fire_at(
        &self,
        conversation: Option<&Conversation>,
        list: &Hooks,
        payload: &dyn HookPayload,
    ) -> HookAnswer {
        let options = &self.options;
        let session_id = self.output.session_id();
        let transcript_path = self.transcript_path(&session_id);
        let cwd = conversation.map_or_else(|| self.main_cwd(), |one| one.tools().workspace.cwd());
        let mode = conversation.map_or_else(|| self.rules.mode(), |one| self.rules.mode_of(one));
        let effort = match conversation {
            Some(conversation) => conversation.effort_level(&self.choices),
            None => model::effort(&model::info(&self.choices.model()), self.choices.effort().as_deref()),
        };
        let subagent = conversation.and_then(Conversation::subagent);
        let prompt_id = self.prompt_id.borrow().clone();
        let context = HookContext {
            session_id: &session_id,
            transcript_path: &transcript_path,
            cwd: &cwd,
            permission_mode: mode.as_str(),
            agent_id: subagent.map(|sub| sub.agent_id.as_str()),
            agent_type: subagent.map(|sub| sub.agent_type.as_str()),
            effort: effort.as_deref(),
            prompt_id: prompt_id.as_deref(),
        };
        let reach = Reach { runner: self, conversation, tool_use_id: payload.tool_use_id() };
        let meter = HookMeter::default();
        let tool_use_id = payload.tool_use_id();
        let observe = |run: HookRun| {
            measure(&meter, &run);
            let note = conversation.zip(hook_notes::success(&run, tool_use_id));
            if let Some((conversation, note)) = note {
                conversation.transcript.borrow_mut().attachment(&self.output.ids().next(), &note, None);
            }
            self.tell(run);
        };
        let access = options.access.client.clone();
        // A redirect would carry a hook's headers to another host.
        let http = move || {
            let client = model::plain_client(&access).map_err(AskError::host)?;
            let client = client.redirect(reqwest::redirect::Policy::none());
            client.build().map_err(AskError::host)
        };
        let ids = || self.output.ids().next();
        let env_file = options.tools.shell.env_file.as_deref();
        if payload.event().has_env_file() {
            make_folder_of(env_file);
        }
        let is_for_a_hook = conversation.is_some_and(Conversation::answers_a_hook);
        let host = HookHost {
            env: &options.env,
            project_dir: &options.cwd,
            callbacks: Some(&reach),
            helpers: if is_for_a_hook { None } else { Some(&reach) },
            http: &http,
            observe: &observe,
            disk: &tools::Disk,
            tool_name: policy::names::canonical,
            spill_dir: &options.tools.shell.spill_dir,
            env_file,
            ids: &ids,
        };
        let role = conversation.map_or(&turn::Role::Main, |one| &one.role);
        // All hooks of an event begin when it is first looked at.
        let mut firing = std::pin::pin!(hooks::fire_hook(list, payload, &context, &host));
        let at_once = std::future::poll_fn(|waker| Poll::Ready(firing.as_mut().poll(waker))).await;
        options.observer.hooks_began(role, &meter);
        let mut answer = match at_once {
            Poll::Ready(answer) => answer,
            Poll::Pending => firing.await,
        };
        let first_prompt = answer.initial_user_message.as_deref().unwrap_or_default();
        options.observer.hooks_ended(role, &meter, [&answer.contexts, &answer.messages], first_prompt);
        self.watched.add(&options.cwd, answer.watch_paths.drain(..));
        self.tell_people(&mut answer).await;
        answer
    }

    /// What is for the people who watch.
    async fn tell_people(&self, answer: &mut HookAnswer) {
        for error in answer.errors.drain(..) {
            self.output.send(Event::System(System::informational(error, "warning"))).await;
        }
        for message in &answer.messages {
            self.output.send(Event::System(System::informational(message.clone(), "info"))).await;
        }
    }

    fn main_cwd(&self) -> PathBuf {
        self.workspace.get().map_or_else(|| self.options.cwd.clone(), |workspace| workspace.cwd())
    }

    fn transcript_path(&self, session_id: &str) -> String {
        session_store(&self.options).path(session_id).display().to_string()
    }

    /// Hooks of a session's start are always shown; the others only to clients that asked.
    fn tell(&self, run: HookRun) {
        let event = match &run {
            HookRun::Started { event, .. } | HookRun::Response { event, .. } => *event,
        };
        if event.is_shown(self.options.hook_events) {
            self.output.send_now(&Event::System(shown(run)));
        }
    }

    /// What hooks have said outside the turn, for the model to know.
    pub fn take_reminders(&self) -> Vec<String> {
        self.pending_reminders.take()
    }

    /// The same, with what hooks in the background have come to.
    pub fn take_finished(&self) -> Vec<String> {
        self.collect();
        self.pending_reminders.take()
    }

    /// Waits until a hook in the background asks to be heard now; its words. May be dropped at any time.
    pub async fn woken(&self) -> String {
        loop {
            let list = self.list();
            self.collect();
            if let Some(words) = self.wakes.borrow_mut().pop_front() {
                return words;
            }
            list.one_finished().await;
        }
    }

    /// Takes in what hooks in the background have come to.
    fn collect(&self) {
        for done in self.list().take_finished() {
            self.tell(done.news);
            if let Some(reason) = done.verdict.blocked.filter(|_| done.wakes) {
                self.wakes.borrow_mut().push_back(reason);
            }
            self.pending_reminders.borrow_mut().extend(done.verdict.contexts);
        }
    }

    /// Hooks still in the background end with us.
    pub async fn end(&self) {
        for news in self.list().end_background().await {
            self.tell(news);
        }
    }

    /// Begins to watch files, where any hook wants to hear of them. Once for a session.
    pub fn begin_watching(self: &Rc<Self>) {
        if !self.wants(HookEvent::FileChanged) || !self.watched.begin() {
            return;
        }
        self.watched.add(&self.options.cwd, self.list().watched_names().into_iter());
        tokio::task::spawn_local(watch(Rc::downgrade(self)));
    }
}

async fn watch(runner: Weak<HookRunner>) {
    loop {
        tokio::time::sleep(hooks::file_watch::PAUSE).await;
        let Some(runner) = runner.upgrade() else { return };
        for change in runner.watched.changes() {
            let name = change.path.file_name().unwrap_or_default().to_string_lossy();
            let event = change.what.as_str();
            let payload = hooks::FileChanged { file_name: &name, file_path: &change.path, event };
            runner.tell_outside(&payload).await;
        }
    }
}

/// A hook appends to a file whose folder must be there. Where it cannot be made the hook finds out.
fn make_folder_of(file: Option<&Path>) {
    if let Some(folder) = file.and_then(Path::parent) {
        let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    }
}

fn measure(meter: &HookMeter, run: &HookRun) {
    match run {
        HookRun::Started { name, event, .. } => meter.began(event.as_str(), name),
        HookRun::Response { stdout, exit_code, outcome, .. } => meter.ended(outcome, *exit_code, stdout),
    }
}

fn shown(run: HookRun) -> System {
    match run {
        HookRun::Started { hook_id, name, event } => System::HookStarted(HookStarted {
            hook_id,
            hook_name: name,
            hook_event: event.as_str().into(),
            ..HookStarted::default()
        }),
        HookRun::Response { hook_id, name, event, stdout, stderr, output, exit_code, outcome } => {
            System::HookResponse(Box::new(HookResponse {
                hook_id,
                hook_name: name,
                hook_event: event.as_str().into(),
                output,
                stdout,
                stderr,
                exit_code,
                outcome: outcome.into(),
                ..HookResponse::default()
            }))
        }
    }
}

/// What hooks of one event may reach: the client's own functions, a model's judgement, an MCP server's tool.
struct Reach<'a> {
    runner: &'a HookRunner,
    conversation: Option<&'a Conversation>,
    tool_use_id: Option<&'a str>,
}

impl Reach<'_> {
    fn advisers(&self) -> Result<Rc<dyn Advisers>, AskError> {
        self.runner.advisers.get().and_then(Weak::upgrade).ok_or(AskError::SessionOver)
    }
}

impl Helpers for Reach<'_> {
    fn judge(&self, question: Question) -> LocalBoxFuture<'_, Result<String, AskError>> {
        async move {
            let advisers = self.advisers()?;
            match (question.who, self.conversation) {
                (Judge::Model, _) => advisers.ask_model(question).await,
                (Judge::Agent, Some(conversation)) => {
                    advisers.ask_agent(conversation, question, self.tool_use_id).await
                }
                (Judge::Agent, None) => Err(AskError::NoConversation),
            }
        }
        .boxed_local()
    }

    fn call_tool<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        input: Value,
    ) -> LocalBoxFuture<'a, Result<String, AskError>> {
        async move { self.advisers()?.call_tool(server, tool, input).await }.boxed_local()
    }
}

impl Callbacks for Reach<'_> {
    fn call(
        &self,
        callback_id: &str,
        input: Value,
        tool_use_id: Option<&str>,
        timeout: Duration,
    ) -> LocalBoxFuture<'_, Result<Value, AskError>> {
        let request = AgentRequest::HookCallback(HookCallback {
            callback_id: callback_id.to_owned(),
            input,
            tool_use_id: tool_use_id.map(str::to_owned),
            ..HookCallback::default()
        });
        async move {
            match tokio::time::timeout(timeout, self.runner.client.ask(request)).await {
                Ok(answer) => answer.map_err(AskError::host),
                Err(_) => Err(AskError::ClientSilent(timeout)),
            }
        }
        .boxed_local()
    }
}
