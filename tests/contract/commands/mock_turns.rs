//! `ralph mock`: every field of a turn that docs/mock.md describes, through the binary.

use super::server::{Answer, Server};
use serde_json::{Value, json};

fn tooled(more: &Value) -> Value {
    let mut body = json!({"model": "asked-for", "stream": true, "tools": [{"name": "Bash"}]});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

/// The answer to one streaming request with this turn.
fn streamed(turn: &Value) -> Answer {
    Server::start(&json!([turn])).ask(&tooled(&json!({})))
}

/// The same without streaming.
fn whole(turn: &Value) -> Value {
    Server::start(&json!([turn])).ask(&tooled(&json!({"stream": false}))).json()
}

fn kinds(answer: &Answer) -> Vec<String> {
    answer.events().iter().map(|event| event["type"].as_str().unwrap_or_default().to_owned()).collect()
}

/// The pieces of the deltas of one kind, joined.
fn joined(answer: &Answer, key: &str) -> String {
    answer.events().iter().filter_map(|event| event["delta"][key].as_str().map(str::to_owned)).collect()
}

#[test]
fn content_is_streamed_in_small_pieces() {
    let long = "a text that is longer than twenty characters: äöü";
    let answer = streamed(&json!({"content": [
        {"type": "text", "text": long},
        {"type": "thinking", "thinking": "hm"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
        {"type": "redacted_thinking", "data": "xyz"}
    ]}));
    assert_eq!((answer.status, answer.is_whole), (200, true));
    assert!(answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")));
    let events = answer.events();
    assert_eq!(events.first().unwrap()["message"]["id"], "msg_000001");
    assert_eq!(events.last().unwrap()["type"], "message_stop");
    assert_eq!(joined(&answer, "text"), long);
    let pieces = events.iter().filter_map(|event| event["delta"]["text"].as_str());
    assert!(pieces.clone().count() == 3 && pieces.clone().all(|piece| piece.chars().count() <= 20));
    assert_eq!((&*joined(&answer, "thinking"), joined(&answer, "signature").is_empty()), ("hm", false));
    assert_eq!(serde_json::from_str::<Value>(&joined(&answer, "partial_json")).unwrap(), json!({"command": "ls"}));
    let blocks: Vec<Value> = events
        .iter()
        .filter(|event| event["type"] == "content_block_start")
        .map(|event| event["content_block"].clone())
        .collect();
    assert_eq!((&blocks[2]["id"], &blocks[2]["name"]), (&json!("toolu_000001_2"), &json!("Bash")));
    assert_eq!(blocks[3], json!({"type": "redacted_thinking", "data": "xyz"}), "passed on as it stands");
    assert_eq!(answer.header("request-id"), Some("req_000001"));
}

#[test]
fn broken_input_is_streamed_unchecked() {
    let answer = streamed(&json!({"content": [{"type": "tool_use", "name": "Bash", "input_json": "{\"command\": "}]}));
    assert_eq!(joined(&answer, "partial_json"), "{\"command\": ");
}

#[test]
fn usage_stop_reason_model_and_their_defaults() {
    let plain = streamed(&json!({"content": [{"type": "text", "text": "x"}]}));
    let start = &plain.events()[0]["message"];
    assert_eq!((&start["model"], &start["usage"]["input_tokens"]), (&json!("asked-for"), &json!(100)));
    let end = plain.events().into_iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!((&end["delta"]["stop_reason"], &end["usage"]["output_tokens"]), (&json!("end_turn"), &json!(25)));
    let called = whole(&json!({"content": [{"type": "tool_use", "name": "Bash"}]}));
    assert_eq!(called["stop_reason"], "tool_use");

    let turn = json!({"usage": {"input_tokens": 7, "output_tokens": 9, "cache_read_input_tokens": 5}, "stop_reason": "refusal",
                      "stop_details": {"category": "x"}, "model": "another", "note": "for the reader"});
    let answer = streamed(&turn);
    let start = &answer.events()[0]["message"];
    assert_eq!((&start["model"], &start["usage"]["input_tokens"]), (&json!("another"), &json!(7)));
    assert_eq!(
        (&start["usage"]["cache_read_input_tokens"], &start["usage"]["cache_creation_input_tokens"]),
        (&json!(5), &json!(20))
    );
    let end = answer.events().into_iter().find(|event| event["type"] == "message_delta").unwrap();
    assert_eq!(end["delta"]["stop_reason"], "refusal");
    assert_eq!((&end["delta"]["stop_details"], &end["usage"]["output_tokens"]), (&json!({"category": "x"}), &json!(9)));
    let message = whole(&turn);
    assert_eq!((&message["stop_reason"], &message["stop_details"]), (&json!("refusal"), &json!({"category": "x"})));
    assert_eq!(message["usage"]["output_tokens"], 9);
}

#[test]
fn requests_without_tools_have_answers_of_their_own() {
    let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    let script = json!({"turns": [text("one"), text("two")], "untooled": [text("a title")], "note": "ignored"});
    let server = Server::start(&script);
    let said = |body: &Value| server.ask(body).json()["content"][0]["text"].as_str().unwrap_or_default().to_owned();
    let (with, without) = (tooled(&json!({"stream": false})), json!({"model": "m"}));
    assert_eq!([said(&with), said(&without), said(&without), said(&with)], ["one", "a title", "ok", "two"]);
    assert_eq!(said(&with), "script exhausted");
    assert_eq!(said(&json!({"model": "m", "tools": []})), "ok", "an empty list offers nothing");
}

#[test]
fn a_last_turn_that_calls_a_tool_is_repeated() {
    let server = Server::start(&json!([{"content": [{"type": "tool_use", "name": "Bash", "input": {}}]}]));
    let ids: Vec<Value> =
        (0..3).map(|_| server.ask(&tooled(&json!({"stream": false}))).json()["content"][0]["id"].clone()).collect();
    assert_eq!(ids, ["toolu_000001_0", "toolu_000002_0", "toolu_000003_0"]);
}

#[test]
fn errors_with_status_headers_and_body() {
    let answer = streamed(&json!({"status": 429, "headers": {"retry-after": "7", "x-more": "y"}}));
    assert_eq!((answer.status, answer.header("retry-after"), answer.header("x-more")), (429, Some("7"), Some("y")));
    assert_eq!(answer.json()["error"]["type"], "rate_limit_error");
    let own = json!({"type": "error", "error": {"type": "billing_error", "message": "no money"}});
    let answer = streamed(&json!({"status": 402, "error": own}));
    assert_eq!((answer.status, answer.json()), (402, own));
    let with_headers = streamed(&json!({"headers": {"request-id": "mine"}}));
    assert_eq!((with_headers.status, with_headers.header("request-id")), (200, Some("mine")));
    for (status, kind) in
        [(400, "invalid_request_error"), (401, "authentication_error"), (529, "overloaded_error"), (500, "api_error")]
    {
        assert_eq!(streamed(&json!({"status": status})).json()["error"]["type"], kind, "{status}");
    }
}

#[test]
fn an_error_after_the_stream_began() {
    let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": "later"}});
    let turn = json!({"content": [{"type": "text", "text": "x"}], "error": error, "cut_after_events": 2});
    let answer = streamed(&turn);
    assert_eq!(
        (answer.status, kinds(&answer)),
        (200, vec!["message_start".into(), "content_block_start".into(), "error".into()])
    );
}

#[test]
fn bytes_of_any_kind() {
    let page = streamed(&json!({"body": "<html>proxy</html>"}));
    assert_eq!((page.status, &*page.body), (200, "<html>proxy</html>"));
    assert!(page.header("content-type").is_some_and(|kind| kind.starts_with("text/html")));
    let plain = streamed(&json!({"body": "down", "content_type": "text/plain", "status": 503}));
    assert_eq!((plain.status, &*plain.body, plain.header("content-type")), (503, "down", Some("text/plain")));
    let raw = streamed(&json!({"raw_sse": "event: x\ndata: {\"type\": \"ping\"}\n\n: comment\n\n"}));
    assert_eq!(raw.body, "event: x\ndata: {\"type\": \"ping\"}\n\n: comment\n\n");
    assert!(raw.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")));
}

#[test]
fn a_request_that_is_not_what_was_expected_gets_a_400_that_says_where() {
    let body = json!({"model": "m", "messages": [{"role": "user", "content": "say hi"}, {"role": "user", "content": "tool_result"}], "n": [1, 2]});
    for (expect, difference) in [
        (json!({}), None),
        (json!({"model": "m", "n": [1, 2]}), None),
        (json!({"messages": {"$contains": "say hi"}}), None),
        (json!({"messages": {"$last": {"content": {"$contains": "tool_result"}}}}), None),
        (json!({"messages": {"$any": {"content": "say hi"}}}), None),
        (json!({"messages": {"$len": 2}, "thinking": {"$absent": true}}), None),
        (json!({"model": "x"}), Some("request.model is \"m\"; expected \"x\"")),
        (json!({"messages": {"$len": 3}}), Some("request.messages has length")),
        (
            json!({"messages": {"$last": {"content": "x"}}}),
            Some("request.messages[last].content is \"tool_result\"; expected \"x\""),
        ),
        (json!({"messages": {"$any": {"content": "x"}}}), Some("no element of request.messages matches")),
        (json!({"model": {"$absent": true}}), Some("request.model is \"m\"; expected it to be absent")),
        (json!({"model": {"$contains": "z"}}), Some("request.model does not contain \"z\"")),
        (json!({"nope": 1}), Some("request.nope is missing; expected 1")),
    ] {
        let answer = Server::start(&json!([{"expect": expect}])).ask(&tooled(&body));
        match difference {
            None => assert_eq!(answer.status, 200, "{expect}: {}", answer.body),
            Some(words) => {
                let error = answer.json();
                assert_eq!(
                    (answer.status, &error["error"]["type"]),
                    (400, &json!("invalid_request_error")),
                    "{expect}"
                );
                let message = error["error"]["message"].as_str().unwrap();
                assert!(message.contains(words), "{expect}: {message}");
            }
        }
    }
}
