//! Interactions: prompts and commands, the answers to them, compactions, and the end of each.

use crate::bodies::BodyOwner;
use crate::names;
use crate::record::{Recorder, agent_id, millis, new_span};
use crate::state::Interaction;
use serde_json::Value;
use telemetry::{Count, Event, Metric, SpanId, TraceContext, TraceId};
use turn::{Command, Gathered, Role, Subagent, SubagentResult};

const NANOS_PER_SECOND: f64 = 1_000_000_000.0;

impl Recorder {
    pub(crate) fn turn_begins(&self) {
        self.interaction_ends();
        let mut state = self.state();
        state.interactions += 1;
        state.is_prompt_told = false;
        state.maybe_command = None;
        state.skill = None;
        let trace = self.incoming.map_or_else(TraceId::random, |incoming| incoming.trace);
        let context = TraceContext { trace, span: SpanId::random(), is_sampled: self.telemetry.samples(trace) };
        let sequence = state.interactions;
        state.interaction = Some(Interaction { context, start: telemetry::now(), sequence, prompt: None });
    }

    pub(crate) fn prompt_named(&self, id: &str) {
        self.state().prompt_id = Some(id.to_owned());
        self.telemetry.set_prompt(id);
    }

    /// A prompt of the user's, or the command that it is.
    pub(crate) fn prompted(&self, text: &str, command: Option<(&str, &'static str)>) {
        let uuid = {
            let mut state = self.state();
            if std::mem::replace(&mut state.is_prompt_told, true) {
                return;
            }
            if let Some(interaction) = &mut state.interaction {
                interaction.prompt = Some(text.to_owned());
            }
            state.prompt_id.clone().filter(|_| command.is_none())
        };
        let gates = self.telemetry.gates();
        let mut event = Event::user_prompt(text, uuid.as_deref(), gates);
        for (name, value) in &mut event.attributes {
            if gates.prompts() && (name == "prompt" || name == "prompt_text") {
                *value = self.content(text).into();
            }
        }
        let named = command.map(|(name, source)| names::command(name, source, self.details()));
        let event =
            event.with_some("command_name", named).with_some("command_source", command.map(|(_, source)| source));
        self.record(&Role::Main, event);
    }

    pub(crate) fn command_read(&self, command: &Command) {
        let text = self.state().maybe_command.take().unwrap_or_default();
        match command {
            Command::None => {}
            Command::Expands { kind, name, source, .. } => {
                let from = if source == "mcp" { "mcp" } else { "custom" };
                self.prompted(&text, Some((name, from)));
                if *kind != "mcp_prompt" {
                    self.state().skill = Some(name.clone());
                    let shown = if self.details() { name } else { "custom_skill" };
                    let event = Event::new("skill_activated").with("skill.name", shown);
                    let event = event.with("invocation_trigger", "user-slash").with("skill.source", source.as_str());
                    self.record(&Role::Main, event);
                }
            }
            Command::Clear => self.prompted(&text, Some(("clear", "builtin"))),
            Command::Compact { .. } => self.prompted(&text, Some(("compact", "builtin"))),
            Command::Local { name, .. } => self.prompted(&text, Some((name, "builtin"))),
            Command::Blocks(_) => self.prompted(&text, Some(("init", "builtin"))),
            // Nobody knows it: what was typed may be anything.
            Command::Failed(_) => self.prompted(&text, Some(("custom", "custom"))),
        }
    }

    pub(crate) fn gathered(&self, role: &Role, gathered: &Gathered) {
        for attachment in &gathered.attachments {
            let Some(kind @ ("file" | "directory" | "mcp_resource")) = attachment.attachment["type"].as_str() else {
                continue;
            };
            self.record(role, Event::new("at_mention").with("mention_type", kind).with("success", "true"));
        }
    }

    pub(crate) fn entry_written(&self, role: &Role, id: &str) {
        self.with_talk(role, |talk| talk.last_entry = Some(id.to_owned()));
    }

    pub(crate) fn answer_finished(&self, role: &Role) {
        self.with_talk(role, |talk| {
            if let Some(response) = &mut talk.response {
                response.is_finished = true;
            }
        });
    }

    /// Tells of an answer once its last entry is written.
    pub(crate) fn settle_response(&self, role: &Role) {
        let ready = self.with_talk(role, |talk| {
            let entry = talk.last_entry.clone()?;
            talk.response.take_if(|response| response.is_finished).map(|response| (response, entry))
        });
        let Some((response, entry)) = ready else { return };
        let source = names::source(role);
        if let Some(body) = &response.body {
            let (model, request_id) = (response.model.as_str(), response.request_id.as_deref());
            let owner = BodyOwner { request_id, entry: Some(&entry), ..BodyOwner::asking(role, model, &source) };
            self.tell_received(&owner, body);
        }
        if response.text.is_empty() {
            return;
        }
        let event = Event::new("assistant_response")
            .with("response_length", response.text.encode_utf16().count() as u64)
            .with("response", self.gated(&response.text, self.telemetry.gates().responses()))
            .with_some("request_id", response.request_id)
            .with("message.uuid", entry)
            .with("model", response.model)
            .with("query_source", source)
            .with_some("agent_id", agent_id(role));
        self.record(role, event);
    }

    pub(crate) fn compaction_begins(&self, role: &Role, trigger: &'static str) {
        self.with_talk(role, |talk| talk.compaction = Some((trigger, telemetry::now())));
    }

    /// With what the boundary in the transcript says; `None` where it failed.
    pub(crate) fn compaction_ends(&self, role: &Role, boundary: Option<&Value>) {
        let Some((trigger, start)) = self.with_talk(role, |talk| talk.compaction.take()) else { return };
        self.state().told_prompts.clear();
        let number = |name: &str| boundary.and_then(|told| told[name].as_u64()).map(|number| number.to_string());
        let event = Event::new("compaction")
            .with("trigger", trigger)
            .with("success", boundary.is_some().to_string())
            .with("duration_ms", millis(start, telemetry::now()).to_string())
            .with_some("pre_tokens", number("preTokens"))
            .with_some("post_tokens", number("postTokens"));
        self.record(role, event);
    }

    pub(crate) fn mode_changed(&self, role: &Role, mode: &'static str) {
        let before = self.state().mode.replace(mode);
        if let Some(before) = before.filter(|before| *before != mode) {
            let event = Event::new("permission_mode_changed").with("from_mode", before).with("to_mode", mode);
            self.record(role, event);
        }
    }

    pub(crate) fn agent_ended(&self, agent: &Subagent, role: &Role, result: &SubagentResult) {
        let model = self.with_talk(role, |talk| talk.model.clone());
        if !agent.answers_a_hook {
            let is_builtin = names::is_builtin_agent(&agent.agent_type);
            let total = |name: &str| result.totals[name].as_u64().unwrap_or_default();
            let event = Event::new("subagent_completed")
                .with("agent_type", names::agent_type(agent))
                .with_some("agent.source", is_builtin.then_some("built-in"))
                .with("is_built_in", is_builtin)
                .with("is_async", self.state().background_calls.remove(&agent.tool_use_id))
                .with("total_tokens", total("total_tokens"))
                .with("total_tool_uses", total("tool_uses"))
                .with("duration_ms", total("duration_ms"))
                .with("model", model.as_str())
                .with("final_model", model.as_str())
                .with("model_swapped", false)
                .with("agent_id", agent.agent_id.as_str());
            self.record(role, event);
        }
        self.state().talks.remove(&agent.agent_id);
    }

    /// The turn is over, or the session while it runs: one span, and the time that it took.
    pub(crate) fn interaction_ends(&self) {
        let Some(interaction) = self.state().interaction.take() else { return };
        let now = telemetry::now();
        let seconds = now.saturating_sub(interaction.start) as f64 / NANOS_PER_SECOND;
        self.telemetry.count(Count::new(Metric::ActiveTime, seconds).with("type", "cli"));
        if !self.telemetry.traces() {
            return;
        }
        let prompt = interaction.prompt.as_deref().unwrap_or_default();
        let mut span = new_span("interaction", interaction.context, self.incoming, interaction.start)
            .with("gen_ai.operation.name", "invoke_agent")
            .with("gen_ai.conversation.id", self.conversation_id(&Role::Main))
            .with("user_prompt", self.gated(prompt, self.telemetry.gates().prompts()))
            .with("user_prompt_length", prompt.encode_utf16().count() as u64)
            .with("interaction.sequence", interaction.sequence)
            .with("parent.source", if self.incoming.is_some() { "env" } else { "none" })
            .with("queued_sends", 0u64);
        span.is_parent_remote = self.incoming.is_some();
        let lasted = millis(span.start, span.end);
        let is_told = self.telemetry.is_detailed() && self.telemetry.gates().prompts();
        let span = span.with("interaction.duration_ms", lasted);
        self.telemetry.span(span.with_some("new_context", is_told.then(|| self.content(prompt))));
    }

    /// The context of a command that a call runs.
    pub(crate) fn command_context(&self, role: &Role, tool_use_id: &str) -> Option<TraceContext> {
        self.span_of_call(role, "execution", tool_use_id)
    }
}
