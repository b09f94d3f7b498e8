//! What may run: modes, rules from the command line, and rules from settings that are or are not trusted.

use super::{Seen, claude, finish, stream};
use crate::common::{bash, binary, call, say};
use serde_json::{Value, json};
use testkit::World;

/// A model that edits a file and runs a command.
fn busy() -> World {
    let write = call("Write", &json!({"file_path": "$WD/made.txt", "content": "made"}));
    let turns = json!([write, bash("touch ran.txt"), say("done")]);
    World::empty(mock::Script::from_value(turns).unwrap()).unwrap()
}

/// Whether the file was written, whether the command ran.
fn done(world: &World) -> [bool; 2] {
    ["made.txt", "ran.txt"].map(|name| world.wd().join(name).exists())
}

fn denied(seen: &Seen) -> Vec<String> {
    let result = seen.outcome.result().expect("a result");
    let denials = result["permission_denials"].as_array().cloned().unwrap_or_default();
    denials.iter().filter_map(|denial| denial["tool_name"].as_str().map(str::to_owned)).collect()
}

#[test]
fn modes_and_rules_decide_what_runs() {
    for (words, mode, expected) in [
        (&[][..], "default", [false, false]),
        (&["--permission-mode", "default"], "default", [false, false]),
        (&["--permission-mode", "manual"], "default", [false, false]),
        (&["--permission-mode="], "default", [false, false]),
        (&["--permission-mode", "acceptEdits"], "acceptEdits", [true, true]),
        (&["--permission-mode=plan"], "plan", [false, false]),
        (&["--permission-mode", "dontAsk"], "dontAsk", [false, false]),
        (&["--permission-mode", "auto"], "auto", [true, true]),
        (&["--permission-mode", "bypassPermissions"], "bypassPermissions", [true, true]),
        (&["--dangerously-skip-permissions"], "bypassPermissions", [true, true]),
        (&["--allow-dangerously-skip-permissions"], "default", [false, false]),
        (&["--dangerously-skip-permissions", "--permission-mode", "default"], "bypassPermissions", [true, true]),
        (&["--allowedTools", "Write"], "default", [true, false]),
        (&["--allowedTools", "Bash(touch *)"], "default", [false, true]),
        (&["--allowedTools=Write,Bash"], "default", [true, true]),
        (&["--allowedTools", "Edit(./made.txt)", "Bash(touch:*)"], "default", [true, true]),
        (&["--permission-mode=dontAsk", "--allowedTools=Write"], "dontAsk", [true, false]),
        (&["--tools", "Write,Bash"], "default", [false, false]),
        (&["--dangerously-skip-permissions", "--disallowedTools", "Bash(touch *)"], "bypassPermissions", [true, false]),
        (&["--allowedTools=Write,Bash", "--disallowedTools=Edit(./made.txt)"], "default", [false, true]),
    ] {
        let world = busy();
        let seen = stream(&world, words);
        assert_eq!(seen.init()["permissionMode"], mode, "{words:?}: {}", seen.told());
        assert_eq!(done(&world), expected, "{words:?}: {}", seen.told());
        let refused = expected.iter().filter(|ran| !**ran).count();
        assert_eq!(denied(&seen).len(), refused, "{words:?}: every denial is in the result");
        assert_eq!(seen.outcome.code, Some(0), "{words:?}: a denial is no failure of the run");
    }
}

#[test]
fn a_bare_name_takes_the_tool_away_and_a_star_takes_all() {
    let world = busy();
    for (words, gone, kept) in [
        (&["--disallowedTools", "WebFetch", "WebSearch"][..], &["WebFetch", "WebSearch"][..], &["Bash", "Read"][..]),
        (&["--disallowedTools=WebFetch,Bash"], &["WebFetch", "Bash"], &["Read"]),
        (&["--disallowed-tools", "Task"], &["Agent"], &["Read"]),
        (&["--disallowedTools", "Bash(rm *)"], &[], &["Bash"]),
        (&["--disallowedTools", "mcp__*"], &[], &["Bash", "Read"]),
        (&["--disallowedTools=Web*"], &["WebFetch", "WebSearch"], &["Bash"]),
        (&["--disallowedTools", ""], &[], &["Bash", "WebFetch"]),
    ] {
        let tools = stream(&world, words).tools();
        for name in gone {
            assert!(!tools.iter().any(|tool| tool == name), "{words:?} left {name}: {tools:?}");
        }
        for name in kept {
            assert!(tools.iter().any(|tool| tool == name), "{words:?} took {name}: {tools:?}");
        }
    }
    for words in [&["--disallowedTools", "*"][..], &["--disallowedTools=*"], &["--tools", ""], &["--tools="]] {
        let seen = stream(&world, words);
        assert_eq!(seen.tools(), [] as [&str; 0], "{words:?}");
        assert_eq!(
            (seen.init()["tools"].clone(), seen.outcome.code),
            (json!([]), Some(0)),
            "{words:?}: {}",
            seen.told()
        );
    }
}

#[test]
fn the_tools_flag_restricts_and_grants_nothing() {
    let world = busy();
    for (words, expected) in [
        (&["--tools", "Bash,Read"][..], &["Bash", "Read"][..]),
        (&["--tools=Bash,Read"], &["Bash", "Read"]),
        (&["--tools", "Bash", "Read"], &["Bash", "Read"]),
        (&["--tools", "Read", "--tools", "Bash"], &["Bash", "Read"]),
        (&["--tools", "Task"], &["Agent"]),
        (&["--tools", "Bash,NoSuchTool"], &["Bash"]),
        (&["--tools", "Read,Bash", "--disallowedTools", "Bash"], &["Read"]),
    ] {
        assert_eq!(stream(&world, words).tools(), expected, "{words:?}");
    }
    assert!(stream(&world, &["--tools", "default"]).tools().len() > 8);
    let seen = stream(&world, &["--tools", "Task,Read"]);
    assert_eq!(seen.init()["tools"], json!(["Task", "Read"]), "clients know the Agent tool by its older name");
}

#[test]
fn a_rule_that_cannot_be_read_grants_nothing_and_is_said() {
    let world = busy();
    let seen = stream(&world, &["--allowedTools", "Bash()", "Write("]);
    assert_eq!(done(&world), [false, false]);
    let warnings: Vec<&str> = seen.outcome.stderr.lines().collect();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings.iter().all(|line| line.starts_with("warning: a rule in --allowedTools is ignored: ")),
        "{warnings:?}"
    );
}

fn write(world: &World, place: &str, settings: &Value) {
    let file = match place.strip_prefix("$HOME/") {
        Some(name) => world.home().join(name),
        None => world.wd().join(place),
    };
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, settings.to_string()).unwrap();
}

const GRANTS: [(&str, &str); 4] = [
    ("bypassPermissions", r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#),
    ("acceptEdits", r#"{"permissions": {"defaultMode": "acceptEdits"}}"#),
    ("bypassPermissions", r#"{"dangerouslySkipPermissions": true}"#),
    ("default", r#"{"permissions": {"allow": ["Write", "Bash(touch *)"]}}"#),
];

#[test]
fn the_users_own_settings_grant() {
    for (mode, settings) in GRANTS {
        let world = busy();
        write(&world, "$HOME/.claude/settings.json", &serde_json::from_str(settings).unwrap());
        let seen = stream(&world, &[]);
        assert!(seen.is_clean(), "{settings}: {}", seen.told());
        assert_eq!((seen.init()["permissionMode"].as_str(), done(&world)), (Some(mode), [true, true]), "{settings}");
    }
}

#[test]
fn an_untrusted_folder_grants_nothing_and_says_so_in_one_line() {
    for place in [".claude/settings.json", ".claude/settings.local.json"] {
        for (_, settings) in GRANTS {
            let world = busy();
            write(&world, place, &serde_json::from_str(settings).unwrap());
            // It came with the repository: rules in a file of the user's own beside it would count.
            let add = world.run(std::path::Path::new("/bin/sh")).args(["-c", "git add -f .claude"]);
            assert_eq!(finish(add).code, Some(0));
            let seen = stream(&world, &[]);
            assert_eq!(seen.init()["permissionMode"], "default", "{place} {settings}");
            assert_eq!(done(&world), [false, false], "{place} {settings}");
            let warnings: Vec<&str> = seen.outcome.stderr.lines().collect();
            assert_eq!(warnings.len(), 1, "{place} {settings}: {warnings:?}");
            assert!(warnings[0].contains("is not trusted") && warnings[0].contains("ralph trust"), "{warnings:?}");
        }
    }
}

#[test]
fn a_trusted_folder_grants() {
    for place in [".claude/settings.json", ".claude/settings.local.json"] {
        for (mode, settings) in GRANTS {
            let world = busy();
            write(&world, place, &serde_json::from_str(settings).unwrap());
            let trusted = finish(world.run(&binary()).named("ralph").args(["trust"]));
            assert_eq!(trusted.code, Some(0), "{}", trusted.stderr);
            let seen = stream(&world, &[]);
            assert!(seen.is_clean(), "{place} {settings}: {}", seen.told());
            let found = (seen.init()["permissionMode"].clone(), done(&world));
            assert_eq!(found, (json!(mode), [true, true]), "{place} {settings}");
        }
    }
}

#[test]
fn trust_given_in_the_reference_counts_and_is_for_that_folder_only() {
    for (folder, expected) in [("$WD", [true, true]), ("$HOME", [false, false]), ("/", [false, false])] {
        let world = busy();
        write(&world, ".claude/settings.json", &json!({"dangerouslySkipPermissions": true}));
        let folder = folder.replace("$WD", &world.wd().display().to_string());
        let folder = folder.replace("$HOME", &world.home().display().to_string());
        write(&world, "$HOME/.claude.json", &json!({"projects": {folder.clone(): {"hasTrustDialogAccepted": true}}}));
        stream(&world, &[]);
        assert_eq!(done(&world), expected, "{folder}");
    }
}

#[test]
fn a_folder_may_always_deny() {
    let world = busy();
    write(&world, ".claude/settings.json", &json!({"permissions": {"deny": ["Bash(touch *)"], "ask": ["Write"]}}));
    let seen = stream(&world, &["--dangerously-skip-permissions"]);
    assert_eq!(done(&world), [false, false], "{}", seen.told());
    assert!(seen.is_clean(), "denying needs no trust and no warning: {}", seen.told());
}

#[test]
fn the_users_denials_hold_in_every_mode_and_minimal_start() {
    for words in [
        &["--dangerously-skip-permissions"][..],
        &["--dangerously-skip-permissions", "--safe-mode"],
        &["--dangerously-skip-permissions", "--bare"],
    ] {
        let world = busy();
        write(&world, "$HOME/.claude/settings.json", &json!({"permissions": {"deny": ["Bash(touch *)"]}}));
        let seen = stream(&world, words);
        assert!(!done(&world)[1], "{words:?}: {}", seen.told());
    }
}

#[test]
fn the_command_line_beats_the_settings() {
    let world = busy();
    write(&world, "$HOME/.claude/settings.json", &json!({"permissions": {"defaultMode": "bypassPermissions"}}));
    let seen = stream(&world, &["--permission-mode", "default"]);
    assert_eq!((seen.init()["permissionMode"].as_str(), done(&world)), (Some("default"), [false, false]));
    let off = r#"{"permissions": {"disableBypassPermissionsMode": "disable"}}"#;
    let refused = finish(claude(&world).args(["-p", "hi", "--dangerously-skip-permissions", "--settings", off]));
    assert_eq!((refused.code, refused.stderr.lines().count()), (Some(1), 1), "{}", refused.stderr);
    assert!(refused.stderr.contains("disableBypassPermissionsMode"), "{}", refused.stderr);
}

#[test]
fn a_settings_file_that_cannot_be_read_stops_the_start_with_file_and_line() {
    let big = format!("{{\"a\": \"{}\"}}", "x".repeat(3 * 1024 * 1024));
    for place in ["$HOME/.claude/settings.json", ".claude/settings.json", ".claude/settings.local.json"] {
        for (text, word) in [
            (&b"{ // comments are not JSON\n}"[..], "line 1"),
            (b"{\n\n\"a\": }", "line 3"),
            (b"[]", "line 1"),
            (b"{\"model\": \"\xff\"}", "UTF-8"),
            (big.as_bytes(), "larger than"),
            (b"{\"permissions\": {\"deny\": [\"Bash\"]},\n \"permissions\": {}}", "line 2"),
            (b"{\"permissions\":\n {\"deny\": 3}}", "line 2: `permissions.deny`"),
            (b"{\"permissions\":\n\n {\"deny\": [\"Bash(\"]}}", "line 3: permission rule `Bash(`"),
            (b"{\"permissions\": {\n\"ask\": [\"Read(!x)\"]}}", "line 2: permission rule `Read(!x)`"),
            (b"{\"permissions\": {\"deny\": [\"\"]}}", "line 1: permission rule is empty"),
        ] {
            let world = busy();
            let folder = if place.starts_with('$') { world.home() } else { world.wd() };
            let file = folder.join(place.trim_start_matches("$HOME/"));
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, text).unwrap();
            let shown = String::from_utf8_lossy(&text[..text.len().min(50)]).into_owned();
            let outcome = finish(claude(&world).args(["-p", "hi"]).close());
            assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0), "{place} {shown}");
            assert_eq!(outcome.stderr.lines().count(), 1, "{place} {shown}: {}", outcome.stderr);
            let named = outcome.stderr.contains(&file.display().to_string()) && outcome.stderr.contains(word);
            assert!(named, "{place} {shown}: {}", outcome.stderr);
            assert!(world.mock().requests().is_empty());
        }
    }
}

#[test]
fn unknown_keys_unknown_tools_and_bad_allow_rules_are_only_told() {
    let world = busy();
    let settings = json!({"keyOfNextYear": 1, "permissions": {
        "allow": ["Bash(", "Telepathy(x)"], "deny": ["Telepathy(y)"], "ask": ["Telepathy"], "sometimes": ["x"]}});
    write(&world, "$HOME/.claude/settings.json", &settings);
    let outcome = finish(claude(&world).args(["-p", "hi"]).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("`Bash(`"), "{}", outcome.stderr);
}

#[test]
fn a_denial_on_the_command_line_that_cannot_be_read_stops_the_start() {
    let world = busy();
    let outcome = finish(claude(&world).args(["-p", "hi", "--disallowedTools", "Bash(rm:*"]).close());
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (Some(1), 1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--disallowedTools"), "{}", outcome.stderr);
    let outcome = finish(claude(&world).args(["-p", "hi", "--allowedTools", "Bash(rm:*"]).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}
