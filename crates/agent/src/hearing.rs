//! Hooks in this conversation: what they are told, what they may reach, and who sees them run.

use crate::helpers::Help;
use crate::shared::{Lane, Role, Shared};
use hooks::{HookAnswer, HookContext, HookEvent, HookHost, HookPayload, HookRun};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use tokio::sync::Notify;
use wire::{Event, HookResponse, HookStarted, System};

/// What hooks of a running session share.
#[derive(Default)]
pub struct Ear {
    /// For what goes on after the caller has gone.
    pub me: OnceCell<Weak<Shared>>,
    /// The main conversation's, for events outside any conversation.
    pub workspace: OnceCell<Arc<tools::Workspace>>,
    /// What the main conversation has read.
    pub reads: OnceCell<tools::ReadLog>,
    /// The prompt that is being worked on.
    pub prompt_id: RefCell<Option<String>>,
    /// Said outside a turn; reaches the model with the next request.
    pub late: RefCell<Vec<String>>,
    /// Words of hooks that want to be heard now.
    wakes: RefCell<VecDeque<String>>,
    /// The main conversation's model called one tool only, so the call may be put off.
    pub single_call: Cell<bool>,
    pub watched: hooks::file_watch::Watched,
    pub settings: crate::moments::SettingsSeen,
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

/// Fires an event and merges what its hooks say. Costs nothing where nobody listens.
pub async fn fire(shared: &Shared, lane: &Lane, payload: &dyn HookPayload) -> HookAnswer {
    let hooks = hooks_of(shared, lane);
    if !hooks.wants(payload.event()) {
        return HookAnswer::default();
    }
    // Boxed: it is large, rarely needed, and part of every step.
    Box::pin(fire_at(shared, Some(lane), &hooks, payload)).await
}

/// Everybody's hooks, and those of the agent itself.
fn hooks_of(shared: &Shared, lane: &Lane) -> Rc<hooks::Hooks> {
    let mut hooks = Rc::clone(&shared.live.hooks.borrow());
    let own = lane.hooks.borrow();
    if !own.is_empty() {
        Rc::make_mut(&mut hooks).add(own.clone());
    }
    hooks
}

/// The same for what happens to the session as a whole, at any time.
pub async fn fire_outside(shared: &Shared, payload: &dyn HookPayload) -> HookAnswer {
    let hooks = Rc::clone(&shared.live.hooks.borrow());
    if !hooks.wants(payload.event()) {
        return HookAnswer::default();
    }
    Box::pin(fire_at(shared, None, &hooks, payload)).await
}

pub fn wants(shared: &Shared, event: HookEvent) -> bool {
    shared.live.hooks.borrow().wants(event)
}

async fn fire_at(shared: &Shared, lane: Option<&Lane>, hooks: &hooks::Hooks, payload: &dyn HookPayload) -> HookAnswer {
    let options = &shared.options;
    let role = lane.map_or(&Role::Main, |lane| &lane.role);
    let cwd = lane.map_or_else(|| main_cwd(shared), |lane| lane.tools.workspace.cwd());
    let session_id = shared.emitter.session_id();
    let transcript_path = transcript_path(shared, &session_id);
    let (agent_id, effort) = (role.agent_id(), shared.effort_level(role));
    let prompt_id = shared.live.ear.prompt_id.borrow().clone();
    let context = HookContext {
        session_id: &session_id,
        transcript_path: &transcript_path,
        cwd: &cwd,
        permission_mode: shared.mode(role).as_str(),
        agent_id: agent_id.as_deref(),
        agent_type: match role {
            Role::Main => None,
            Role::Sub(sub) => Some(&sub.agent_type),
        },
        effort: effort.as_deref(),
        prompt_id: prompt_id.as_deref(),
    };
    let help = Help { shared, lane, tool_use_id: payload.tool_use_id() };
    let observe = |run: HookRun| tell(shared, run);
    let access = options.access.client.clone();
    // A redirect would carry a hook's headers to another host.
    let http = move || {
        let client = model::plain_client(&access)?.redirect(reqwest::redirect::Policy::none());
        client.build().map_err(|error| error.to_string())
    };
    let ids = || shared.emitter.ids().next();
    let env_file = options.tools.shell.env_file.as_deref();
    if payload.event().has_env_file() {
        make_folder_of(env_file);
    }
    let host = HookHost {
        env: &options.env,
        project_dir: &options.cwd,
        callbacks: Some(&help),
        helpers: if help.is_for_a_hook() { None } else { Some(&help) },
        http: &http,
        observe: &observe,
        disk: &tools::Disk,
        tool_name: crate::toolset::canonical,
        spill_dir: &options.tools.shell.spill_dir,
        env_file,
        ids: &ids,
    };
    let mut verdict = hooks::fire_hook(hooks, payload, &context, &host).await;
    shared.live.ear.watched.add(&options.cwd, verdict.watch_paths.drain(..));
    say(shared, &mut verdict).await;
    verdict
}

/// What is for the people who watch.
async fn say(shared: &Shared, verdict: &mut HookAnswer) {
    for error in verdict.errors.drain(..) {
        let notice = System::informational(error, "warning");
        shared.emitter.send(Event::System(notice)).await;
    }
    for message in &verdict.messages {
        let notice = System::informational(message.clone(), "info");
        shared.emitter.send(Event::System(notice)).await;
    }
}

pub fn main_cwd(shared: &Shared) -> PathBuf {
    shared.live.ear.workspace.get().map_or_else(|| shared.options.cwd.clone(), |workspace| workspace.cwd())
}

/// A hook appends to a file whose folder must be there. Where it cannot be made the hook finds out.
fn make_folder_of(file: Option<&Path>) {
    if let Some(folder) = file.and_then(Path::parent) {
        let _ = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    }
}

fn transcript_path(shared: &Shared, session_id: &str) -> String {
    let options = &shared.options;
    let store =
        session::Store::new(&options.places.config_dir, &options.cwd, options.session.project_dir_name.as_deref());
    store.path(session_id).display().to_string()
}

/// Hooks of a session's start are always shown; the others only to clients that asked.
fn tell(shared: &Shared, run: HookRun) {
    let event = match &run {
        HookRun::Started { event, .. } | HookRun::Response { event, .. } => *event,
    };
    if !event.is_shown(shared.options.hook_events) {
        return;
    }
    let system = match run {
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
    };
    shared.emitter.send_now(&Event::System(system));
}

/// What hooks have said since the last turn, for the model to know.
pub fn finished(shared: &Shared) -> Vec<String> {
    collect(shared);
    shared.live.ear.late.take()
}

/// Waits until a hook in the background asks to be heard now; its words. May be dropped at any time.
pub async fn woken(shared: &Shared) -> String {
    loop {
        let hooks = Rc::clone(&shared.live.hooks.borrow());
        collect(shared);
        if let Some(words) = shared.live.ear.wakes.borrow_mut().pop_front() {
            return words;
        }
        hooks.one_finished().await;
    }
}

/// Takes in what hooks in the background have come to.
fn collect(shared: &Shared) {
    let hooks = Rc::clone(&shared.live.hooks.borrow());
    let ear = &shared.live.ear;
    for done in hooks.take_finished() {
        tell(shared, done.news);
        if let Some(reason) = done.verdict.blocked.filter(|_| done.wakes) {
            ear.wakes.borrow_mut().push_back(reason);
        }
        ear.late.borrow_mut().extend(done.verdict.contexts);
    }
}

/// Hooks still in the background end with us.
pub async fn end(shared: &Shared) {
    let hooks = Rc::clone(&shared.live.hooks.borrow());
    for news in hooks.end_background().await {
        tell(shared, news);
    }
}
