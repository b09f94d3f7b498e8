//! What must hold after every schedule, whatever it did.

use crate::api::unacceptable;
use crate::drive::{Seen, Stage, transcripts};
use crate::model::{Counts, booked};
use crate::plan::{Face, Habits, Plan, SIGHUP, SIGINT, SIGTERM, Stdout};
use mock::{Script, ScriptedAnswer};
use serde_json::Value;
use std::io::Read as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// A signal is obeyed at once; the rest is children's grace and a busy machine.
const DYING_MAX: Duration = Duration::from_secs(8);

/// Everything that is broken, in words.
pub fn broken(plan: &Plan, stage: &mut Stage, seen: &Seen) -> Vec<String> {
    let mut found = Vec::new();
    if seen.timed_out {
        found.push("it hung".into());
        return found;
    }
    if !seen.alive.is_empty() && !plan.is_killed() {
        found.push(format!("left alive: {:?}", seen.alive));
    }
    if seen.dying > DYING_MAX && !matches!(plan.stdout, Stdout::Slow(_)) {
        found.push(format!("took {:?} to die", seen.dying));
    }
    found.extend(exit(plan, seen));
    found.extend(stream(plan, seen));
    found.extend(books(plan, seen));
    for request in &seen.requests {
        found.extend(
            unacceptable(&request.body["messages"], plan.pauses())
                .map(|why| format!("a request the API refuses: {why}")),
        );
    }
    found.extend(resumable(plan, stage));
    found
}

/// The exit code says how the last turn ended, or which signal ended the run.
fn exit(plan: &Plan, seen: &Seen) -> Option<String> {
    let was = |signals: &[i32]| seen.struck.iter().any(|signal| signals.contains(signal));
    let wrong = |why: &str| Some(format!("exit code {:?}, signal {:?}: {why}", seen.code, seen.signal));
    match (seen.code, seen.signal) {
        (Some(130), _) if was(&[SIGINT]) => None,
        (Some(143), _) if was(&[SIGTERM, SIGHUP]) => None,
        // Before we listen to signals there is nothing to end in order.
        (None, Some(signal)) if was(&[signal]) && (signal == 9 || seen.lines.is_empty()) => None,
        (Some(0 | 1), _) if !plan.reader_stays() || plan.face == Face::Argument("text") => None,
        (Some(code @ (0 | 1)), _) => {
            let failed = seen.results().last().is_none_or(|last| last["is_error"] != false) || seen.bad_lines > 0;
            if (code == 1) == failed { None } else { wrong("the last result says otherwise") }
        }
        _ => wrong("nothing explains it"),
    }
}

/// Whole lines of JSON; one result for each turn, and one turn for each prompt.
fn stream(plan: &Plan, seen: &Seen) -> Vec<String> {
    let mut found = Vec::new();
    let streams = !matches!(plan.face, Face::Argument("text" | "json"));
    let ended_early = !seen.struck.is_empty() || !plan.reader_stays();
    if !seen.torn.is_empty() && !ended_early {
        found.push(format!("half a line: {}", seen.torn));
    }
    if plan.face == Face::Argument("text") {
        return found;
    }
    if let Some(bad) = seen.lines.iter().find(|line| serde_json::from_str::<Value>(line).is_err()) {
        found.push(format!("a line that is no JSON: {bad}"));
    }
    let events = seen.events();
    let marks = events.iter().filter_map(|event| match (event["type"].as_str(), event["subtype"].as_str()) {
        (Some("result"), _) => Some('r'),
        (Some("system"), Some("init")) => Some('i'),
        _ => None,
    });
    let marks: String = marks.collect();
    let open = marks.ends_with('i');
    if streams && marks.trim_end_matches('i') != "ir".repeat(marks.len() / 2) {
        found.push(format!("turns and results do not alternate: {marks}"));
    }
    // One SIGINT still ends its turn with a result; anything harder may not.
    let cut_off = seen.struck.len() > 1 || seen.struck.iter().any(|signal| *signal != SIGINT) || !plan.reader_stays();
    if open && !cut_off {
        found.push("a turn without a result".into());
    }
    if !streams {
        // One line for the whole run, whatever its turns were about.
        if seen.lines.len() != 1 && !ended_early {
            found.push(format!("{} lines instead of one", seen.lines.len()));
        }
        return found;
    }
    let introduced = matches!(plan.face, Face::Duplex(Habits { initializes: true, .. }));
    let welcomed = events.iter().filter(|event| event["response"]["request_id"] == "init").count();
    if introduced && welcomed != 1 && !ended_early {
        found.push(format!("{welcomed} answers to one introduction"));
    }
    let answered = seen.results().iter().filter(|result| result["origin"]["kind"] != "task-notification").count();
    if answered > seen.prompts || (answered < seen.prompts && !ended_early) {
        found.push(format!("{answered} results for {} prompts", seen.prompts));
    }
    found
}

/// Every answer is booked once, and those that broke off at most once.
fn books(plan: &Plan, seen: &Seen) -> Vec<String> {
    let Some(last) = seen.results().pop() else { return Vec::new() };
    let asked = seen.requests.iter().filter(|request| request.has_tools()).count().min(plan.model.len());
    let exact = plan.is_undisturbed() && plan.interrupt_after.is_none();
    let wrong = booked(&last, asked).into_iter().zip(&plan.model).enumerate().filter_map(|(number, (times, told))| {
        let right = times == 1 || (times == 0 && (told.counts == Counts::AtMostOnce || !exact));
        (!right).then(|| format!("answer {number} ({}) was booked {times} times", told.fault))
    });
    wrong.collect()
}

/// What is on disk can be read, and the session goes on from it.
fn resumable(plan: &Plan, stage: &mut Stage) -> Vec<String> {
    let files = transcripts(&stage.house.seen());
    let mut found = Vec::new();
    for file in &files {
        let text = String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).into_owned();
        let lines: Vec<Option<Value>> = text.lines().map(|line| serde_json::from_str(line).ok()).collect();
        if stage.house.is_sound() && !plan.is_killed() && lines.iter().any(Option::is_none) {
            found.push(format!("{} holds a line that is no JSON", file.display()));
        }
        let said = |line: &Value| matches!(line["type"].as_str(), Some("user" | "assistant"));
        let id = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        if !id.starts_with("agent-") && lines.iter().flatten().any(said) {
            found.extend(resume(stage, &id, file));
        }
    }
    found
}

fn resume(stage: &mut Stage, id: &str, file: &Path) -> Option<String> {
    stage.house.mend();
    let mock = stage.mock(Script { turns: vec![ScriptedAnswer::text("resumed")], ..Script::default() });
    let mut command = stage.command(&mock);
    command.args(["-p", "go on", "--resume", id, "--output-format", "json"]);
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let status = child.wait().unwrap();
    let result: Value = serde_json::from_str(&text).unwrap_or_default();
    if status.code() != Some(0) || result["result"] != "resumed" {
        let stored = std::fs::read_to_string(file).unwrap_or_default();
        return Some(format!("the session cannot be resumed: {status} {text}\n{stored}"));
    }
    let requests = mock.requests();
    requests
        .first()
        .and_then(|request| unacceptable(&request.body["messages"], false))
        .map(|why| format!("resumed: {why}"))
}
