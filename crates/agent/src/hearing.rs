//! Hooks in this conversation: what they are told, what they may reach, and who sees them run.

use crate::hooks::{self, HookEvent, HookNews, Scene, Verdict, World};
use crate::shared::{Lane, Role, Shared};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};
use std::rc::Rc;
use std::time::Duration;
use wire::{Event, HookResponse, System};

/// Fires an event and merges what its hooks say. Costs nothing where nobody listens.
pub async fn fire(
    shared: &Shared,
    lane: &Lane,
    event: HookEvent,
    subject: Option<&str>,
    fields: Map<String, Value>,
    tool_use_id: Option<&str>,
) -> Verdict {
    let hooks = Rc::clone(&shared.live.hooks.borrow());
    if !hooks.wants(event) {
        return Verdict::default();
    }
    let session_id = shared.emitter.session_id();
    let transcript_path = transcript_path(shared, &session_id);
    let agent_id = lane.role.agent_id();
    let cwd = lane.tools.workspace.cwd();
    let scene = Scene {
        session_id: &session_id,
        transcript_path: &transcript_path,
        cwd: &cwd,
        permission_mode: shared.mode(&lane.role).as_str(),
        agent_id: agent_id.as_deref(),
        agent_type: match &lane.role {
            Role::Main => None,
            Role::Sub(sub) => Some(&sub.agent_type),
        },
        effort: None,
        prompt_id: None,
    };
    let client = Client(shared);
    let observe = |news: HookNews| tell(shared, news);
    let access = shared.options.access.client.clone();
    // A redirect would carry a hook's headers to another host.
    let http = move || {
        let client = model::plain_client(&access)?.redirect(reqwest::redirect::Policy::none());
        client.build().map_err(|error| error.to_string())
    };
    let ids = || shared.emitter.ids().next();
    let world = World {
        env: &shared.options.env,
        project_dir: &shared.options.cwd,
        callbacks: Some(&client),
        http: &http,
        observe: &observe,
        spill_dir: &shared.options.tools.shell.spill_dir,
        env_file: shared.options.tools.shell.env_file.as_deref(),
        ids: &ids,
    };
    let mut verdict = hooks::fire(&hooks, event, subject, fields, tool_use_id, &scene, &world).await;
    for error in verdict.errors.drain(..) {
        let notice = System::Informational { content: error, level: "warning" };
        shared.emitter.send(Event::System(notice)).await;
    }
    for message in &verdict.messages {
        let notice = System::Informational { content: message.clone(), level: "info" };
        shared.emitter.send(Event::System(notice)).await;
    }
    verdict
}

fn transcript_path(shared: &Shared, session_id: &str) -> String {
    let options = &shared.options;
    let store =
        session::Store::new(&options.places.config_dir, &options.cwd, options.session.project_dir_name.as_deref());
    store.path(session_id).display().to_string()
}

/// Hooks of a session's start are always shown; the others only to clients that asked.
fn tell(shared: &Shared, news: HookNews) {
    let event = match &news {
        HookNews::Started { event, .. } | HookNews::Response { event, .. } => *event,
    };
    if !event.is_shown(shared.options.hook_events) {
        return;
    }
    let system = match news {
        HookNews::Started { hook_id, name, event } => {
            System::HookStarted { hook_id, hook_name: name, hook_event: event.as_str() }
        }
        HookNews::Response { hook_id, name, event, stdout, stderr, output, exit_code, outcome } => {
            System::HookResponse(Box::new(HookResponse {
                hook_id,
                hook_name: name,
                hook_event: event.as_str(),
                output,
                stdout,
                stderr,
                exit_code,
                outcome,
            }))
        }
    };
    shared.emitter.send_now(&Event::System(system));
}

/// What hooks in the background have come to since the last turn, for the model to know.
pub fn finished(shared: &Shared) -> Vec<String> {
    let hooks = Rc::clone(&shared.live.hooks.borrow());
    let mut contexts = Vec::new();
    for done in hooks.take_finished() {
        tell(shared, done.news);
        contexts.extend(done.verdict.contexts);
    }
    contexts
}

/// Hooks still in the background end with us.
pub async fn end(shared: &Shared) {
    let hooks = Rc::clone(&shared.live.hooks.borrow());
    for news in hooks.end_background().await {
        tell(shared, news);
    }
}

/// Hooks that live in the client's own process.
struct Client<'a>(&'a Shared);

impl hooks::Callbacks for Client<'_> {
    fn call(
        &self,
        callback_id: &str,
        input: Value,
        tool_use_id: Option<&str>,
        timeout: Duration,
    ) -> LocalBoxFuture<'_, Result<Value, String>> {
        let mut request = json!({"subtype": "hook_callback", "callback_id": callback_id, "input": input});
        if let Some(id) = tool_use_id {
            request["tool_use_id"] = json!(id);
        }
        async move {
            match tokio::time::timeout(timeout, self.0.link.ask(&self.0.emitter, request)).await {
                Ok(answer) => answer.map_err(|error| error.to_string()),
                Err(_) => Err(format!("the client's hook did not answer within {} s", timeout.as_secs())),
            }
        }
        .boxed_local()
    }
}
