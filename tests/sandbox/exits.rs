//! Ways out that people leave open, and those that nobody can: excluded commands, commands that ask to leave,
//! and an administrator who wants a sandbox.

use crate::{BYPASS, PROMISE, agent, bash, binary, finish, outside, results, say, tool, world};
use serde_json::{Value, json};
use testkit::World;

fn leaving(command: &str) -> Value {
    tool("Bash", &json!({"command": command, "dangerouslyDisableSandbox": true}))
}

/// A world, and a command that does harm outside.
fn scene(call: impl Fn(&str) -> Value) -> (World, tempfile::TempDir, std::path::PathBuf) {
    let place = outside();
    let file = place.path().join("file");
    let world = world(json!([call(&format!("touch {}", file.display())), say("ok")]));
    (world, place, file)
}

#[test]
fn excluded_commands_run_outside_but_need_their_permission() {
    let excluded = |more: Value| {
        let mut block = json!({"enabled": true, "excludedCommands": ["touch *"]});
        block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"sandbox": block})
    };
    let plain = excluded(json!({}));
    let allowed = json!({"sandbox": plain["sandbox"], "permissions": {"allow": ["Bash(touch:*)"]}});
    for (settings, flags, gets_out) in [
        (&json!({"sandbox": {"enabled": true}}), &[BYPASS][..], false),
        (&plain, &[BYPASS], true),
        // Never by autoAllowBashIfSandboxed alone.
        (&plain, &[], false),
        (&allowed, &[], true),
        // Not a hole of the escape hatch's: they were named.
        (&excluded(json!({"allowUnsandboxedCommands": false})), &[BYPASS], true),
        // The loop's way: what the command line says, people said.
        (&plain, &[BYPASS, "--sandbox"], true),
    ] {
        let (world, _place, file) = scene(bash);
        let text = settings.to_string();
        let flags: Vec<&str> = flags.iter().copied().chain(["--settings", &text]).collect();
        let outcome = finish(agent(&world, &flags));
        assert_eq!(file.exists(), gets_out, "{flags:?}: {}", results(&outcome));
    }
    // A chain of which one part is not named stays inside as a whole.
    let (world, _place, file) = scene(|command| bash(&format!("{command}; true")));
    finish(agent(&world, &[BYPASS, "--settings", &plain.to_string()]));
    assert!(!file.exists());
}

/// A folder's settings, even of a trusted one, do not open a sandbox that a flag asked for.
#[test]
fn a_folder_opens_no_hole_in_a_loop() {
    let block =
        json!({"sandbox": {"enabled": true, "excludedCommands": ["touch *"], "allowUnsandboxedCommands": true}});
    for (flags, gets_out) in [(&[BYPASS][..], true), (&[BYPASS, "--sandbox"], false)] {
        for call in [bash as fn(&str) -> Value, leaving] {
            let (world, _place, file) = scene(call);
            std::fs::create_dir(world.wd().join(".claude")).unwrap();
            std::fs::write(world.wd().join(".claude/settings.json"), block.to_string()).unwrap();
            let outcome = finish(agent(&world, flags));
            assert_eq!(file.exists(), gets_out, "{flags:?}: {}", results(&outcome));
        }
    }
}

#[test]
fn a_command_that_asks_to_leave_needs_somebody_who_lets_it() {
    let with = |more: Value| {
        let mut block = json!({"enabled": true});
        block.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        json!({"sandbox": block})
    };
    let unset = with(json!({}));
    let allowed = json!({"sandbox": {"enabled": true}, "permissions": {"allow": ["Bash(touch:*)"]}});
    for (settings, flags, gets_out, denied) in [
        // Asked, and nobody is there; also where permissions are skipped, since nobody said so.
        (&unset, &[][..], false, true),
        (&unset, &[BYPASS], false, true),
        (&allowed, &[], true, false),
        (&with(json!({"allowUnsandboxedCommands": true})), &[BYPASS], true, false),
        (&with(json!({"allowUnsandboxedCommands": true})), &[], false, true),
        // Not looked at: it runs, inside.
        (&with(json!({"allowUnsandboxedCommands": false})), &[BYPASS], false, false),
        (&with(json!({"allowUnsandboxedCommands": false})), &[], false, false),
        (&json!({}), &[BYPASS, "--sandbox"], false, false),
        (&with(json!({"allowUnsandboxedCommands": true})), &[BYPASS, "--sandbox"], true, false),
    ] {
        let (world, _place, file) = scene(leaving);
        let text = settings.to_string();
        let flags: Vec<&str> = flags.iter().copied().chain(["--settings", &text]).collect();
        let outcome = finish(agent(&world, &flags));
        let denials = outcome.result().unwrap()["permission_denials"].as_array().map_or(0, Vec::len);
        assert_eq!((file.exists(), denials), (gets_out, usize::from(denied)), "{flags:?}: {}", results(&outcome));
    }
}

/// What leaves finds the environment that it would find without a sandbox.
#[test]
fn outside_there_are_the_users_own_variables() {
    let settings = json!({"sandbox": {"enabled": true, "excludedCommands": ["env"]}}).to_string();
    for (command, seen) in [("env", true), ("env | cat", false)] {
        let world = world(json!([bash(command), say("ok")]));
        let outcome = finish(agent(&world, &[BYPASS, "--settings", &settings]).env("GH_TOKEN", "ghp_secret"));
        let said = results(&outcome);
        assert_eq!((said.contains("ghp_secret"), said.contains("_PROXY=")), (seen, !seen), "{said}");
    }
}

/// An administrator's settings, for a world.
fn managed(world: &World, settings: &Value) -> String {
    let folder = world.home().join("etc");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("managed-settings.json"), settings.to_string()).unwrap();
    folder.display().to_string()
}

#[test]
fn nobody_takes_away_what_the_administrator_wants() {
    let policy = json!({"sandbox": {"enabled": true}});
    let world = world(json!([say("ok")]));
    let folder = managed(&world, &policy);
    let refused = finish(agent(&world, &["--sandbox", "off"]).env("RALPH_TEST_MANAGED_DIR", &folder));
    assert_eq!(
        (refused.code, refused.lines.len(), refused.stderr.lines().count()),
        (Some(1), 0, 1),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("administrator") && refused.stderr.contains("'off'"), "{}", refused.stderr);
    let flag = finish(agent(&world, &["--sandbox", "off", "--managed-settings", &policy.to_string()]));
    assert_eq!(flag.code, Some(1), "{}", flag.stderr);
    let ralph = |words: &[&str]| {
        let run = world.run(&binary()).named("ralph").args(["1", "--json", "--backend", "builtin"]);
        finish(run.args(words.iter().copied()).env("RALPH_TEST_MANAGED_DIR", &folder).close())
    };
    let refused = ralph(&["--sandbox", "off"]);
    assert_eq!(
        (refused.code, refused.lines.len(), refused.stderr.lines().count()),
        (Some(1), 0, 1),
        "{}",
        refused.stderr
    );
    assert!(refused.stderr.contains("administrator"), "{}", refused.stderr);
    std::fs::write(world.wd().join(".ralph/config.toml"), "sandbox = \"off\"\n").unwrap();
    assert!(ralph(&[]).stderr.contains("administrator"));
}

/// Nor weakens it: a flag for a sandbox does not open the network that it closes, nor a user's settings a way out.
#[test]
fn a_flag_does_not_weaken_what_the_administrator_wants() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let connect = format!("bash -c '(exec 3<>/dev/tcp/127.0.0.1/{port}) && echo y > reached'");
    for (policy, reached) in [(json!({}), true), (json!({"sandbox": {"enabled": true}}), false)] {
        let world = world(json!([bash(&connect), say("ok")]));
        let folder = managed(&world, &policy);
        let run = agent(&world, &[BYPASS, "--sandbox"]).env("RALPH_TEST_MANAGED_DIR", &folder);
        let outcome = finish(run);
        assert_eq!(world.read("reached").is_some(), reached, "{}", results(&outcome));
    }
    let user = json!({"sandbox": {"excludedCommands": ["touch"], "allowUnsandboxedCommands": true}}).to_string();
    for call in [bash as fn(&str) -> Value, leaving] {
        let (world, _place, file) = scene(call);
        let folder = managed(&world, &json!({"sandbox": {"enabled": true, "allowUnsandboxedCommands": false}}));
        let run = agent(&world, &[BYPASS, "--settings", &user]).env("RALPH_TEST_MANAGED_DIR", &folder);
        let outcome = finish(run);
        assert!(!file.exists(), "{}", results(&outcome));
    }
}

/// In a loop, neither the model nor the folder opens anything by itself.
#[test]
fn a_loop_stays_closed() {
    let (world, _place, file) = {
        let place = outside();
        let file = place.path().join("file");
        let world = world(json!([leaving(&format!("touch {}", file.display())), say(PROMISE)]));
        (world, place, file)
    };
    let run = world.run(&binary()).named("ralph").args(["1", "--json", "--backend", "builtin"]).close();
    let outcome = finish(run);
    assert_eq!((outcome.code, file.exists()), (Some(0), false), "{} {:#?}", outcome.stderr, outcome.lines);
}
