//! The handle that a session shows itself to. An empty one does nothing.

use crate::hooks::HookMeter;
use crate::record::Recorder;
use crate::requests::{Aside, Asked};
use crate::servers::{PluginSeen, ServerSeen};
use crate::state::{State, Wait};
use model::{Failure, Reply};
use serde_json::Value;
use std::cell::{OnceCell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;
use telemetry::{Count, Metric, Telemetry, TraceContext};
use turn::{Change, Effect, Entry, Hook, Input, Role, Ticket};
use wire::{Event, PermissionMode, System};

#[derive(Clone, Default)]
pub struct Observer(Option<Rc<Recorder>>);

/// What is known of a session when it begins.
pub struct SessionFacts {
    pub id: String,
    pub mode: PermissionMode,
    /// `fresh`, `resume` or `continue`.
    pub start_type: &'static str,
    /// The span of another process that this one belongs to.
    pub incoming: Option<TraceContext>,
    /// Requests and commands carry the trace on.
    pub propagates: bool,
    pub managed: ManagedSettings,
    /// Where the session works.
    pub folder: PathBuf,
}

/// What an administrator's settings say, where that is released.
pub struct ReleasedSettings {
    /// All of them in one line that is the same on every machine that has the same.
    pub canonical: String,
    /// As JSON, without what could be a secret.
    pub shown: String,
}

/// Bytes of the settings that are told.
const SHOWN_MAX: usize = 8 * 1024;

/// Where an administrator's settings come from, and what they say where that is released.
#[derive(Default)]
pub struct ManagedSettings {
    /// `file`, `parent`; the first wins.
    pub sources: Vec<String>,
    /// `managedSourcesBehavior`, where it is set.
    pub behavior: Option<String>,
    pub released: Option<ReleasedSettings>,
}

/// As what sources count where nobody says so, and the other that can be said.
const FIRST_WINS: &str = "first-wins";
const MERGE: &str = "merge";

impl ManagedSettings {
    /// No program of an administrator's is run for settings: one that is wanted stops the start.
    fn event(self) -> telemetry::Event {
        let behavior = self.behavior.filter(|behavior| behavior == MERGE);
        let event = telemetry::Event::new("managed_settings_resolved")
            .with("managed_settings.trigger", "startup")
            .with("managed_settings.sources", telemetry::Value::List(self.sources))
            .with("managed_settings.source_behavior", behavior.as_deref().unwrap_or(FIRST_WINS))
            .with("managed_settings.helper.state", "none")
            .with("managed_settings.helper.applied", "none");
        let Some(released) = self.released else { return event };
        let end = released.shown.floor_char_boundary(SHOWN_MAX);
        event
            .with("managed_settings.resolved_sha256", telemetry::sha256(released.canonical.as_bytes()))
            .with("managed_settings.settings", &released.shown[..end])
            .with("managed_settings.settings_truncated", end < released.shown.len())
    }
}

impl Observer {
    /// Nothing is watched.
    pub fn off() -> Self {
        Self(None)
    }

    /// An empty handle where nothing is exported. The administrator's settings are the first thing that is told of a session.
    pub fn new(telemetry: Telemetry, facts: SessionFacts) -> Self {
        if !telemetry.is_on() {
            return Self::off();
        }
        telemetry.record(facts.managed.event());
        telemetry.count(Count::new(Metric::Sessions, 1.0).with("start_type", facts.start_type));
        let state = State { session_id: facts.id, mode: Some(facts.mode.as_str()), ..State::default() };
        Self(Some(Rc::new(Recorder {
            telemetry,
            state: RefCell::new(state),
            incoming: facts.incoming,
            propagates: facts.propagates,
            folder: facts.folder,
            hide: OnceCell::new(),
        })))
    }

    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// How secrets are taken out of what leaves the machine. Set once, before anything is shown.
    pub fn hide_with(&self, hide: impl Fn(&str) -> String + 'static) {
        if let Some(recorder) = &self.0 {
            let _ = recorder.hide.set(Box::new(hide));
        }
    }

    /// The conversation goes on under another id.
    pub fn rename_session(&self, id: &str) {
        if let Some(recorder) = &self.0 {
            recorder.telemetry.set_session(id);
            id.clone_into(&mut recorder.state().session_id);
        }
    }

    /// An input, before the machine has it.
    pub fn heard(&self, role: &Role, mode: PermissionMode, input: &Input) {
        let Some(recorder) = &self.0 else { return };
        match input {
            Input::CommandRead { command, .. } => recorder.command_read(command),
            Input::Gathered { gathered, .. } => recorder.gathered(role, gathered),
            Input::AnswerFinished { .. } => recorder.answer_finished(role),
            Input::InputChecked { ticket, checked } => recorder.input_checked(role, *ticket, checked.is_ok()),
            Input::HookAnswered { ticket, answer } => recorder.hook_answered(role, *ticket, answer, mode),
            Input::Judged { ticket, decision, .. } => recorder.judged(role, *ticket, decision),
            Input::PermissionAnswered { ticket, answer } => recorder.permission_answered(role, *ticket, answer, mode),
            Input::ToolFinished { ticket, finish } => recorder.finished(role, *ticket, &finish.result),
            Input::AgentFinished { ticket, result, .. } => recorder.finished(role, *ticket, result),
            Input::Stopped { ticket } => recorder.stopped(role, *ticket),
            Input::Changed(Change::Mode(mode)) if role.is_main() => recorder.mode_changed(role, mode.as_str()),
            Input::Close { .. } if role.is_main() => recorder.interaction_ends(),
            _ => {}
        }
    }

    /// What a machine wants done, before it is done.
    pub fn wanted(&self, role: &Role, mode: PermissionMode, effects: &[Effect]) {
        let Some(recorder) = &self.0 else { return };
        for effect in effects {
            recorder.wanted(role, mode, effect);
        }
        recorder.settle_response(role);
    }

    /// A request leaves. Returns the `traceparent` that it carries, where the trace goes on.
    pub fn asks(&self, role: &Role, ticket: Ticket, asked: &Asked) -> Option<String> {
        let recorder = self.0.as_ref()?;
        let context = recorder.asks(role, ticket, asked)?;
        recorder.propagates.then(|| context.to_string())
    }

    pub fn retried(&self, role: &Role, ticket: Ticket) {
        if let Some(recorder) = &self.0 {
            recorder.retried(role, ticket);
        }
    }

    /// `cost` is what was booked for it; `None` where it was booked before.
    pub fn answered(&self, role: &Role, ticket: Ticket, reply: &Reply, cost: Option<f64>) {
        if let Some(recorder) = &self.0 {
            recorder.answered(role, ticket, reply, cost);
        }
    }

    pub fn failed(&self, role: &Role, ticket: Ticket, failure: &Failure) {
        if let Some(recorder) = &self.0 {
            recorder.failed(role, ticket, failure);
        }
    }

    /// A question beside the conversation leaves. `is_compaction`: it is the summary that a compaction wants.
    pub fn asks_aside<'a>(&self, model: &'a str, is_compaction: bool, body: &dyn Fn() -> Option<String>) -> Aside<'a> {
        let mut aside = Aside::new(model, is_compaction);
        if let Some(recorder) = &self.0 {
            recorder.asks_aside(&mut aside, body);
        }
        aside
    }

    pub fn answered_aside(&self, aside: &Aside, reply: &Reply, cost: Option<f64>) {
        if let Some(recorder) = &self.0 {
            recorder.answered_aside(aside, reply, cost);
        }
    }

    /// The `TRACEPARENT` of a command that a call runs, where the trace goes on.
    pub fn command_context(&self, role: &Role, tool_use_id: &str) -> Option<String> {
        let recorder = self.0.as_ref().filter(|recorder| recorder.propagates)?;
        recorder.command_context(role, tool_use_id).map(|context| context.to_string())
    }

    /// The hooks that a settings file names.
    pub fn hooks_registered(&self, source: &str, hooks: &Value) {
        if let Some(recorder) = &self.0 {
            recorder.hooks_registered(source, hooks);
        }
    }

    pub fn plugin_loaded(&self, plugin: &PluginSeen) {
        if let Some(recorder) = &self.0 {
            recorder.plugin_loaded(plugin);
        }
    }

    /// All hooks that an event has were started.
    pub fn hooks_began(&self, role: &Role, meter: &HookMeter) {
        if let Some(recorder) = &self.0 {
            recorder.hooks_began(role, meter);
        }
    }

    /// `texts`: for the model, for the user. `first_prompt`: what the user would have said.
    pub fn hooks_ended(&self, role: &Role, meter: &HookMeter, texts: [&[String]; 2], first_prompt: &str) {
        if let Some(recorder) = &self.0 {
            recorder.hooks_ended(role, meter, texts, first_prompt);
        }
    }

    pub fn server_seen(&self, server: &ServerSeen, lasted_ms: u64) {
        if let Some(recorder) = &self.0 {
            recorder.server_seen(server, lasted_ms);
        }
    }

    pub fn servers_end(&self) {
        if let Some(recorder) = &self.0 {
            recorder.servers_end();
        }
    }
}

impl Recorder {
    fn wanted(&self, role: &Role, mode: PermissionMode, effect: &Effect) {
        match effect {
            Effect::Prepare { .. } if role.is_main() => self.turn_begins(),
            Effect::SetPromptId(id) => self.prompt_named(id),
            Effect::ReadCommand { text, .. } => self.state().maybe_command = Some(text.clone()),
            Effect::FireHook { ticket, hook } => self.hook_wanted(role, mode, *ticket, hook),
            Effect::CheckInput { ticket, tool_use_id, name, input } => {
                self.call_begins(role, *ticket, tool_use_id, name, input);
            }
            Effect::Judge { ticket, tool_use_id, .. } => self.call_waits(role, *ticket, Wait::Verdict, tool_use_id),
            Effect::AskPermission { ticket, question } => {
                self.call_waits(role, *ticket, Wait::Permission, &question.tool_use_id);
            }
            Effect::RunTool { ticket, tool_use_id, input, .. }
            | Effect::StartAgent { ticket, tool_use_id, input, .. } => {
                self.runs(role, *ticket, tool_use_id, input, mode);
            }
            Effect::Append(Entry::Assistant { id, .. }) => self.entry_written(role, id),
            Effect::Append(Entry::System { subtype: "compact_boundary", fields, .. }) => {
                self.compaction_ends(role, Some(&fields["compactMetadata"]));
            }
            Effect::Emit { event, .. } => {
                if let Event::System(System::Status(status)) = &**event
                    && status.compact_result.as_ref().is_some_and(|result| **result == *"failed")
                {
                    self.compaction_ends(role, None);
                }
            }
            Effect::EndTurn { .. } => self.interaction_ends(),
            Effect::EndTask { result } => {
                if let Role::Sub(agent) = role {
                    self.agent_ended(agent, role, result);
                }
            }
            _ => {}
        }
    }

    fn hook_wanted(&self, role: &Role, mode: PermissionMode, ticket: Ticket, hook: &Hook) {
        match hook {
            Hook::UserPromptSubmit { prompt } if role.is_main() => self.prompted(prompt, None),
            Hook::PreToolUse { tool_use_id, .. } => self.call_waits(role, ticket, Wait::PreHook, tool_use_id),
            Hook::PermissionRequest { tool_use_id, .. } => {
                self.call_waits(role, ticket, Wait::PermissionHook, tool_use_id);
            }
            Hook::PermissionDenied { tool_use_id, .. } => self.rejected(role, tool_use_id, mode),
            Hook::PreCompact { trigger, .. } => self.compaction_begins(role, trigger),
            _ => {}
        }
    }
}
