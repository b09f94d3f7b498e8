//! `doctor`: what is set up here, and what is wrong with it.

use super::{World, binary, finish, plain, ralph, run};
use crate::common::claude;
use testkit::Outcome;

/// The value of a line of the report.
fn value(outcome: &Outcome, name: &str) -> String {
    let line = outcome.lines.iter().find(|line| line[2..].starts_with(name));
    line.map(|line| line[2 + name.len()..].trim().to_owned()).unwrap_or_default()
}

fn problems(outcome: &Outcome) -> Vec<&String> {
    outcome.lines.iter().filter(|line| line.starts_with("! ")).collect()
}

fn settings(world: &World, text: &str) {
    std::fs::create_dir_all(world.home().join(".claude")).unwrap();
    std::fs::write(world.home().join(".claude/settings.json"), text).unwrap();
}

#[test]
fn a_good_setup_is_described_and_exits_0() {
    let world = plain();
    settings(&world, "{}");
    let outcome = run(&world, &["doctor"]);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{:?}", outcome.lines);
    assert_eq!(problems(&outcome), [] as [&String; 0]);
    assert_eq!(value(&outcome, "version"), "ralph 0.1.0, speaking 2.1.325");
    assert_eq!(value(&outcome, "binary"), binary().display().to_string());
    assert_eq!(value(&outcome, "folder"), world.wd().display().to_string());
    assert_eq!(value(&outcome, "configuration"), world.home().join(".claude").display().to_string());
    let wd = world.wd().display().to_string();
    let untrusted = format!("no: {wd} is not trusted ('ralph trust' there lets its settings grant things)");
    assert_eq!(value(&outcome, "trusted"), untrusted);
    assert_eq!(value(&outcome, "endpoint"), world.mock().url());
    assert_eq!(value(&outcome, "credentials"), "ANTHROPIC_API_KEY");
    run(&world, &["trust"]);
    let trusted = value(&run(&world, &["doctor"]), "trusted");
    assert!(trusted.starts_with(&format!("yes: you trusted the repository {wd} (first commit ")), "{trusted}");
    std::fs::remove_dir_all(world.wd().join(".git/objects")).unwrap();
    std::fs::create_dir(world.wd().join(".git/objects")).unwrap();
    let replaced = value(&run(&world, &["doctor"]), "trusted");
    assert!(replaced.starts_with(&format!("no: what you trusted at {wd} began with commit ")), "{replaced}");
    assert_eq!(finish(claude(&world).args(["doctor"])).lines.len(), outcome.lines.len(), "also as the agent's command");
    assert!(world.mock().requests().is_empty(), "it only looks");
    assert!(!world.home().join(".claude/projects").exists(), "it only looks");
}

#[test]
fn each_problem_is_one_marked_line_and_exits_1() {
    let world = plain();
    settings(&world, "{ // no comments\n}");
    let outcome = finish(ralph(&world, &["doctor"]).without_env("ANTHROPIC_API_KEY"));
    assert_eq!(outcome.code, Some(1));
    let found = problems(&outcome);
    assert_eq!(found.len(), 2, "{:?}", outcome.lines);
    let file = world.home().join(".claude/settings.json").display().to_string();
    assert!(found[0].contains(&file) && found[0].contains("not a JSON object"), "{}", found[0]);
    assert!(found[1].contains("set ANTHROPIC_API_KEY"), "{}", found[1]);
    assert_eq!(outcome.lines.iter().filter(|line| line.contains(&file)).count(), 1, "{:?}", outcome.lines);
}

#[test]
fn what_an_untrusted_folder_asks_for_is_shown_and_is_no_problem() {
    let world = plain();
    std::fs::create_dir(world.wd().join(".claude")).unwrap();
    std::fs::write(world.wd().join(".claude/settings.json"), r#"{"dangerouslySkipPermissions": true}"#).unwrap();
    let outcome = run(&world, &["doctor"]);
    assert_eq!(outcome.code, Some(0), "{:?}", outcome.lines);
    assert!(value(&outcome, "settings").contains("dangerouslySkipPermissions"), "{:?}", outcome.lines);
}

#[test]
fn addresses_that_cannot_work_are_problems() {
    let world = plain();
    for (name, value) in [("ANTHROPIC_BASE_URL", "nonsense"), ("HTTPS_PROXY", "http://[bad")] {
        let outcome = finish(ralph(&world, &["doctor"]).env(name, value));
        let found = problems(&outcome);
        assert_eq!((outcome.code, found.len()), (Some(1), 1), "{name}: {:?}", outcome.lines);
        assert!(found[0].contains(name), "{name}: {}", found[0]);
    }
}
