use super::*;
use crate::ScriptedAnswer;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpStream as StdStream;

const LIMIT: Duration = Duration::from_secs(10);

fn connect(mock: &Mock) -> StdStream {
    let stream = StdStream::connect(mock.addr).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

fn send(stream: &mut StdStream, extra: &str) {
    let body = json!({"model": "m", "stream": true, "tools": [{}]}).to_string();
    let head = format!("POST /v1/messages HTTP/1.1\r\nX-Api-Key: k\r\n{extra}content-length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
}

/// Everything until the server closes.
fn answer(mock: &Mock) -> String {
    let mut stream = connect(mock);
    send(&mut stream, "connection: close\r\n");
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// Reads until the text holds `mark`; the connection stays open.
fn read_until(stream: &mut StdStream, mark: &str) -> String {
    let mut text = String::new();
    let mut buffer = [0; 4096];
    while !text.contains(mark) {
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0, "closed before {mark:?}: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..count]));
    }
    text
}

fn script(turns: Value) -> Script {
    Script::from_value(turns).unwrap()
}

#[test]
fn a_message_is_streamed_and_the_request_recorded() {
    let mock = Mock::start(Script { turns: vec![ScriptedAnswer::text("Hello.")], ..Script::default() }).unwrap();
    let text = answer(&mock);
    assert!(text.starts_with("HTTP/1.1 200 ") && text.contains("request-id: req_000001"), "{text}");
    assert!(text.contains("Hello.") && text.ends_with("\r\n0\r\n\r\n"), "{text}");
    let requests = mock.requests();
    assert_eq!((requests.len(), &*requests[0].method, &*requests[0].path), (1, "POST", "/v1/messages"));
    assert_eq!((&*requests[0].headers["x-api-key"], &requests[0].body["model"]), ("k", &json!("m")));
}

#[test]
fn a_connection_carries_several_requests() {
    let mock = Mock::start(script(json!([{"status": 500}, {"content": [{"type": "text", "text": "two"}]}]))).unwrap();
    let mut stream = connect(&mock);
    send(&mut stream, "");
    assert!(read_until(&mut stream, "api_error").starts_with("HTTP/1.1 500 "));
    send(&mut stream, "");
    read_until(&mut stream, "\r\n0\r\n\r\n");
    assert!(mock.wait_for_requests(2, LIMIT));
}

#[test]
fn a_cut_stream_ends_without_its_last_chunk() {
    let turn = json!({"content": [{"type": "text", "text": "never heard in full, alas"}], "cut_after_bytes": 100});
    let text = answer(&Mock::start(script(json!([turn]))).unwrap());
    assert!(text.contains("message_start") && !text.contains("0\r\n\r\n"), "{text}");
}

#[test]
fn a_stalled_stream_stays_open_until_the_mock_is_dropped() {
    let turn = json!({"content": [{"type": "text", "text": "x"}], "stall_after_events": 1});
    let mock = Mock::start(script(json!([turn]))).unwrap();
    let mut stream = connect(&mock);
    send(&mut stream, "");
    read_until(&mut stream, "message_start");
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let silent = stream.read(&mut [0; 64]).unwrap_err();
    assert!(matches!(silent.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut));
    mock.shutdown();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    assert!(matches!(stream.read(&mut [0; 64]), Ok(0) | Err(_)));
}

#[test]
fn small_chunks_arrive_one_by_one() {
    let turn = json!({"content": [{"type": "text", "text": "slow"}], "chunk_bytes": 7, "chunk_delay_ms": 1});
    let text = answer(&Mock::start(script(json!([turn]))).unwrap());
    assert!(text.matches("7\r\n").count() > 20, "{text}");
}

#[test]
fn waiting_for_requests_that_never_come_ends() {
    let mock = Mock::start(Script::default()).unwrap();
    assert!(!mock.wait_for_requests(1, Duration::from_millis(20)));
    assert!(mock.wait_for_requests(0, Duration::ZERO));
}

#[test]
fn a_reset_is_no_ordinary_end() {
    for turn in [json!({"cut_after_bytes": 5, "reset": true}), json!({"reset": true})] {
        let mock = Mock::start(script(json!([turn]))).unwrap();
        let mut stream = connect(&mock);
        send(&mut stream, "");
        let error = stream.read_to_end(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "{error}");
    }
}
