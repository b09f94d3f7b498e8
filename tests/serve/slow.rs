//! Readers that do not read: cut off, so that they hold neither memory nor a place among the streams.

use super::http::{At, Events};
use super::world::Server;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// The server's patience is 20 s; the rest is for a busy machine.
const CUT_WITHIN: Duration = Duration::from_mins(1);

/// More than the kernel keeps for a connection on both sides.
const MUCH: usize = 32 * 1024 * 1024;

/// A stream that has begun, and of which nothing more is read.
fn stalled(server: &Server, path: &str) -> TcpStream {
    let At::Port(port) = server.at else { panic!("a port") };
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nAccept: text/event-stream, */*\r\n\r\n",
        server.host, server.full
    );
    stream.write_all(head.as_bytes()).expect("a request");
    stream.set_read_timeout(Some(CUT_WITHIN)).expect("a timeout");
    let mut status = [0; 12];
    stream.read_exact(&mut status).expect("the beginning of an answer");
    assert_eq!(&status, b"HTTP/1.1 200");
    stream
}

#[test]
fn a_stream_whose_reader_takes_nothing_gives_its_place_back() {
    let server = Server::start(&["--allow-exec", "--streams", "1"]);
    // The log of a process is kept up to this size.
    let config = json!({"maxConcurrentProcesses": 4, "defaultRunTimeoutMs": 30_000, "maxRunTimeoutMs": 30_000,
        "maxOutputBytes": 1024, "maxLogBytesPerProcess": MUCH, "maxInputBytesPerRequest": 1024});
    assert_eq!(server.post("/v1/processes/config", &config).status, 200);
    let script = format!("head -c {MUCH} /dev/zero; sleep 300");
    let id = server.post("/v1/processes", &json!({"command": "sh", "args": ["-c", script]})).json()["id"].clone();
    let path = format!("/v1/processes/{}/logs?follow=true", id.as_str().expect("an id"));
    let mut slow = stalled(&server, &path);
    let started = Instant::now();
    assert_eq!(server.events("/v1/events", &[]).status, 503, "the slow reader has the only place");
    while server.events("/v1/events", &[]).status == 503 {
        assert!(started.elapsed() < CUT_WITHIN, "the slow reader is not cut");
        std::thread::sleep(Duration::from_millis(200));
    }
    let mut rest = Vec::new();
    // The connection was cut in the middle: an end or a reset.
    let _ = slow.read_to_end(&mut rest);
    assert!(rest.len() < MUCH, "{} bytes came", rest.len());
}

#[test]
fn a_stream_whose_reader_is_slow_but_reads_goes_on() {
    let server = Server::start(&["--allow-exec", "--streams", "1"]);
    let script = "i=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); sleep 0.05; done";
    let id = server.post("/v1/processes", &json!({"command": "sh", "args": ["-c", script]})).json()["id"].clone();
    let path = format!("/v1/processes/{}/logs?follow=true", id.as_str().expect("an id"));
    let mut events: Events = server.events(&path, &[]);
    let mut count = 0;
    while events.next().is_some() {
        count += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(count > 0, "it was read to its end");
    let log = server.get(&format!("/v1/processes/{}/logs", id.as_str().expect("an id"))).json();
    assert_eq!(log["entries"].as_array().map(Vec::len), Some(count), "nothing was left out");
}
