//! What settings and clients configure, and what is said about what cannot be used.

use super::{command, hooks};
use crate::{HookEvent, Hooks};
use serde_json::{Value, json};
use std::time::Duration;

#[test]
fn what_cannot_be_used_is_named_and_the_rest_works() {
    let handler = |value: Value| json!({"PreToolUse": [{"hooks": [value, {"type": "command", "command": "true"}]}]});
    let fine = json!({"hooks": [{"type": "command", "command": "true"}]});
    for (settings, handlers, warning) in [
        (Value::Null, 0, None),
        (json!({}), 0, None),
        (json!({"PreToolUse": [fine]}), 1, None),
        (json!([]), 0, Some("not an object")),
        (json!({"PreToolUs": [fine]}), 0, Some("no such event")),
        (json!({"Stop": "x", "PreToolUse": [fine]}), 1, Some("not a list")),
        (json!({"Stop": [{}, fine]}), 1, Some("no list named hooks")),
        (json!({"Stop": [{"matcher": 1, "hooks": []}, fine]}), 1, Some("not a string")),
        (json!({"PreToolUse": [{"matcher": "(", "hooks": [command("x")]}]}), 1, Some("matches nothing")),
        (handler(json!({"type": "prompt", "prompt": "?"})), 2, None),
        (handler(json!({"type": "agent", "prompt": "?", "model": "haiku"})), 2, None),
        (handler(json!({"type": "mcp_tool", "server": "s", "tool": "t", "input": {"a": "${b}"}})), 2, None),
        (handler(json!({"type": "prompt"})), 1, Some("prompt is missing")),
        (handler(json!({"type": "agent", "prompt": 7})), 1, Some("not a string")),
        (handler(json!({"type": "mcp_tool", "server": "s"})), 1, Some("tool is missing")),
        (handler(json!({"type": "mcp_tool", "server": "s", "tool": "t", "input": []})), 1, Some("not an object")),
        (json!({"SessionEnd": [{"hooks": [{"type": "prompt", "prompt": "?"}]}]}), 0, Some("nothing is decided")),
        (json!({"Setup": [{"hooks": [{"type": "agent", "prompt": "?"}]}]}), 0, Some("nothing is decided")),
        (handler(json!({"type": "novel"})), 1, Some("\"novel\" is unknown")),
        (handler(json!({"command": "x"})), 1, Some("has no type")),
        (handler(json!("x")), 1, Some("has no type")),
        (handler(json!({"type": "command"})), 1, Some("missing or empty")),
        (handler(json!({"type": "command", "command": " "})), 1, Some("missing or empty")),
        (handler(json!({"type": "command", "command": "x", "args": "y"})), 1, Some("list of strings")),
        (handler(json!({"type": "command", "command": "x", "args": [1]})), 1, Some("list of strings")),
        (handler(json!({"type": "command", "command": "x", "shell": "fish"})), 1, Some("\"fish\" is unknown")),
        (handler(json!({"type": "command", "command": "x", "async": "yes"})), 1, Some("not true or false")),
        (handler(json!({"type": "command", "command": "x", "timeout": -1})), 2, Some("not a number of seconds")),
        (handler(json!({"type": "command", "command": "x", "timeout": "5"})), 2, Some("not a number of seconds")),
        (handler(json!({"type": "command", "command": "x", "if": "Bash("})), 2, Some("unbalanced")),
        (handler(json!({"type": "http", "url": "file:///etc"})), 1, Some("not an http address")),
        (handler(json!({"type": "http", "url": "http://x", "headers": {"a": 1}})), 1, Some("not a string")),
        (json!({"Setup": [{"hooks": [{"type": "http", "url": "http://x"}]}]}), 0, Some("do not run at this event")),
    ] {
        let (read, warnings) = Hooks::from_settings(&settings, "here");
        assert_eq!(read.handlers.len(), handlers, "{settings}");
        match warning {
            None => assert_eq!(warnings, Vec::<String>::new(), "{settings}"),
            Some(part) => {
                assert_eq!(warnings.len(), 1, "{settings}: {warnings:?}");
                assert!(warnings[0].contains(part) && warnings[0].contains("here"), "{settings}: {warnings:?}");
            }
        }
    }
}

#[test]
fn time_is_given_by_kind_and_event() {
    let http = json!({"type": "http", "url": "http://x"});
    for (event, handler, seconds) in [
        ("PreToolUse", command("x"), 600.0),
        ("PreToolUse", http.clone(), 600.0),
        ("UserPromptSubmit", command("x"), 30.0),
        ("UserPromptSubmit", http, 30.0),
        ("MessageDisplay", command("x"), 10.0),
        ("Stop", json!({"type": "prompt", "prompt": "?"}), 30.0),
        ("Stop", json!({"type": "agent", "prompt": "?"}), 60.0),
        ("Stop", json!({"type": "mcp_tool", "server": "s", "tool": "t"}), 600.0),
        ("UserPromptSubmit", json!({"type": "command", "command": "x", "timeout": 0.5}), 0.5),
        ("Stop", json!({"type": "command", "command": "x", "timeout": 1e300}), 86_400.0),
    ] {
        let allowed = hooks(event, &json!([handler])).handlers[0].time_allowed();
        assert_eq!(allowed, Duration::from_secs_f64(seconds), "{event} {handler}");
    }
    let mut callbacks = Hooks::default();
    callbacks.set_callbacks(&json!({"Stop": [{"hookCallbackIds": ["a"]}, {"hookCallbackIds": ["b"], "timeout": 7}]}));
    let allowed: Vec<_> = callbacks.handlers.iter().map(|handler| handler.time_allowed().as_secs()).collect();
    assert_eq!(allowed, [60, 7]);
}

#[test]
fn callbacks_replace_callbacks_and_leave_settings_alone() {
    let mut all = hooks("Stop", &json!([command("x")]));
    all.set_callbacks(&json!({
        "PreToolUse": [{"matcher": null, "hookCallbackIds": ["a", "b"]}, {"matcher": "Bash", "hookCallbackIds": ["c"]}],
        "PostModelSwitch": [{"hookCallbackIds": ["d"]}],
        "Unheard": [{"hookCallbackIds": ["e"]}],
        "Stop": "nonsense",
    }));
    assert_eq!(all.handlers.len(), 5);
    assert!(all.wants(HookEvent::PreToolUse) && all.wants(HookEvent::PostModelSwitch) && all.wants(HookEvent::Stop));
    all.set_callbacks(&json!({"SessionEnd": [{"hookCallbackIds": ["f"]}]}));
    assert_eq!(all.handlers.len(), 2);
    assert!(!all.wants(HookEvent::PreToolUse) && all.wants(HookEvent::SessionEnd) && all.wants(HookEvent::Stop));
    all.set_callbacks(&Value::Null);
    assert_eq!(all.handlers.len(), 1);
    assert!(all.wants(HookEvent::PreToolUse) || all.wants(HookEvent::Stop));
}

#[test]
fn an_administrator_limits_addresses_and_variables() {
    let web = |url: &str| json!({"type": "http", "url": url, "allowedEnvVars": ["A", "B"]});
    let list = || hooks("Stop", &json!([web("https://a.test/x"), web("https://b.test/x"), command("x")]));
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for (urls, handlers) in
        [(None, 3), (Some(names(&["https://a.test/*"])), 2), (Some(names(&["*"])), 3), (Some(names(&[])), 1)]
    {
        let mut limited = list();
        let removed = limited.restrict_http(urls.as_deref(), Some(&names(&["B", "C"])));
        assert_eq!((limited.handlers.len(), removed.len()), (handlers, 3 - handlers), "{urls:?}");
        assert!(!format!("{:?}", limited.handlers).contains("\"A\""), "{urls:?}");
    }
}
