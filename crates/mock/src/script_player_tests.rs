use super::*;
use std::collections::BTreeMap;

fn post(body: Value) -> Recorded {
    Recorded { method: "POST".into(), path: "/v1/messages?beta=true".into(), headers: BTreeMap::new(), body, at_ms: 0 }
}

fn ask(playbook: &mut ScriptPlayer) -> Reply {
    playbook.reply(&post(json!({"model": "m", "stream": true, "tools": [{}]})))
}

fn text(reply: &Reply) -> String {
    String::from_utf8(reply.bytes.clone()).unwrap()
}

fn playbook(turns: Value) -> ScriptPlayer {
    ScriptPlayer::new(Script::from_value(turns).unwrap())
}

#[test]
fn a_script_that_ends_in_a_tool_call_repeats_it_with_new_ids() {
    let mut book = playbook(json!([{"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "true"}}]}]));
    assert!(text(&ask(&mut book)).contains("toolu_000001_0"));
    assert!(text(&ask(&mut book)).contains("toolu_000002_0"));
}

#[test]
fn a_script_that_ends_in_text_says_so() {
    let mut book = playbook(json!([{"content": [{"type": "text", "text": "Done."}]}]));
    assert!(text(&ask(&mut book)).contains("Done."));
    let reply = ask(&mut book);
    assert!(text(&reply).contains("script exhausted") && text(&reply).contains("msg_000002"));
    assert!(text(&ask(&mut playbook(json!([])))).contains("script exhausted"));
}

#[test]
fn what_is_put_before_a_script_takes_nothing_from_it() {
    let mut book = playbook(json!([{"content": [{"type": "text", "text": "first"}]}]));
    book.interpose(ScriptedAnswer::status(429));
    assert_eq!(ask(&mut book).status, 429);
    assert!(text(&ask(&mut book)).contains("first"));
}

#[test]
fn requests_without_tools_use_up_no_turn() {
    let mut book = playbook(json!({"turns": [{"content": [{"type": "text", "text": "first"}]}],
        "untooled": [{"content": [{"type": "text", "text": "a title"}]}]}));
    for expected in ["a title", "\"text\":\"ok\""] {
        let reply = book.reply(&post(json!({"model": "m", "tools": []})));
        assert!(text(&reply).contains(expected), "{}", text(&reply));
    }
    let reply = ask(&mut book);
    assert!(text(&reply).contains("first") && text(&reply).contains("msg_000001"));
    assert!(reply.headers.contains(&("request-id".into(), "req_000001".into())));
}

#[test]
fn errors_carry_their_status_headers_and_body() {
    let mut book = playbook(json!([
        {"status": 529, "error": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}},
        {"status": 429, "headers": {"retry-after": "7"}},
        {"body": "<html>hello</html>"},
    ]));
    let reply = ask(&mut book);
    assert_eq!((reply.status, reply.framing), (529, Framing::Length(reply.bytes.len())));
    assert!(text(&reply).contains("Overloaded"));
    let reply = ask(&mut book);
    assert!(reply.headers.contains(&("retry-after".into(), "7".into())));
    assert!(text(&reply).contains("rate_limit_error") && text(&reply).contains("req_000002"));
    let reply = ask(&mut book);
    assert_eq!((reply.status, text(&reply)), (200, "<html>hello</html>".into()));
    assert!(reply.headers[0].1.starts_with("text/html"));
}

#[test]
fn streams_are_cut_stalled_and_broken_where_the_script_says() {
    let hello = json!([{"type": "text", "text": "Hello, this will be cut off in the middle."}]);
    for (fault, events, end) in [
        (json!({"cut_after_events": 4}), 4, End::Cut),
        (json!({"stall_after_events": 2}), 2, End::Stall),
        (json!({"stall_after_events": 0}), 0, End::Stall),
        (json!({"cut_after_events": 2, "error": {"type": "error", "error": {"type": "api_error"}}}), 3, End::Finish),
        (json!({"cut_after_bytes": 10}), 0, End::Cut),
        (json!({"ping": true}), 9, End::Finish),
    ] {
        let mut turn = fault.clone();
        turn["content"] = hello.clone();
        let reply = ask(&mut playbook(json!([turn])));
        assert_eq!((text(&reply).matches("\n\n").count(), reply.end), (events, end), "{fault}");
        assert_eq!(reply.framing, Framing::Chunked);
    }
}

#[test]
fn raw_bytes_are_sent_unchanged() {
    let raw = "event: x\ndata: {\n\n: comment\n\nrest";
    assert_eq!(text(&ask(&mut playbook(json!([{"raw_sse": raw}])))), raw);
    assert_eq!(text(&ask(&mut playbook(json!([{"raw_sse": raw, "cut_after_events": 1}])))), "event: x\ndata: {\n\n");
}

#[test]
fn a_request_that_the_script_did_not_expect_is_refused_with_the_difference() {
    let mut book = playbook(json!([{"expect": {"model": "other"}}, {"expect": {"model": "m"}}]));
    let reply = ask(&mut book);
    assert_eq!(reply.status, 400);
    assert!(text(&reply).contains(r#"request.model is \"m\"; expected \"other\""#), "{}", text(&reply));
    assert_eq!(ask(&mut book).status, 200);
}

#[test]
fn the_other_endpoints_answer() {
    let mut book = playbook(json!([]));
    let mut request = post(json!({"messages": [{"role": "user", "content": "hello"}]}));
    request.path = "/v1/messages/count_tokens".into();
    assert!(text(&book.reply(&request)).starts_with("{\"input_tokens\":1"));
    request.path = "/v1/nope".into();
    assert_eq!(book.reply(&request).status, 404);
    request.method = "GET".into();
    request.path = "/v1/models?limit=5".into();
    assert!(text(&book.reply(&request)).contains("mock-model"));
    assert_eq!(book.reply(&post(Value::Null)).status, 400);
}

#[test]
fn without_a_stream_the_message_comes_whole() {
    let mut book = playbook(json!([{"content": [{"type": "tool_use", "name": "X", "input": {"a": 1}}]}]));
    let reply = book.reply(&post(json!({"model": "m", "tools": [{}]})));
    let message: Value = serde_json::from_slice(&reply.bytes).unwrap();
    assert_eq!(
        message["content"],
        json!([{"type": "tool_use", "name": "X", "input": {"a": 1}, "id": "toolu_000001_0"}])
    );
    assert_eq!((&message["stop_reason"], &message["usage"]["output_tokens"]), (&json!("tool_use"), &json!(25)));
}

#[test]
fn gemini_has_parts_a_reason_and_usage() {
    let turn =
        json!({"content": [{"type": "text", "text": "Hi."}, {"type": "tool_use", "name": "X", "input": {"a": 1}}]});
    let mut book = playbook(json!([turn, turn, {"status": 429}]));
    let mut request = post(json!({"contents": [], "tools": [{"functionDeclarations": []}]}));
    request.path = "/v1beta/models/gemini-x:streamGenerateContent?alt=sse".into();
    let stream = text(&book.reply(&request));
    let pieces: Vec<Value> = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect();
    let part = |at: usize| &pieces[at]["candidates"][0]["content"]["parts"][0];
    assert_eq!((pieces.len(), &part(0)["text"]), (3, &json!("Hi.")), "{stream}");
    assert_eq!((&part(1)["functionCall"]["name"], &part(1)["functionCall"]["args"]), (&json!("X"), &json!({"a": 1})));
    assert_eq!(
        (&pieces[2]["candidates"][0]["finishReason"], &pieces[2]["modelVersion"]),
        (&json!("STOP"), &json!("gemini-x"))
    );
    assert!(pieces[2]["usageMetadata"]["totalTokenCount"].as_u64().is_some_and(|count| count > 0), "{stream}");
    request.path = "/v1beta/models/gemini-x:generateContent".into();
    let whole: Value = serde_json::from_slice(&book.reply(&request).bytes).unwrap();
    assert_eq!(whole["candidates"][0]["content"]["parts"].as_array().map(Vec::len), Some(2), "{whole}");
    let refused = book.reply(&request);
    assert_eq!(refused.status, 429);
    assert!(text(&refused).contains("RESOURCE_EXHAUSTED"));
}

/// A request of one of two conversations, which differ in their first words.
fn request_of(opening: &str, messages: usize) -> Recorded {
    let message =
        |at: usize| json!({"role": if at.is_multiple_of(2) { "user" } else { "assistant" }, "content": opening});
    let messages: Vec<Value> = (0..messages).map(message).collect();
    Recorded {
        method: "POST".into(),
        path: "/v1/messages".into(),
        headers: BTreeMap::new(),
        body: json!({"model": "m", "tools": [{"name": "Bash"}], "messages": messages}),
        at_ms: 0,
    }
}

#[test]
fn recorded_answers_find_their_conversation_in_any_order() {
    let exchange = |opening: &str, text: &str| Exchange {
        asked: RequestKey::of(&request_of(opening, 1).body),
        turn: ScriptedAnswer::text(text),
    };
    let recorded = vec![exchange("main", "m1"), exchange("sub", "s1"), exchange("main", "m2"), exchange("sub", "s2")];
    let mut playbook = ScriptPlayer::new(Script { recorded, ..Script::default() });
    playbook.interpose(ScriptedAnswer::text("first of all"));
    let mut said = |opening: &str, messages| {
        let reply = playbook.reply(&request_of(opening, messages));
        let body: Value = serde_json::from_slice(&reply.bytes).unwrap();
        body["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert_eq!(said("main", 1), "first of all", "what goes wrong takes nothing from the recording");
    assert_eq!((said("sub", 1), said("sub", 3)), ("s1".into(), "s2".into()), "the other one is not asked");
    assert_eq!((said("main", 3), said("main", 5)), ("m1".into(), "m2".into()));
    assert_eq!(said("main", 7), EXHAUSTED);
}
