//! Sub-commands of the reference: here, or an error that says what to use. None is a paid prompt.

use super::{claude, finish, own, plain, refused, run};
use serde_json::{Value, json};

#[test]
fn commands_that_are_missing_are_errors_and_cost_nothing() {
    let world = plain();
    for words in [
        &["attach", "x"][..],
        &["daemon", "status"],
        &["gateway"],
        &["import", "codex"],
        &["kill", "x"],
        &["logs", "x"],
        &["remote-control"],
        &["respawn", "--all"],
        &["rm", "abc"],
        &["setup-token"],
        &["stop", "abc"],
        &["stop", "the", "server"],
        &["ultrareview"],
        &["upgrade"],
        &["update"],
        &["--verbose", "daemon", "stop"],
    ] {
        refused(&world, claude(&world).args(words.iter().copied()), "is not part of this agent. ");
    }
    refused(&world, claude(&world).args(["setup-token"]), "CLAUDE_CODE_OAUTH_TOKEN");
    refused(&world, claude(&world).args(["auth", "login"]), "can neither log in with a browser");
    refused(&world, claude(&world).args(["mpc", "list"]), "unknown command 'mpc' (did you mean 'mcp'?)");
    refused(&world, claude(&world).args(["auth"]), "usage: auth status");
    for (words, known) in
        [(["mcp", "lst"], "list"), (["plugin", "details"], "marketplace"), (["auth", "whoami"], "status")]
    {
        let unknown = format!("unknown command '{} {}'. There are: ", words[0], words[1]);
        refused(&world, claude(&world).args(words), &unknown);
        refused(&world, claude(&world).args(words), known);
    }
    refused(&world, claude(&world).args(["auto-mode", "reset", "-y"]), "nothing was changed");
}

#[test]
fn the_same_words_in_a_prompt_are_a_prompt() {
    let world = plain();
    for words in [
        &["-p", "stop"][..],
        &["agents", "-p"],
        &["--", "rm"],
        &["stop the server"],
        &["hello", "agents"],
        &["mpc", "is", "broken"],
        &["config", "list"],
    ] {
        let before = world.mock().requests().len();
        let outcome = run(&world, words);
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{words:?}");
        assert_eq!(world.mock().requests().len(), before + 1, "{words:?}");
    }
}

#[test]
fn agents_and_auto_mode_answer_scripts() {
    let world = plain();
    let none = run(&world, &["agents", "--json"]);
    assert_eq!((none.code, none.lines, &*none.stderr), (Some(0), vec!["[]".to_owned()], ""));
    own(&world, ".claude/settings.json", &json!({"autoMode": {"allow": ["builds"], "soft_deny": ["deploys"]}}));
    let parsed = |words: &[&str]| -> Value {
        let outcome = run(&world, words);
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{words:?}");
        serde_json::from_str(&outcome.lines.join("\n")).expect("JSON")
    };
    assert_eq!(
        parsed(&["auto-mode", "config"]),
        json!({"allow": ["builds"], "soft_deny": ["deploys"], "environment": []})
    );
    assert_eq!(parsed(&["auto-mode", "defaults"])["allow"], json!([]));
    assert!(world.mock().requests().is_empty());
}

#[test]
fn every_command_has_a_help_of_its_own() {
    let world = plain();
    for words in [
        &["mcp", "--help"][..],
        &["mcp", "add", "--help"],
        &["plugin", "install", "-h"],
        &["auth", "--help"],
        &["auth", "status", "--help"],
        &["doctor", "--help"],
        &["agents", "--help"],
        &["purge", "--help"],
        &["auto-mode", "--help"],
    ] {
        let outcome = run(&world, words);
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{words:?}");
        let usage = format!("Usage: claude {} ", words[0]);
        assert!(format!("{} ", outcome.lines[0]).starts_with(&usage), "{words:?}: {:?}", outcome.lines);
    }
    assert!(world.mock().requests().is_empty());
}

#[test]
fn auth_status_has_the_fields_of_the_reference() {
    let world = plain();
    let status = |variable: Option<(&str, &str)>| -> Value {
        let mut run = claude(&world).without_env("ANTHROPIC_API_KEY").args(["auth", "status"]);
        if let Some((name, value)) = variable {
            run = run.env(name, value);
        }
        serde_json::from_str(&finish(run).lines.join("\n")).expect("JSON")
    };
    let config = world.home().join(".claude");
    let key = status(Some(("ANTHROPIC_API_KEY", "sk-ant-x")));
    assert_eq!((&key["authMethod"], &key["credential"]), (&json!("api_key"), &json!("ANTHROPIC_API_KEY")));
    assert_eq!((&key["configDirectory"], &key["projectsDirectory"]), (&json!(config), &json!(config.join("projects"))));
    assert_eq!(key["loginExpiresAt"], json!(null));
    assert_eq!(status(Some(("ANTHROPIC_AUTH_TOKEN", "t")))["authMethod"], "oauth_token");
    own(
        &world,
        ".claude/.credentials.json",
        &json!({"claudeAiOauth": {"accessToken": "t", "expiresAt": 4_102_444_800_000_i64}}),
    );
    let login = status(None);
    assert_eq!((&login["authMethod"], &login["loginExpiresAt"]), (&json!("claude.ai"), &json!("2100-01-01T00:00:00Z")));
}

#[test]
fn purge_deletes_a_projects_state_and_nothing_else() {
    let world = plain();
    run(&world, &["-p", "hi", "--session-id", "11111111-2222-4333-8444-555555555555"]);
    let projects = world.home().join(".claude/projects");
    let folder = projects.read_dir().expect("projects").next().expect("one").expect("one").path();
    let history = own(&world, ".claude/file-history/11111111-2222-4333-8444-555555555555/x", &json!(1));
    let other = own(&world, ".claude/projects/-other/11111111-2222-4333-8444-555555555556.jsonl", &json!({}));
    let wd = world.wd().display().to_string();
    let global =
        own(&world, ".claude.json", &json!({"projects": {&wd: {"hasTrustDialogAccepted": true}, "/o": {}}, "a": 1}));

    let asked = run(&world, &["purge"]);
    assert_eq!((asked.code, &*asked.stderr), (Some(1), "Nothing was deleted. Give --yes to delete these."));
    assert!(asked.lines.iter().any(|line| line.contains(&folder.display().to_string())), "{:?}", asked.lines);
    assert_eq!(run(&world, &["project", "purge", "--dry-run"]).lines, asked.lines);
    assert!(folder.exists() && history.exists());

    let done = run(&world, &["purge", "--yes"]);
    assert_eq!((done.code, &*done.stderr), (Some(0), ""));
    assert!(!folder.exists() && !history.exists() && other.exists());
    let left: Value = serde_json::from_str(&std::fs::read_to_string(global).expect("state")).expect("JSON");
    assert_eq!(left, json!({"projects": {"/o": {}}, "a": 1}));
    let again = run(&world, &["purge", "--yes"]);
    assert_eq!((again.code, again.lines.len()), (Some(1), 0), "nothing matches");
    assert!(again.stderr.starts_with("Nothing is kept about "), "{}", again.stderr);
}

#[test]
fn purge_follows_no_link() {
    let world = plain();
    let kept = own(&world, "precious/11111111-2222-4333-8444-555555555555.jsonl", &json!({}));
    std::fs::create_dir_all(world.home().join(".claude/projects")).expect("a folder");
    let name: String =
        world.wd().display().to_string().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let link = world.home().join(".claude/projects").join(name);
    std::os::unix::fs::symlink(world.home().join("precious"), link).expect("a link");
    for words in [&["purge", "--yes"][..], &["purge", "--all", "--yes"]] {
        assert_eq!(run(&world, words).code, Some(1), "{words:?}");
        assert!(kept.exists(), "{words:?}");
    }
}
