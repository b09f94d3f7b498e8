//! What a transcript says of hooks that did their work. Pure.
//!
//! Deliberately absent: hooks of the session's start and end, which would make a transcript of a session in which nothing was said.

use hooks::{HookEvent, HookRun};
use serde_json::{Value, json};

/// Characters of a hook's output that are kept; a transcript is for people and for going on, not for logs.
const OUTPUT_MAX: usize = 10_000;

/// The attachment for a hook that succeeded.
pub fn success(run: &HookRun, tool_use_id: Option<&str>) -> Option<Value> {
    let HookRun::Response { name, event, stdout, stderr, output, exit_code, outcome, .. } = run else { return None };
    let is_outside = matches!(event, HookEvent::SessionStart | HookEvent::Setup | HookEvent::SessionEnd);
    if *outcome != "success" || is_outside {
        return None;
    }
    let cut = |text: &str| text.chars().take(OUTPUT_MAX).collect::<String>();
    Some(json!({
        "type": "hook_success",
        "hookName": name,
        "hookEvent": event.as_str(),
        "toolUseID": tool_use_id,
        "content": cut(output.trim_end()),
        "stdout": cut(stdout),
        "stderr": cut(stderr),
        "exitCode": exit_code,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_hooks_that_succeeded_inside_a_turn_are_noted() {
        let run = |event, outcome| HookRun::Response {
            hook_id: "h".into(),
            name: "PreToolUse:Bash".into(),
            event,
            stdout: "fine\n".into(),
            stderr: String::new(),
            output: "fine\n".into(),
            exit_code: Some(0),
            outcome,
        };
        let note = success(&run(HookEvent::PreToolUse, "success"), Some("toolu_1")).unwrap();
        assert_eq!(
            (&note["content"], &note["exitCode"], &note["toolUseID"]),
            (&json!("fine"), &json!(0), &json!("toolu_1"))
        );
        for (event, outcome) in
            [(HookEvent::PreToolUse, "error"), (HookEvent::SessionStart, "success"), (HookEvent::SessionEnd, "success")]
        {
            assert_eq!(success(&run(event, outcome), None), None);
        }
        let started = HookRun::Started { hook_id: "h".into(), name: "x".into(), event: HookEvent::PreToolUse };
        assert_eq!(success(&started, None), None);
    }
}
