//! What these tests share: the usual arguments, the one result, and what is left of a run.

use crate::common::{binary, claude};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::{Outcome, Run, World};

/// Events out, one prompt as argument, stdin at its end.
pub fn stream(world: &World, prompt: &str) -> Run {
    claude(world).args(["-p", prompt, "--verbose", "--output-format", "stream-json"]).close()
}

/// Events out, prompts in.
pub fn dialogue(world: &World) -> Run {
    let formats = ["-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json"];
    claude(world).args(formats)
}

/// A shell script in which `$RALPH agent` is the agent: for stdins and readers of all kinds.
pub fn shell(world: &World, script: &str) -> Run {
    world.run(Path::new("/bin/sh")).env("RALPH", &binary().to_string_lossy()).args(["-c", script])
}

/// The one result of a run, which is also the last line.
pub fn only_result(outcome: &Outcome) -> Value {
    let events = outcome.events();
    let results = events.iter().filter(|event| event["type"] == "result").count();
    assert_eq!((results, events.len()), (1, outcome.lines.len()), "{:?}\n{}", outcome.lines, outcome.stderr);
    let last = events.last().cloned().unwrap_or_default();
    assert_eq!(last["type"], "result", "the result is not the last line: {:?}", outcome.lines);
    last
}

pub fn events_of(outcome: &Outcome, kind: &str, subtype: &str) -> Vec<Value> {
    let wanted = |event: &Value| event["type"] == kind && (subtype.is_empty() || event["subtype"] == subtype);
    outcome.events().into_iter().filter(wanted).collect()
}

/// What the model was given in its `nth` request, as text.
pub fn messages(world: &World, nth: usize) -> String {
    let requests = world.mock().requests();
    requests.get(nth).map(|request| request.body["messages"].to_string()).expect("the model was asked that often")
}

/// Fails for every process listed in this file of the working folder that is alive a second from now.
pub fn assert_gone(world: &World, file: &str) {
    let pids = world.read(file).expect("a list of processes");
    assert!(!pids.trim().is_empty(), "nothing was started");
    let alive = |pid: &&str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, state)| !state.starts_with('Z'))
    };
    let deadline = Instant::now() + Duration::from_secs(1);
    while let Some(left) = pids.split_whitespace().find(alive) {
        assert!(Instant::now() < deadline, "process {left} of {pids} is still alive");
        std::thread::sleep(Duration::from_millis(10));
    }
}
