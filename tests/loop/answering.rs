//! A person's answer reaches the run that asks, whether it waits or has ended.

use crate::world::{PROMISE, folder, heard, looped, of, ralph, told, verdict};
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::{Outcome, World};

/// Asks once; is done when it is answered.
const ASKS: &str = "hear; work; case $n in \
    1) result 'I need help.\\n<blocked>Which port?</blocked>';; *) result '<promise>COMPLETE</promise>';; esac";

/// Whether the newest recording says so, soon.
fn recorded(folder: &Path, words: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        let runs = std::fs::read_dir(folder.join(".ralph/runs")).into_iter().flatten().flatten();
        let newest = runs.map(|run| run.path().join("events.ndjson")).max();
        if newest.is_some_and(|file| std::fs::read_to_string(file).unwrap_or_default().contains(words)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// `ralph answer` from another terminal, once the run has asked.
fn answered(world: &World, words: &[&str]) -> std::thread::JoinHandle<Outcome> {
    let run = ralph(world, &[&["answer"], words].concat()).close();
    let folder = world.wd().to_owned();
    std::thread::spawn(move || {
        assert!(recorded(&folder, "\"outcome\":{\"kind\":\"blocked\"}"), "it never asked");
        run.finish().unwrap()
    })
}

#[test]
fn a_run_that_waits_takes_an_answer_from_another_terminal_and_goes_on() {
    let world = folder();
    let run = looped(&world, ASKS, &["--on-question", "wait"]);
    let answering = answered(&world, &["Port", "8080"]);
    let (outcome, events) = told(run);
    let answer = answering.join().unwrap();
    assert_eq!((outcome.code, verdict(&events).0), (Some(0), "done".into()), "{}", outcome.stderr);
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
    assert_eq!(answer.lines, ["Answered: Which port?", "The run goes on with it."]);
    assert_eq!(of(&events, "answered")[0]["text"], "Port 8080");
    assert_eq!(of(&events, "run_started").len(), 1, "it is still the same run");
    assert!(heard(&world)[1].contains("Port 8080"), "{:?}", heard(&world));
    let (late, _) = told(ralph(&world, &["answer", "once more"]));
    assert!(late.code == Some(1) && late.stderr.contains("asks nothing"), "{}", late.stderr);
}

#[test]
fn a_run_that_asks_nothing_takes_no_answer_and_what_was_laid_out_before_is_none() {
    let world = folder();
    // The agent tries to answer its own question, before it asks it, in both ways there are.
    let cheat = "\"$RALPH\" answer yes 2> \"$HOME/cheat\"; for run in .ralph/runs/*; do echo yes > $run/answer; done";
    let script = ASKS.replacen("1) ", &format!("1) {cheat}; "), 1);
    let binary = crate::common::binary().display().to_string();
    let run = looped(&world, &script, &["--on-question", "wait", "--duration", "4s"]).env("RALPH", &binary);
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, verdict(&events).0), (Some(3), "blocked".into()), "{:?}", outcome.lines.last());
    assert!(of(&events, "answered").is_empty());
    let cheat = std::fs::read_to_string(world.home().join("cheat")).unwrap();
    assert!(cheat.contains("asks nothing"), "{cheat}");
}

#[test]
fn a_run_that_ended_blocked_takes_the_answer_and_goes_on_when_it_is_resumed() {
    let world = folder();
    let (outcome, events) = told(looped(&world, ASKS, &[]));
    assert_eq!((outcome.code, verdict(&events)), (Some(3), ("blocked".into(), 3)));
    assert_eq!(of(&events, "verdict")[0]["question"]["text"], "Which port?");
    let (answered, _) = told(ralph(&world, &["answer", "Port", "8080"]));
    assert_eq!(answered.lines, ["Answered: Which port?", "'ralph resume' goes on with it."], "{}", answered.stderr);
    let backend = world.home().join("agent.sh").display().to_string();
    let (resumed, events) = told(ralph(&world, &["resume", "--json", "--backend", &backend]));
    assert_eq!((resumed.code, verdict(&events).0), (Some(0), "done".into()), "{:?}", resumed.lines);
    let prompt = &heard(&world)[1];
    assert!(prompt.contains("Which port?") && prompt.contains("Port 8080"), "{prompt}");
}

#[test]
fn questions_of_tools_are_events_for_any_backend() {
    let world = folder();
    let call = |name: &str, input: &str| {
        format!(
            r#"printf '{{"type":"assistant","message":{{"content":[{{"type":"tool_use","id":"q{name}","name":"{name}","input":{input}}}]}}}}\n'"#
        )
    };
    let plan = call("ExitPlanMode", r#"{"plan":"Tear it down"}"#);
    let choice =
        call("AskUserQuestion", r#"{"questions":[{"question":"Red?","options":[{"label":"yes"},{"label":"no"}]}]}"#);
    let script = format!("hear; work; {plan}; {choice}; result 'I asked.'");
    let (outcome, events) = told(looped(&world, &script, &[]));
    assert_eq!((outcome.code, verdict(&events).0), (Some(3), "blocked".into()), "{:?}", outcome.lines);
    let asked: Vec<_> =
        of(&events, "question").iter().map(|event| (event["about"].clone(), event["options"].clone())).collect();
    assert_eq!(asked[0], ("plan".into(), serde_json::json!(["approve", "reject"])));
    assert_eq!(asked[1], ("choice".into(), serde_json::json!(["yes", "no"])));
    assert_eq!(of(&events, "verdict")[0]["question"]["text"], "Red?");
    assert!(!outcome.lines.concat().contains(PROMISE));
}
