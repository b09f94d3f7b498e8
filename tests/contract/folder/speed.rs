//! A folder full of skills and agents does not hold up the start.

use crate::common::{claude, finish, say};
use serde_json::json;
use std::time::Duration;
use testkit::World;

/// The whole run, not only its first event, unoptimised and beside other tests. An optimised binary has
/// its first event out in a few milliseconds; what this would show is work that grows with the square.
const LIMIT: Duration = Duration::from_secs(1);

#[test]
fn two_hundred_skills_and_fifty_agents_are_read_in_no_time() {
    let skill = |n: usize| {
        let text =
            format!("---\nname: skill-{n}\ndescription: thing {n}\nallowed-tools: Read\n---\n{}", "text ".repeat(500));
        (format!(".claude/skills/skill-{n}/SKILL.md"), text)
    };
    let agent = |n: usize| {
        let text = format!("---\nname: agent-{n}\ndescription: agent {n}\nmodel: haiku\n---\n{}", "text ".repeat(200));
        (format!(".claude/agents/agent-{n}.md"), text)
    };
    let files: Vec<(String, String)> = (0..200).map(skill).chain((0..50).map(agent)).collect();
    let script = mock::Script::from_value(json!([say("ok"), say("ok"), say("ok")])).expect("a script");
    let world = World::new(files.iter().map(|(name, text)| (name.as_str(), text.as_str())), script).expect("a world");
    let runs = (0..3).map(|_| {
        let flags = ["-p", "hi", "--verbose", "--output-format", "stream-json"];
        let outcome = finish(claude(&world).args(flags).close());
        let init = super::init(&outcome);
        assert_eq!(init["skills"].as_array().map(Vec::len), Some(200));
        assert!(init["agents"].as_array().is_some_and(|agents| agents.len() >= 50));
        outcome.elapsed
    });
    let best = runs.min().expect("a run");
    assert!(best < LIMIT, "{best:?}");
}
