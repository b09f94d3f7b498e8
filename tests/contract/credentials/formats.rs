//! Conversations in every provider's own format, from the first request to the answer after a tool.

use super::{finish, sigv4};
use serde_json::{Value, json};
use testkit::{Outcome, Run, World};

/// A model that reads a file by a tool and then answers.
fn world() -> World {
    let call = json!({"type": "tool_use", "name": "Read", "input": {"file_path": "/nowhere/at/all"}});
    let turns = json!([
        {"content": [{"type": "thinking", "thinking": "look first"}, {"type": "text", "text": "I look."}, call]},
        {"content": [{"type": "text", "text": "It is not there."}]},
    ]);
    super::common::world(turns)
}

fn run(world: &World, pairs: &[(&str, &str)]) -> Outcome {
    let quiet = [("AWS_EC2_METADATA_DISABLED", "true"), ("CLAUDE_CODE_MAX_RETRIES", "0")];
    let run = quiet.iter().chain(pairs).fold(super::streamed(world), |run: Run, (name, value)| run.env(name, value));
    finish(run)
}

/// The run answered, by way of the tool.
fn answered(done: &Outcome) -> Value {
    let result = done.result().unwrap_or_default();
    assert_eq!(
        (done.code, &result["result"]),
        (Some(0), &json!("It is not there.")),
        "{:#?} {}",
        done.lines,
        done.stderr
    );
    result
}

#[test]
fn bedrock_streams_frames_and_is_asked_with_good_signatures() {
    let world = world();
    let url = world.mock().url();
    let pairs = [
        ("CLAUDE_CODE_USE_BEDROCK", "1"),
        ("ANTHROPIC_BEDROCK_BASE_URL", url.as_str()),
        ("AWS_REGION", "eu-west-1"),
        ("AWS_ACCESS_KEY_ID", "AKIAFAKE"),
        ("AWS_SECRET_ACCESS_KEY", "fake-secret-of-nobody"),
        ("AWS_SESSION_TOKEN", "fake-session"),
    ];
    let done = run(&world, &pairs);
    let result = answered(&done);
    let usage = &result["modelUsage"]["eu.anthropic.claude-opus-5-5"];
    assert_eq!(
        (&usage["provider"], &usage["canonicalModel"], &usage["costBasis"]),
        (&json!("bedrock"), &json!("claude-opus-5-5"), &json!("list")),
        "{result}"
    );
    let requests = world.mock().requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert_eq!(request.path, "/model/eu.anthropic.claude-opus-5-5/invoke-with-response-stream");
        assert_eq!((request.body.get("model"), request.body.get("stream")), (None, None));
        sigv4::verify(request, "fake-secret-of-nobody", "eu-west-1", "bedrock");
    }
}

#[test]
fn vertex_is_asked_with_a_token_of_the_metadata_server() {
    let world = world();
    let url = format!("{}/v1", world.mock().url());
    let host = world.mock().url().trim_start_matches("http://").to_owned();
    let pairs = [
        ("CLAUDE_CODE_USE_VERTEX", "1"),
        ("ANTHROPIC_VERTEX_BASE_URL", url.as_str()),
        ("ANTHROPIC_VERTEX_PROJECT_ID", "p1"),
        ("GCE_METADATA_HOST", host.as_str()),
    ];
    let done = run(&world, &pairs);
    answered(&done);
    let requests = world.mock().requests();
    let asked: Vec<_> = requests.iter().filter(|request| request.method == "POST").collect();
    assert_eq!(asked.len(), 2);
    for request in asked {
        assert!(request.path.ends_with("/models/claude-opus-5-5:streamRawPredict"), "{}", request.path);
        assert_eq!(request.headers["authorization"], "Bearer mock-token");
    }
}

/// An endpoint behind `ANTHROPIC_BASE_URL` with a profile.
fn profiled(world: &World, profile: &str, more: &[(&str, &str)]) -> Outcome {
    let url = world.mock().url();
    let mut pairs = vec![
        ("RALPH_ENDPOINT_PROFILE", profile),
        ("ANTHROPIC_BASE_URL", url.as_str()),
        ("ANTHROPIC_API_KEY", "key-of-the-server"),
        ("ANTHROPIC_MODEL", "some-model"),
    ];
    pairs.extend(more);
    run(world, &pairs)
}

#[test]
fn a_chat_endpoint_serves_a_whole_conversation() {
    let world = world();
    let result = answered(&profiled(&world, "openai-chat", &[]));
    assert_eq!(result["usage"]["output_tokens"], 50, "{result}");
    assert_eq!(result["modelUsage"]["some-model"]["costBasis"], "unknown");
    let requests = world.mock().requests();
    assert_eq!((requests.len(), requests[0].path.as_str()), (2, "/v1/chat/completions"));
    assert_eq!(requests[0].headers["authorization"], "Bearer key-of-the-server");
    assert!(!requests[0].headers.contains_key("x-api-key") && !requests[0].headers.contains_key("anthropic-version"));
    let messages = requests[1].body["messages"].as_array().unwrap();
    let call = messages.iter().find(|message| message["tool_calls"].is_array()).expect("the call goes back");
    let answer = messages.iter().find(|message| message["role"] == "tool").expect("its result follows");
    assert_eq!(call["tool_calls"][0]["id"], answer["tool_call_id"]);
    assert!(answer["content"].as_str().unwrap().starts_with("Error: "), "{answer}");
}

#[test]
fn a_responses_endpoint_serves_a_whole_conversation_and_gets_its_reasoning_back() {
    let world = world();
    answered(&profiled(&world, "openai-responses", &[]));
    let requests = world.mock().requests();
    assert_eq!((requests.len(), requests[0].path.as_str()), (2, "/v1/responses"));
    let kinds: Vec<&str> =
        requests[1].body["input"].as_array().unwrap().iter().filter_map(|item| item["type"].as_str()).collect();
    let tail: Vec<&str> = kinds.into_iter().skip_while(|kind| *kind != "reasoning").collect();
    assert_eq!(tail[..4], ["reasoning", "message", "function_call", "function_call_output"], "{}", requests[1].body);
}

#[test]
fn a_local_server_gets_nothing_that_it_might_refuse() {
    let world = world();
    answered(&profiled(&world, "local,contextWindow=16384", &[]));
    let requests = world.mock().requests();
    for request in &requests {
        let body = request.body.to_string();
        assert_eq!(request.path, "/v1/messages");
        for word in ["cache_control", "\"thinking\"", "output_config", "\"pattern\":\"", "$schema"] {
            assert!(!body.contains(word), "{word}: {body}");
        }
        assert!(!request.headers.contains_key("anthropic-beta"));
        assert_eq!(request.body["max_tokens"], 4096);
    }
}

#[test]
fn a_profile_that_cannot_be_is_refused_before_anything_is_sent() {
    let world = world();
    let url = world.mock().url();
    let cases: [(&[(&str, &str)], &str); 3] = [
        (&[("RALPH_ENDPOINT_PROFILE", "ollama"), ("ANTHROPIC_BASE_URL", &url)], "'ollama' is no profile"),
        (&[("RALPH_ENDPOINT_PROFILE", "local")], "ANTHROPIC_BASE_URL is not set"),
        (
            &[("RALPH_ENDPOINT_PROFILE", "local"), ("ANTHROPIC_BASE_URL", &url), ("CLAUDE_CODE_USE_BEDROCK", "1")],
            "chooses a cloud",
        ),
    ];
    for (pairs, expected) in cases {
        let run = pairs.iter().fold(
            super::streamed(&world).without_env("ANTHROPIC_BASE_URL").env("ANTHROPIC_API_KEY", "k"),
            |run, (name, value)| run.env(name, value),
        );
        let done = finish(run);
        let said = format!("{}{}", done.lines.concat(), done.stderr);
        assert!(done.code == Some(1) && said.contains(expected), "{expected}: {said}");
    }
    assert!(world.mock().requests().is_empty());
}

/// A server that counts nothing must not make a budget endless.
#[test]
fn an_answer_without_counts_is_not_free() {
    let chunk = json!({"id": "c1", "choices": [{"index": 0, "delta": {"content": "hello"}, "finish_reason": "stop"}]});
    let world = super::common::world(json!([{"raw_sse": format!("data: {chunk}\n\ndata: [DONE]\n\n")}]));
    let done = profiled(&world, "openai-chat", &[]);
    let result = done.result().unwrap_or_default();
    assert_eq!(result["result"], "hello", "{:?}", done.lines);
    assert!(result["total_cost_usd"].as_f64().is_some_and(|usd| usd > 0.001), "{}", result["total_cost_usd"]);
}

#[test]
fn a_budget_without_a_price_is_said() {
    for (profile, expected) in [("openai-chat", "counts a guess for some-model"), ("local", "costs nothing")] {
        let world = world();
        let url = world.mock().url();
        let run = super::streamed(&world)
            .args(["--max-budget-usd", "5", "--model", "some-model"])
            .env("RALPH_ENDPOINT_PROFILE", profile)
            .env("ANTHROPIC_BASE_URL", &url)
            .env("ANTHROPIC_API_KEY", "k");
        let done = finish(run);
        assert!(done.stderr.contains("--max-budget-usd") && done.stderr.contains(expected), "{}", done.stderr);
    }
}
