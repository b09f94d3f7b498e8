//! Faults that once broke a promise, each by its name.

use crate::drive::Stage;
use crate::invariants;
use crate::model::{Counts, Told};
use crate::plan::{Home, Plan};
use mock::{Script, ScriptedAnswer};
use serde_json::json;
use std::io::{Read as _, Write as _};

/// More warnings than any pipe holds.
const BAD_LINES: usize = 4000;

#[test]
fn a_client_that_never_reads_stderr_gets_its_result() {
    let stage = Stage::new(&Plan::quiet(1, Vec::new()));
    let mock = stage.mock(Script { turns: vec![ScriptedAnswer::text("heard")], ..Script::default() });
    let mut command = stage.command(&mock);
    command.args(["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]);
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let prompt = json!({"type": "user", "message": {"role": "user", "content": "hello"}});
    let feeding = std::thread::spawn(move || {
        let bad = "no JSON, but words enough to fill a pipe with complaints about it\n".repeat(BAD_LINES);
        stdin.write_all(format!("{bad}{prompt}\n").as_bytes()).unwrap();
    });
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    feeding.join().unwrap();
    let last = text.lines().last().unwrap_or_default();
    assert!(last.starts_with("{\"type\":\"result\"") && last.contains("heard"), "{last}");
    assert_eq!(child.wait().unwrap().code(), Some(1), "bad lines cost the exit code");
}

#[test]
fn a_limit_on_file_sizes_costs_the_transcript_and_not_the_run() {
    let plan = Plan { home: Home::Limited(1), ..Plan::quiet(2, vec![plain(), plain()]) };
    let mut stage = Stage::new(&plan);
    let seen = stage.play(&plan);
    let broken = invariants::broken(&plan, &mut stage, &seen);
    assert!(broken.is_empty(), "{broken:#?} {}", seen.stderr);
    assert_eq!((seen.code, seen.signal), (Some(0), None), "{}", seen.stderr);
}

fn plain() -> Told {
    let content = vec![json!({"type": "text", "text": "words ".repeat(400)})];
    Told { turn: ScriptedAnswer { content, ..ScriptedAnswer::default() }, fault: "none", counts: Counts::AtMostOnce }
}
