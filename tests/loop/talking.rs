//! What goes over the pipe, and around it.

use crate::world::{PROMISE, folder, heard, looped, outcomes, told, verdict};
use serde_json::Value;

#[test]
fn seed_000_a_missing_structure_is_corrected_on_the_same_pipe() {
    let world = folder();
    std::fs::write(world.wd().join("goal.md"), "Reach the moon").unwrap();
    let script = r#"hear; work; result 'no structure'
        hear; result 'still none'
        hear; printf '{"type":"result","is_error":false,"result":"x","structured_output":{"summary":"DONE"},"total_cost_usd":0.03}\n'
        cat > /dev/null"#;
    let (outcome, events) = told(looped(&world, script, &["--goal", "goal.md"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]), "{:?}", outcome.lines);
    let heard = heard(&world);
    assert!(heard.len() == 3 && heard[1].contains("StructuredOutput"), "{heard:?}");
    let first: Value = serde_json::from_str(&heard[0]).unwrap();
    assert_eq!((&first["type"], &first["message"]["role"]), (&"user".into(), &"user".into()));
    let text = first["message"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Reach the moon") && text.contains("# Build it") && text.contains("- [ ] one"), "{text}");
    let args = std::fs::read_to_string(world.home().join("args")).unwrap();
    assert!(args.contains("--json-schema") && args.contains("--input-format stream-json"), "{args}");
}

#[test]
fn environment_rules_of_the_seeds() {
    let script = format!("env > \"$HOME/env\"; hear; work; result '{PROMISE}'");
    let env = |words: &[&str], key: Option<&str>| {
        let world = folder();
        let mut run = looped(&world, &script, words).without_env("ANTHROPIC_API_KEY").env("MAX_THINKING_TOKENS", "5");
        if let Some(key) = key {
            run = run.env("CLAUDE_API_KEY", key);
        }
        assert_eq!(told(run).0.code, Some(0));
        let text = std::fs::read_to_string(world.home().join("env")).unwrap();
        let value =
            |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("{name}=")).map(str::to_owned));
        (value("ANTHROPIC_API_KEY"), value("MAX_THINKING_TOKENS"))
    };
    assert_eq!(env(&[], None), (None, Some("16384".into())));
    assert_eq!(env(&["--auth", "login", "--reasoning", "none"], None), (Some(String::new()), None));
    assert_eq!(
        env(&["--model", "haiku", "--reasoning", "low"], Some("sk-ant-x")),
        (Some("sk-ant-x".into()), Some("4096".into()))
    );
}

#[test]
fn continue_mode_resumes_the_session() {
    let world = folder();
    let script = format!("hear; work; if [ $n = 2 ]; then result '{PROMISE}'; else result 'a step'; fi");
    let (_, events) = told(looped(&world, &script, &["--session", "continue"]));
    assert_eq!(verdict(&events).0, "done");
    let args = std::fs::read_to_string(world.home().join("args")).unwrap();
    let lines: Vec<&str> = args.lines().collect();
    assert!(!lines[0].contains("--resume") && lines[1].contains("--resume s1"), "{args}");
}

#[test]
fn a_commit_per_iteration_where_it_is_asked_for() {
    let world = folder();
    let script = format!("hear; work; if [ $n = 2 ]; then result '{PROMISE}'; else result 'first step'; fi");
    let (outcome, events) = told(looped(&world, &script, &["--commit"]));
    assert_eq!((outcome.code, outcomes(&events).len()), (Some(0), 2));
    let log = crate::common::finish(
        world.run(std::path::Path::new("/usr/bin/git")).named("git").args(["log", "--format=%s"]),
    );
    assert_eq!(log.lines.len(), 3, "{:?}", log.lines);
    assert_eq!(log.lines[1], "ralph 1: first step");
}
