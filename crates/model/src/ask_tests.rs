use super::*;
use crate::test_server::{ANSWER, Answer, Server, request, response, reusable, stream};
use crate::{Client, ClientConfig, Timeouts};
use serde_json::json;

async fn events(client: &Client) -> Vec<Event> {
    let request = request();
    let mut ask = client.ask(&request);
    let mut events = Vec::new();
    loop {
        events.push(ask.next().await);
        if let Some(Event::Finished(_) | Event::Failed(_)) = events.last() {
            return events;
        }
    }
}

/// The events in short: their names, and the types of the partials.
fn outline(events: &[Event]) -> Vec<String> {
    let kind = |raw: &Bytes| serde_json::from_slice::<Value>(raw).unwrap()["type"].as_str().unwrap().to_owned();
    let names = |event: &Event| match event {
        Event::Retry(retry) => vec![format!("retry {} {:?} {}", retry.attempt, retry.error_status, retry.error)],
        Event::Partials(pieces) => pieces.iter().map(kind).collect(),
        Event::MessageStart { .. } => vec!["START".into()],
        Event::Block { index, .. } => vec![format!("BLOCK {index}")],
        Event::Finished(reply) => vec![if reply.incomplete { "INCOMPLETE" } else { "FINISHED" }.into()],
        Event::Failed(failure) => vec![format!("FAILED {:?}", failure.kind)],
    };
    events.iter().flat_map(names).collect()
}

fn reply(events: Vec<Event>) -> Reply {
    match events.into_iter().last() {
        Some(Event::Finished(reply)) => *reply,
        other => panic!("{other:?}"),
    }
}

fn failure(events: Vec<Event>) -> Failure {
    match events.into_iter().last() {
        Some(Event::Failed(failure)) => *failure,
        other => panic!("{other:?}"),
    }
}

fn retries(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event, Event::Retry(_))).count()
}

#[tokio::test]
async fn a_block_comes_before_the_partial_of_its_stop() {
    let server = Server::start([Answer::Close(stream(ANSWER))]);
    let events = events(&server.client()).await;
    assert_eq!(
        outline(&events),
        [
            "START",
            "message_start",
            "content_block_start",
            "content_block_delta",
            "BLOCK 0",
            "content_block_stop",
            "content_block_start",
            "content_block_delta",
            "BLOCK 1",
            "content_block_stop",
            "message_delta",
            "message_stop",
            "FINISHED"
        ]
    );
    let pieces = |event: &Event| if let Event::Partials(pieces) = event { pieces.clone() } else { Vec::new() };
    let delta = events.iter().flat_map(pieces).nth(2).unwrap();
    assert_eq!(
        &delta[..],
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Héllo \u00e9"}}"#.as_bytes()
    );
    let reply = reply(events);
    assert_eq!(
        reply.blocks,
        [
            json!({"type":"text","text":"Héllo é"}),
            json!({"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}})
        ]
    );
    assert_eq!((reply.usage.input_tokens, reply.usage.output_tokens), (100, 25));
    assert_eq!((reply.stop_reason.as_deref(), reply.request_id.as_deref()), (Some("tool_use"), Some("req_9")));
    assert!(reply.ttft_ms.is_some() && reply.ttft_stream_ms >= reply.ttft_ms);
}

#[tokio::test]
async fn a_stream_cut_at_any_byte_is_answered_once() {
    let head = stream("");
    let first_block = head.len()
        + ANSWER.find("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1").unwrap();
    let end = head.len() + ANSWER.find("event: message_stop").unwrap();
    let bytes = stream(ANSWER);
    for cut in 0..bytes.len() {
        let server = Server::start([Answer::Close(bytes[..cut].to_vec()), Answer::Close(bytes.clone())]);
        let events = events(&server.client()).await;
        let retried = retries(&events);
        let reply = reply(events);
        // One event is dispatched by the blank line behind it, whose last byte may be the one cut off.
        let expected = if cut < first_block { (1, false, 2) } else { (0, cut < end, if cut < end { 0 } else { 2 }) };
        assert_eq!((retried, reply.incomplete), (expected.0, expected.1), "cut at {cut}");
        if expected.2 == 2 {
            assert_eq!(reply.blocks.len(), 2, "cut at {cut}");
            assert_eq!(reply.usage.output_tokens, 25, "cut at {cut}");
        } else {
            assert!((1..=2).contains(&reply.blocks.len()), "cut at {cut}");
            assert!(reply.incomplete_because.is_some());
        }
        assert_eq!(server.requests().len(), retried + 1, "cut at {cut}");
    }
}

#[tokio::test]
async fn overload_passes_and_is_told_before_the_wait() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let busy = Answer::Close(response(529, "", overloaded));
    let server = Server::start([busy.clone(), busy, Answer::Close(stream(ANSWER))]);
    let events = events(&server.client()).await;
    let outline = outline(&events);
    assert_eq!(outline[..3], ["retry 1 Some(529) overloaded", "retry 2 Some(529) overloaded", "START"]);
    assert!(!reply(events).incomplete);
}

#[tokio::test]
async fn a_standing_by_fallback_model_is_not_kept_waiting() {
    let busy = Answer::Close(response(529, "", ""));
    let server = Server::start(vec![busy; 20]);
    let client = server.client();
    let request = Request { overload_retries: Some(2), ..request() };
    let failure = client.ask_once(&request).await.unwrap_err();
    assert!(failure.overloaded);
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn what_cannot_pass_fails_at_once() {
    for status in [302, 400, 401, 402, 403, 404, 413] {
        let body = r#"{"type":"error","error":{"type":"some_error","message":"because sk-ant-secret-key"}}"#;
        let server = Server::start([Answer::Close(response(status, "", body)), Answer::Close(stream(ANSWER))]);
        let events = events(&server.client()).await;
        assert_eq!(retries(&events), 0, "{status}");
        let failure = failure(events);
        assert_eq!((failure.kind, failure.status), (FailureKind::Http, Some(status)));
        assert!(failure.message.contains("because [secret]") && failure.message.contains("req_9"), "{failure}");
    }
}

#[tokio::test]
async fn retries_end_and_a_day_is_not_slept_through() {
    let server = Server::start(vec![Answer::Close(response(500, "", "oops")); 20]);
    let client = Client::new(ClientConfig { max_retries: 3, ..server.config() }).unwrap();
    let events = events(&client).await;
    assert_eq!(retries(&events), 3);
    assert!(failure(events).message.contains("gave up after 4 attempts"));

    let server = Server::start([Answer::Close(response(429, "retry-after: 99999\r\n", "slow down"))]);
    let events = self::events(&server.client()).await;
    assert_eq!(retries(&events), 0);
    let failure = failure(events);
    let wait = failure.reset_at.unwrap().as_second() - Timestamp::now().as_second();
    assert!((99_900..=99_999).contains(&wait) && failure.message.contains("resets at"), "{failure}");
}

#[tokio::test]
async fn an_error_inside_the_stream_is_retried_only_before_a_block() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let second = ANSWER.match_indices("event: content_block_start").nth(1).unwrap().0;
    let early = format!("{}{error}", &ANSWER[..ANSWER.find("event: content_block_stop").unwrap()]);
    let late = format!("{}{error}", &ANSWER[..second]);
    let server = Server::start([Answer::Close(stream(&early)), Answer::Close(stream(&late))]);
    let events = events(&server.client()).await;
    assert!(outline(&events).contains(&"retry 1 Some(529) overloaded".to_owned()));
    let reply = reply(events);
    assert_eq!((reply.incomplete, reply.blocks.len()), (true, 1));
    assert!(reply.incomplete_because.unwrap().contains("Overloaded"));
}

fn impatient(server: &Server, change: impl Fn(&mut Timeouts)) -> Client {
    let mut config = server.config();
    change(&mut config.timeouts);
    Client::new(config).unwrap()
}

#[tokio::test]
async fn silence_is_noticed_wherever_it_falls() {
    const SHORT: Duration = Duration::from_millis(60);
    const PING: &[u8] = b"event: ping\ndata: {\"type\":\"ping\"}\n\n";
    let begun = stream(&ANSWER[..ANSWER.find("event: content_block_stop").unwrap()]);
    for (answer, change) in [
        (Answer::Hang(Vec::new()), (|timeouts| timeouts.first_byte = SHORT) as fn(&mut Timeouts)),
        (Answer::Hang(begun.clone()), |timeouts| timeouts.idle = SHORT),
        (Answer::Repeat(begun.clone(), PING), |timeouts| timeouts.event = SHORT),
        (Answer::Repeat(begun, b": still here\n"), |timeouts| timeouts.total = SHORT),
    ] {
        let server = Server::start([answer.clone(), Answer::Close(stream(ANSWER))]);
        let events = events(&impatient(&server, change)).await;
        assert_eq!((retries(&events), reply(events).incomplete), (1, false));

        let server = Server::start(vec![answer; 9]);
        let events = self::events(&impatient(&server, change)).await;
        assert!(matches!(failure(events).kind, FailureKind::NoAnswer | FailureKind::Stalled));
        assert_eq!(server.requests().len(), 3);
    }
}

#[tokio::test]
async fn an_answer_that_is_no_stream_says_what_it_is() {
    for (kind, body) in [("text/html", "<h1>Log in</h1>"), ("application/json", r#"{"id":"msg"}"#)] {
        let server = Server::start([Answer::Close(response(200, &format!("content-type: {kind}\r\n"), body))]);
        let failure = failure(events(&server.client()).await);
        assert_eq!(failure.kind, FailureKind::NotAStream);
        assert!(failure.message.contains(kind) && failure.message.contains(body), "{failure}");
    }
}

#[tokio::test]
async fn rubbish_in_a_stream_is_asked_for_again() {
    for rubbish in ["data: {\"type\":\"message_start\",\n\n", "data: {\"type\":\"message_stop\"}\n\n", "", "<html>"] {
        let server = Server::start([Answer::Close(stream(rubbish)), Answer::Close(stream(ANSWER))]);
        let events = events(&server.client()).await;
        assert_eq!(outline(&events)[0], "retry 1 None unknown", "{rubbish}");
        assert_eq!(reply(events).blocks.len(), 2);
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_do_not_end_it() {
    let mut bytes = stream(ANSWER);
    let at = bytes.windows(4).position(|four| four == b"llo ").unwrap();
    bytes[at] = 0xff;
    let server = Server::start([Answer::Close(bytes)]);
    assert_eq!(reply(events(&server.client()).await).blocks[0]["text"], "Hé\u{fffd}lo é");
}

#[tokio::test]
async fn a_host_that_is_not_there_is_named() {
    // A port that the system never gives out to a listener of another test.
    let gone = "127.0.0.1:1";
    let server = Server::start([]);
    let config = ClientConfig { base_url: format!("http://{gone}"), max_retries: 2, ..server.config() };
    let events = events(&Client::new(config).unwrap()).await;
    assert_eq!(outline(&events), ["retry 1 None unknown", "retry 2 None unknown", "FAILED Connect"]);
    let failure = failure(events);
    assert!(failure.message.contains(gone) && failure.message.contains("refused"), "{failure}");
}

#[tokio::test]
async fn dropping_next_half_way_loses_nothing() {
    let server = Server::start([Answer::Close(response(500, "", "")), Answer::Drip(stream(ANSWER))]);
    let client = server.client();
    let mut ask = client.ask(&request());
    let mut all = Vec::new();
    let mut dropped = 0;
    while !matches!(all.last(), Some(Event::Finished(_) | Event::Failed(_))) {
        tokio::select! {
            biased;
            event = ask.next() => all.push(event),
            () = tokio::task::yield_now() => dropped += 1,
        }
    }
    assert!(dropped > 0);
    let undisturbed = Server::start([Answer::Close(response(500, "", "")), Answer::Close(stream(ANSWER))]);
    assert_eq!(outline(&all), outline(&events(&undisturbed.client()).await));
    assert!(matches!(ask.next().await, Event::Failed(failure) if failure.kind == FailureKind::Over));
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let server = Server::start(vec![Answer::Keep(reusable(ANSWER)); 5]);
    let client = server.client();
    for _ in 0..5 {
        assert_eq!(client.ask_once(&request()).await.unwrap().blocks.len(), 2);
        // The end of the response is read in the background.
        tokio::task::yield_now().await;
    }
    assert_eq!(server.seen.lock().unwrap().connections, 1);
}

#[tokio::test]
async fn what_a_server_refuses_by_name_is_left_out_at_once_and_later() {
    let refused = r#"{"type":"error","error":{"type":"invalid_request_error","message":"output_config: Extra inputs are not permitted"}}"#;
    let server = Server::start([
        Answer::Close(response(400, "", refused)),
        Answer::Close(stream(ANSWER)),
        Answer::Close(stream(ANSWER)),
        Answer::Close(response(400, "", refused)),
    ]);
    let client = server.client();
    let asked = Request { effort: Some("high".into()), betas: vec!["effort-2025-11-24".into()], ..request() };
    for _ in 0..2 {
        assert!(client.ask_once(&asked).await.is_ok());
    }
    let failed = client.ask_once(&asked).await.unwrap_err();
    assert_eq!(failed.status, Some(400), "what is not sent cannot be left out");
    let sent: Vec<bool> = server
        .requests()
        .iter()
        .map(|request| request.contains("output_config") || request.contains("effort-2025-11-24"))
        .collect();
    assert_eq!(sent, [true, false, false, false]);
}
