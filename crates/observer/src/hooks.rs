//! Hooks: one event before they run, one after, and a span where detailed tracing is on.

use crate::names;
use crate::record::{Recorder, millis, new_span};
use serde_json::Value;
use std::cell::RefCell;
use telemetry::{Event, SpanId, TraceContext};
use turn::Role;

/// Counts the runs of one firing.
#[derive(Debug, Default)]
pub struct HookMeter(RefCell<Tally>);

#[derive(Debug, Default)]
struct Tally {
    event: &'static str,
    name: String,
    start: u64,
    started: u64,
    succeeded: u64,
    blocking: u64,
    failed: u64,
    cancelled: u64,
    stdout_chars: usize,
}

impl HookMeter {
    /// A run began.
    pub fn began(&self, event: &'static str, name: &str) {
        let mut tally = self.0.borrow_mut();
        if tally.started == 0 {
            *tally = Tally { event, name: name.to_owned(), start: telemetry::now(), ..Tally::default() };
        }
        tally.started += 1;
    }

    /// A run ended as `outcome` says: `success`, `error` or `cancelled`; 2 is the exit code that blocks.
    pub fn ended(&self, outcome: &str, exit_code: Option<i32>, stdout: &str) {
        let mut tally = self.0.borrow_mut();
        tally.stdout_chars += stdout.chars().count();
        match (outcome, exit_code) {
            ("success", _) => tally.succeeded += 1,
            ("cancelled", _) => tally.cancelled += 1,
            (_, Some(2)) => tally.blocking += 1,
            _ => tally.failed += 1,
        }
    }
}

/// Events whose subject is a tool's name.
const ABOUT_TOOLS: [&str; 5] =
    ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PermissionRequest", "PermissionDenied"];
/// Events whose subject is a word of ours: a reason, a trigger, a kind.
const ABOUT_REASONS: [&str; 10] = [
    "SessionStart",
    "SessionEnd",
    "StopFailure",
    "PreCompact",
    "PostCompact",
    "Notification",
    "Setup",
    "ConfigChange",
    "InstructionsLoaded",
    "DirectoryAdded",
];

/// As events tell it: without the subject where that may be a name of somebody's, such as a file, a server or a command.
fn shown_name(name: &str, event: &str, shows_details: bool) -> String {
    let Some((_, subject)) = name.split_once(':').filter(|_| !shows_details) else { return name.to_owned() };
    let shown = match event {
        event if ABOUT_TOOLS.contains(&event) => names::tool(subject, "mcp_tool", false),
        event if ABOUT_REASONS.contains(&event) => subject,
        "SubagentStart" | "SubagentStop" if names::is_builtin_agent(subject) => subject,
        _ => names::CUSTOM,
    };
    format!("{event}:{shown}")
}

/// The places of settings as events name them.
fn place(source: &str) -> &'static str {
    match source {
        "user" => "userSettings",
        "project" => "projectSettings",
        "local" => "localSettings",
        "flag" => "flagSettings",
        "managed" => "policySettings",
        _ => "pluginHook",
    }
}

impl Recorder {
    /// The hooks that a settings file names, `{Event: [{matcher?, hooks: [handler…]}]}`.
    pub(crate) fn hooks_registered(&self, source: &str, hooks: &Value) {
        for (event, groups) in hooks.as_object().into_iter().flatten() {
            for group in groups.as_array().into_iter().flatten() {
                let matcher = group["matcher"].as_str().filter(|_| self.details());
                for handler in group["hooks"].as_array().into_iter().flatten() {
                    let told = Event::new("hook_registered")
                        .with("hook_event", event.as_str())
                        .with("hook_type", handler["type"].as_str().unwrap_or("command"))
                        .with("hook_source", place(source))
                        .with("safe_mode", "false")
                        .with_some("hook_matcher", matcher);
                    self.record(&Role::Main, told);
                }
            }
        }
    }

    fn hook_event(&self, kind: &'static str, tally: &Tally) -> Event {
        Event::new(kind)
            .with("hook_event", tally.event)
            .with("hook_name", shown_name(&tally.name, tally.event, self.details()))
            .with("num_hooks", tally.started.to_string())
            .with("managed_only", "false")
            .with("hook_source", "merged")
            .with("safe_mode", "false")
    }

    /// All hooks that an event has were started.
    pub(crate) fn hooks_began(&self, role: &Role, meter: &HookMeter) {
        let tally = meter.0.borrow();
        if tally.started > 0 {
            self.record(role, self.hook_event("hook_execution_start", &tally));
        }
    }

    pub(crate) fn hooks_ended(&self, role: &Role, meter: &HookMeter, texts: [&[String]; 2], first_prompt: &str) {
        let tally = meter.0.borrow();
        if tally.started == 0 {
            return;
        }
        let [contexts, messages] =
            texts.map(|texts| texts.iter().map(|text| text.chars().count()).sum::<usize>().to_string());
        let event = self
            .hook_event("hook_execution_complete", &tally)
            .with("num_success", tally.succeeded.to_string())
            .with("num_blocking", tally.blocking.to_string())
            .with("num_non_blocking_error", tally.failed.to_string())
            .with("num_cancelled", tally.cancelled.to_string())
            .with("total_duration_ms", millis(tally.start, telemetry::now()).to_string())
            .with("stdout_chars", tally.stdout_chars.to_string())
            .with("additional_context_chars", contexts)
            .with("system_message_chars", messages)
            .with("initial_user_message_chars", first_prompt.chars().count().to_string());
        self.record(role, event);
        self.hook_span(role, &tally);
    }

    /// Only where detailed tracing is on.
    fn hook_span(&self, role: &Role, tally: &Tally) {
        let Some(parent) = self.parent(role).filter(|_| self.telemetry.is_detailed()) else { return };
        let own = TraceContext { span: SpanId::random(), ..parent };
        let span = new_span("hook", own, Some(parent), tally.start);
        let lasted = millis(span.start, span.end);
        let span = span
            .with("gen_ai.conversation.id", self.conversation_id(role))
            .with("hook_event", tally.event)
            .with("hook_name", shown_name(&tally.name, tally.event, self.details()))
            .with("num_hooks", tally.started)
            .with("num_success", tally.succeeded)
            .with("num_blocking", tally.blocking)
            .with("num_non_blocking_error", tally.failed)
            .with("num_cancelled", tally.cancelled)
            .with("duration_ms", lasted);
        self.telemetry.span(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_not_ours_are_hidden() {
        assert_eq!(shown_name("PreToolUse:mcp__vault__open", "PreToolUse", false), "PreToolUse:mcp_tool");
        assert_eq!(shown_name("PreToolUse:mcp__vault__open", "PreToolUse", true), "PreToolUse:mcp__vault__open");
        assert_eq!(shown_name("PreToolUse:Bash", "PreToolUse", false), "PreToolUse:Bash");
        assert_eq!(shown_name("Stop", "Stop", false), "Stop");
        for (name, expected) in [
            ("SessionStart:startup", "SessionStart:startup"),
            ("SubagentStop:Explore", "SubagentStop:Explore"),
            ("SubagentStop:secret-agent", "SubagentStop:custom"),
            ("UserPromptExpansion:secret-command", "UserPromptExpansion:custom"),
            ("Elicitation:vaultserver", "Elicitation:custom"),
            ("FileChanged:secret.txt", "FileChanged:custom"),
            ("NewEvent:secret", "NewEvent:custom"),
        ] {
            let event = name.split(':').next().unwrap_or_default();
            assert_eq!(shown_name(name, event, false), expected);
            assert_eq!(shown_name(name, event, true), name);
        }
    }
}
