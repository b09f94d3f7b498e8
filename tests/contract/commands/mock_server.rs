//! `ralph mock`: starting, ending, the log, and what it answers beside messages.

use super::server::{Server, head};
use super::{plain, ralph, run};
use crate::common::finish;
use rustix::process::Signal;
use serde_json::json;
use std::io::Write as _;
use std::time::{Duration, Instant};

#[test]
fn it_prints_its_address_serves_and_ends_with_control_c() {
    let server = Server::start(&json!([{"content": [{"type": "text", "text": "hi"}]}]));
    assert!(server.address.starts_with("127.0.0.1:"), "{}", server.address);
    assert_eq!(server.greeting[1], "Set ANTHROPIC_BASE_URL to this address; Ctrl-C ends it.");
    let answer = server.ask(&json!({"model": "m", "tools": [{"name": "Bash"}]}));
    assert_eq!((answer.status, &answer.json()["content"][0]["text"]), (200, &json!("hi")));
    assert_eq!(server.end(Signal::INT).code(), Some(0));
}

#[test]
fn the_log_is_one_line_a_request_without_credentials() {
    let server = Server::start(&json!([]));
    let secrets = [
        ("X-Api-Key", "sk-ant-topsecret"),
        ("Authorization", "Bearer topsecret"),
        ("Proxy-Authorization", "Basic topsecret"),
        ("Cookie", "session=topsecret"),
        ("X-Other", "plain"),
    ];
    server.request("POST", "/v1/messages?beta=true", &secrets, r#"{"model": "m", "note": "kept"}"#);
    server.request("GET", "/v1/models", &[], "");
    server.request("POST", "/v1/messages", &[], "not json");
    let log = server.log();
    assert_eq!(log.len(), 3, "{log:?}");
    assert_eq!((&log[0]["method"], &log[0]["path"]), (&json!("POST"), &json!("/v1/messages?beta=true")));
    assert_eq!(log[0]["body"], json!({"model": "m", "note": "kept"}));
    for name in ["x-api-key", "authorization", "proxy-authorization", "cookie"] {
        assert_eq!(log[0]["headers"][name], "[redacted]", "{name}");
    }
    assert_eq!(log[0]["headers"]["x-other"], "plain");
    assert!(log[0]["at_ms"].as_u64() <= log[2]["at_ms"].as_u64() && log[2]["at_ms"].is_u64());
    assert_eq!((&log[1]["body"], &log[2]["body"]), (&json!(null), &json!("not json")));
}

#[test]
fn it_answers_counts_models_and_nothing_else() {
    let server = Server::start(&json!([{"model": "my-model"}]));
    let count = server.request("POST", "/v1/messages/count_tokens", &[], r#"{"messages": []}"#);
    assert!(count.json()["input_tokens"].as_u64().is_some_and(|tokens| tokens > 0), "{count:?}");
    let models = server.request("GET", "/v1/models", &[], "").json();
    assert!(models["data"].as_array().unwrap().iter().any(|model| model["id"] == "my-model"), "{models}");
    let unknown = server.request("GET", "/v1/files", &[], "");
    assert_eq!((unknown.status, &unknown.json()["error"]["type"]), (404, &json!("not_found_error")));
    let garbled = server.request("POST", "/v1/messages", &[], "[]");
    assert_eq!(garbled.status, 400);
}

#[test]
fn several_clients_are_served_at_once() {
    let server = Server::start(&json!([{"delay_ms": 30000}, {"content": [{"type": "text", "text": "second"}]}]));
    let body = json!({"tools": [{"name": "Bash"}]}).to_string();
    let mut slow = server.connect();
    slow.write_all(format!("{}{body}", head("POST", "/v1/messages", &[], body.len())).as_bytes()).unwrap();
    // The first is logged before it is answered; only then is the second asked.
    let until = Instant::now() + Duration::from_secs(10);
    while server.log().is_empty() && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    let second = server.request("POST", "/v1/messages", &[], &body);
    assert_eq!(second.json()["content"][0]["text"], "second");
    assert!(second.took < Duration::from_secs(30), "it waited behind the first: {:?}", second.took);
}

#[test]
fn mistakes_are_one_line_that_names_the_place() {
    let world = plain();
    let script = |text: &str| std::fs::write(world.wd().join("s.json"), text).unwrap();
    let file = world.wd().join("s.json").display().to_string();
    for (text, why) in [
        ("{", "the script is not JSON: "),
        ("7", "the script must be a list of turns or an object with \"turns\", not a number"),
        (
            r#"{"turn": []}"#,
            "the script has an unknown key \"turn\"; known are \"turns\", \"untooled\" and \"profiles\"",
        ),
        (r#"[{}, {}, {"content": [{"type": "tool_use"}]}]"#, "turns[2].content[0]: a tool_use block needs a \"name\""),
        (r#"[{"contnet": []}]"#, "turns[0]: unknown field `contnet`"),
        (r#"{"untooled": [{"status": 99}]}"#, "untooled[0].status: must be an HTTP status from 200 to 599"),
        (r#"[{"chunk_bytes": 0}]"#, "turns[0].chunk_bytes: must be at least 1"),
    ] {
        script(text);
        let outcome = run(&world, &["mock", "s.json"]);
        assert_eq!((outcome.code, outcome.lines.len(), outcome.stderr.lines().count()), (Some(1), 0, 1), "{text}");
        assert!(outcome.stderr.starts_with(&format!("error: {file}: {why}")), "{text}: {}", outcome.stderr);
    }
    script("[]");
    let usage =
        "usage: ralph mock SCRIPT.json [--port N] [--log FILE] | ralph mock --record FILE [--upstream URL] [--port N]";
    for (words, line) in [
        (&["mock"][..], usage.to_owned()),
        (&["mock", "s.json", "--port"], format!("error: option '--port' needs a value. {usage}")),
        (&["mock", "s.json", "--port", "many"], format!("error: --port needs a port number. {usage}")),
        (&["mock", "s.json", "--record", "r"], usage.to_owned()),
        (&["mock", "s.json", "--nope"], format!("error: unknown option '--nope'. {usage}")),
    ] {
        let outcome = run(&world, words);
        assert_eq!((&*outcome.stderr, outcome.code), (&*line, Some(1)), "{words:?}");
    }
    let missing = run(&world, &["mock", "missing.json"]);
    assert!(
        missing.stderr.starts_with(&format!("error: {}/missing.json cannot be read: ", world.wd().display())),
        "{}",
        missing.stderr
    );
    let log = run(&world, &["mock", "s.json", "--log=/nowhere/log"]);
    assert!(log.stderr.starts_with("error: /nowhere/log cannot be written: "), "{}", log.stderr);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let outcome = finish(ralph(&world, &["mock", "s.json", "--port", &port]));
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.starts_with(&format!("error: port {port}: ")), "{}", outcome.stderr);
}

#[test]
fn the_example_of_the_documentation_works() {
    let world = plain();
    let script = json!([
        {"content": [
            {"type": "text", "text": "Let me look."},
            {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
        ]},
        {"status": 529, "headers": {"retry-after": "1"}},
        {"content": [{"type": "text", "text": "That is all there is."}]}
    ]);
    let server = Server::start(&script);
    let run = crate::common::claude(&world).args(["-p", "What is here?", "--allowedTools", "Bash(ls)"]);
    let outcome = finish(run.env("ANTHROPIC_BASE_URL", &server.greeting[0]).env("ANTHROPIC_API_KEY", "anything"));
    assert_eq!(
        (outcome.lines, outcome.code),
        (vec!["That is all there is.".to_owned()], Some(0)),
        "{}",
        outcome.stderr
    );
    let log = server.log();
    assert_eq!(log.len(), 3);
    assert!(log[2]["at_ms"].as_u64().unwrap() >= log[1]["at_ms"].as_u64().unwrap() + 1000, "it waited a second");
    assert_eq!(log[0]["headers"]["x-api-key"], "[redacted]");
}
