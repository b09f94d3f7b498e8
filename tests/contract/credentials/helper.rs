//! `apiKeyHelper`: whose it may be, how long its key is used, and what happens when it fails.

use super::{STREAM, bare, both, identities, identity, own, plain, streamed, write};
use crate::common::{bash, binary, finish, say, world};
use serde_json::json;
use testkit::World;

/// A helper that counts its calls in a file of the home and hands out a new key each time.
const COUNTING: &str =
    "n=$(cat \"$HOME/calls\" 2>/dev/null); n=$((n+1)); echo $n > \"$HOME/calls\"; echo helped-key-$n";

fn calls(world: &World) -> u32 {
    let text = std::fs::read_to_string(world.home().join("calls")).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

fn with_helper(turns: serde_json::Value, helper: &str) -> World {
    let world = world(turns);
    own(&world, ".claude/settings.json", &json!({"apiKeyHelper": helper}));
    world
}

#[test]
fn only_the_user_may_name_one() {
    let world = plain();
    for place in [".claude/settings.json", ".claude/settings.local.json"] {
        write(
            &world.wd().join(place),
            &json!({"apiKeyHelper": format!("touch {}/started; echo k", world.home().display())}).to_string(),
        );
    }
    for trusted in [false, true] {
        if trusted {
            assert_eq!(finish(world.run(&binary()).named("ralph").args(["trust"])).code, Some(0));
        }
        let (outcome, seen) = identities(&world, streamed(&world));
        assert_eq!((outcome.code, seen.len()), (Some(1), 0), "trusted {trusted}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("apiKeyHelper"), "trusted {trusted}: {}", outcome.stderr);
        assert!(!world.home().join("started").exists(), "trusted {trusted}: the folder's helper was started");
    }
    let run = streamed(&world).args(["--settings", r#"{"apiKeyHelper": "echo given-along"}"#]);
    let (_, seen) = identities(&world, run);
    assert_eq!(seen, [both("given-along")], "the command line is the user's");
}

#[test]
fn it_is_a_shell_command_whose_trimmed_output_is_the_key() {
    for (helper, expected) in [
        ("printf '  spaced-key \\n\\n'", "spaced-key"),
        ("echo part | sed 's/part/whole-key/'", "whole-key"),
        ("echo noise >&2; echo \"$HOME_KEY\"", "from-the-environment"),
        ("cat \"$HOME/.key\"", "from-a-file"),
    ] {
        let world = with_helper(json!([]), helper);
        write(&world.home().join(".key"), "from-a-file\n");
        assert_eq!(
            identity(&world, streamed(&world).env("HOME_KEY", "from-the-environment")),
            both(expected),
            "{helper}"
        );
    }
}

#[test]
fn its_key_is_kept_for_its_time_and_no_longer() {
    let turns = || json!([bash("true"), say("first"), say("second")]);
    let messages = ["-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"];
    let two_turns = |world: &World| {
        let one = json!({"type": "result"});
        bare(world).args(messages).prompt("a").wait(one.clone()).prompt("b").wait(one).close()
    };
    let world = with_helper(turns(), COUNTING);
    let (_, seen) = identities(&world, two_turns(&world));
    assert_eq!((seen.len(), calls(&world)), (3, 1), "{seen:?}");
    assert!(seen.iter().all(|one| *one == both("helped-key-1")), "{seen:?}");

    let world = with_helper(turns(), COUNTING);
    let (_, seen) = identities(&world, two_turns(&world).env("CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "0"));
    assert_eq!(seen, [both("helped-key-1"), both("helped-key-2"), both("helped-key-3")]);
}

#[test]
fn a_refused_key_is_asked_for_again_once() {
    let refused = json!({"status": 401});
    let world = with_helper(json!([refused, say("fine")]), COUNTING);
    let (outcome, seen) = identities(&world, streamed(&world));
    assert_eq!(seen, [both("helped-key-1"), both("helped-key-2")]);
    assert_eq!((outcome.code, &outcome.result().unwrap()["result"]), (Some(0), &json!("fine")), "{}", outcome.stderr);

    let world = with_helper(json!([refused, refused, refused, refused]), COUNTING);
    let (outcome, seen) = identities(&world, streamed(&world));
    assert_eq!((seen.len(), outcome.code, calls(&world)), (2, Some(1), 2), "{}", outcome.stderr);
    assert_eq!(outcome.result().unwrap()["api_error_status"], 401);
}

#[test]
fn a_failing_helper_ends_the_run_and_its_output_is_not_told() {
    for helper in ["echo half-a-secret; exit 3", "echo half-a-secret >&2; exit 3", "true", "no-such-command-here"] {
        let world = with_helper(json!([]), helper);
        let (outcome, seen) = identities(&world, bare(&world).args(STREAM));
        let result = outcome.result().unwrap();
        assert_eq!((outcome.code, seen.len(), &result["is_error"]), (Some(1), 0, &json!(true)), "{helper}");
        assert!(result["result"].as_str().unwrap().contains("apiKeyHelper failed"), "{helper}: {result}");
        let said = format!("{}{}", outcome.stderr, outcome.lines.concat());
        assert!(!said.contains("half-a-secret"), "{helper}: {said}");
    }
}
