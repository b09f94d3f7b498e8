use super::*;
use wire::Line;

fn updates() -> Updates {
    Updates::new("/w".into(), Capabilities::default())
}

fn event(value: Value) -> Event {
    Line::from_value(value).unwrap().event
}

fn feed(updates: &mut Updates, lines: &[Value]) -> Vec<Value> {
    lines.iter().flat_map(|line| updates.event(&event(line.clone()))).collect()
}

fn stream(piece: Value) -> Value {
    json!({"type": "stream_event", "event": piece, "parent_tool_use_id": null})
}

fn said(block: Value) -> Value {
    json!({"type": "assistant", "message": {"id": "m", "content": [block]}, "parent_tool_use_id": null})
}

fn kinds(updates: &[Value]) -> Vec<&str> {
    updates.iter().filter_map(|update| update["sessionUpdate"].as_str()).collect()
}

#[test]
fn text_leaves_in_pieces_and_is_not_repeated() {
    let mut state = updates();
    let delta = |kind: &str, key: &str, text: &str| {
        stream(json!({"type": "content_block_delta", "index": 0, "delta": {"type": kind, key: text}}))
    };
    let told = feed(
        &mut state,
        &[
            stream(json!({"type": "message_start", "message": {"id": "m", "model": "x"}})),
            delta("thinking_delta", "thinking", "hm"),
            said(json!({"type": "thinking", "thinking": "hm"})),
            delta("text_delta", "text", "He"),
            delta("text_delta", "text", "llo"),
            said(json!({"type": "text", "text": "Hello"})),
            said(json!({"type": "text", "text": "whole"})),
        ],
    );
    assert_eq!(
        kinds(&told),
        ["agent_thought_chunk", "agent_message_chunk", "agent_message_chunk", "agent_message_chunk"]
    );
    assert_eq!((&told[1]["content"]["text"], &told[1]["messageId"]), (&json!("He"), &json!("m")));
    assert_eq!(told[3]["content"]["text"], "whole");
}

#[test]
fn a_call_is_announced_once_and_then_updated() {
    let mut state = updates();
    let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "Bash"}});
    let told = feed(
        &mut state,
        &[
            stream(start),
            said(json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}})),
            json!({"type": "tool_progress", "tool_use_id": "t", "tool_name": "Bash"}),
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "a"}]}, "tool_use_result": {"stdout": "a"}}),
            json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "a"}]}}),
        ],
    );
    assert_eq!(kinds(&told), ["tool_call", "tool_call_update", "tool_call_update", "tool_call_update"]);
    assert_eq!((&told[0]["title"], &told[1]["title"]), (&json!("Terminal"), &json!("ls")));
    assert_eq!(told[2]["status"], "in_progress");
    assert_eq!((&told[3]["status"], &told[3]["rawOutput"]), (&json!("completed"), &json!({"stdout": "a"})));
}

#[test]
fn a_denied_call_and_one_without_a_result_have_failed() {
    let mut state = updates();
    let call = |id: &str| said(json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}}));
    feed(&mut state, &[call("a"), call("b")]);
    let denied = json!({"type": "system", "subtype": "permission_denied", "tool_use_id": "a", "tool_name": "Bash", "message": "no"});
    let told = feed(&mut state, &[denied, json!({"type": "result", "subtype": "success", "total_cost_usd": 0.5})]);
    assert_eq!((&told[0]["toolCallId"], &told[0]["status"]), (&json!("a"), &json!("failed")));
    assert_eq!((&told[1]["toolCallId"], &told[1]["status"]), (&json!("b"), &json!("failed")));
    assert_eq!(told[2]["cost"], json!({"amount": 0.5, "currency": "USD"}));
}

#[test]
fn to_do_lists_are_plans() {
    let todos = json!([{"content": "a", "activeForm": "doing a", "status": "in_progress"}, {"content": "b", "status": "pending"}]);
    let told = feed(
        &mut updates(),
        &[said(json!({"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {"todos": todos}}))],
    );
    assert_eq!(kinds(&told), ["plan"]);
    assert_eq!(told[0]["entries"][0], json!({"content": "doing a", "priority": "medium", "status": "in_progress"}));
    assert_eq!(told[0]["entries"][1]["content"], "b");
}

#[test]
fn task_tools_keep_a_plan() {
    let mut state = updates();
    let call =
        |id: &str, name: &str, input: Value| said(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
    let done = |id: &str, data: Value| json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": id, "content": "ok"}]}, "tool_use_result": data});
    let told = feed(
        &mut state,
        &[
            call("1", "TaskCreate", json!({"subject": "one"})),
            done("1", json!({"task": {"id": "7", "subject": "one"}})),
            call("2", "TaskUpdate", json!({"taskId": "7", "status": "completed"})),
            done("2", json!({})),
        ],
    );
    assert_eq!(kinds(&told), ["plan", "plan"]);
    assert_eq!(told[1]["entries"], json!([{"content": "one", "priority": "medium", "status": "completed"}]));
}

#[test]
fn a_helpers_calls_name_their_parent_and_its_words_stay_inside() {
    let line = json!({"type": "assistant", "parent_tool_use_id": "p", "message": {"id": "n", "content": [
        {"type": "text", "text": "inner"}, {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]}});
    let told = feed(&mut updates(), &[line]);
    assert_eq!(kinds(&told), ["tool_call"]);
    assert_eq!(told[0]["_meta"]["claudeCode"], json!({"toolName": "Bash", "parentToolUseId": "p"}));
}

#[test]
fn notices_and_compactions_only_for_those_who_take_them() {
    let info = json!({"type": "system", "subtype": "informational", "content": "hm", "level": "warning"});
    let compacting = json!({"type": "system", "subtype": "status", "status": "compacting"});
    assert_eq!(kinds(&feed(&mut updates(), &[info.clone(), compacting.clone()])), ["agent_message_chunk"]);
    let client = Capabilities { notices: true, compaction: true, ..Capabilities::default() };
    let told = feed(&mut Updates::new("/w".into(), client), &[info, compacting]);
    assert_eq!(kinds(&told), ["notice", "compaction_update"]);
}
