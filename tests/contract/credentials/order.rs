//! The order of the places where a credential can be.

use super::{STREAM, Shown, bearer, both, claude, identities, identity, key, own, plain, streamed, write};
use serde_json::json;
use testkit::{Run, World};

struct Place {
    name: &'static str,
    set: fn(&World, Run) -> Run,
    expected: fn() -> Shown,
    /// As `system/init` reports it.
    source: &'static str,
}

/// First match first.
const PLACES: [Place; 9] = [
    Place {
        name: "ANTHROPIC_AUTH_TOKEN",
        set: |_, run| run.env("ANTHROPIC_AUTH_TOKEN", "token-of-a-gateway"),
        expected: || bearer("token-of-a-gateway"),
        source: "none",
    },
    Place {
        name: "ANTHROPIC_API_KEY",
        set: |_, run| run.env("ANTHROPIC_API_KEY", "key-of-the-first-name"),
        expected: || key("key-of-the-first-name"),
        source: "ANTHROPIC_API_KEY",
    },
    Place {
        name: "CLAUDE_API_KEY",
        set: |_, run| run.env("CLAUDE_API_KEY", "key-of-the-second-name"),
        expected: || key("key-of-the-second-name"),
        source: "ANTHROPIC_API_KEY",
    },
    Place {
        name: "apiKeyHelper",
        set: |world, run| {
            own(world, ".claude/settings.json", &json!({"apiKeyHelper": "echo key-of-the-helper"}));
            run
        },
        expected: || both("key-of-the-helper"),
        source: "apiKeyHelper",
    },
    Place {
        name: "CLAUDE_CODE_OAUTH_TOKEN",
        set: |_, run| run.env("CLAUDE_CODE_OAUTH_TOKEN", "token-of-a-year"),
        expected: || bearer("token-of-a-year"),
        source: "none",
    },
    Place {
        name: "~/.claude.json.api",
        set: |world, run| {
            own(world, ".claude.json.api", &json!({"apiKey": "sk-ant-first-file"}));
            run
        },
        expected: || key("sk-ant-first-file"),
        source: "/login managed key",
    },
    Place {
        name: "~/.claude.json",
        set: |world, run| {
            own(world, ".claude.json", &json!({"primaryApiKey": "sk-ant-second-file"}));
            run
        },
        expected: || key("sk-ant-second-file"),
        source: "/login managed key",
    },
    Place {
        name: "~/.claude/.credentials.json",
        set: |world, run| {
            let login = json!({"claudeAiOauth": {"accessToken": "first-login", "expiresAt": "2099-01-01T00:00:00Z"}});
            own(world, ".claude/.credentials.json", &login);
            run
        },
        expected: || bearer("first-login"),
        source: "none",
    },
    Place {
        name: "~/.claude-oauth-credentials.json",
        set: |world, run| {
            own(world, ".claude-oauth-credentials.json", &json!({"claudeAiOauth": {"accessToken": "second-login"}}));
            run
        },
        expected: || bearer("second-login"),
        source: "none",
    },
];

#[test]
fn the_first_place_that_has_one_is_used() {
    for (at, first) in PLACES.iter().enumerate() {
        let world = plain();
        let run = PLACES[at..].iter().fold(streamed(&world), |run, place| (place.set)(&world, run));
        let before = world.mock().requests().len();
        let (outcome, seen) = identities(&world, run);
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""), "{}", first.name);
        // A token for a gateway and a key for what is behind it are both sent.
        let expected = if at == 0 {
            Shown { key: Some("key-of-the-first-name".to_owned()), ..(first.expected)() }
        } else {
            (first.expected)()
        };
        assert_eq!(seen, [expected], "{}", first.name);
        let init = outcome.events().into_iter().find(|event| event["subtype"] == "init").unwrap();
        assert_eq!(init["apiKeySource"], first.source, "{}", first.name);
        let betas = world.mock().requests()[before].headers.get("anthropic-beta").cloned().unwrap_or_default();
        let is_login = matches!(at, 4 | 7 | 8);
        assert_eq!(betas.contains("oauth-"), is_login, "{}: {betas}", first.name);
    }
}

#[test]
fn an_empty_value_counts_as_unset() {
    for empty in ["", "  "] {
        for (at, first) in PLACES.iter().enumerate() {
            let world = plain();
            let run = (first.set)(&world, streamed(&world));
            let earlier =
                PLACES[..at].iter().filter(|place| place.name.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
            let run = earlier.fold(run, |run, place| run.env(place.name, empty));
            assert_eq!(identity(&world, run), (first.expected)(), "{empty:?} before {}", first.name);
        }
    }
    // As the first of the loops calls us: the key emptied so that the stored login counts.
    let world = plain();
    (PLACES[7].set)(&world, streamed(&world));
    assert_eq!(identity(&world, claude(&world).args(STREAM).env("ANTHROPIC_API_KEY", "")), bearer("first-login"));
}

#[test]
fn keys_in_files_have_an_order_and_a_prefix() {
    for (file, found) in [
        (
            json!({"customApiKey": "sk-ant-4", "anthropicApiKey": "sk-ant-3", "apiKey": "sk-ant-2", "primaryApiKey": "sk-ant-1"}),
            Some("sk-ant-1"),
        ),
        (json!({"customApiKey": "sk-ant-4", "anthropicApiKey": "sk-ant-3", "apiKey": "sk-ant-2"}), Some("sk-ant-2")),
        (json!({"customApiKey": "sk-ant-4", "anthropicApiKey": "sk-ant-3"}), Some("sk-ant-3")),
        (json!({"customApiKey": "sk-ant-4"}), Some("sk-ant-4")),
        (json!({"primaryApiKey": "other-1", "apiKey": "sk-ant-2"}), Some("sk-ant-2")),
        (json!({"primaryApiKey": "", "apiKey": " sk-ant-2\n"}), Some("sk-ant-2")),
        (json!({"primaryApiKey": "sk-other"}), None),
        (json!({"primaryApiKey": 7}), None),
        (json!({"oauthAccount": {}}), None),
        (json!([]), None),
    ] {
        for name in [".claude.json.api", ".claude.json"] {
            let world = plain();
            own(&world, name, &file);
            let (outcome, seen) = identities(&world, streamed(&world));
            let expected: Vec<Shown> = found.iter().map(|secret| key(secret)).collect();
            assert_eq!(seen, expected, "{name}: {file}");
            assert_eq!(outcome.code, Some(i32::from(found.is_none())), "{name}: {file}");
        }
    }
}

#[test]
fn the_second_file_counts_where_the_first_has_no_usable_key() {
    let world = plain();
    own(&world, ".claude.json.api", &json!({"apiKey": "no-prefix"}));
    own(&world, ".claude.json", &json!({"apiKey": "sk-ant-second"}));
    assert_eq!(identity(&world, streamed(&world)), key("sk-ant-second"));
}

#[test]
fn the_configuration_folder_moves_all_of_it() {
    let world = plain();
    let elsewhere = world.home().join("elsewhere");
    // What lies in the usual places belongs to somebody else then.
    own(&world, ".claude.json", &json!({"primaryApiKey": "sk-ant-usual"}));
    own(&world, ".claude/.credentials.json", &json!({"claudeAiOauth": {"accessToken": "usual-login"}}));
    own(&world, ".claude/settings.json", &json!({"apiKeyHelper": "echo usual-helper"}));
    let moved = || streamed(&world).env("CLAUDE_CONFIG_DIR", &elsewhere.display().to_string());
    let (outcome, seen) = identities(&world, moved());
    assert_eq!((outcome.code, seen.len()), (Some(1), 0), "{}", outcome.stderr);
    for (name, text, expected) in [
        (
            ".claude-oauth-credentials.json",
            r#"{"claudeAiOauth": {"accessToken": "moved-second"}}"#,
            bearer("moved-second"),
        ),
        (".credentials.json", r#"{"claudeAiOauth": {"accessToken": "moved-first"}}"#, bearer("moved-first")),
        (".claude.json", r#"{"primaryApiKey": "sk-ant-moved"}"#, key("sk-ant-moved")),
        (".claude.json.api", r#"{"primaryApiKey": "sk-ant-moved-api"}"#, key("sk-ant-moved-api")),
        ("settings.json", r#"{"apiKeyHelper": "echo moved-helper"}"#, both("moved-helper")),
    ] {
        write(&elsewhere.join(name), text);
        assert_eq!(identity(&world, moved()), expected, "{name}");
    }
    assert!(elsewhere.join("projects").exists(), "transcripts move too");
    assert!(!world.home().join(".claude/projects").exists());
}

#[test]
fn the_environment_of_the_users_settings_gives_keys_and_a_folders_does_not() {
    let world = plain();
    own(&world, ".claude/settings.json", &json!({"env": {"ANTHROPIC_API_KEY": "key-of-my-settings"}}));
    assert_eq!(identity(&world, streamed(&world)), key("key-of-my-settings"));
    assert_eq!(identity(&world, claude(&world).args(STREAM)), key("key-of-my-settings"), "it overrides the shell");

    let world = plain();
    let mine = json!({"env": {"ANTHROPIC_API_KEY": "planted", "ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "ANTHROPIC_AUTH_TOKEN": "planted"}});
    write(&world.wd().join(".claude/settings.json"), &mine.to_string());
    let (outcome, seen) = identities(&world, claude(&world).args(STREAM).env("ANTHROPIC_API_KEY", "my-own-key"));
    assert_eq!((outcome.code, seen), (Some(0), vec![key("my-own-key")]), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
}

#[test]
fn a_minimal_start_takes_only_a_key_or_the_callers_helper() {
    for place in &PLACES {
        let world = plain();
        let run = (place.set)(&world, streamed(&world)).args(["--bare"]);
        let (outcome, seen) = identities(&world, run);
        let counts = matches!(place.name, "ANTHROPIC_API_KEY" | "CLAUDE_API_KEY");
        assert_eq!((seen.len(), outcome.code), (usize::from(counts), Some(i32::from(!counts))), "{}", place.name);
    }
    let world = plain();
    let run = streamed(&world).args(["--bare", "--settings", r#"{"apiKeyHelper": "echo given-along"}"#]);
    assert_eq!(identity(&world, run), both("given-along"));
    let run = (PLACES[3].set)(&world, streamed(&world)).args(["--safe-mode"]);
    assert_eq!(identity(&world, run), both("key-of-the-helper"), "a safe start signs in as usual");
}

#[test]
fn without_any_the_run_ends_at_once_and_says_what_to_do() {
    let world = plain();
    let text = super::finish(super::bare(&world).args(["-p", "hi"]));
    assert_eq!(text.code, Some(1));
    let expected = "No credentials found. Set ANTHROPIC_API_KEY, or configure apiKeyHelper in your user settings; \
                    `ralph auth status` shows what was looked at. · Please run /login";
    assert_eq!(text.lines, [expected]);
    assert_eq!(text.stderr, "");
    let events = super::finish(streamed(&world));
    let result = events.result().unwrap();
    assert_eq!((events.code, &result["is_error"], &result["result"]), (Some(1), &json!(true), &json!(expected)));
    let said = events.events().into_iter().find(|event| event["type"] == "assistant").unwrap();
    assert_eq!(said["error"], "authentication_failed");
    assert!(world.mock().requests().is_empty());
}
