use super::*;
use serde_json::json;

#[test]
fn names_go_both_ways_and_unknown_ones_are_nothing() {
    for event in HookEvent::ALL {
        assert_eq!(HookEvent::parse(event.as_str()), Some(*event));
    }
    for unknown in ["", "pretooluse", "PreToolUse ", "NotYetInvented"] {
        assert_eq!(HookEvent::parse(unknown), None, "{unknown:?}");
    }
}

#[test]
fn frames_show_where_clients_expect_them() {
    for (event, unasked, asked) in [
        (HookEvent::SessionStart, true, true),
        (HookEvent::Setup, true, true),
        (HookEvent::PreToolUse, false, true),
        (HookEvent::SessionEnd, false, false),
        (HookEvent::PreCompact, false, false),
    ] {
        assert_eq!((event.is_shown(false), event.is_shown(true)), (unasked, asked), "{event:?}");
    }
}

/// Clients read these fields; the order is that of the struct.
#[test]
fn payloads_are_written_as_clients_know_them() {
    let input = json!({"command": "ls"});
    let task =
        BackgroundTask { id: "b1".into(), kind: "shell", status: "running", description: "d".into(), command: None };
    let switch = ModelSwitch {
        from_model: "a".into(),
        to_model: "b".into(),
        requested_model: None,
        source: "sdk",
        context_tokens: 7,
        prompt_cache_warm: true,
        cache_ttl: "5m",
        estimated_cache_write_usd: 0.5,
        pricing: "catalog",
    };
    let question = || json!({"mode": "form"}).as_object().cloned().unwrap_or_default();
    let action = json!("accept");
    let payloads: [(&dyn HookPayload, &str); 10] = [
        (
            &PreToolUse { tool_name: "Bash", tool_input: &input, tool_use_id: "t" },
            r#"PreToolUse Some("Bash") Some("t") {"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}"#,
        ),
        (
            &PermissionRequest { tool_name: "Bash", tool_input: &input, permission_suggestions: &[], tool_use_id: "t" },
            r#"PermissionRequest Some("Bash") Some("t") {"tool_name":"Bash","tool_input":{"command":"ls"},"permission_suggestions":[]}"#,
        ),
        (
            &SessionStart { source: "startup", model: "m", agent_type: None, session_title: Some("x") },
            r#"SessionStart Some("startup") None {"source":"startup","model":"m","session_title":"x"}"#,
        ),
        (
            &Stop {
                stop_hook_active: false,
                last_assistant_message: "x",
                background_tasks: &[task],
                session_crons: &[],
            },
            r#"Stop None None {"stop_hook_active":false,"last_assistant_message":"x","background_tasks":[{"id":"b1","type":"shell","status":"running","description":"d"}],"session_crons":[]}"#,
        ),
        (
            &PreModelSwitch { to_model: "b", switch: &switch },
            r#"PreModelSwitch Some("b") None {"from_model":"a","to_model":"b","requested_model":null,"source":"sdk","context_tokens":7,"prompt_cache_warm":true,"cache_ttl":"5m","estimated_cache_write_usd":0.5,"pricing":"catalog"}"#,
        ),
        (
            &Elicitation { mcp_server_name: "s", question: question() },
            r#"Elicitation Some("s") None {"mcp_server_name":"s","mode":"form"}"#,
        ),
        (
            &ElicitationResult { mcp_server_name: "s", question: question(), action: &action, content: None },
            r#"ElicitationResult Some("s") None {"mcp_server_name":"s","mode":"form","action":"accept"}"#,
        ),
        (
            &FileChanged { file_name: "a", file_path: Path::new("/p/a"), event: "add" },
            r#"FileChanged Some("a") None {"file_path":"/p/a","event":"add"}"#,
        ),
        (
            &PreCompact { trigger: "auto", custom_instructions: None },
            r#"PreCompact Some("auto") None {"trigger":"auto","custom_instructions":null}"#,
        ),
        (
            &InstructionsLoaded {
                file_path: "/f",
                memory_type: "Project",
                load_reason: "include",
                globs: None,
                trigger_file_path: None,
                parent_file_path: Some("/g".into()),
            },
            r#"InstructionsLoaded Some("include") None {"file_path":"/f","memory_type":"Project","load_reason":"include","parent_file_path":"/g"}"#,
        ),
    ];
    for (payload, expected) in payloads {
        let fields = Value::Object(payload.fields());
        let told = format!("{:?} {:?} {:?} {fields}", payload.event(), payload.subject(), payload.tool_use_id());
        assert_eq!(told, expected);
    }
}

/// A path may hold bytes that are no text.
#[test]
fn a_path_that_is_no_text_is_told_all_the_same() {
    use std::os::unix::ffi::OsStrExt as _;
    let path = Path::new(std::ffi::OsStr::from_bytes(b"/a\xff"));
    let fields = WorktreeRemove { worktree_path: path }.fields();
    assert_eq!(fields["worktree_path"], "/a\u{fffd}");
}
