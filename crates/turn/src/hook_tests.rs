use super::*;

#[test]
fn a_payload_has_the_fields_of_the_contract() {
    let (name, input, id) = ("Bash".to_owned(), json!({"command": "ls"}), "t1".to_owned());
    let rows = [
        (
            Hook::PreToolUse { name: name.clone(), input: input.clone(), tool_use_id: id.clone() },
            Some("Bash"),
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"}),
        ),
        (
            Hook::PermissionRequest { name, input, tool_use_id: id, suggestions: vec![json!({"type": "setMode"})] },
            Some("Bash"),
            json!({"tool_name": "Bash", "tool_input": {"command": "ls"}, "permission_suggestions": [{"type": "setMode"}]}),
        ),
        (
            Hook::SessionStart { source: "startup", model: "m".into(), agent_type: None, title: Some("t".into()) },
            Some("startup"),
            json!({"source": "startup", "model": "m", "session_title": "t"}),
        ),
        (
            Hook::Stop { is_active: true, last_text: "done".into() },
            None,
            json!({"stop_hook_active": true, "last_assistant_message": "done"}),
        ),
        (
            Hook::PreCompact { trigger: "auto", wish: None },
            Some("auto"),
            json!({"trigger": "auto", "custom_instructions": null}),
        ),
    ];
    for (hook, subject, expected) in rows {
        assert_eq!(hook.subject(), subject, "{}", hook.name());
        assert_eq!(Value::Object(hook.clone().fields()), expected, "{}", hook.name());
    }
}
