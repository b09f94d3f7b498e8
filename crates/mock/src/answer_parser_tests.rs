use super::*;

fn stream(turn: Value) -> String {
    let turn: ScriptedAnswer = serde_json::from_value(turn).unwrap();
    AnswerIds { turn: &turn, number: Number::Tooled(1), model: "m" }.events().concat()
}

fn heard(body: &str) -> Value {
    let headers = vec![("content-type".to_owned(), "text/event-stream; charset=utf-8".to_owned())];
    ParsedAnswer { status: 200, headers, body: body.into() }.turn().into()
}

#[test]
fn a_stream_becomes_the_turn_it_was_made_from() {
    let turn = json!({
        "content": [
            {"type": "thinking", "thinking": "let me see, and think a while", "signature": "c2ln"},
            {"type": "text", "text": "Hello there, this was streamed in pieces."},
            {"type": "tool_use", "name": "Bash", "id": "toolu_7", "input": {"command": "echo hi and more words"}},
        ],
        "usage": {"input_tokens": 7, "output_tokens": 9, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
            "service_tier": "standard"},
        "model": "m", "stop_reason": "tool_use",
    });
    let mut found = heard(&stream(turn.clone()));
    assert_eq!(found.as_object_mut().unwrap().remove("stop_details"), None);
    assert_eq!(found, turn);
    assert_eq!(stream(found), stream(turn), "and streams the same again");
}

#[test]
fn broken_input_stays_broken_and_a_cut_stays_a_cut() {
    let broken = json!({"content": [{"type": "tool_use", "name": "X", "id": "t", "input_json": "{\"a\": "}]});
    assert_eq!(heard(&stream(broken.clone()))["content"], broken["content"]);
    let whole = stream(json!({"content": [{"type": "text", "text": "one two three four five six"}]}));
    let events: Vec<&str> = whole.split_inclusive("\n\n").collect();
    for kept in 0..events.len() - 1 {
        let turn = heard(&events[..kept].concat());
        let cut = turn["cut_after_events"].as_u64().unwrap_or(99) as usize;
        assert!(cut <= kept.max(1), "{kept}: {turn}");
        assert_eq!(cut == 0, kept == 0, "{turn}");
    }
}

#[test]
fn an_error_in_the_stream_comes_where_it_came() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}});
    let begun = stream(json!({"content": []}));
    let first = begun.split_inclusive("\n\n").next().unwrap();
    let turn = heard(&format!("{first}{}", crate::sse::event(&error)));
    assert_eq!((&turn["error"], &turn["cut_after_events"]), (&error, &json!(1)));
}

#[test]
fn errors_and_strange_bodies_keep_what_a_replay_needs() {
    let answered = |status, kind: &str, body: &str| ParsedAnswer {
        status,
        headers: vec![
            ("content-type".into(), kind.into()),
            ("retry-after".into(), "7".into()),
            ("set-cookie".into(), "session=1".into()),
        ],
        body: body.into(),
    };
    let limited: Value = answered(429, "application/json", r#"{"type":"error"}"#).turn().into();
    assert_eq!(limited, json!({"status": 429, "headers": {"retry-after": "7"}, "error": {"type": "error"}}));
    let page: Value = answered(200, "text/html", "<p>hi").turn().into();
    assert_eq!(page, json!({"body": "<p>hi", "content_type": "text/html"}));
    let plain = r#"{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{}}"#;
    let message: Value = answered(200, "application/json", plain).turn().into();
    assert_eq!(message["content"][0]["text"], "x");
    let half: Value = answered(200, "application/json", r#"{"type":"mess"#).turn().into();
    assert_eq!(half["body"], "{\"type\":\"mess");
}
