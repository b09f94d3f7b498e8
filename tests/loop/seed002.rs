//! Seed 002: the shell script that runs one prompt until it converges.

use crate::common::twice;
use crate::world::{PROMISE, agent, called, folder, heard, looped, of, outcomes, ralph, told, verdict};
use serde_json::json;

#[test]
fn seed_002_defaults_are_thirty_iterations_a_clean_session_and_docs_prompt() {
    let world = folder();
    std::fs::remove_file(world.wd().join(".ralph/prompt.md")).unwrap();
    std::fs::create_dir(world.wd().join("docs")).unwrap();
    std::fs::write(world.wd().join("docs/PROMPT.md"), "Converge!").unwrap();
    let script = format!("hear; work; if [ $n = 3 ]; then result '{PROMISE}'; else result \"step $n\"; fi");
    let (outcome, events) = told(looped(&world, &script, &[]));
    assert_eq!((outcome.code, outcomes(&events).len()), (Some(0), 3), "{}", outcome.stderr);
    assert_eq!(of(&events, "run_started")[0]["limits"]["iterations"], 30);
    assert!(heard(&world).iter().all(|prompt| prompt.contains("Converge!")), "the same prompt each time");
    assert!(called(&world).iter().all(|args| !args.contains("--resume")), "each starts afresh");
}

#[test]
fn seed_002_agents_work_unattended() {
    let world = folder();
    let agent = agent(&world, &format!("echo '{PROMISE}'")).display().to_string();
    let (outcome, _) = told(ralph(&world, &["--backend", &agent, "--output-format", "text"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let args = &called(&world)[0];
    assert!(args.contains("--dangerously-skip-permissions") && args.contains("--output-format text -- # Instructions"));
}

#[test]
fn seed_002_live_shows_words_as_they_come() {
    let world = folder();
    let delta =
        r#"{"type":"stream_event","event":{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hel"}}}"#;
    let script = format!("hear; work; echo '{delta}'; say Hello; result '{PROMISE}'");
    let (_, events) = told(looped(&world, &script, &["--live"]));
    let texts: Vec<_> =
        of(&events, "agent_text").iter().map(|event| (event["text"].clone(), event["partial"].clone())).collect();
    assert_eq!(texts, [(json!("Hel"), json!(true)), (json!("Hello"), json!(false))]);
    assert!(called(&world)[0].contains("--include-partial-messages"));
}

#[test]
fn seed_002_max_prompt_promise_and_cooldown() {
    let world = folder();
    std::fs::create_dir(world.wd().join("tasks")).unwrap();
    std::fs::write(world.wd().join("tasks/refactor.md"), "Refactor it").unwrap();
    let words = ["--max", "2", "--prompt", "tasks/refactor.md", "--promise", "DONE", "--cooldown", "0.3"];
    let (outcome, events) = told(looped(&world, "hear; work; result \"step $n\"", &words));
    assert_eq!((outcome.code, outcomes(&events).len()), (Some(2), 2), "{}", outcome.stderr);
    assert!(heard(&world)[0].contains("Refactor it") && !heard(&world)[0].contains("Build it"));
    let started: Vec<u64> = of(&events, "iteration_started").iter().filter_map(|event| event["at"].as_u64()).collect();
    let ended = of(&events, "iteration_ended")[0]["at"].as_u64().unwrap();
    assert!(started[1] >= ended + 300, "{started:?} {ended}");
    let (done, events) = told(looped(&world, "hear; work; result 'It works.\\nDONE'", &["--promise", "DONE"]));
    assert_eq!((done.code, verdict(&events).0), (Some(0), "done".into()));
}

#[test]
fn seed_002_what_is_missing_is_said_before_anything_runs() {
    let world = folder();
    for (words, why) in [
        (&["--backend", "claude"][..], "no 'claude' on PATH"),
        (&["--prompt", "nothing.md"], "the prompt nothing.md is not there"),
        (&["--session", "sometimes"], "--session must be clean or continue, not \"sometimes\""),
        (&["--max", "many"], "needs a whole number"),
    ] {
        let (outcome, _) = told(ralph(&world, words).env("PATH", "/usr/bin:/bin"));
        assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0), "{words:?}");
        assert!(outcome.stderr.contains(why), "{words:?}: {}", outcome.stderr);
    }
    assert!(!world.wd().join(".ralph/runs").exists(), "nothing was started");
}

#[test]
fn seed_002_session_continue_resumes_the_session() {
    let world = folder();
    let script = format!("hear; work; if [ $n = 2 ]; then result '{PROMISE}'; else result 'a step'; fi");
    let (_, events) = told(looped(&world, &script, &["--session", "continue"]));
    assert_eq!(verdict(&events).0, "done");
    let args = std::fs::read_to_string(world.home().join("args")).unwrap();
    let lines: Vec<&str> = args.lines().collect();
    assert!(!lines[0].contains("--resume") && lines[1].contains("--resume s1"), "{args}");
}

#[test]
fn seed_002_an_agent_that_fails_does_not_end_the_loop_and_its_output_is_logged() {
    let world = folder();
    let script = format!("hear; work; say \"attempt $n\"; if [ $n = 1 ]; then exit 1; fi; result '{PROMISE}'");
    let (outcome, events) = told(looped(&world, &script, &[]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["exit_code".to_owned(), "done".into()]));
    let names: Vec<String> = std::fs::read_dir(world.wd().join(".ralph"))
        .unwrap()
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let log = |start: &str, end: &str| {
        let name = names.iter().find(|name| name.starts_with(start) && name.ends_with(end));
        world.read(&format!(".ralph/{}", name.unwrap_or_else(|| panic!("{start}{end}: {names:?}")))).unwrap()
    };
    let (run, first, second) = (log("run_", ".log"), log("iter_", "_1.log"), log("iter_", "_2.log"));
    assert!(run.contains("attempt 1") && run.contains("attempt 2"), "{run}");
    assert!(first.contains("attempt 1") && !first.contains("attempt 2"), "{first}");
    assert!(second.contains("attempt 2") && !second.contains("attempt 1"), "{second}");
}

#[test]
fn seed_002_an_interrupt_is_130_and_keeps_the_logs() {
    let world = folder();
    let run = looped(&world, "hear; say started; sleep 60", &[]).wait(json!({"type": "agent_text"}));
    let (outcome, _) = told(twice(run));
    assert_eq!(outcome.code, Some(130));
    let log = std::fs::read_dir(world.wd().join(".ralph"))
        .unwrap()
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().starts_with("run_"))
        .unwrap();
    let text = std::fs::read_to_string(log.path()).unwrap();
    assert!(text.contains("started") && text.contains("interrupted"), "{text}");
}
