//! `ralph mock`: faults and timing, through the binary.

use super::server::{Answer, Server, head};
use serde_json::{Value, json};
use std::io::{ErrorKind, Read as _, Write as _};
use std::time::Duration;

const TEXT: &str = "a text that needs three pieces of twenty";

fn body() -> Value {
    json!({"model": "m", "stream": true, "tools": [{"name": "Bash"}]})
}

fn answer(more: &Value) -> Answer {
    let mut turn = json!({"content": [{"type": "text", "text": TEXT}]});
    turn.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Server::start(&json!([turn])).ask(&body())
}

#[test]
fn the_connection_drops_after_events() {
    let whole = answer(&json!({}));
    assert!(whole.is_whole);
    let count = whole.events().len();
    for cut in [0, 1, 3, count - 1] {
        let cut_off = answer(&json!({"cut_after_events": cut}));
        assert_eq!((cut_off.status, cut_off.is_whole), (200, false), "{cut}");
        assert_eq!(cut_off.events(), whole.events()[..cut], "{cut}");
    }
}

#[test]
fn the_connection_drops_after_bytes() {
    let whole = answer(&json!({})).body;
    for cut in [0, 1, 17, 100, whole.len() - 1] {
        let cut_off = answer(&json!({"cut_after_bytes": cut}));
        assert!(!cut_off.is_whole, "{cut}");
        assert_eq!(cut_off.body, whole[..cut], "{cut}");
    }
    // A plain answer is cut as well.
    let plain = answer(&json!({"body": "0123456789", "cut_after_bytes": 4}));
    assert_eq!((&*plain.body, plain.is_whole), ("0123", false));
}

/// Long enough to tell silence from a busy machine between two writes.
const SILENCE: Duration = Duration::from_millis(300);

#[test]
fn the_connection_stays_open_and_silent() {
    let server = Server::start(&json!([{"content": [{"type": "text", "text": TEXT}], "stall_after_events": 2}]));
    let mut stream = server.connect();
    let body = body().to_string();
    stream.write_all(format!("{}{body}", head("POST", "/v1/messages", &[], body.len())).as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while !String::from_utf8_lossy(&bytes).contains("content_block_start") {
        let count = stream.read(&mut buffer).expect("two events");
        assert!(count > 0, "it closed");
        bytes.extend_from_slice(&buffer[..count]);
    }
    stream.set_read_timeout(Some(SILENCE)).unwrap();
    let silence = loop {
        match stream.read(&mut buffer) {
            Ok(0) => panic!("it closed instead of staying silent"),
            Ok(count) => bytes.extend_from_slice(&buffer[..count]),
            Err(error) => break error.kind(),
        }
    };
    assert!(matches!(silence, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{silence:?}");
    assert_eq!(Answer::read(&bytes, Duration::ZERO).events().len(), 2);
    // Others are still served, and it ends at once although a connection hangs.
    assert_eq!(server.request("GET", "/v1/models", &[], "").status, 200);
    assert_eq!(server.end(rustix::process::Signal::INT).code(), Some(0));
}

#[test]
fn the_first_byte_waits() {
    let slow = answer(&json!({"delay_ms": 250}));
    assert!(slow.took >= Duration::from_millis(250) && slow.is_whole, "{:?}", slow.took);
}

#[test]
fn the_answer_trickles() {
    let whole = answer(&json!({})).body;
    let slow = answer(&json!({"chunk_bytes": 100, "chunk_delay_ms": 10}));
    assert_eq!((&slow.body, slow.is_whole), (&whole, true));
    let (last, others) = slow.pieces.split_last().unwrap();
    assert!(
        others.iter().all(|size| *size == 100) && *last <= 100 && others.len() == (whole.len() - 1) / 100,
        "{:?}",
        slow.pieces
    );
    let pauses = u32::try_from(others.len()).unwrap();
    assert!(slow.took >= Duration::from_millis(10) * pauses, "{:?} for {pauses} pauses", slow.took);
}

#[test]
fn a_ping_follows_the_start() {
    let kinds = |answer: &Answer| answer.events().iter().map(|event| event["type"].clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&answer(&json!({"ping": true})))[..2], ["message_start", "ping"]);
    assert!(!kinds(&answer(&json!({"ping": false}))).contains(&json!("ping")));
}
