//! Complaints 17 to 20, 22 and 23: memory, speed, connections, shared files, servers, background work.

use crate::common::{bash, call, claude, finish, say, tool_results, world};
use crate::kit::{dialogue, events_of, messages, only_result, shell, stream};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::time::{Duration, Instant};
use testkit::{Outcome, World};

/// Between a first command and one after the flood. Code that is mapped meanwhile counts as well; the output alone would be
/// ten times as much.
const GROWTH_KB_MAX: u64 = 10 * 1024;

const PEAK: &str = "grep VmHWM /proc/$CLAUDE_PID/status";

/// By how much the most memory that the agent needed has grown from the first command to the last one, as they saw it.
fn growth_kb(outcome: &Outcome) -> u64 {
    let peak = |said: &String| said.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok());
    let said = tool_results(outcome);
    let peaks = (said.first().and_then(peak), said.last().and_then(peak));
    let (Some(before), Some(after)) = peaks else { panic!("no numbers of kB: {said:?}") };
    after - before
}

#[test]
fn c17_76185_memory_stays_flat_under_a_flood_of_output() {
    let world = world(json!([bash(PEAK), bash("yes | head -c 100000000"), bash(PEAK), say("ok")]));
    let outcome = finish(stream(&world, "go").args(["--dangerously-skip-permissions"]));
    assert_eq!(only_result(&outcome)["result"], "ok");
    assert!(growth_kb(&outcome) < GROWTH_KB_MAX, "{} kB more", growth_kb(&outcome));
    assert!(messages(&world, 2).len() < 200_000, "the model was sent {} bytes", messages(&world, 2).len());
}

#[test]
fn c17_67433_and_under_a_flood_in_the_background() {
    let command = "yes | head -c 100000000; touch flooded";
    let flood = call("Bash", &json!({"command": command, "run_in_background": true}));
    let after = bash(&format!("until [ -e flooded ]; do sleep 0.05; done; {PEAK}"));
    let world = world(json!([bash(PEAK), flood, after, say("ok"), say("noticed")]));
    let outcome = finish(stream(&world, "go").args(["--dangerously-skip-permissions"]));
    assert_eq!(outcome.code, Some(0));
    assert!(growth_kb(&outcome) < GROWTH_KB_MAX, "{} kB more", growth_kb(&outcome));
}

/// The best of several: other tests run beside this one.
fn best_of(tries: usize, run: impl Fn() -> Duration) -> Duration {
    (0..tries).map(|_| run()).min().unwrap_or_default()
}

#[test]
fn c18_8164_the_version_comes_in_20_ms() {
    let world = world(json!([]));
    let best = best_of(20, || {
        let outcome = finish(claude(&world).args(["--version"]));
        assert_eq!((outcome.lines.len(), outcome.code), (1, Some(0)));
        outcome.elapsed
    });
    assert!(best < Duration::from_millis(20), "{best:?}");
}

#[test]
fn c18_5653_a_whole_short_run_takes_100_ms() {
    let world = world(json!([say("hi")]));
    let best = best_of(20, || {
        let outcome = finish(stream(&world, "go"));
        assert_eq!(outcome.code, Some(0));
        outcome.elapsed
    });
    assert!(best < Duration::from_millis(100), "{best:?}");
}

#[test]
fn c19_61001_a_refused_connection_is_retried_and_said() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let dead = format!("http://{}", free.local_addr().expect("an address"));
    drop(free);
    let world = world(json!([]));
    let outcome = finish(stream(&world, "go").env("ANTHROPIC_BASE_URL", &dead).env("CLAUDE_CODE_MAX_RETRIES", "1"));
    let result = only_result(&outcome);
    assert_eq!((&result["is_error"], outcome.code), (&json!(true), Some(1)));
    let retries = events_of(&outcome, "system", "api_retry");
    assert_eq!(retries.len(), 1);
    assert_eq!((&retries[0]["attempt"], &retries[0]["max_retries"]), (&json!(1), &json!(1)));
    let port = dead.rsplit(':').next().unwrap_or_default();
    assert!(result["result"].as_str().is_some_and(|words| words.contains(port)), "it does not say where: {result}");
}

#[test]
fn c19_25979_a_server_that_never_answers_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let world = world(json!([]));
    let run = stream(&world, "go").env("ANTHROPIC_BASE_URL", &url).env("API_TIMEOUT_MS", "200");
    let outcome = finish(run.env("CLAUDE_CODE_MAX_RETRIES", "1"));
    assert_eq!((&only_result(&outcome)["is_error"], outcome.code), (&json!(true), Some(1)));
    assert_eq!(events_of(&outcome, "system", "api_retry").len(), 1);
}

#[test]
fn c19_78966_a_connection_that_dies_once_costs_one_retry() {
    let answer = json!([{"type": "text", "text": "half of a sentence that goes on"}]);
    let rows = [
        ("before the headers", json!({"content": answer, "delay_ms": 600_000})),
        ("silent within", json!({"content": answer, "stall_after_events": 3})),
        ("cut within", json!({"content": answer, "cut_after_bytes": 700})),
        ("overloaded", json!({"status": 529})),
    ];
    for (name, turn) in rows {
        let world = world(json!([turn, say("whole")]));
        let run = stream(&world, "go").env("API_TIMEOUT_MS", "400").env("CLAUDE_BYTE_STREAM_IDLE_TIMEOUT_MS", "400");
        let outcome = finish(run);
        assert_eq!((&only_result(&outcome)["result"], outcome.code), (&json!("whole"), Some(0)), "{name}");
        assert_eq!(events_of(&outcome, "system", "api_retry").len(), 1, "{name}");
    }
}

fn transcripts(world: &World) -> Vec<String> {
    let projects = std::fs::read_dir(world.home().join(".claude/projects")).expect("a folder of projects");
    projects
        .flatten()
        .flat_map(|project| std::fs::read_dir(project.path()).expect("a project"))
        .flatten()
        .map(|file| std::fs::read_to_string(file.path()).expect("a transcript"))
        .collect()
}

#[test]
fn c20_28922_parallel_runs_leave_shared_files_alone() {
    let state = r#"{"numStartups": 7, "projects": {"/x": {"hasTrustDialogAccepted": true}}, "mine": "é"}"#;
    for before in [state, "{broken"] {
        let world = world(json!(vec![say("ok"); 8]));
        let file = world.home().join(".claude.json");
        std::fs::write(&file, before).expect("a file");
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let runs: Vec<_> = (0..8).map(|_| scope.spawn(|| finish(stream(&world, "go")))).collect();
            runs.into_iter().map(|run| run.join().expect("a run")).collect()
        });
        for outcome in outcomes {
            assert_eq!((&only_result(&outcome)["result"], outcome.code), (&json!("ok"), Some(0)), "{}", outcome.stderr);
        }
        assert_eq!(std::fs::read_to_string(&file).expect("still there"), before);
        let written = transcripts(&world);
        assert_eq!(written.len(), 8, "one transcript each");
        for line in written.iter().flat_map(|text| text.lines()) {
            assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
        }
    }
}

/// The one command that writes that file keeps what others wrote at the same moment.
#[test]
fn c20_29003_parallel_writers_lose_nothing() {
    let world = world(json!([]));
    let file = world.home().join(".claude.json");
    std::fs::write(&file, r#"{"numStartups": 7}"#).expect("a file");
    let script = "cd \"$HOME\"; for n in 1 2 3 4 5 6 7 8; do mkdir d$n; (cd d$n && \"$RALPH\" trust) & done; wait";
    let outcome = finish(shell(&world, script));
    assert_eq!(outcome.stderr, "");
    let text = std::fs::read_to_string(&file).expect("still there");
    let state: Value = serde_json::from_str(&text).expect("still JSON");
    let trusted = state["projects"].as_object().map_or(0, serde_json::Map::len);
    assert_eq!((&state["numStartups"], trusted), (&json!(7), 8), "{text}");
}

/// The first turn waits for servers; one that does not come up is said with its reason, and the run goes on.
#[test]
fn c22_65094_a_server_that_does_not_start_is_said() {
    let world = world(json!([say("without it"), say("again")]));
    let config = r#"{"mcpServers": {"db": {"command": "false"}}}"#;
    let outcome = finish(stream(&world, "go").args(["--mcp-config", config]));
    assert_eq!((&only_result(&outcome)["result"], outcome.code), (&json!("without it"), Some(0)));
    let init = &events_of(&outcome, "system", "init")[0];
    assert_eq!(init["mcp_servers"], json!([{"name": "db", "status": "failed", "source": "dynamic"}]));
    assert_eq!((&init["mcp_server_errors"][0]["name"], &*outcome.stderr), (&json!("db"), ""));
    let plain = finish(claude(&world).args(["-p", "go", "--mcp-config", config]));
    assert!(plain.stderr.starts_with("warning: MCP server db failed: "), "no event says it here: {}", plain.stderr);
}

#[test]
fn c23_52917_background_work_that_ends_soon_is_waited_for_and_told() {
    let work = call("Bash", &json!({"command": "sleep 0.5; echo finished > made", "run_in_background": true}));
    let world = world(json!([work, say("started"), say("noticed")]));
    let outcome = finish(stream(&world, "go").args(["--dangerously-skip-permissions"]));
    let results = events_of(&outcome, "result", "");
    let said: Vec<&str> = results.iter().filter_map(|result| result["result"].as_str()).collect();
    assert_eq!((said, outcome.code), (vec!["started", "noticed"], Some(0)), "{}", outcome.stderr);
    assert_eq!(world.read("made").as_deref(), Some("finished\n"));
    let told = events_of(&outcome, "system", "task_notification");
    assert_eq!((told.len(), &told[0]["status"]), (1, &json!("completed")));
    assert_eq!(results[1]["origin"]["kind"], "task-notification");
}

/// While the client is there, so is the work it started.
#[test]
fn c23_86447_background_work_outlives_the_turn() {
    let work = call("Bash", &json!({"command": "until [ -e go ]; do sleep 0.02; done", "run_in_background": true}));
    let world = world(json!([work, say("started"), bash("touch go"), say("told"), say("noticed")]));
    let run = dialogue(&world).args(["--dangerously-skip-permissions"]);
    let run = run.prompt("one").wait(json!({"type": "result", "result": "started"})).prompt("two");
    let outcome = finish(run.wait(json!({"subtype": "task_notification", "status": "completed"})).close());
    assert_eq!((outcome.unmet.len(), outcome.code), (0, Some(0)), "{:?}", outcome.lines);
}

/// The documented policy: five seconds after the result and the end of stdin.
#[test]
fn c23_94392_background_work_that_does_not_end_is_stopped() {
    let work = call("Bash", &json!({"command": "sleep 300", "run_in_background": true}));
    let world = world(json!([work, say("started")]));
    let started = Instant::now();
    let outcome = finish(stream(&world, "go").args(["--dangerously-skip-permissions"]));
    let took = started.elapsed();
    assert_eq!((events_of(&outcome, "result", "").len(), outcome.code, outcome.lingered), (1, Some(0), false));
    assert!((Duration::from_secs(5)..Duration::from_secs(20)).contains(&took), "{took:?}");
}

/// One that is waited for is done before the first result. One in the background ends in a turn of its own, unless it was quick
/// enough for the first: whoever reads to the end has a last result that knows of both.
#[test]
fn c23_89495_the_result_waits_for_agents() {
    let task = |name: &str, background: bool| {
        json!({"type": "tool_use", "name": "Agent",
               "input": {"description": name, "prompt": name, "run_in_background": background}})
    };
    let slow = |text: &str| json!({"content": [{"type": "text", "text": text}], "delay_ms": 300});
    let both = json!({"content": [task("one", false), task("two", true)]});
    let done = || say("both are done");
    let world = world(json!([both, slow("inner-a"), slow("inner-b"), done(), done()]));
    let outcome = finish(stream(&world, "go"));
    let events = outcome.events();
    let results = events_of(&outcome, "result", "");
    assert!(matches!(results.len(), 1 | 2), "{events:#?}");
    assert!(results.iter().all(|result| result["result"] == "both are done"), "{results:#?}");
    assert_eq!((&events.last().unwrap()["type"], outcome.code), (&json!("result"), Some(0)));
    let first = events.iter().position(|event| event["type"] == "result").unwrap();
    let awaited = |event: &Value| event["tool_use_result"]["status"] == "completed";
    assert!(events[..first].iter().any(awaited), "the first result came before an agent that is waited for");
    assert_eq!(events_of(&outcome, "system", "task_notification").len(), 2);
    let told = messages(&world, world.mock().requests().len() - 1);
    assert!(told.contains("inner-a") && told.contains("inner-b"), "{told}");
}
