//! The page in a real browser: a live run, an answer, steering, a stop, a server that goes and comes back, a report.

use super::sdk::node;
use super::world::{Server, search_path};
use serde_json::json;
use std::path::PathBuf;

/// The chromium of this machine, where it has one.
fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-headless-shell", "chromium-browser", "google-chrome"];
    let path = search_path();
    let mut places = path.split(':').flat_map(|folder| names.iter().map(move |name| PathBuf::from(folder).join(name)));
    let found = places.find(|place| place.is_file());
    if found.is_none() {
        eprintln!("SKIPPED: there is no chromium on PATH; the page is not tried in a browser");
    }
    found
}

/// Speaks, edits, runs a command, and waits to be told; asks in its second call.
const AGENT: &str = r#"
hear
say "Iteration $n: I look at <b>parser.rs</b> & change it."
printf '{"type":"assistant","message":{"id":"t%s","content":[{"type":"tool_use","id":"e%s","name":"Edit","input":{"file_path":"src/parser.rs","old_string":"let end = s.len();","new_string":"let end = s.find(x).unwrap_or(s.len());"}}]},"parent_tool_use_id":null,"session_id":"s1"}\n' "$n" "$n"
printf '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"e%s","content":"done"}]},"session_id":"s1"}\n' "$n"
work
while [ ! -e "$HOME/go-$n" ]; do sleep 0.05; done
case $n in
  2) result '<blocked>Which port shall it listen on?</blocked>' ;;
  *) result 'one more' ;;
esac
"#;

#[test]
fn a_person_follows_answers_steers_and_stops_a_run() {
    let Some(browser) = chromium() else { return };
    let server = Server::with_agent(AGENT, &["--allow-exec"]);
    let id = server.start_run(&json!({"prompt": "Fix the parser", "iterations": 9, "checks": ["true"]}));
    let shots = super::world::binary().parent().expect("a folder").join("serve-pictures");
    std::fs::create_dir_all(&shots).expect("a folder");
    let args = [
        browser.display().to_string(),
        server.link(),
        id.clone(),
        server.world.home().display().to_string(),
        shots.display().to_string(),
    ];
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let Some(seen) = node("page.mjs", &words) else { return };
    assert_eq!(
        seen["steps"],
        json!(["login", "live", "text", "steer", "asked", "answered", "views", "stopped", "report"]),
        "{seen:#}"
    );
    assert_eq!((&seen["errors"], &seen["outside"]), (&json!([]), &json!([])), "{seen:#}");
    let heard = testkit::looping::heard(&server.world).join("\n");
    assert!(heard.contains("use tabs") && heard.contains("8080"), "{heard}");
    assert_eq!(server.run(&id)["state"], "ended");
}

/// Ten thousand events come, and the page draws a few dozen rows of them.
#[test]
fn a_long_run_is_drawn_without_lag_and_a_page_comes_back_to_a_restarted_server() {
    let Some(browser) = chromium() else { return };
    let mut server = Server::start(&[]);
    let id = "20260101-000000";
    let folder = server.world.wd().join(".ralph/runs").join(id);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("events.ndjson"), long_recording(id)).expect("a recording");
    let (link, path) = (server.link(), browser.display().to_string());
    let sign = server.world.home().join("sign");
    let sign_text = sign.display().to_string();
    let (tell, told) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let seen = node("long.mjs", &[&path, &link, id, &sign_text]);
        tell.send(()).expect("somebody waits");
        seen
    });
    // The script says when it has seen everything; then the server goes away for a moment.
    while !sign.with_extension("seen").exists() && told.try_recv().is_err() {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    server.kill();
    std::thread::sleep(std::time::Duration::from_secs(1));
    server.restart();
    std::fs::write(&sign, "").expect("a sign");
    let Some(seen) = reader.join().expect("a verdict") else { return };
    assert_eq!((&seen["errors"], seen["back"].as_bool()), (&json!([]), Some(true)), "{seen:#}");
    assert!(seen["rows"].as_u64().is_some_and(|rows| rows > 0 && rows < 200), "{seen:#}");
    assert!(seen["scroll_ms"].as_f64().is_some_and(|ms| ms < 250.0), "a frame takes too long: {seen:#}");
}

fn long_recording(id: &str) -> String {
    let mut text = format!(
        "{{\"at\":1,\"type\":\"run_started\",\"schema\":1,\"run\":\"{id}\",\"folder\":\"/x\",\"title\":\"A long run\",\"backend\":\"builtin\",\"model\":\"m\",\"limits\":{{}},\"checks\":[]}}\n\
         {{\"at\":2,\"type\":\"iteration_started\",\"iteration\":1,\"attempt\":1,\"model\":\"m\",\"prompt_chars\":1}}\n"
    );
    for number in 0..10_000 {
        let line = json!({"type": "assistant", "message": {"id": format!("m{number}"), "content": [{"type": "text", "text": format!("entry {number}")}]}, "parent_tool_use_id": null, "session_id": "s"});
        text.push_str(&format!("{}\n", json!({"at": 3 + number, "type": "agent", "iteration": 1, "line": line})));
    }
    text
}
