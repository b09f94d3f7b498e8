//! Clouds in a whole run: credentials that are renewed, told and nobody's but the user's, and prompts that stay with
//! the party that was chosen.

use super::{finish, own, streamed, write};
use crate::common::{binary, say, world};
use serde_json::{Value, json};
use testkit::{Outcome, World};

/// What Bedrock needs, on the loopback server.
fn bedrock(world: &World) -> Vec<(&'static str, String)> {
    vec![
        ("CLAUDE_CODE_USE_BEDROCK", "1".into()),
        ("ANTHROPIC_BEDROCK_BASE_URL", world.mock().url()),
        ("AWS_ACCESS_KEY_ID", "AKIAFAKE".into()),
        ("AWS_SECRET_ACCESS_KEY", "fake-secret-of-nobody".into()),
        ("AWS_EC2_METADATA_DISABLED", "true".into()),
    ]
}

fn run(world: &World, env: &[(&str, String)], more: &[&str]) -> Outcome {
    let run = streamed(world).args(more.iter().copied());
    finish(env.iter().fold(run, |run, (name, value)| run.env(name, value)))
}

fn refused(kind: &str, message: &str) -> Value {
    json!({"status": 403, "headers": {"x-amzn-errortype": kind}, "error": {"message": message}})
}

fn expired() -> Value {
    refused("ExpiredTokenException:http://x/", "The security token included in the request is expired")
}

/// How often a command of the settings has run: it adds a line each time.
fn runs(world: &World) -> usize {
    std::fs::read_to_string(world.home().join("runs")).unwrap_or_default().lines().count()
}

const COUNTS: &str = "echo run >> \"$HOME/runs\"";

#[test]
fn keys_that_are_over_are_renewed_by_the_users_command_once() {
    let denied = refused("AccessDeniedException", "You don't have access to the model with the specified model ID.");
    for (turns, code, commands) in [
        (json!([expired(), say("after the login")]), Some(0), 1),
        (json!([expired(), expired(), say("too late")]), Some(1), 1),
        (json!([denied.clone(), denied, say("too late")]), Some(1), 0),
    ] {
        let world = world(turns.clone());
        own(&world, ".claude/settings.json", &json!({"awsAuthRefresh": COUNTS}));
        let done = run(&world, &bedrock(&world), &["--model", "opus"]);
        assert_eq!((done.code, runs(&world)), (code, commands), "{turns}: {:?} {}", done.lines, done.stderr);
        assert_eq!(world.mock().requests().len(), 2, "asked anew once: {turns}");
    }
}

#[test]
fn an_export_that_fails_is_told_and_one_that_works_wins() {
    let world = super::plain();
    own(&world, ".claude/settings.json", &json!({"awsCredentialExport": "exit 3"}));
    let done = run(&world, &bedrock(&world), &[]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("awsCredentialExport") && done.stderr.contains("exit code 3"), "{}", done.stderr);
    let printed = r#"{"Credentials":{"AccessKeyId":"AKIAEXPORTED","SecretAccessKey":"exported-secret"}}"#;
    own(&world, ".claude/settings.json", &json!({"awsCredentialExport": format!("echo '{printed}'")}));
    let done = run(&world, &bedrock(&world), &[]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    let last = world.mock().requests().pop().unwrap();
    assert!(last.headers["authorization"].contains("Credential=AKIAEXPORTED/"), "{:?}", last.headers);
}

#[test]
fn adversary_a_folders_commands_for_credentials_never_run() {
    let world = world(json!([expired(), expired()]));
    let commands = json!({"awsAuthRefresh": COUNTS, "awsCredentialExport": COUNTS, "gcpAuthRefresh": COUNTS});
    write(&world.wd().join(".claude/settings.json"), &commands.to_string());
    for trusted in [false, true] {
        if trusted {
            assert_eq!(finish(world.run(&binary()).named("ralph").args(["trust"])).code, Some(0));
        }
        run(&world, &bedrock(&world), &[]);
        let vertex = [
            ("CLAUDE_CODE_USE_VERTEX", "1".to_owned()),
            ("ANTHROPIC_VERTEX_PROJECT_ID", "p".to_owned()),
            ("NO_GCE_CHECK", "1".to_owned()),
            ("CLAUDE_CODE_MAX_RETRIES", "0".to_owned()),
        ];
        assert_eq!(run(&world, &vertex, &[]).code, Some(1));
        assert_eq!(runs(&world), 0, "trusted {trusted}");
    }
}

/// A folder that is not trusted may name a model, and nothing else of an address.
#[test]
fn adversary_a_folders_model_stays_in_the_users_project() {
    let world = super::plain();
    let models = "/locations/us-east5/publishers/anthropic/models/";
    let theirs = format!("../../../../../../projects/theirs{models}x");
    write(&world.wd().join(".claude/settings.json"), &json!({"model": theirs}).to_string());
    let env = [
        ("CLAUDE_CODE_USE_VERTEX", "1".to_owned()),
        ("ANTHROPIC_VERTEX_BASE_URL", format!("{}/v1", world.mock().url())),
        ("ANTHROPIC_VERTEX_PROJECT_ID", "mine".to_owned()),
        ("GCE_METADATA_HOST", world.mock().url().trim_start_matches("http://").to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", "0".to_owned()),
    ];
    run(&world, &env, &[]);
    let requests = world.mock().requests();
    let asked: Vec<_> = requests.iter().filter(|request| request.method == "POST").collect();
    assert!(!asked.is_empty());
    for request in asked {
        assert!(request.path.starts_with(&format!("/v1/projects/mine{models}")), "{}", request.path);
    }
}

#[test]
fn what_clients_are_told_is_the_clouds() {
    let world = super::plain();
    let mut env = bedrock(&world);
    env.push(("ANTHROPIC_API_KEY", "key-that-is-not-for-them".into()));
    let done = run(&world, &env, &[]);
    let init = done.events().into_iter().find(|event| event["subtype"] == "init").unwrap();
    assert_eq!(
        (&init["apiKeySource"], &init["fast_mode_disabled_reason"]),
        (&json!("none"), &json!("not_first_party"))
    );
    assert!(
        !init["tools"].as_array().unwrap().contains(&json!("WebSearch")),
        "nobody searches there: {}",
        init["tools"]
    );
    let own = run(&world, &[("ANTHROPIC_API_KEY", "k".into())], &[]);
    let init = own.events().into_iter().find(|event| event["subtype"] == "init").unwrap();
    assert_eq!((init.get("fast_mode_disabled_reason"), &init["apiKeySource"]), (None, &json!("ANTHROPIC_API_KEY")));
    assert!(init["tools"].as_array().unwrap().contains(&json!("WebSearch")));
}

#[test]
fn the_status_in_words_shows_the_endpoint() {
    let world = super::plain();
    let asked = |pairs: &[(&str, &str)]| {
        let run = super::bare(&world).args(["auth", "status", "--text"]);
        finish(pairs.iter().fold(run, |run, (name, value)| run.env(name, value))).lines.join("\n")
    };
    let aws = asked(&[
        ("CLAUDE_CODE_USE_ANTHROPIC_AWS", "1"),
        ("ANTHROPIC_AWS_WORKSPACE_ID", "wrkspc_1"),
        ("AWS_REGION", "eu-west-1"),
        ("ANTHROPIC_AWS_API_KEY", "key-to-keep"),
        ("ANTHROPIC_AWS_BASE_URL", "https://user:password-to-keep@gate.test/x"),
    ]);
    for line in ["API provider: anthropicAws", "AWS region: eu-west-1", "Workspace ID: wrkspc_1", "https://gate.test/x"]
    {
        assert!(aws.contains(line), "{aws}");
    }
    assert!(!aws.contains("to-keep"), "{aws}");
    let vertex = asked(&[("CLAUDE_CODE_USE_VERTEX", "1"), ("ANTHROPIC_VERTEX_PROJECT_ID", "p1")]);
    assert!(vertex.contains("GCP project: p1") && vertex.contains("Default region: us-east5"), "{vertex}");
    let without = asked(&[("CLAUDE_CODE_USE_FOUNDRY", "1")]);
    assert!(without.contains("Problem: neither ANTHROPIC_FOUNDRY_RESOURCE"), "{without}");
}

#[test]
fn a_host_that_chooses_the_provider_has_the_say() {
    let world = super::plain();
    let elsewhere = json!({"env": {
        "CLAUDE_CODE_USE_BEDROCK": "1", "ANTHROPIC_BEDROCK_BASE_URL": "http://127.0.0.1:1",
        "ANTHROPIC_AUTH_TOKEN": "token-of-another-party",
    }});
    own(&world, ".claude/settings.json", &elsewhere);
    let key = ("ANTHROPIC_API_KEY", "key-of-the-host".to_owned());
    let by_host = [key.clone(), ("CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST", "1".to_owned())];
    assert_eq!(run(&world, &by_host, &[]).code, Some(0));
    let requests = world.mock().requests();
    assert_eq!(super::shown(&requests[0]), super::key("key-of-the-host"));
    let quiet = [key, ("AWS_EC2_METADATA_DISABLED", "1".to_owned()), ("CLAUDE_CODE_MAX_RETRIES", "0".to_owned())];
    assert_eq!(run(&world, &quiet, &[]).code, Some(1), "without it the settings have it");
    assert_eq!(world.mock().requests().len(), requests.len());
}

#[test]
fn a_profile_by_its_arn_is_known_by_the_model_behind_it() {
    let arn = "arn:aws:bedrock:us-east-2:1:application-inference-profile/x";
    let call = json!({"content": [{"type": "tool_use", "name": "Read", "input": {"file_path": "/nowhere"}}]});
    let script = |profiles: Value| json!({"profiles": profiles, "turns": [call.clone(), say("done")]});
    for (profiles, canonical, basis) in [
        (json!([format!("{arn}=anthropic.claude-sonnet-4-5-20250929-v1:0")]), "claude-sonnet-4-5", "list"),
        (json!([]), arn, "unknown"),
    ] {
        let world = world(script(profiles));
        let done = run(&world, &bedrock(&world), &["--model", arn]);
        let usage = &done.result().unwrap()["modelUsage"][arn];
        assert_eq!(
            (&usage["canonicalModel"], &usage["costBasis"]),
            (&json!(canonical), &json!(basis)),
            "{:?}",
            done.lines
        );
        let requests = world.mock().requests();
        let (looked, asked): (Vec<_>, Vec<_>) = requests.iter().partition(|request| request.method == "GET");
        assert_eq!((looked.len(), asked.len()), (1, 2), "looked up once");
        assert!(asked.iter().all(|request| request.body.get("thinking").is_none()), "a shape that every model takes");
    }
}

#[test]
fn the_doctor_shows_the_cloud_and_no_other_address() {
    let world = super::plain();
    let run = super::bare(&world).named("ralph").args(["doctor"]).env("CLAUDE_CODE_USE_VERTEX", "1");
    let secret = ("AWS_SECRET_ACCESS_KEY", "secret-to-keep");
    let said = finish(run.env(secret.0, secret.1)).lines.join("\n");
    assert!(said.contains("vertex (CLAUDE_CODE_USE_VERTEX is set)"), "{said}");
    assert!(said.contains("ANTHROPIC_VERTEX_PROJECT_ID is not set") && said.contains("at the first request"), "{said}");
    assert!(
        !said.contains("set ANTHROPIC_API_KEY") && !said.contains("endpoint ") && !said.contains(secret.1),
        "{said}"
    );
}

#[test]
fn an_address_that_does_not_count_need_not_be_one() {
    let world = super::plain();
    let mut env = bedrock(&world);
    env.push(("ANTHROPIC_BASE_URL", "no address".into()));
    let done = run(&world, &env, &[]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
}
