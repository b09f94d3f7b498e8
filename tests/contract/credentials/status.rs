//! `auth status`: which credential is used, why the others are not, and the exit code that clients branch on.

use super::{bare, finish, own, plain};
use crate::common::binary;
use serde_json::{Value, json};
use testkit::{Outcome, Run, World};

fn status(run: Run) -> (Value, Outcome) {
    let outcome = finish(run);
    let text = outcome.lines.join("\n");
    (serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text} {}", outcome.stderr)), outcome)
}

/// The verdicts in order, the home written as `~`.
fn verdicts(world: &World, status: &Value) -> Vec<(String, String)> {
    let home = world.home().display().to_string();
    let text = |value: &Value| value.as_str().unwrap().replace(&home, "~");
    status["considered"].as_array().unwrap().iter().map(|one| (text(&one["name"]), text(&one["verdict"]))).collect()
}

fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(name, verdict)| ((*name).to_owned(), (*verdict).to_owned())).collect()
}

#[test]
fn it_says_which_one_is_used_and_why_not_the_others() {
    let world = plain();
    own(&world, ".claude/settings.json", &json!({"apiKeyHelper": "exit 7"}));
    let run =
        bare(&world).args(["auth", "status"]).env("ANTHROPIC_AUTH_TOKEN", "").env("CLAUDE_API_KEY", "a-secret-key");
    let (value, outcome) = status(run);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert_eq!(value["loggedIn"], true);
    assert_eq!((&value["authMethod"], &value["credential"]), (&json!("api_key"), &json!("CLAUDE_API_KEY")));
    assert_eq!(value["apiProvider"], "firstParty");
    assert_eq!(value["apiKeySource"], "ANTHROPIC_API_KEY");
    assert_eq!(
        verdicts(&world, &value),
        pairs(&[
            ("ANTHROPIC_AUTH_TOKEN", "empty"),
            ("ANTHROPIC_API_KEY", "not set"),
            ("CLAUDE_API_KEY", "used"),
            ("apiKeyHelper", "shadowed by CLAUDE_API_KEY"),
            ("CLAUDE_CODE_OAUTH_TOKEN", "shadowed by CLAUDE_API_KEY"),
            ("~/.claude.json.api", "shadowed by CLAUDE_API_KEY"),
            ("~/.claude.json", "shadowed by CLAUDE_API_KEY"),
            ("~/.claude/.credentials.json", "shadowed by CLAUDE_API_KEY"),
            ("~/.claude-oauth-credentials.json", "shadowed by CLAUDE_API_KEY"),
        ])
    );
    assert!(!outcome.lines.concat().contains("a-secret-key"));
}

#[test]
fn without_any_it_prints_the_same_shape_and_exits_1() {
    let world = plain();
    own(&world, ".claude.json.api", &json!({"apiKey": "wrong-prefix"}));
    own(
        &world,
        ".claude/.credentials.json",
        &json!({"claudeAiOauth": {"accessToken": "t", "expiresAt": "2001-01-01T00:00:00Z"}}),
    );
    for words in [&["auth", "status"][..], &["auth", "status", "--json"]] {
        let (value, outcome) = status(bare(&world).args(words.iter().copied()));
        assert_eq!((outcome.code, &*outcome.stderr), (Some(1), ""));
        assert_eq!(
            (&value["loggedIn"], &value["authMethod"], &value["apiKeySource"]),
            (&json!(false), &json!("none"), &json!(null))
        );
        let seen = verdicts(&world, &value);
        assert_eq!(seen[5].1, "apiKey has no sk-ant- prefix");
        assert_eq!(seen[6].1, "no such file");
        assert!(seen[7].1.starts_with("expired ") && seen[7].1.ends_with(" days ago"), "{}", seen[7].1);
    }
}

#[test]
fn in_words_for_people() {
    let world = plain();
    let yes = finish(bare(&world).args(["auth", "status", "--text"]).env("ANTHROPIC_API_KEY", "a-secret-key"));
    assert_eq!((yes.code, &*yes.lines[0]), (Some(0), "Logged in with ANTHROPIC_API_KEY"));
    assert_eq!(yes.lines[2], "  ANTHROPIC_API_KEY: used");
    assert_eq!(yes.lines.len(), 10);
    let no = finish(bare(&world).args(["auth", "status", "--text"]));
    assert_eq!(no.code, Some(1));
    assert_eq!(no.lines[0], "Not logged in. Set ANTHROPIC_API_KEY, or configure apiKeyHelper in your user settings.");
    assert!(!yes.lines.concat().contains("a-secret-key"));
}

#[test]
fn flags_may_come_before_it_and_count() {
    let world = plain();
    let settings = r#"{"apiKeyHelper": "echo k", "env": {"X": "1"}}"#;
    for words in [
        &["--settings", settings, "auth", "status", "--json"][..],
        &["--settings", settings, "auth", "status"],
        &["--verbose", "--settings", settings, "auth", "status", "--json"],
    ] {
        let (value, outcome) = status(bare(&world).args(words.iter().copied()));
        assert_eq!((outcome.code, &value["authMethod"]), (Some(0), &json!("apiKeyHelper")), "{words:?}");
    }
    let with_key = r#"{"env": {"ANTHROPIC_API_KEY": "of-the-settings"}}"#;
    let (value, _) = status(bare(&world).args(["--settings", with_key, "auth", "status"]));
    assert_eq!(value["credential"], "ANTHROPIC_API_KEY", "what a run would use");
    own(&world, ".claude.json", &json!({"primaryApiKey": "sk-ant-file"}));
    let (value, outcome) = status(bare(&world).args(["--bare", "auth", "status"]));
    assert_eq!((outcome.code, &value["considered"][6]["verdict"]), (Some(1), &json!("not used with --bare")));
    let broken = finish(bare(&world).args(["--settings", "{", "auth", "status"]));
    assert_eq!((broken.code, broken.lines.len(), broken.stderr.lines().count()), (Some(1), 0, 1), "{}", broken.stderr);
}

#[test]
fn it_is_a_command_of_both_names_and_asks_nobody() {
    let world = plain();
    own(&world, ".claude/settings.json", &json!({"apiKeyHelper": format!("touch {}/started", world.home().display())}));
    let ralph = world.run(&binary()).named("ralph").without_env("ANTHROPIC_API_KEY").args(["auth", "status", "--json"]);
    let (value, outcome) = status(ralph);
    assert_eq!((outcome.code, &value["authMethod"]), (Some(0), &json!("apiKeyHelper")));
    assert!(!world.home().join("started").exists(), "looking must not start the helper");
    assert!(world.mock().requests().is_empty());
    for words in [&["auth", "login"][..], &["auth", "logout"], &["auth", "login", "--claudeai"]] {
        let outcome = finish(bare(&world).args(words.iter().copied()));
        assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0), "{words:?}");
        assert!(outcome.stderr.contains("ANTHROPIC_API_KEY"), "{words:?}: {}", outcome.stderr);
    }
}
