//! Hooks: one event before they run, one after.

use crate::record::{Recorder, millis};
use serde_json::Value;
use std::cell::RefCell;
use telemetry::Event;
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

/// As events tell it: without the subject where that is a name of somebody's.
fn shown_name(name: &str, event: &str, shows_details: bool) -> String {
    match name.split_once(':') {
        Some((_, subject)) if !shows_details && subject.starts_with("mcp__") => format!("{event}:mcp_tool"),
        _ => name.to_owned(),
    }
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

    pub(crate) fn hooks_ended(&self, role: &Role, meter: &HookMeter, contexts: &[String], messages: &[String]) {
        let tally = meter.0.borrow();
        if tally.started == 0 {
            return;
        }
        let chars = |texts: &[String]| texts.iter().map(|text| text.chars().count()).sum::<usize>().to_string();
        let event = self
            .hook_event("hook_execution_complete", &tally)
            .with("num_success", tally.succeeded.to_string())
            .with("num_blocking", tally.blocking.to_string())
            .with("num_non_blocking_error", tally.failed.to_string())
            .with("num_cancelled", tally.cancelled.to_string())
            .with("total_duration_ms", millis(tally.start, telemetry::now()).to_string())
            .with("stdout_chars", tally.stdout_chars.to_string())
            .with("additional_context_chars", chars(contexts))
            .with("system_message_chars", chars(messages));
        self.record(role, event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers_tools_are_hidden() {
        assert_eq!(shown_name("PreToolUse:mcp__vault__open", "PreToolUse", false), "PreToolUse:mcp_tool");
        assert_eq!(shown_name("PreToolUse:mcp__vault__open", "PreToolUse", true), "PreToolUse:mcp__vault__open");
        assert_eq!(shown_name("PreToolUse:Bash", "PreToolUse", false), "PreToolUse:Bash");
        assert_eq!(shown_name("Stop", "Stop", false), "Stop");
    }
}
