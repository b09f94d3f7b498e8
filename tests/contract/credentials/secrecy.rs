//! Nothing secret is shown: not by commands that print their environment or read the files it came from, in no
//! format, and in no file that we write.

use super::{bare, finish, own, write};
use crate::common::{bash, call, say, world};
use crate::loopback::{Loopback, reply};
use serde_json::json;
use std::path::{Path, PathBuf};
use testkit::{Outcome, Run, World};

/// Part of every secret here.
const MARK: &str = "topsecret";

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found
}

/// Files of this world that hold a secret and did not before.
fn leaks(world: &World, allowed: &[PathBuf]) -> Vec<PathBuf> {
    let holds = |file: &PathBuf| std::fs::read(file).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(MARK));
    let root = world.wd().parent().expect("a root");
    files_below(root).into_iter().filter(|file| !allowed.contains(file) && holds(file)).collect()
}

fn assert_hidden(world: &World, outcome: &Outcome, allowed: &[PathBuf], what: &str) {
    assert!(!outcome.lines.concat().contains(MARK), "{what} on stdout: {:?}", outcome.lines);
    assert!(!outcome.stderr.contains(MARK), "{what} on stderr: {}", outcome.stderr);
    assert_eq!(leaks(world, allowed), [] as [PathBuf; 0], "{what} in files");
    for request in &world.mock().requests() {
        assert!(!request.body.to_string().contains(MARK), "{what} in the conversation: {}", request.body);
    }
}

/// A model that looks everywhere.
fn curious(world_files: &[&str]) -> World {
    let mut turns = vec![bash("env"), bash("env; seq 1 20000"), bash("cat /proc/$PPID/environ | tr '\\0' '\\n'")];
    turns.extend(world_files.iter().map(|file| bash(&format!("cat \"$HOME/{file}\""))));
    turns.extend(world_files.iter().map(|file| call("Read", &json!({"file_path": format!("$HOME/{file}")}))));
    turns.push(call("Bash", &json!({"command": "env; sleep 0.1", "run_in_background": true})));
    turns.push(say("nothing found"));
    world(json!(turns))
}

const FORMATS: [&[&str]; 4] = [
    &[],
    &["--output-format=json"],
    &["--output-format=json", "--verbose"],
    &["--output-format=stream-json", "--verbose", "--include-partial-messages"],
];

fn looking(world: &World, format: &[&str]) -> Run {
    bare(world).args(["-p", "look", "--dangerously-skip-permissions"]).args(format.iter().copied())
}

#[test]
fn secrets_of_the_environment() {
    for format in FORMATS {
        let world = curious(&[]);
        let run = looking(&world, format)
            .env("ANTHROPIC_API_KEY", "sk-ant-topsecret-1")
            .env("ANTHROPIC_AUTH_TOKEN", "topsecret-token")
            .env("CLAUDE_API_KEY", "topsecret-key-2")
            .env("CLAUDE_CODE_OAUTH_TOKEN", "topsecret-oauth")
            .env(
                "ANTHROPIC_CUSTOM_HEADERS",
                "X-Gateway-Key: topsecret-gateway\nAuthorization: Bearer topsecret-bearer",
            );
        let outcome = finish(run);
        assert_eq!(outcome.code, Some(0), "{format:?}: {}", outcome.stderr);
        assert_hidden(&world, &outcome, &[], &format!("{format:?}"));
    }
}

#[test]
fn secrets_of_files() {
    for name in [".claude.json.api", ".claude.json", ".claude/.credentials.json", ".claude-oauth-credentials.json"] {
        let world = curious(&[name]);
        let value = if name.contains("credentials") {
            json!({"claudeAiOauth": {"accessToken": "topsecret-access", "refreshToken": "topsecret-refresh"}})
        } else {
            json!({"primaryApiKey": "sk-ant-topsecret"})
        };
        own(&world, name, &value);
        let outcome = finish(looking(&world, FORMATS[3]));
        assert_eq!(outcome.code, Some(0), "{name}: {}", outcome.stderr);
        assert_hidden(&world, &outcome, &[world.home().join(name)], name);
    }
}

#[test]
fn what_the_helper_gave() {
    let world = curious(&[".key"]);
    write(&world.home().join(".key"), "topsecret-of-the-helper\n");
    own(&world, ".claude/settings.json", &json!({"apiKeyHelper": "cat \"$HOME/.key\""}));
    let outcome = finish(looking(&world, FORMATS[3]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_hidden(&world, &outcome, &[world.home().join(".key")], "the helper's key");
}

#[test]
fn what_a_renewal_gave() {
    let file = ".claude/.credentials.json";
    let world = curious(&[file]);
    own(
        &world,
        file,
        &json!({"claudeAiOauth": {"accessToken": "topsecret-old", "refreshToken": "topsecret-once", "expiresAt": 1}}),
    );
    let tokens =
        r#"{"access_token": "topsecret-new-access", "refresh_token": "topsecret-new-refresh", "expires_in": 3600}"#;
    let endpoint = Loopback::start(move |_| reply(200, "application/json", tokens));
    let run = looking(&world, FORMATS[3]).env("RALPH_OAUTH_REFRESH_URL", &format!("http://{}/", endpoint.address));
    let outcome = finish(run);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_hidden(&world, &outcome, &[world.home().join(file)], "a renewed login");
}

#[test]
fn errors_that_echo_the_key() {
    for status in [400, 401, 403] {
        let message = "the key sk-ant-topsecret-1 is not known here";
        let error = json!({"type": "error", "error": {"type": "authentication_error", "message": message}});
        let world = world(json!([{"status": status, "error": error}]));
        let run = looking(&world, FORMATS[3]).env("ANTHROPIC_API_KEY", "sk-ant-topsecret-1");
        let outcome = finish(run);
        assert_eq!(outcome.code, Some(1));
        assert_hidden(&world, &outcome, &[], &format!("status {status}"));
    }
}

#[test]
fn addresses_with_passwords() {
    let world = world(json!([]));
    let env =
        [("ANTHROPIC_BASE_URL", "http://me:topsecret@127.0.0.1:9"), ("HTTP_PROXY", "http://me:topsecret@127.0.0.1:9")];
    for (name, value) in env {
        let run = looking(&world, FORMATS[3]).env("ANTHROPIC_API_KEY", "k").env("CLAUDE_CODE_MAX_RETRIES", "0");
        let outcome = finish(run.env(name, value));
        assert_eq!(outcome.code, Some(1), "{name}");
        assert_hidden(&world, &outcome, &[], name);
    }
    let doctor = finish(bare(&world).args(["doctor"]).env(env[0].0, env[0].1));
    assert!(!doctor.lines.concat().contains(MARK), "{:?}", doctor.lines);
}

#[test]
fn commands_keep_the_variables_unless_scrubbing_is_asked_for() {
    for (scrub, expected) in [("", "has it"), ("1", "has none")] {
        let turns =
            json!([bash("if [ -n \"$ANTHROPIC_API_KEY\" ]; then echo has it; else echo has none; fi"), say("done")]);
        let world = world(turns);
        let run = looking(&world, FORMATS[3]).env("ANTHROPIC_API_KEY", "sk-ant-topsecret-1");
        let outcome = finish(run.env("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB", scrub));
        assert_eq!(crate::common::tool_results(&outcome), [expected]);
    }
}
