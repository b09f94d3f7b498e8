//! A model of another provider stands by: `--fallback-model provider:model`.

use super::{Seen, settings, with};
use crate::common::{call, say, world};
use serde_json::{Value, json};
use testkit::World;

/// What Bedrock needs, on the same loopback server.
fn bedrock(world: &World) -> Vec<(&'static str, String)> {
    vec![
        ("ANTHROPIC_BEDROCK_BASE_URL", world.mock().url()),
        ("AWS_REGION", "eu-west-1".into()),
        ("AWS_ACCESS_KEY_ID", "AKIAFAKE".into()),
        ("AWS_SECRET_ACCESS_KEY", "fake-secret-of-nobody".into()),
        ("AWS_EC2_METADATA_DISABLED", "true".into()),
    ]
}

fn run(world: &World, env: &[(&'static str, String)], more: &[&str]) -> Seen {
    let env: Vec<(&str, &str)> = env.iter().map(|(name, value)| (*name, value.as_str())).collect();
    with(world, &env, more)
}

/// The first model is gone, the second works with a tool and answers.
fn gone() -> Value {
    json!([
        {"status": 404, "error": {"type": "error", "error": {"type": "not_found_error", "message": "model: nope"}}},
        call("Read", &json!({"file_path": "/nowhere/at/all"})),
        say("from elsewhere"),
    ])
}

#[test]
fn another_provider_goes_on_with_the_conversation() {
    let world = world(gone());
    let mut env = bedrock(&world);
    env.push(("ANTHROPIC_CUSTOM_HEADERS", "x-secret-of-the-first: hush".into()));
    let seen = run(&world, &env, &["--fallback-model", "bedrock:opus"]);
    assert_eq!(seen.result()["result"], "from elsewhere", "{}", seen.told());
    let id = "eu.anthropic.claude-opus-5-5";
    let usage = &seen.result()["modelUsage"][id];
    assert_eq!(usage["provider"], "bedrock", "{}", seen.result());
    let [first, second, third] = &seen.requests[..] else { panic!("{}", seen.told()) };
    assert_eq!(first.path.split('?').next(), Some("/v1/messages"));
    for request in [second, third] {
        assert_eq!(request.path, format!("/model/{id}/invoke-with-response-stream"));
        assert!(request.headers["authorization"].starts_with("AWS4-HMAC-SHA256"), "{:?}", request.headers);
        for name in ["x-api-key", "x-secret-of-the-first"] {
            assert!(!request.headers.contains_key(name), "{name} is for another party");
        }
    }
}

#[test]
fn a_cloud_falls_back_on_the_first_party() {
    let world = world(json!([{"status": 500}, say("from elsewhere")]));
    let mut env = bedrock(&world);
    env.push(("CLAUDE_CODE_USE_BEDROCK", "1".into()));
    env.push(("CLAUDE_CODE_MAX_RETRIES", "0".into()));
    let seen = run(&world, &env, &["--model", "opus", "--fallback-model", "anthropic:haiku"]);
    assert_eq!(seen.result()["result"], "from elsewhere", "{}", seen.told());
    let last = seen.requests.last().unwrap();
    assert_eq!((last.path.split('?').next(), &last.body["model"]), (Some("/v1/messages"), &json!("claude-haiku-5-5")));
    assert!(last.headers.contains_key("x-api-key") && !last.headers.contains_key("authorization"));
}

#[test]
fn a_colon_splits_only_behind_a_providers_name() {
    let world = world(json!([
        {"status": 404, "error": {"type": "error", "error": {"type": "not_found_error", "message": "model: nope"}}},
        say("same provider"),
    ]));
    let seen = run(&world, &[], &["--fallback-model", "my:own:model"]);
    assert_eq!(seen.result()["result"], "same provider", "{}", seen.told());
    assert_eq!(seen.requests[1].body["model"], "my:own:model");
}

#[test]
fn what_the_other_provider_lacks_is_told_before_the_run() {
    for (fallback, said) in [("vertex:opus", "ANTHROPIC_VERTEX_PROJECT_ID"), ("bedrock:", "no model")] {
        let world = super::plain();
        let seen = run(&world, &[], &["--fallback-model", fallback]);
        assert_eq!((seen.outcome.code, seen.requests.len()), (Some(1), 0), "{}", seen.told());
        let stderr = &seen.outcome.stderr;
        assert!(stderr.contains(fallback) && stderr.contains(said) && stderr.lines().count() == 1, "{stderr}");
    }
}

/// Who gets the conversation is for the user to say, on the command line.
#[test]
fn adversary_a_settings_file_names_no_other_provider() {
    let world = world(gone());
    super::write(&world.wd().join(".claude/settings.json"), &json!({"fallbackModel": "bedrock:opus"}).to_string());
    settings(&world, &json!({"fallbackModel": ["bedrock:opus"]}));
    let seen = run(&world, &bedrock(&world), &[]);
    assert_eq!(seen.requests.len(), 1, "{}", seen.told());
    assert!(seen.outcome.stderr.contains("--fallback-model"), "{}", seen.told());
}

/// Accounts of a cloud have some models and not others.
#[test]
fn a_default_model_that_a_cloud_refuses_steps_down_and_a_chosen_one_does_not() {
    let turns = json!([
        {"status": 400, "error": {"message": "The provided model identifier is invalid."}},
        {"status": 404, "error": {"message": "Model not found"}},
        say("an older one"),
    ]);
    let first = world(turns.clone());
    let mut env = bedrock(&first);
    env.push(("CLAUDE_CODE_USE_BEDROCK", "1".into()));
    let seen = run(&first, &env, &[]);
    assert_eq!(seen.result()["result"], "an older one", "{}", seen.told());
    let steps: Vec<Value> =
        seen.outcome.events().into_iter().filter(|event| event["subtype"] == "model_fallback").collect();
    let ids: Vec<_> =
        steps.iter().map(|step| (step["original_model"].clone(), step["fallback_model"].clone())).collect();
    let id = |name: &str| json!(format!("eu.anthropic.claude-{name}"));
    assert_eq!(ids, [(id("opus-5-5"), id("opus-5")), (id("opus-5"), id("opus-4-8"))], "{steps:?}");
    assert!(
        steps.iter().all(|step| step["trigger"] == "permission_denied" && step["content"].is_string()),
        "{steps:?}"
    );
    for more in [&["--model", "opus"][..], &["--settings", r#"{"model":"opus"}"#]] {
        let chosen = world(turns.clone());
        let mut env = bedrock(&chosen);
        env.push(("CLAUDE_CODE_USE_BEDROCK", "1".into()));
        env.push(("CLAUDE_CODE_MAX_RETRIES", "0".into()));
        let seen = run(&chosen, &env, more);
        assert_eq!(
            (seen.outcome.code, seen.outcome.lines.iter().any(|line| line.contains("model_fallback"))),
            (Some(1), false),
            "{more:?}: {}",
            seen.told()
        );
    }
}

/// Listed only after a refusal, and never where the user chose the prefix.
#[test]
fn a_refused_default_is_asked_under_the_prefix_that_the_account_has() {
    let turns = json!({
        "profiles": ["us.anthropic.claude-opus-5", "global.anthropic.claude-opus-5-5"],
        "turns": [{"status": 400, "error": {"message": "The provided model identifier is invalid."}}, say("here")],
    });
    for (chosen, next, listings) in
        [(None, "global.anthropic.claude-opus-5-5", 1), (Some("eu"), "eu.anthropic.claude-opus-5", 0)]
    {
        let world = world(turns.clone());
        let mut env = bedrock(&world);
        env.push(("CLAUDE_CODE_USE_BEDROCK", "1".into()));
        env.extend(chosen.map(|prefix: &str| ("ANTHROPIC_BEDROCK_REGION_PREFIX", prefix.into())));
        let seen = run(&world, &env, &[]);
        assert_eq!(seen.result()["result"], "here", "{}", seen.told());
        let steps: Vec<Value> =
            seen.outcome.events().into_iter().filter(|event| event["subtype"] == "model_fallback").collect();
        assert_eq!((steps.len(), &steps[0]["fallback_model"]), (1, &json!(next)), "{steps:?}");
        let requests = world.mock().requests();
        let asked: Vec<_> = requests.iter().filter(|request| request.path.starts_with("/inference-profiles")).collect();
        assert_eq!(asked.len(), listings, "{chosen:?}");
        for listing in asked {
            assert_eq!((&*listing.method, &*listing.path), ("GET", "/inference-profiles?type=SYSTEM_DEFINED"));
            let signature = listing.headers.get("authorization").cloned().unwrap_or_default();
            assert!(signature.contains("/eu-west-1/bedrock/aws4_request"), "{signature}");
        }
        assert!(requests[0].path.contains("eu.anthropic.claude-opus-5-5"), "the listing is not the first request");
    }
}

/// A summary is asked of whoever has the turn by then, under the id that it has there.
#[test]
fn a_summary_after_a_change_of_provider_goes_where_the_conversation_went() {
    let mut turns = gone();
    turns[1]["usage"] = json!({"input_tokens": 150_000});
    let world = world(turns);
    let seen = run(&world, &bedrock(&world), &["--fallback-model", "bedrock:opus", "--autocompact", "100k"]);
    assert_eq!(seen.result()["result"], "from elsewhere", "{}", seen.told());
    let (summaries, questions): (Vec<_>, Vec<_>) =
        seen.requests.iter().partition(|request| request.body.get("tools").is_none());
    assert_eq!((summaries.len(), questions.len()), (1, 3), "{}", seen.told());
    let path = "/model/eu.anthropic.claude-opus-5-5/invoke-with-response-stream";
    assert!(summaries[0].path == path && summaries[0].body.get("model").is_none(), "{}", summaries[0].path);
}
