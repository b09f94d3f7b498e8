//! Runs by HTTP: started, followed, told things, and never lost.

use super::world::Server;
use serde_json::{Value, json};

/// Works until somebody says 'finish'; asks in its second call where the prompt has no answer yet.
const TALKER: &str = r#"
hear
say "iteration $n begins"
work
while [ ! -e "$HOME/go-$n" ]; do sleep 0.05; done
case $n in
  2) result '<blocked>Which port?</blocked>' ;;
  3) result '<promise>COMPLETE</promise>' ;;
  *) result 'one more' ;;
esac
"#;

fn go(server: &Server, call: u32) {
    std::fs::write(server.world.home().join(format!("go-{call}")), "").expect("a sign");
}

fn talking() -> Server {
    Server::with_agent(TALKER, &["--allow-exec"])
}

#[test]
fn a_run_is_started_followed_steered_answered_and_ends() {
    let server = talking();
    let id = server.start_run(&json!({"prompt": "Build it", "iterations": 5}));
    let path = format!("/v1/runs/{id}");
    let mut events = server.events(&format!("{path}/events?derived=true"), &[]);
    let told = events.until(|sent| sent.json()["type"] == "agent_text");
    assert_eq!(told[0].json()["type"], "run_started");
    assert!(told.iter().all(|sent| sent.json()["type"] != "agent"), "agents' lines are replaced by what they mean");
    assert_eq!(server.run(&id)["state"], "working");
    assert_eq!(server.post(&format!("{path}/answer"), &json!({"text": "80"})).status, 409, "nothing is asked");
    assert_eq!(server.post(&format!("{path}/steer"), &json!({"text": "mind the tabs"})).status, 202);
    events.until(|sent| sent.json()["type"] == "steered" && sent.json()["text"] == "mind the tabs");
    assert_eq!(server.post(&format!("{path}/pause"), &json!({})).status, 202);
    go(&server, 1);
    events.until(|sent| sent.json()["type"] == "paused");
    server.wait_for(&id, |run| run["state"] == "paused");
    assert_eq!(server.post(&format!("{path}/resume"), &json!({})).status, 202);
    go(&server, 2);
    let asking = server.wait_for(&id, |run| run["state"] == "asking");
    assert!(asking["question"]["text"].as_str().is_some_and(|text| text.contains("Which port?")), "{asking:#}");
    assert_eq!(server.post(&format!("{path}/answer"), &json!({"text": "8080"})).status, 202);
    events.until(|sent| sent.json()["type"] == "answered");
    go(&server, 3);
    let rest = events.until(|sent| sent.event == "end");
    assert_eq!(rest[rest.len() - 2].json()["verdict"], "done");
    let run = server.wait_for(&id, |run| run["state"] == "ended");
    assert_eq!((run["receipts"].as_array().map(Vec::len), run["verdict"]["verdict"].as_str()), (Some(3), Some("done")));
    assert_eq!(server.post(&format!("{path}/stop"), &json!({})).status, 409, "it is over");
    let heard = testkit::looping::heard(&server.world).join("\n");
    assert!(heard.contains("mind the tabs") && heard.contains("8080"), "{heard}");
    let diff = server.get(&format!("{path}/diff")).json();
    assert!(diff["diff"].as_str().is_some_and(|text| text.contains("work.txt") && text.contains("+1")), "{diff}");
    let iteration = server.get(&format!("{path}/iterations/1")).json();
    assert_eq!(iteration["receipt"]["summary"], "one more", "{iteration}");
    assert_eq!(server.get("/v1/costs").json()["iterations"].as_array().map(Vec::len), Some(3));
    assert!(server.get("/v1/search?q=iteration%202%20begins").json()["hits"][0]["run"] == id.as_str());
    let report = server.get(&format!("{path}/report"));
    assert!(report.status == 200 && report.text().contains("<html"), "{}", report.text());
    assert!(report.header("content-security-policy").is_some_and(|policy| policy.starts_with("sandbox")));
    assert!(server.get(&format!("{path}/report?format=md")).text().contains("Build it"));
}

#[test]
fn a_stream_that_is_cut_goes_on_without_a_gap_or_a_double_also_on_another_server() {
    let mut server = talking();
    let id = server.start_run(&json!({"iterations": 1}));
    let path = format!("/v1/runs/{id}/events");
    let numbers =
        |list: &[super::http::Sent]| -> Vec<u64> { list.iter().filter_map(|sent| sent.id.parse().ok()).collect() };
    let mut first = server.events(&path, &[]);
    let mut seen = numbers(&first.until(|sent| sent.json()["type"] == "agent"));
    drop(first);
    server.kill();
    go(&server, 1);
    server.restart();
    let last = seen.last().expect("a number").to_string();
    let rest = server.events(&path, &[("Last-Event-ID", &last)]).until(|sent| sent.event == "end");
    seen.extend(numbers(&rest));
    let lines = std::fs::read_to_string(server.world.wd().join(format!(".ralph/runs/{id}/events.ndjson")))
        .expect("a recording");
    assert_eq!(seen, (1..=lines.lines().count() as u64).collect::<Vec<u64>>());
    // At once, and in pieces, it is the same.
    let all = server.get(&format!("{path}?after=0")).json();
    assert_eq!(all["next"].as_u64(), Some(seen.len() as u64));
    let piece = server.get(&format!("{path}?after=1&limit=2")).json();
    let of = |value: &Value| {
        value["events"].as_array().expect("events").iter().map(|one| one["seq"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!(of(&piece), [Some(2), Some(3)]);
    let derived = server.get(&format!("{path}?derived=true")).json();
    assert!(
        derived["events"]
            .as_array()
            .expect("events")
            .iter()
            .any(|one| one["type"] == "agent_text" && one["index"] == 1)
    );
}

#[test]
fn kill_nine_of_the_server_costs_no_run() {
    let mut server = talking();
    let id = server.start_run(&json!({"iterations": 2}));
    server.wait_for(&id, |run| run["iteration"] == 1);
    let pid = server.run(&id)["pid"].as_u64().expect("a process");
    server.kill();
    assert!(std::path::Path::new(&format!("/proc/{pid}")).exists(), "the run is at work");
    go(&server, 1);
    server.restart();
    server.wait_for(&id, |run| run["iteration"] == 2);
    assert_eq!(server.run(&id)["pid"].as_u64(), Some(pid), "the same process");
    assert_eq!(server.post(&format!("/v1/runs/{id}/stop"), &json!({"now": true})).status, 202);
    let run = server.wait_for(&id, |run| run["state"] == "ended");
    assert_eq!(run["verdict"]["verdict"], "interrupted", "{run:#}");
}

#[test]
fn a_run_that_ended_with_a_question_goes_on_with_its_answer() {
    let server = talking();
    for call in [1, 2, 3] {
        go(&server, call);
    }
    let id = server.start_run(&json!({"iterations": 5, "wait_for_answers": false}));
    let run = server.wait_for(&id, |run| run["state"] == "ended");
    assert_eq!(
        (run["verdict"]["verdict"].as_str(), run["question"]["text"].as_str()),
        (Some("blocked"), Some("Which port?"))
    );
    assert_eq!(server.post(&format!("/v1/runs/{id}/answer"), &json!({"text": "8080"})).status, 202);
    let run = server.wait_for(&id, |run| run["verdict"]["verdict"] == "done");
    assert_eq!(run["iterations"], 3);
}

#[test]
fn the_list_is_told_of_changes_and_wrong_requests_are_refused() {
    let server = talking();
    let mut list = server.events("/v1/events", &[]);
    list.until(|sent| sent.event == "ready");
    let id = server.start_run(&json!({"iterations": 1}));
    list.until(|sent| sent.event == "run" && sent.json()["id"] == id.as_str() && sent.json()["state"] == "working");
    go(&server, 1);
    list.until(|sent| sent.event == "run" && sent.json()["state"] == "ended");
    assert_eq!(server.get("/v1/runs?state=ended").json()["runs"].as_array().map(Vec::len), Some(1));
    for name in ["nothing", "..", "%2e%2e%2f", ".."] {
        assert_eq!(server.get(&format!("/v1/runs/{name}")).status, 404, "{name}");
    }
    for (body, status) in [
        (json!({"folder": "/etc"}), 403),
        (json!({"prompt": "a", "file": "b"}), 400),
        (json!({"prompt": ""}), 400),
        (json!({"file": "../home/x"}), 403),
        (json!({"iterations": "many"}), 400),
        (json!({"limits": {"cost": 1}}), 400),
        (json!({"max_cost": 1}), 400),
        (json!({"model": "x", "backend": "/no/such/agent"}), 409),
    ] {
        assert_eq!(server.post("/v1/runs", &body).status, status, "{body}");
    }
}
