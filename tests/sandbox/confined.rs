//! How agents and loops use the sandbox: the binary, with a scripted model that wants out.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot set up its world must fail loudly")]
#![expect(clippy::disallowed_methods, reason = "a suite that cannot run here reads its knob and ends")]

mod beads;
mod checkouts;
mod exits;
mod foreign;

use serde_json::{Value, json};
use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Once;
use testkit::{Outcome, Run, World};

fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ralph"))
}

/// Runs to the end; a run that hangs is a failure of its own.
fn finish(run: Run) -> Outcome {
    let outcome = run.finish().expect("a run");
    assert!(!outcome.timed_out, "it hung; stderr: {}", outcome.stderr);
    outcome
}

fn say(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

fn bash(command: &str) -> Value {
    json!({"content": [{"type": "tool_use", "name": "Bash", "input": {"command": command}}]})
}

fn tool(name: &str, input: &Value) -> Value {
    json!({"content": [{"type": "tool_use", "name": name, "input": input}]})
}

/// Where the machine cannot hold everything there is nothing to show, and that is said past the test runner, which
/// keeps lines to itself. With `RALPH_SANDBOX=required` it is a failure.
fn need_a_sandbox(world: &World) {
    static SHOWN: Once = Once::new();
    SHOWN.call_once(|| show_a_sandbox(world));
}

fn show_a_sandbox(world: &World) {
    let doctor = finish(world.run(&binary()).named("ralph").args(["doctor"]).close());
    let text = doctor.lines.join("\n");
    if text.contains("22 of 22 attempts held") {
        return;
    }
    assert_ne!(std::env::var("RALPH_SANDBOX").as_deref(), Ok("required"), "{text}");
    let _ = std::io::stderr().write_all(b"\nSKIPPED: sandboxed agents, because this machine cannot hold everything\n");
    std::process::exit(0)
}

fn world(turns: Value) -> World {
    let files = [(".ralph/prompt.md", "# Build it\n"), ("a.txt", "a\n")];
    let world = World::new(files, mock::Script::from_value(turns).unwrap()).unwrap();
    let folder = world.wd().display().to_string();
    let state = json!({"projects": {folder: {"hasTrustDialogAccepted": true}}});
    std::fs::write(world.home().join(".claude.json"), state.to_string()).unwrap();
    std::fs::create_dir(world.home().join(".ssh")).unwrap();
    std::fs::write(world.home().join(".ssh/key"), "PRIVATE").unwrap();
    need_a_sandbox(&world);
    world
}

/// A folder that is neither the workspace nor the temporary folder of the run.
fn outside() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn agent(world: &World, flags: &[&str]) -> Run {
    let run = world.run(&binary()).named("claude").args(["-p", "--output-format", "stream-json", "--verbose"]);
    run.args(flags.iter().copied()).args(["go"]).close()
}

const BYPASS: &str = "--dangerously-skip-permissions";

/// The texts of all tool results.
fn results(outcome: &Outcome) -> String {
    let events = outcome.events();
    let blocks =
        events.iter().filter(|event| event["type"] == "user").map(|event| event["message"]["content"].to_string());
    blocks.collect::<Vec<_>>().join("\n")
}

#[test]
fn commands_stay_inside_when_the_flag_says_so() {
    for (flags, gets_out) in
        [(&[BYPASS][..], true), (&[BYPASS, "--sandbox"], false), (&[BYPASS, "--sandbox=read-only"], false)]
    {
        let place = outside();
        let file = place.path().join("file");
        let world =
            world(json!([bash(&format!("echo x > {}; echo y > made; echo z > .mcp.json", file.display())), say("ok")]));
        let outcome = finish(agent(&world, flags));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(file.exists(), gets_out, "{flags:?} {}", results(&outcome));
        assert_eq!(world.wd().join(".mcp.json").is_file(), gets_out, "{flags:?}");
        assert!(gets_out || !world.wd().join(".mcp.json").exists(), "nothing is left behind");
        assert_eq!(world.read("made").is_some(), flags != [BYPASS, "--sandbox=read-only"], "{flags:?}");
    }
}

#[test]
fn file_tools_keep_to_the_same_rules() {
    let place = outside();
    let file = place.path().join("file").display().to_string();
    let turns = |home: &str| {
        json!([
            tool("Write", &json!({"file_path": file, "content": "x"})),
            tool("Write", &json!({"file_path": "$WD/.claude/settings.json", "content": "{}"})),
            tool("Read", &json!({"file_path": format!("{home}/.ssh/key")})),
            tool("Grep", &json!({"pattern": "PRIV", "path": home, "output_mode": "content"})),
            tool("Write", &json!({"file_path": "$WD/fine.txt", "content": "x"})),
            say("ok")
        ])
    };
    let free = world(turns("$HOME"));
    let outcome = finish(agent(&free, &[BYPASS]));
    assert!(
        results(&outcome).contains("PRIVATE") && free.read(".claude/settings.json").is_some(),
        "{}",
        results(&outcome)
    );
    std::fs::remove_file(place.path().join("file")).unwrap();
    let boxed = world(turns("$HOME"));
    let outcome = finish(agent(&boxed, &[BYPASS, "--sandbox", "workspace"]));
    let said = results(&outcome);
    assert!(!said.contains("PRIVATE"), "{said}");
    assert!(!place.path().join("file").exists() && boxed.read(".claude/settings.json").is_none(), "{said}");
    assert_eq!(boxed.read("fine.txt").as_deref(), Some("x"), "{said}");
}

#[test]
fn adversary_32_33_credentials_are_neither_in_the_environment_nor_in_the_parents() {
    let look = "echo KEY=$ANTHROPIC_API_KEY; echo PRE=$LD_PRELOAD; echo TOK=$GH_TOKEN; cat /proc/$CLAUDE_PID/environ | tr '\\0' '\\n' | grep GH_; cat /proc/$PPID/environ | grep -c .";
    let free = world(json!([bash(look), say("ok")]));
    let outcome = finish(agent(&free, &[BYPASS]).env("GH_TOKEN", "ghp_secret"));
    let said = results(&outcome);
    // Without the sandbox a command has it, but even root does not find it in what the kernel shows of the agent.
    assert!(said.contains("TOK=ghp_secret") && !said.contains("GH_TOKEN=ghp_secret"), "{said}");
    let boxed = world(json!([bash(look), say("ok")]));
    let outcome =
        finish(agent(&boxed, &[BYPASS, "--sandbox"]).env("GH_TOKEN", "ghp_secret").env("LD_PRELOAD", "/x.so"));
    let said = results(&outcome);
    assert!(said.contains("KEY=\\n") && said.contains("PRE=\\n") && said.contains("TOK=\\n"), "{said}");
    // The agent is no process that a command knows.
    let unseen = said.contains("No such file") || said.contains("Permission denied");
    assert!(!said.contains("ghp_secret") && unseen, "{said}");
}

#[test]
fn settings_ask_for_it_too_and_commands_then_need_no_permission() {
    let place = outside();
    let file = place.path().join("file");
    let turns = json!([bash(&format!("echo y > made; echo x > {}", file.display())), bash("rm -rf a.txt"), say("ok")]);
    let settings = r#"{"sandbox": {"enabled": true}, "permissions": {"deny": ["Bash(rm:*)"]}}"#;
    let boxed = world(turns);
    let outcome = finish(agent(&boxed, &["--settings", settings]));
    assert_eq!(boxed.read("made").as_deref(), Some("y\n"), "{}", results(&outcome));
    assert!(!file.exists() && boxed.read("a.txt").is_some(), "a rule still denies: {}", results(&outcome));
    let asked = world(json!([bash("echo y > made"), say("ok")]));
    let settings = r#"{"sandbox": {"enabled": true, "autoAllowBashIfSandboxed": false}}"#;
    finish(agent(&asked, &["--settings", settings]));
    assert_eq!(asked.read("made"), None, "asked, and nobody is there");
}

/// As in the reference: the settings are about commands, rules and permissions about the other tools.
#[test]
fn settings_alone_do_not_fence_other_tools() {
    let boxed = world(json!([tool("Write", &json!({"file_path": "$WD/.claude/notes.md", "content": "x"})), say("ok")]));
    std::fs::create_dir(boxed.wd().join(".claude")).unwrap();
    let outcome = finish(agent(&boxed, &[BYPASS, "--settings", r#"{"sandbox": {"enabled": true}}"#]));
    assert_eq!(boxed.read(".claude/notes.md").as_deref(), Some("x"), "{}", results(&outcome));
}

#[test]
fn what_is_asked_for_and_not_done_is_said() {
    let world = world(json!([say("ok")]));
    let settings = r#"{"sandbox": {"enabled": true, "credentials": {"files": []}}}"#;
    let outcome = finish(agent(&world, &["--settings", settings]));
    assert!(outcome.stderr.contains("sandbox.credentials"), "{}", outcome.stderr);
    let wrong = finish(agent(&world, &["--sandbox=maybe"]));
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("off, read-only, workspace"), "{}", wrong.stderr);
}

#[test]
fn the_folder_carries_over_and_background_commands_are_inside() {
    let place = outside();
    let file = place.path().join("file");
    let background = json!({"content": [{"type": "tool_use", "name": "Bash",
        "input": {"command": format!("echo x > {}; echo b > behind", file.display()), "run_in_background": true}}]});
    let world =
        world(json!([bash("mkdir sub && cd sub"), bash("pwd > where"), background, bash("sleep 0.5"), say("ok")]));
    let outcome = finish(agent(&world, &[BYPASS, "--sandbox"]));
    assert!(world.read("sub/where").is_some_and(|text| text.ends_with("/sub\n")), "{}", results(&outcome));
    assert_eq!((world.read("sub/behind").as_deref(), file.exists()), (Some("b\n"), false), "{}", results(&outcome));
}

fn ralph(world: &World, words: &[&str]) -> Outcome {
    finish(world.run(&binary()).named("ralph").args(words.iter().copied()).close())
}

const PROMISE: &str = "<promise>COMPLETE</promise>";

#[test]
fn a_loop_is_inside_unless_told_otherwise() {
    for (flags, gets_out) in [(&[][..], false), (&["--sandbox", "off"], true)] {
        let place = outside();
        let (command, check) = (place.path().join("command"), place.path().join("check"));
        let world = world(json!([bash(&format!("echo x > {}; echo y > made", command.display())), say(PROMISE)]));
        let check_line =
            format!("echo x > {}; test -z \"$ANTHROPIC_API_KEY$GONE\" || true; test -f made", check.display());
        let words = [&["3", "--json", "--backend", "builtin", "--check", &check_line], flags].concat();
        let outcome = ralph(&world, &words);
        assert_eq!(outcome.code, Some(0), "{} {:#?}", outcome.stderr, outcome.lines);
        assert_eq!((command.exists(), check.exists()), (gets_out, gets_out), "{flags:?}");
        assert_eq!(world.read("made").as_deref(), Some("y\n"));
    }
}

#[test]
fn doctor_shows_each_protection_by_trying() {
    let world = world(json!([]));
    let outcome = ralph(&world, &["doctor", "--json"]);
    let report: Value = serde_json::from_str(&outcome.lines.concat()).unwrap();
    let sandbox = &report["sandbox"];
    assert_eq!((&sandbox["available"], &sandbox["weaknesses"]), (&json!(true), &json!([])), "{report}");
    for probe in sandbox["probes"].as_array().unwrap() {
        assert_eq!(probe["verdict"], "held", "{probe}");
    }
    let text = ralph(&world, &["doctor"]).lines.join("\n");
    assert!(text.contains("held: reading credentials"), "{text}");
}
