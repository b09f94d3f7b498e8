//! Another way to a model while the first is limited, and the run's own spans.

use crate::world::{PROMISE, of, outcomes, ralph, told, with_model};
use mock::{Mock, Script};
use serde_json::{Value, json};

/// A model behind an address of its own.
fn other(turns: Value) -> Mock {
    Mock::start(Script::from_value(turns).unwrap()).unwrap()
}

fn work() -> Value {
    let call = json!({"type": "tool_use", "name": "Write", "input": {"file_path": "made.txt", "content": "made"}});
    json!([{"content": [call]}, {"content": [{"type": "text", "text": PROMISE}]}])
}

#[test]
fn a_limited_model_is_replaced_by_one_of_another_party_and_its_key_stays_at_home() {
    let limited = json!({"status": 429, "headers": {"retry-after": "3600"}, "error": {"type": "error",
        "error": {"type": "rate_limit_error", "message": "You have hit your limit"}}});
    let world = with_model(json!([limited]));
    let local = other(work());
    let words = ["3", "--json", "--backend", "builtin", "--fallback", "local:qwen:7b", "--fallback-after", "10s"];
    let run = ralph(&world, &words).env("RALPH_LOCAL_BASE_URL", &local.url()).env("CLAUDE_CODE_MAX_RETRIES", "0");
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["deferred".to_owned(), "done".into()]), "{events:#?}");
    let said = of(&events, "warning").iter().filter_map(|event| event["text"].as_str()).collect::<Vec<_>>().join("\n");
    assert!(said.contains("going on with local:qwen:7b while the limit lasts"), "{said}");
    let started: Vec<&str> =
        of(&events, "iteration_started").iter().filter_map(|event| event["model"].as_str()).collect();
    assert_eq!(started, ["sonnet", "qwen:7b"]);
    let requests = local.requests();
    assert!(!requests.is_empty() && world.mock().requests().len() == 1);
    for request in &requests {
        assert_eq!((&request.body["model"], request.headers["x-api-key"].as_str()), (&json!("qwen:7b"), "local"));
        assert!(request.body.get("thinking").is_none() && !request.headers.contains_key("anthropic-beta"));
    }
}

/// The user's settings choose the first party and its token; neither reaches the fallback, nor does the fallback's work
/// go back to the first.
#[test]
fn adversary_the_users_settings_do_not_bring_the_first_party_back() {
    let limited = json!({"status": 429, "headers": {"retry-after": "3600"}, "error": {"type": "error",
        "error": {"type": "rate_limit_error", "message": "You have hit your limit"}}});
    let world = with_model(json!([limited]));
    let env =
        json!({"env": {"ANTHROPIC_BASE_URL": world.mock().url(), "ANTHROPIC_AUTH_TOKEN": "token-of-the-first-party"}});
    std::fs::create_dir_all(world.home().join(".claude")).unwrap();
    std::fs::write(world.home().join(".claude/settings.json"), env.to_string()).unwrap();
    let local = other(work());
    let words = ["3", "--json", "--backend", "builtin", "--fallback", "local:qwen:7b", "--fallback-after", "10s"];
    let run = ralph(&world, &words).env("RALPH_LOCAL_BASE_URL", &local.url()).env("CLAUDE_CODE_MAX_RETRIES", "0");
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["deferred".to_owned(), "done".into()]), "{events:#?}");
    assert_eq!(world.mock().requests().len(), 1, "the first party is asked once");
    let requests = local.requests();
    assert!(!requests.is_empty());
    for request in &requests {
        let shown = format!("{:?}", request.headers);
        assert!(request.headers["x-api-key"] == "local" && !shown.contains("token-of-the-first-party"), "{shown}");
    }
}

/// The settings choose one cloud and say how another is reached: the loop chooses the other, and their words about it count.
#[test]
fn a_fallback_to_a_cloud_is_reached_as_the_settings_say() {
    let limited = json!({"status": 429, "headers": {"retry-after": "3600"}, "error": {"type": "error",
        "error": {"type": "rate_limit_error", "message": "You have hit your limit"}}});
    let world = with_model(json!([limited]));
    let cloud = other(work());
    let env = json!({"env": {
        "CLAUDE_CODE_USE_FOUNDRY": "1", "ANTHROPIC_FOUNDRY_BASE_URL": world.mock().url(),
        "ANTHROPIC_FOUNDRY_API_KEY": "key-of-foundry", "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": cloud.url(),
        "AWS_BEARER_TOKEN_BEDROCK": "token-of-mantle", "ANTHROPIC_CUSTOM_HEADERS": "",
    }});
    std::fs::create_dir_all(world.home().join(".claude")).unwrap();
    std::fs::write(world.home().join(".claude/settings.json"), env.to_string()).unwrap();
    let words = ["3", "--json", "--backend", "builtin", "--fallback", "mantle:opus", "--fallback-after", "10s"];
    let (outcome, events) = told(ralph(&world, &words).env("CLAUDE_CODE_MAX_RETRIES", "0"));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["deferred".to_owned(), "done".into()]), "{events:#?}");
    assert_eq!(world.mock().requests().len(), 1, "the first is asked once");
    for request in cloud.requests() {
        assert_eq!(request.headers["authorization"], "Bearer token-of-mantle");
        assert!(!request.headers.contains_key("x-api-key"), "{:?}", request.headers);
    }
}

#[test]
fn a_fallback_that_cannot_be_is_an_error_before_the_run() {
    let world = with_model(json!([]));
    let (outcome, _) = told(ralph(&world, &["1", "--json", "--fallback", "openai-chat:gpt"]));
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.stderr.contains("RALPH_OPENAI_BASE_URL"), "{}", outcome.stderr);
}

#[test]
fn the_run_its_iterations_and_its_checks_are_one_trace() {
    let world = with_model(work());
    let collector = other(json!([]));
    let parent = "00-2aae912c5d41eeb1c6c61e348f96934f-b6e2c8e270195947-01";
    let words = ["2", "--json", "--backend", "builtin", "--check", "test -e made.txt"];
    let run = ralph(&world, &words)
        .env("CLAUDE_CODE_ENABLE_TELEMETRY", "1")
        .env("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1")
        .env("OTEL_TRACES_EXPORTER", "otlp")
        .env("OTEL_METRICS_EXPORTER", "otlp")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url())
        .env("TRACEPARENT", parent);
    let (outcome, events) = told(run);
    assert_eq!(outcome.code, Some(0), "{events:#?} {}", outcome.stderr);
    let requests = collector.requests();
    let traces = requests.iter().filter(|request| request.path == "/v1/traces");
    let all: Vec<Value> = traces
        .flat_map(|request| {
            request.body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned().unwrap_or_default()
        })
        .collect();
    let is_ours = |span: &&Value| span["name"].as_str().is_some_and(|name| name.starts_with("ralph."));
    let spans: Vec<Value> = all.iter().filter(is_ours).cloned().collect();
    let one =
        |name: &str| spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("{name}: {spans:#?}"));
    let (run, iteration, check) = (one("ralph.run"), one("ralph.iteration"), one("ralph.check"));
    assert!(spans.iter().all(|span| span["traceId"] == "2aae912c5d41eeb1c6c61e348f96934f"));
    assert_eq!(run["parentSpanId"], "b6e2c8e270195947");
    assert_eq!((&iteration["parentSpanId"], &check["parentSpanId"]), (&run["spanId"], &iteration["spanId"]));
    assert!(!check.to_string().contains("made.txt"), "a command is not released");
    let below = all.iter().find(|span| span["name"] == "claude_code.interaction");
    assert_eq!(below.map(|span| &span["parentSpanId"]), Some(&iteration["spanId"]), "the agent's own spans");
    assert!(requests.iter().any(|request| request.path == "/v1/metrics"));
}

#[test]
fn a_collector_that_is_not_there_changes_nothing() {
    let world = with_model(work());
    let run = |more: &[(&str, &str)]| {
        let run = ralph(&world, &["1", "--no-tui", "--backend", "builtin"]);
        told(more.iter().fold(run, |run, (name, value)| run.env(name, value))).0
    };
    let done = run(&[
        ("CLAUDE_CODE_ENABLE_TELEMETRY", "1"),
        ("OTEL_METRICS_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"),
    ]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{:?}", done.lines);
}
