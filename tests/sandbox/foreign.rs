//! An agent that is not ours, in a loop: all of it is inside, on pipes and on a terminal, and it still works.

use crate::{PROMISE, binary, finish, outside, say, world};
use serde_json::{Value, json};
use std::path::Path;
use testkit::{Outcome, Run, World};

/// It tries things, notes in the workspace what worked, and says that it is done.
const TRIES: &str = r#"#!/bin/sh
[ -t 0 ] || read -r line
state="${CLAUDE_CONFIG_DIR:-$HOME}/.claude.json"
try() { if (eval "$2") >/dev/null 2>&1; then echo "$1 yes" >> tried; else echo "$1 no" >> tried; fi; }
try outside 'echo x > "$OUTSIDE/file"'
try start-file 'echo x >> "$HOME/.bashrc"'
try home 'echo x > "$HOME/.new"'
try ssh 'cat "$HOME/.ssh/key"'
try hooks 'mkdir -p .git/hooks; echo x > .git/hooks/pre-commit'
try servers 'echo x > .mcp.json'
try loop-config 'echo x > .ralph/config.toml'
try its-settings 'echo x > "$HOME/.claude/settings.json"'
try its-hook 'echo x > "$HOME/.claude/scripts/stop.sh"'
try its-plugins 'mkdir -p "$HOME/.claude/plugins" && echo x > "$HOME/.claude/plugins/p"'
try trust 'echo x >> "$HOME/.claude.json"'
try token 'test -n "$GH_TOKEN"'
try work 'echo x > made && git add made && git -c user.name=a -c user.email=a@localhost commit -qm made'
try temp 'echo x > "$TMPDIR/x"'
try checkout 'git worktree add -q .claude/worktrees/w && echo x > .claude/worktrees/w/made && git worktree remove --force .claude/worktrees/w'
try key 'test -n "$ANTHROPIC_API_KEY"'
try kept 'test -n "$OTHER_TOKEN"'
try login 'cat "$HOME/.claude/.credentials.json" && echo y > "$HOME/.claude/.credentials.json"'
try sessions 'mkdir -p "$HOME/.claude/projects/p" && echo x > "$HOME/.claude/projects/p/s.jsonl"'
try state 'grep -q hasTrust "$state" && mkdir "$state.lock" && cp "$state" "$state.tmp.1" && mv "$state.tmp.1" "$state" && rmdir "$state.lock"'
"#;

/// What the sandbox takes away; everything else it leaves.
const HELD: [&str; 12] = [
    "outside",
    "start-file",
    "home",
    "ssh",
    "hooks",
    "servers",
    "loop-config",
    "its-settings",
    "its-hook",
    "its-plugins",
    "trust",
    "token",
];

fn done() -> String {
    let result =
        json!({"type": "result", "subtype": "success", "is_error": false, "result": PROMISE, "session_id": "s"});
    format!("printf '%s\\n' '{result}'\n")
}

/// Puts it on the search path as `claude`, before every other one.
fn install(world: &World, script: &str) -> String {
    let bin = world.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::write(bin.join("claude"), script).unwrap();
    std::fs::set_permissions(bin.join("claude"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())
}

fn furnished(model: Value) -> World {
    let world = world(model);
    for (file, text) in [
        (".claude/.credentials.json", "{}"),
        (".claude/settings.json", r#"{"statusLine": {"command": "~/.claude/scripts/stop.sh"}}"#),
        (".claude/scripts/stop.sh", "true\n"),
        (".bashrc", "\n"),
    ] {
        let path = world.home().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    world
}

fn ralph(world: &World, script: &str, place: &Path, words: &[&str]) -> Run {
    let path = install(world, script);
    let run = world.run(&binary()).named("ralph").args(["1", "--json"]).args(words.iter().copied());
    let run = run.env("PATH", &path).env("OUTSIDE", &place.display().to_string()).env("GH_TOKEN", "ghp_secret");
    run.env("OTHER_TOKEN", "o").env("RALPH_BINARY", &binary().display().to_string()).close()
}

fn started(outcome: &Outcome) -> Value {
    outcome.events().into_iter().find(|event| event["type"] == "run_started").expect("a run")
}

/// Each transport, with the words that choose it: a `claude` that is named gets a terminal, a path gets pipes.
fn transports(world: &World) -> [(&'static str, Vec<String>); 2] {
    let path = world.home().join("bin/claude").display().to_string();
    [("terminal", vec!["--backend".into(), "claude".into()]), ("pipe", vec!["--backend".into(), path])]
}

#[test]
fn it_gets_at_nothing_that_commands_of_our_own_agent_do_not() {
    for at in 0..2 {
        for held in [false, true] {
            let world = furnished(json!([]));
            // A loop completes a record that names no commit; this one is whole.
            assert_eq!(finish(world.run(&binary()).named("ralph").args(["trust"])).code, Some(0));
            let trust = std::fs::read_to_string(world.home().join(".claude.json")).unwrap();
            let (transport, words) = &transports(&world)[at];
            let place = outside();
            let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
            words.extend(["--keep-env", "OTHER_TOKEN"]);
            words.extend(if held { &[][..] } else { &["--sandbox", "off"] });
            let on_terminal = if *transport == "terminal" { "[ -t 1 ] || exit 3\n" } else { "[ -t 1 ] && exit 3\n" };
            let script = format!("{TRIES}{on_terminal}{}", done());
            let outcome = finish(ralph(&world, &script, place.path(), &words));
            assert_eq!(outcome.code, Some(0), "{transport} {held}: {} {:#?}", outcome.stderr, outcome.lines);
            let tried = world.read("tried").unwrap();
            assert_eq!(tried.lines().count(), 20, "{tried}");
            for line in tried.lines() {
                let (name, worked) = line.split_once(' ').unwrap();
                let expected = if held && HELD.contains(&name) { "no" } else { "yes" };
                assert_eq!(worked, expected, "{name} on a {transport}, held: {held}");
            }
            if held {
                let left = |name: &str| world.wd().join(name).exists();
                assert!(!left(".mcp.json") && !left(".claude") && !left(".vscode"), "nothing is left behind");
                assert!(
                    !world.home().join(".claude/plugins").exists() && !world.home().join(".claude/CLAUDE.md").exists()
                );
                assert_eq!(std::fs::read_to_string(world.home().join(".claude.json")).unwrap(), trust);
            }
        }
    }
}

#[test]
fn the_run_says_what_holds_it() {
    let world = furnished(json!([]));
    let place = outside();
    let script = format!("#!/bin/sh\n{}", done());
    let run = |words: &[&str]| started(&finish(ralph(&world, &script, place.path(), words)));
    let held = run(&[]);
    assert_eq!((&held["sandbox"], &held["unconfined"]), (&json!("workspace, around the whole agent"), &Value::Null));
    let read_only = run(&["--sandbox", "read-only"]);
    assert_eq!(read_only["sandbox"], "read-only, around the whole agent");
    let off = run(&["--sandbox", "off"]);
    assert_eq!((&off["sandbox"], &off["unconfined"]), (&Value::Null, &json!("no sandbox")));
    let path = install(&world, &script);
    let plain = world.run(&binary()).named("ralph").args(["1"]).env("PATH", &path).close();
    assert!(finish(plain).lines[0].contains("sandbox: workspace, around the whole agent"));
    let doctor = world.run(&binary()).named("ralph").args(["doctor"]).env("PATH", &path).close();
    let text = finish(doctor).lines.join("\n");
    assert!(text.contains("not ours; the sandbox holds all of it"), "{text}");
}

#[test]
fn what_can_be_replaced_is_said() {
    let world = furnished(json!([]));
    let settings = world.home().join(".claude/settings.json");
    std::fs::rename(&settings, world.home().join("dotfile")).unwrap();
    std::os::unix::fs::symlink("../dotfile", &settings).unwrap();
    let script = format!("#!/bin/sh\n(echo x > \"$HOME/.claude/settings.json\") 2>/dev/null && exit 1\n{}", done());
    let outcome = finish(ralph(&world, &script, Path::new("/"), &[]));
    assert_eq!(outcome.code, Some(0), "what it leads to is held: {:#?}", outcome.lines);
    let warned =
        |event: &Value| event["type"] == "warning" && event["text"].to_string().contains("settings.json is a link");
    assert!(outcome.events().iter().any(warned), "{:#?}", outcome.lines);
}

/// Who only sums up writes nothing.
#[test]
fn a_summary_is_made_read_only() {
    for (words, wrote) in [(&["--sandbox", "off"][..], "yes\n"), (&[], "no\n")] {
        let world = furnished(json!([]));
        let place = outside();
        let summary = json!({"type": "result", "subtype": "success", "is_error": false, "result": "x",
            "structured_output": {"summary": "so far"}, "session_id": "s"});
        let try_it = "if (echo x > by-summary) 2>/dev/null; then echo yes; else echo no; fi > \"$HOME/.claude/wrote\"";
        let again =
            json!({"type": "result", "subtype": "success", "is_error": false, "result": "more", "session_id": "s"});
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *haiku*) {try_it}; printf '%s\\n' '{summary}'; exit;; esac\n\
             n=$(cat n 2>/dev/null)x; echo $n > n; [ $n = xx ] || {{ printf '%s\\n' '{again}'; exit; }}\n{}",
            done()
        );
        let words = [&["--max", "3", "--summarise-every", "1"], words].concat();
        let outcome = finish(ralph(&world, &script, place.path(), &words));
        assert_eq!(outcome.code, Some(0), "{} {:#?}", outcome.stderr, outcome.lines);
        let found = std::fs::read_to_string(world.home().join(".claude/wrote")).unwrap_or_default();
        assert_eq!(found, wrote, "{words:?} {:#?}", outcome.lines);
    }
}

/// What it leaves running is still inside, and still finds protected files missing.
#[test]
fn what_it_leaves_behind_is_held_to_the_end() {
    let world = furnished(json!([]));
    let place = outside();
    let leave = "(setsid sh -c 'while :; do echo evil > .mcp.json; echo evil > \"$OUTSIDE/file\"; sleep 0.02; done' \
                 >/dev/null 2>&1 &)\n";
    let script = format!("#!/bin/sh\n{leave}{}", done());
    let outcome = finish(ralph(&world, &script, place.path(), &["--check", "sleep 0.5"]));
    assert_eq!(outcome.code, Some(0), "{} {:#?}", outcome.stderr, outcome.lines);
    assert!(!world.wd().join(".mcp.json").exists() && !place.path().join("file").exists());
}

/// A whole agent at work in the box: our own, behind a script that makes it a stranger.
fn stranger() -> String {
    "#!/bin/sh\nexec \"$RALPH_BINARY\" agent \"$@\"\n".to_owned()
}

fn working_turns(place: &Path) -> Value {
    let command = format!("echo x > {0}/file; cat $HOME/.ssh/key > {0}/key; echo y > made", place.display());
    let bash = json!({"content": [{"type": "tool_use", "name": "Bash", "input": {"command": command}}]});
    json!([bash, say(PROMISE)])
}

#[test]
fn a_whole_agent_works_inside() {
    for list in [None, Some(json!(["example.com"]))] {
        for at in 0..2 {
            let place = outside();
            let world = furnished(working_turns(place.path()));
            if let Some(hosts) = &list {
                let settings = json!({"sandbox": {"network": {"allowedDomains": hosts}}});
                std::fs::write(world.home().join(".claude/settings.json"), settings.to_string()).unwrap();
            }
            let words = &transports(&world)[at].1;
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let outcome = finish(ralph(&world, &stranger(), place.path(), &words));
            assert_eq!(outcome.code, Some(0), "{list:?} {words:?}: {} {:#?}", outcome.stderr, outcome.lines);
            assert_eq!(world.read("made").as_deref(), Some("y\n"), "{:#?}", outcome.lines);
            assert!(!place.path().join("file").exists() && !place.path().join("key").exists());
            let sessions = std::fs::read_dir(world.home().join(".claude/projects")).unwrap().count();
            assert_eq!(sessions, 1, "its conversation is where people look for it");
        }
    }
}

#[test]
fn a_command_outside_of_the_list_reaches_nothing() {
    let server = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let connect =
        format!("#!/bin/bash\n(exec 3<>/dev/tcp/127.0.0.1/{}) 2>/dev/null && echo y > reached\n", address.port());
    for (hosts, reached) in [(json!({}), true), (json!({"allowedDomains": []}), false)] {
        let world = furnished(json!([]));
        let settings = json!({"sandbox": {"network": hosts}});
        std::fs::write(world.home().join(".claude/settings.json"), settings.to_string()).unwrap();
        let outcome = finish(ralph(&world, &format!("{connect}{}", done()), Path::new("/"), &[]));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(world.read("reached").is_some(), reached, "{settings}");
    }
}

/// A loop in the box of another one may make no namespaces: what is left holds, and what is missing is said.
#[test]
fn where_less_can_be_held_that_is_said() {
    let world = furnished(json!([]));
    let inner = world.wd().join("inner");
    std::fs::create_dir_all(inner.join(".ralph")).unwrap();
    std::fs::write(inner.join(".ralph/prompt.md"), "# Inside\n").unwrap();
    let trusted = json!({"hasTrustDialogAccepted": true});
    let state = json!({"projects": {world.wd().display().to_string(): trusted, inner.display().to_string(): trusted}});
    std::fs::write(world.home().join(".claude.json"), state.to_string()).unwrap();
    let path = install(&world, &format!("#!/bin/sh\nread -r line\necho x > inside\n(echo x > ../escaped)\n{}", done()));
    std::fs::rename(world.home().join("bin/claude"), world.home().join("bin/inner")).unwrap();
    let outer = format!(
        "#!/bin/sh\n(cd inner && \"$RALPH_BINARY\" 1 --json --backend \"$HOME/bin/inner\") > inner.log 2>&1\n{}",
        done()
    );
    let outcome = finish(ralph(&world, &outer, Path::new("/"), &[]).env("PATH", &path));
    assert_eq!(outcome.code, Some(0), "{} {:#?}", outcome.stderr, outcome.lines);
    let log = world.read("inner.log").unwrap();
    assert!(log.contains("workspace, around the whole agent") && log.contains("no user namespaces here"), "{log}");
    assert!(inner.join("inside").exists() && !world.wd().join("escaped").exists(), "{log}");
}
