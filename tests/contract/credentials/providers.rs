//! A switch chooses who is asked: nothing goes anywhere else, and what is missing is named.

use super::{finish, key, plain, shown, streamed};
use testkit::{Outcome, Run, World};

const KEYS: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "AKIAFAKE"), ("AWS_SECRET_ACCESS_KEY", "fake-secret-of-nobody")];

fn with(run: Run, pairs: &[(&str, &str)]) -> Run {
    pairs.iter().fold(run, |run, (name, value)| run.env(name, value))
}

fn run(world: &World, pairs: &[(&str, &str)]) -> Outcome {
    // Nobody else's credential and no metadata server is looked for.
    let quiet = [("AWS_EC2_METADATA_DISABLED", "true"), ("NO_GCE_CHECK", "true"), ("CLAUDE_CODE_MAX_RETRIES", "0")];
    finish(with(with(streamed(world), &quiet), pairs))
}

#[test]
fn foundry_is_asked_with_its_key_and_its_model() {
    let world = plain();
    let url = world.mock().url();
    let done = run(
        &world,
        &[
            ("CLAUDE_CODE_USE_FOUNDRY", "1"),
            ("ANTHROPIC_FOUNDRY_BASE_URL", &url),
            ("ANTHROPIC_FOUNDRY_API_KEY", "key-of-a-resource"),
            ("ANTHROPIC_API_KEY", "key-that-is-not-for-them"),
        ],
    );
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let requests = world.mock().requests();
    assert_eq!(shown(&requests[0]), key("key-of-a-resource"));
    assert_eq!(requests[0].body["model"], "claude-sonnet-4-5");
}

#[test]
fn mantle_is_asked_with_a_signature() {
    let world = plain();
    let url = world.mock().url();
    let pairs = [
        ("CLAUDE_CODE_USE_MANTLE", "true"),
        ("ANTHROPIC_BEDROCK_MANTLE_BASE_URL", url.as_str()),
        ("AWS_REGION", "eu-west-1"),
        KEYS[0],
        KEYS[1],
    ];
    let done = run(&world, &pairs);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let requests = world.mock().requests();
    let signature = requests[0].headers.get("authorization").cloned().unwrap_or_default();
    assert!(signature.starts_with("AWS4-HMAC-SHA256 Credential=AKIAFAKE/"), "{signature}");
    assert!(signature.contains("/eu-west-1/bedrock-mantle/aws4_request"), "{signature}");
    assert_eq!(requests[0].body["model"], "anthropic.claude-opus-5-5");
    assert!(!done.lines.concat().contains("fake-secret-of-nobody"));
}

#[test]
fn a_switch_never_falls_back_to_another_party() {
    let world = plain();
    let url = world.mock().url();
    let pairs = [
        ("CLAUDE_CODE_USE_BEDROCK", "1"),
        ("ANTHROPIC_BEDROCK_BASE_URL", "http://127.0.0.1:1"),
        ("ANTHROPIC_BASE_URL", url.as_str()),
        ("ANTHROPIC_API_KEY", "key-that-is-not-for-them"),
        KEYS[0],
        KEYS[1],
    ];
    let done = run(&world, &pairs);
    assert_eq!(done.code, Some(1));
    assert!(world.mock().requests().is_empty(), "the prompt went to another party");
    let without = run(&world, &pairs[..4]);
    assert_eq!(without.code, Some(1));
    let said = without.result().map(|result| result["result"].to_string()).unwrap_or_default();
    assert!(said.contains("no AWS credentials found"), "{said}");
    assert!(world.mock().requests().is_empty());
}

#[test]
fn what_is_missing_is_named_before_anything_is_sent() {
    for (switch, expected) in [
        ("CLAUDE_CODE_USE_ANTHROPIC_AWS", "ANTHROPIC_AWS_WORKSPACE_ID"),
        ("CLAUDE_CODE_USE_VERTEX", "ANTHROPIC_VERTEX_PROJECT_ID"),
        ("CLAUDE_CODE_USE_FOUNDRY", "ANTHROPIC_FOUNDRY_RESOURCE"),
    ] {
        let world = plain();
        let done = run(&world, &[(switch, "1"), ("ANTHROPIC_API_KEY", "key-that-is-not-for-them")]);
        let said = format!("{}{}", done.lines.concat(), done.stderr);
        assert_eq!(done.code, Some(1), "{switch}: {said}");
        assert!(said.contains(switch) && said.contains(expected), "{switch}: {said}");
        assert!(world.mock().requests().is_empty());
    }
}

#[test]
fn of_two_switches_the_loser_is_named() {
    let world = plain();
    let url = world.mock().url();
    let pairs = [
        ("CLAUDE_CODE_USE_MANTLE", "1"),
        ("CLAUDE_CODE_USE_VERTEX", "1"),
        ("ANTHROPIC_BEDROCK_MANTLE_BASE_URL", url.as_str()),
        KEYS[0],
        KEYS[1],
    ];
    let done = run(&world, &pairs);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("CLAUDE_CODE_USE_VERTEX is ignored"), "{}", done.stderr);
}

#[test]
fn the_status_names_the_provider() {
    let world = plain();
    let asked = with(super::bare(&world), &[("CLAUDE_CODE_USE_VERTEX", "1")]).args(["auth", "status"]);
    let done = finish(asked);
    let status: serde_json::Value = serde_json::from_str(&done.lines.concat()).unwrap_or_default();
    let expected = serde_json::json!({"loggedIn": true, "authMethod": "third_party", "apiProvider": "vertex"});
    assert_eq!((done.code, status), (Some(0), expected));
    assert!(world.mock().requests().is_empty());
}

#[test]
fn switches_of_the_users_settings_count_in_the_status_and_the_loser_is_named() {
    let world = plain();
    let env = serde_json::json!({"env": {"CLAUDE_CODE_USE_MANTLE": "1", "CLAUDE_CODE_USE_VERTEX": "1"}});
    super::own(&world, ".claude/settings.json", &env);
    let done = finish(super::bare(&world).args(["auth", "status"]));
    let status: serde_json::Value = serde_json::from_str(&done.lines.concat()).unwrap_or_default();
    assert_eq!((done.code, &status["apiProvider"]), (Some(0), &serde_json::json!("mantle")), "{}", done.stderr);
    assert!(
        done.stderr.contains("CLAUDE_CODE_USE_VERTEX is ignored, because CLAUDE_CODE_USE_MANTLE"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_fallback_model_of_the_same_provider_is_taken() {
    let world = plain();
    let same = finish(streamed(&world).args(["--fallback-model", "anthropic:haiku"]).env("ANTHROPIC_API_KEY", "k"));
    assert_eq!(same.code, Some(0), "{}", same.stderr);
}

#[test]
fn the_doctor_asks_the_endpoint_once_and_without_a_credential() {
    let world = plain();
    let ask = |profile: Option<&str>| {
        let run =
            super::bare(&world).named("ralph").args(["doctor", "--endpoint"]).env("ANTHROPIC_API_KEY", "key-to-keep");
        let done = finish(profile.into_iter().fold(run, |run, name| run.env("RALPH_ENDPOINT_PROFILE", name)));
        done.lines.iter().find(|line| line.contains("profile")).cloned().unwrap_or_default()
    };
    assert!(ask(None).contains("gateway, and the endpoint looks like it"), "{}", ask(None));
    let wrong = ask(Some("local"));
    assert!(wrong.contains("local; the endpoint looks like gateway: set RALPH_ENDPOINT_PROFILE=gateway"), "{wrong}");
    for request in world.mock().requests() {
        assert_eq!((request.method.as_str(), request.path.as_str()), ("GET", "/v1/models"));
        assert!(!request.headers.contains_key("x-api-key") && !request.headers.contains_key("authorization"));
    }
}
