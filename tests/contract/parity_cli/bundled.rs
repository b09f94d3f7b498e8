//! Commands that come with the agent and are prompts.

use super::{here, own, plain, run};
use crate::common::{self, claude, finish};
use serde_json::{Value, json};
use testkit::World;

const NAMES: [&str; 6] = ["code-review", "goal", "loop", "review", "security-review", "simplify"];

fn listed(world: &World, more: &[&str], env: &[(&str, &str)]) -> Vec<String> {
    let words = ["-p", "hi", "--output-format", "stream-json", "--verbose"];
    let run = claude(world).args(words.into_iter().chain(more.iter().copied()));
    let outcome = finish(env.iter().fold(run, |run, (name, value)| run.env(name, value)));
    let init = outcome.events().into_iter().find(|event| event["subtype"] == "init").expect("init");
    init["slash_commands"].as_array().expect("a list").iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn asked(world: &World) -> String {
    let requests = world.mock().requests();
    requests.last().map(|request| request.body["messages"].to_string()).unwrap_or_default()
}

#[test]
fn every_bundled_command_is_listed_and_asks_the_model() {
    let world = plain();
    let names = listed(&world, &[], &[]);
    for name in NAMES {
        assert_eq!(names.iter().filter(|listed| *listed == name).count(), 1, "{name}: {names:?}");
        let outcome = run(&world, &["-p", &format!("/{name} the parser of dates")]);
        assert_eq!(outcome.code, Some(0), "{name}: {outcome:?}");
        let asked = asked(&world);
        assert!(asked.contains("Named by the user: the parser of dates"), "{name}: {asked}");
        assert!(asked.len() > 600, "{name}: {asked}");
    }
}

#[test]
fn bundled_commands_can_be_switched_off() {
    let world = plain();
    let off = [("CLAUDE_CODE_DISABLE_BUNDLED_SKILLS", "1")];
    assert!(!listed(&world, &[], &off).contains(&"simplify".to_owned()));
    assert!(!listed(&world, &["--disable-slash-commands"], &[]).contains(&"simplify".to_owned()));
    let before = world.mock().requests().len();
    let outcome = finish(claude(&world).args(["-p", "/simplify"]).env(off[0].0, off[0].1));
    assert_eq!((outcome.code, world.mock().requests().len()), (Some(1), before), "{outcome:?}");
    own(&world, ".claude/settings.json", &json!({"disableBundledSkills": true}));
    assert!(!listed(&world, &[], &[]).contains(&"simplify".to_owned()));
}

#[test]
fn a_command_of_the_users_goes_first() {
    let world = common::world(json!([]));
    here(&world, ".claude/commands/review.md", "Our own way to review: $ARGUMENTS");
    run(&world, &["-p", "/review 7"]);
    assert!(asked(&world).contains("Our own way to review: 7"), "{}", asked(&world));
    assert_eq!(listed(&world, &[], &[]).iter().filter(|name| *name == "review").count(), 1);
}
