//! `ralph attach`, `steer`, `answer`, `pause`, `unpause`, `stop`.

use crate::world::{
    PATIENCE, attached, done, folder, followed, heard, looped, of, open_gate, ralph, recording, run_folder, soon,
    verdict, wait_for_words,
};
use testkit::{Terminal, World};

const DONE: &str = "result '<promise>COMPLETE</promise>'";

fn id(world: &World) -> String {
    run_folder(world.wd()).unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn words_reach_the_agent_of_a_run_that_works_elsewhere() {
    let world = folder();
    let run = looped(&world, &format!("hear; work; say ready; hear; {DONE}"), &[]);
    wait_for_words(&world, "ready");
    let steered = done(&world, &["steer", &id(&world), "use", "port", "8080"]);
    assert_eq!(steered.code, Some(0), "{}", steered.stderr);
    let outcome = run.join().unwrap();
    let events = outcome.events();
    assert_eq!(verdict(&events).0, "done", "{}", outcome.stderr);
    assert_eq!(of(&events, "steered")[0]["text"], "use port 8080");
    assert!(heard(&world)[1].contains("use port 8080"), "{:?}", heard(&world));
    let late = done(&world, &["steer", "too late"]);
    assert!(late.code == Some(1) && late.stderr.contains("no run is at work"), "{}", late.stderr);
}

#[test]
fn a_run_is_held_and_goes_on_and_is_ended() {
    let world = folder();
    let run = looped(&world, "hear; work; gate go$n; result \"not yet $n\"", &["5"]);
    wait_for_words(&world, "iteration_started");
    assert_eq!(done(&world, &["pause"]).code, Some(0));
    open_gate(&world, "go1");
    wait_for_words(&world, "\"type\":\"paused\"");
    let (mut client, _) = crate::world::Client::connect(&world);
    assert_eq!(client.ask(&serde_json::json!({"id": 1, "do": "status"}))["status"]["state"], "paused");
    assert_eq!(done(&world, &["unpause"]).code, Some(0));
    soon("a second iteration", || (recording(world.wd()).matches("iteration_started").count() == 2).then_some(()));
    let stopped = done(&world, &["stop", &id(&world)]);
    assert!(stopped.lines.concat().contains("ends after this iteration"), "{:?}", stopped.lines);
    open_gate(&world, "go2");
    let outcome = run.join().unwrap();
    let events = outcome.events();
    assert_eq!(verdict(&events).0, "interrupted", "{}", outcome.stderr);
    assert_eq!((of(&events, "iteration_ended").len(), of(&events, "resumed").len()), (2, 1));
}

#[test]
fn an_end_at_once_is_one() {
    let world = folder();
    let run = looped(&world, "hear; work; say working; sleep 600", &[]);
    wait_for_words(&world, "working");
    let stopped = done(&world, &["stop", "--now"]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    assert!(stopped.lines.concat().contains("has ended"), "{:?}", stopped.lines);
    assert_eq!(verdict(&run.join().unwrap().events()).0, "interrupted");
}

#[test]
fn plain_lines_follow_a_run_to_its_end_and_have_its_exit_code() {
    let world = folder();
    let run = looped(&world, "hear; work; say one; gate go; say two; result 'no promise'", &["1"]);
    wait_for_words(&world, "one");
    let (plain, json) = (attached(&world, &[]), attached(&world, &["--json"]));
    open_gate(&world, "go");
    let (outcome, (plain_code, text), (json_code, lines)) = (run.join().unwrap(), followed(plain), followed(json));
    assert_eq!((outcome.code, plain_code, json_code), (Some(2), Some(2), Some(2)), "{text}");
    assert!(text.contains("one") && text.contains("two") && text.contains("limit"), "{text}");
    let kinds = |events: &[serde_json::Value]| -> Vec<String> {
        events.iter().filter_map(|event| event["type"].as_str().map(str::to_owned)).collect()
    };
    let printed: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(kinds(&printed), kinds(&outcome.events()), "the same events in the same order");
}

#[test]
fn a_screen_comes_and_goes_and_the_run_stays() {
    let world = folder();
    let run = looped(&world, &format!("hear; work; say ready; hear; say heard; gate go; {DONE}"), &[]);
    wait_for_words(&world, "ready");
    let attach =
        || Terminal::start(&ralph(&world, &["attach"]).deadline(PATIENCE).env("TERM", "xterm"), 100, 30).unwrap();
    let (first, second) = (attach(), attach());
    first.wait_for("ready").unwrap();
    second.wait_for("ready").unwrap();
    first.press("s").unwrap();
    first.wait_for("steer ▸").unwrap();
    first.press("from the first screen\r").unwrap();
    second.wait_for("from the first screen").unwrap();
    // Ctrl-C and q leave; neither stops.
    first.press("\u{3}").unwrap();
    first.finish().unwrap();
    second.press("q").unwrap();
    second.finish().unwrap();
    let third = attach();
    third.wait_for("heard").unwrap();
    open_gate(&world, "go");
    third.finish().unwrap();
    let outcome = run.join().unwrap();
    assert_eq!(verdict(&outcome.events()).0, "done", "{}", outcome.stderr);
    let attached = done(&world, &["attach"]);
    assert!(attached.code == Some(1) && attached.stderr.contains("no run is at work"), "{}", attached.stderr);
}
