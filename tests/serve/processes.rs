//! Processes: only where they are allowed, and in the sandbox.

use super::world::Server;
use serde_json::json;

#[test]
fn without_allow_exec_nothing_runs() {
    let server = Server::start(&[]);
    let run = json!({"command": "touch", "args": ["made"]});
    for path in ["/v1/processes/run", "/v1/processes"] {
        assert_eq!(server.post(path, &run).status, 403, "{path}");
    }
    assert_eq!(server.get("/v1/processes").status, 403);
    assert_eq!(server.post("/v1/runs", &json!({"backend": "/bin/true"})).status, 403);
    assert!(!server.world.wd().join("made").exists());
}

#[test]
fn commands_run_in_the_sandbox_of_their_folder() {
    let server = Server::start(&["--allow-exec"]);
    let home = server.world.home().display().to_string();
    let script =
        format!("echo out; echo err >&2; touch inside; touch {home}/outside; env | grep -c ANTHROPIC_API_KEY; exit 3");
    let done = server.post("/v1/processes/run", &json!({"command": "sh", "args": ["-c", script], "env": {"A": "b"}}));
    assert_eq!(done.status, 200, "{}", done.text());
    let done = done.json();
    assert_eq!((done["exitCode"].as_i64(), done["timedOut"].as_bool()), (Some(3), Some(false)), "{done}");
    assert_eq!(done["stdout"], "out\n0\n");
    assert!(server.world.wd().join("inside").exists() && !server.world.home().join("outside").exists(), "{done}");
    assert_eq!(server.post("/v1/processes/run", &json!({"command": "pwd", "cwd": "/"})).status, 403);
    assert_eq!(server.post("/v1/processes/run", &json!({"command": "no-such-program"})).status, 400);
    let late = server
        .post("/v1/processes/run", &json!({"command": "sh", "args": ["-c", "sleep 30 & sleep 30"], "timeoutMs": 300}));
    let late = late.json();
    assert!(late["timedOut"] == true && late["durationMs"].as_u64().is_some_and(|ms| ms < 10_000), "{late}");
}

#[test]
fn a_process_is_followed_fed_and_ended() {
    let server = Server::start(&["--allow-exec"]);
    let body =
        json!({"command": "sh", "args": ["-c", "echo ready; read x; echo got $x; sleep 60"], "interactive": true});
    let started = server.post("/v1/processes", &body).json();
    let id = started["id"].as_str().expect("an id").to_owned();
    let path = format!("/v1/processes/{id}");
    let mut log = server.events(&format!("{path}/logs?follow=true"), &[]);
    assert_eq!(log.next().expect("output").json()["data"], "cmVhZHkK");
    assert_eq!(server.post(&format!("{path}/input"), &json!({"data": "this\n"})).json(), json!({"bytesWritten": 5}));
    let got = log.next().expect("output");
    assert_eq!((got.id.as_str(), got.event.as_str()), ("2", "log"));
    assert_eq!(server.send("DELETE", &path, "", b"").status, 409);
    let ended = server.post(&format!("{path}/stop?waitMs=10000"), &json!({})).json();
    assert_eq!(ended["status"], "exited", "{ended}");
    assert_eq!(log.next(), None);
    let rest = server.get(&format!("{path}/logs?since=1")).json();
    assert_eq!(rest["entries"].as_array().map(Vec::len), Some(1), "{rest}");
    assert_eq!(server.send("DELETE", &path, "", b"").status, 204);
    assert_eq!(server.get(&path).status, 404);
}
