//! Going on with a conversation, copying it, and what happens when that cannot be done.

use crate::common::{bash, claude, finish, results, say, world};
use crate::{STREAM, duplex, said_to_model, streaming, transcript, transcript_path};
use serde_json::{Value, json};
use std::io::Write as _;
use testkit::{Outcome, Run, World};

const ID: &str = "0d9a3f6e-7c1b-4e55-9d1e-3f2a1b0c9d8e";
const OTHER: &str = "1d9a3f6e-7c1b-4e55-9d1e-3f2a1b0c9d8e";

/// A conversation of one exchange, and what the model says in the next two.
fn begun() -> (World, String) {
    let world = world(json!([say("my name is Ada"), say("second answer"), say("third answer")]));
    let outcome = finish(streaming(&world, "what is your name?").close());
    let id = outcome.session_id().unwrap();
    (world, id)
}

fn json_run(world: &World, prompt: &str, more: &[&str]) -> Run {
    claude(world).args(["-p", prompt, "--output-format", "json"]).args(more.iter().copied()).close()
}

fn session_of(outcome: &Outcome) -> String {
    outcome.result().expect("a result")["session_id"].as_str().unwrap().to_owned()
}

/// Every session file of the world.
fn sessions(world: &World) -> Vec<std::path::PathBuf> {
    let projects = std::fs::read_dir(world.home().join(".claude/projects")).into_iter().flatten();
    let folders = projects.filter_map(Result::ok).filter_map(|folder| std::fs::read_dir(folder.path()).ok());
    let files = folders.flatten().filter_map(Result::ok).map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")).collect()
}

#[test]
fn resume_sends_the_history_and_keeps_the_id() {
    let (world, id) = begun();
    let outcome = finish(json_run(&world, "say it again", &["--resume", &id]));
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert_eq!(session_of(&outcome), id);
    let messages = said_to_model(&world, 1);
    let order: Vec<_> = ["what is your name?", "my name is Ada", "say it again"]
        .iter()
        .map(|text| messages.find(text).unwrap())
        .collect();
    assert!(order.is_sorted(), "{messages}");
    assert_eq!(sessions(&world).len(), 1, "one file");
    let chain: Vec<Value> = transcript(&world, &id).into_iter().filter(|entry| entry["message"].is_object()).collect();
    for pair in chain.windows(2) {
        assert_eq!(pair[1]["parentUuid"], pair[0]["uuid"], "the next prompt follows the last answer");
    }
    assert_eq!(chain.len(), 4);
}

#[test]
fn resume_works_in_every_form_that_clients_write() {
    for form in [
        vec!["-r", "$ID"],
        vec!["--resume=$ID"],
        vec!["--resume", "--session-id", "$ID"],
        vec!["-c"],
        vec!["--continue"],
    ] {
        let (world, id) = begun();
        let form: Vec<String> = form.iter().map(|word| word.replace("$ID", &id)).collect();
        let form: Vec<&str> = form.iter().map(String::as_str).collect();
        let outcome = finish(json_run(&world, "again", &form));
        assert_eq!(outcome.code, Some(0), "{form:?}: {}", outcome.stderr);
        assert_eq!(session_of(&outcome), id, "{form:?}");
        assert!(said_to_model(&world, 1).contains("my name is Ada"), "{form:?}");
    }
}

#[test]
fn ralph_sh_resumes_in_the_middle_of_its_flags() {
    let (world, id) = begun();
    let run = claude(&world).args([
        "--dangerously-skip-permissions",
        "--verbose",
        "-p",
        "go on",
        "--resume",
        "--session-id",
        &id,
    ]);
    let outcome = finish(run.args(["--output-format", "stream-json", "--include-partial-messages"]).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.session_id().unwrap(), id);
    assert!(said_to_model(&world, 1).contains("my name is Ada"));
}

#[test]
fn continue_takes_the_newest_session_of_this_folder_only() {
    let (world, _) = begun();
    let deeper = world.wd().join("deeper");
    std::fs::create_dir(&deeper).unwrap();
    let elsewhere = finish(crate::shell(&world, "cd deeper && claude -p hi --output-format json").close());
    assert_eq!(elsewhere.code, Some(0));
    let newest = finish(json_run(&world, "again", &["--continue"]));
    assert!(said_to_model(&world, 2).contains("my name is Ada"));
    assert_ne!(session_of(&newest), session_of(&elsewhere));
}

#[test]
fn continue_without_a_session_starts_one() {
    let world = world(json!([say("fresh")]));
    let outcome = finish(json_run(&world, "hello", &["--continue"]));
    assert_eq!((outcome.code, &outcome.result().unwrap()["result"]), (Some(0), &json!("fresh")));
}

#[test]
fn a_fork_goes_on_under_a_new_id_and_leaves_its_source_alone() {
    for chosen in [None, Some(OTHER)] {
        let (world, id) = begun();
        let before = std::fs::read(transcript_path(&world, &id).unwrap()).unwrap();
        let mut more = vec!["--resume", &id, "--fork-session"];
        more.extend(chosen.iter().flat_map(|id| ["--session-id", *id]));
        let outcome = finish(json_run(&world, "again", &more));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let fork = session_of(&outcome);
        assert_ne!(fork, id);
        assert!(chosen.is_none_or(|chosen| chosen == fork));
        assert!(said_to_model(&world, 1).contains("my name is Ada"));
        assert_eq!(std::fs::read(transcript_path(&world, &id).unwrap()).unwrap(), before);
        let entries = transcript(&world, &fork);
        assert!(entries.iter().all(|entry| entry["sessionId"].is_null() || entry["sessionId"] == fork.as_str()));
        let again = finish(json_run(&world, "and again", &["--resume", &fork]));
        assert_eq!(session_of(&again), fork);
        assert!(said_to_model(&world, 2).contains("second answer"));
    }
}

#[test]
fn a_chosen_id_is_used_once() {
    let world = world(json!([say("one"), say("two")]));
    let first = finish(json_run(&world, "hi", &["--session-id", ID]));
    assert_eq!(session_of(&first), ID);
    assert!(transcript_path(&world, ID).is_some());
    let second = finish(json_run(&world, "hi", &["--session-id", ID]));
    assert_eq!(second.code, Some(1));
    assert!(second.stderr.contains(ID) && second.stderr.contains("in use"), "{}", second.stderr);
    assert_eq!(world.mock().requests().len(), 1);
    for bad in ["nonsense", "../../etc/passwd", "0d9a3f6e"] {
        let outcome = finish(json_run(&world, "hi", &["--session-id", bad]));
        assert_eq!(outcome.code, Some(1), "{bad}");
    }
}

#[test]
fn two_ids_at_once_need_a_fork() {
    let (world, id) = begun();
    let outcome = finish(json_run(&world, "hi", &["--resume", &id, "--session-id", OTHER]));
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("--fork-session"), "{}", outcome.stderr);
}

#[test]
fn an_unknown_session_is_a_zeroed_error_result_and_exit_1() {
    for run in [
        |world: &World| claude(world).args(STREAM).args(["go on", "--resume", ID]).close(),
        |world: &World| duplex(world).args(["--resume", ID]).prompt("go on").hold(),
    ] {
        let world = world(json!([say("never")]));
        let outcome = finish(run(&world));
        assert_eq!(outcome.code, Some(1));
        let [result] = &results(&outcome)[..] else { panic!("{:?}", outcome.lines) };
        assert_eq!(result["subtype"], "error_during_execution");
        assert_eq!(result["errors"], json!([format!("No conversation found with session ID: {ID}")]));
        assert_eq!((&result["is_error"], &result["num_turns"]), (&json!(true), &json!(0)));
        for zero in ["duration_ms", "duration_api_ms", "total_cost_usd"] {
            assert_eq!(result[zero].as_f64(), Some(0.0), "{zero}");
        }
        assert!(outcome.stderr.contains("No conversation found with session ID"), "{}", outcome.stderr);
        assert!(world.mock().requests().is_empty());
    }
}

#[test]
fn an_unknown_session_in_text_is_said_on_stderr() {
    let world = world(json!([say("never")]));
    let outcome = finish(claude(&world).args(["-p", "go", "--resume", ID]).close());
    assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0));
    assert_eq!(outcome.stderr, format!("No conversation found with session ID: {ID}"));
}

#[test]
fn without_persistence_no_file_is_written() {
    for (flag, name, value) in
        [(Some("--no-session-persistence"), "X", ""), (None, "CLAUDE_CODE_SKIP_PROMPT_HISTORY", "1")]
    {
        let world = world(json!([bash("echo hi"), say("done")]));
        let outcome = finish(streaming(&world, "go").args(flag).env(name, value).close());
        assert_eq!(outcome.code, Some(0));
        assert!(sessions(&world).is_empty(), "{:?}", sessions(&world));
        let id = outcome.session_id().unwrap();
        assert_eq!(finish(json_run(&world, "again", &["--resume", &id])).code, Some(1));
    }
}

#[test]
fn a_torn_last_line_costs_only_itself() {
    for torn in ["{\"type\":\"assistant\",\"uuid\":\"half", "{\"type\":\"user\",\"mess\u{e9}", "garbage"] {
        let (world, id) = begun();
        let path = transcript_path(&world, &id).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(torn.as_bytes()).unwrap();
        let outcome = finish(json_run(&world, "again", &["--resume", &id]));
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{torn}");
        assert!(said_to_model(&world, 1).contains("my name is Ada"));
        let text = std::fs::read_to_string(&path).unwrap();
        let bad: Vec<&str> = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_err()).collect();
        assert!(bad.is_empty() || bad == [torn], "nothing is glued to the torn line: {bad:?}");
        let third = finish(json_run(&world, "and again", &["--resume", &id]));
        assert_eq!(third.code, Some(0));
        assert!(said_to_model(&world, 2).contains("second answer"));
    }
}

#[test]
fn two_runs_in_one_folder_do_not_mix() {
    let world = world((0..40).map(|_| say("ok")).collect());
    let run = |name: &'static str| (0..20).fold(duplex(&world), |run, at| run.prompt(&format!("{name} {at}"))).close();
    let outcomes: Vec<Outcome> = std::thread::scope(|scope| {
        let runs = ["alpha", "beta"].map(run);
        runs.map(|run| scope.spawn(|| finish(run))).into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let ids: Vec<String> = outcomes.iter().map(|outcome| outcome.session_id().unwrap()).collect();
    assert_ne!(ids[0], ids[1]);
    for (outcome, (id, name)) in outcomes.iter().zip(ids.iter().zip(["alpha", "beta"])) {
        assert_eq!((outcome.code, results(outcome).len()), (Some(0), 20));
        let entries = transcript(&world, id);
        let prompts = entries.iter().filter(|entry| entry["type"] == "user").count();
        assert_eq!(prompts, 20);
        assert!(
            entries.iter().all(|entry| entry["message"]["content"].as_str().is_none_or(|text| text.starts_with(name))),
            "{name}"
        );
    }
}

#[test]
fn a_home_that_cannot_be_written_costs_a_warning_and_nothing_else() {
    let world = world(json!([bash("echo hi"), say("done")]));
    let file = world.home().join("file");
    std::fs::write(&file, "not a folder").unwrap();
    let outcome = finish(streaming(&world, "go").env("HOME", &file.display().to_string()).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(outcome.result().unwrap()["result"], "done");
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("cannot write the conversation"), "{}", outcome.stderr);
}

#[test]
fn the_config_folder_can_be_moved() {
    let world = world(json!([say("one"), say("two")]));
    let moved = world.home().join("elsewhere");
    let run = |more: &[&str]| json_run(&world, "hi", more).env("CLAUDE_CONFIG_DIR", &moved.display().to_string());
    let first = finish(run(&[]));
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    assert!(sessions(&world).is_empty() && moved.join("projects").is_dir());
    assert_eq!(session_of(&finish(run(&["--continue"]))), session_of(&first));
}

#[test]
fn a_resumed_session_can_be_cut_at_an_entry() {
    let (world, id) = begun();
    finish(json_run(&world, "the part to drop", &["--resume", &id]));
    let answer = transcript(&world, &id).into_iter().find(|entry| entry["type"] == "assistant").unwrap();
    let at = answer["uuid"].as_str().unwrap();
    let outcome = finish(json_run(&world, "instead", &["--resume", &id, "--resume-session-at", at]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let messages = said_to_model(&world, 2);
    assert!(messages.contains("my name is Ada") && !messages.contains("the part to drop"), "{messages}");
}
