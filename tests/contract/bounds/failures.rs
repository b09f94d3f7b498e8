//! Errors of the API that are final, models that are overloaded, and money that runs out.

use crate::common::{bash, call, finish, results, say, world};
use crate::streaming;
use serde_json::{Value, json};
use std::time::Duration;

fn failure(status: u16, kind: &str, message: &str) -> Value {
    json!({"status": status, "error": {"type": "error", "error": {"type": kind, "message": message}}})
}

#[test]
fn final_errors_fail_at_once_and_name_the_cause_and_the_request() {
    for (status, kind, category) in [
        (400, "invalid_request_error", "invalid_request"),
        (401, "authentication_error", "authentication_failed"),
        (402, "billing_error", "billing_error"),
        (403, "permission_error", "authentication_failed"),
        (404, "not_found_error", "model_not_found"),
        (413, "request_too_large", "invalid_request"),
    ] {
        let world = world(json!([failure(status, kind, "the cause in words"), say("never")]));
        let outcome = finish(streaming(&world, "go"));
        assert_eq!((outcome.code, results(&outcome).len()), (Some(1), 1), "{status}");
        assert_eq!(world.mock().requests().len(), 1, "{status} is not tried again");
        let result = outcome.result().unwrap();
        assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(true)), "{status}");
        assert_eq!((&result["api_error_status"], &result["terminal_reason"]), (&json!(status), &json!("api_error")));
        let words = result["result"].as_str().unwrap();
        for word in ["API Error", "the cause in words", "req_000001", &status.to_string()] {
            assert!(words.contains(word), "{status}: no {word:?} in {words}");
        }
        assert_eq!(outcome.stderr, "", "{status}: the error is said once");
        let said = outcome.events().into_iter().find(|event| event["type"] == "assistant").unwrap();
        assert_eq!((&said["error"], &said["message"]["model"]), (&json!(category), &json!("<synthetic>")), "{status}");
        assert!(outcome.elapsed < Duration::from_secs(5), "{status}: {:?}", outcome.elapsed);
    }
}

#[test]
fn an_error_without_a_body_still_says_what_it_was() {
    let world = world(json!([{"status": 403, "body": "<html>Forbidden by proxy</html>", "content_type": "text/html"}]));
    let outcome = finish(streaming(&world, "go"));
    assert_eq!((outcome.code, world.mock().requests().len()), (Some(1), 1));
    assert!(outcome.result().unwrap()["result"].as_str().unwrap().contains("403"));
}

#[test]
fn an_overloaded_model_gives_way_to_the_fallback() {
    let overloaded = json!({"status": 529, "headers": {"retry-after": "0"}, "error": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}});
    let mut turns = vec![overloaded; 4];
    turns.push(say("from the other one"));
    let world = world(Value::from(turns));
    let run = streaming(&world, "go").args(["--model", "claude-opus-5", "--fallback-model", "claude-sonnet-5"]);
    let outcome = finish(run);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    let models: Vec<Value> = world.mock().requests().iter().map(|request| request.body["model"].clone()).collect();
    assert_eq!(models.last().unwrap(), "claude-sonnet-5");
    assert!(models[..4].iter().all(|model| model == "claude-opus-5"), "{models:?}");
    let result = outcome.result().unwrap();
    assert_eq!(result["result"], "from the other one");
    assert!(
        result["modelUsage"]["claude-sonnet-5"].is_object() && result["modelUsage"]["claude-opus-5"].is_null(),
        "{result}"
    );
    let retries = outcome.events().iter().filter(|event| event["subtype"] == "api_retry").count();
    assert_eq!(retries, 3, "each wait is seen");
}

#[test]
fn a_model_that_does_not_exist_gives_way_too_but_a_bad_key_does_not() {
    let world_of = |status, kind| world(json!([failure(status, kind, "model: nonsense"), say("from the other one")]));
    let run =
        |world| streaming(world, "go").args(["--model", "claude-nonsense", "--fallback-model", "claude-sonnet-5"]);
    let missing = world_of(404, "not_found_error");
    assert_eq!(finish(run(&missing)).code, Some(0));
    let unauthorised = world_of(401, "authentication_error");
    assert_eq!(finish(run(&unauthorised)).code, Some(1));
    assert_eq!(unauthorised.mock().requests().len(), 1);
}

/// Ten dollars or so, whatever the model.
fn costly(mut turn: Value) -> Value {
    turn["usage"] = json!({"input_tokens": 1000, "output_tokens": 1_000_000});
    turn
}

#[test]
fn the_budget_ends_a_run_with_its_own_error() {
    let world = world(json!([costly(bash("touch ran")), say("never")]));
    let outcome = finish(streaming(&world, "go").args(["--max-budget-usd", "1"]));
    let result = outcome.result().unwrap();
    assert_eq!((outcome.code, &result["subtype"]), (Some(1), &json!("error_max_budget_usd")), "{result}");
    assert!(result["total_cost_usd"].as_f64().unwrap() >= 1.0);
    assert_eq!(world.mock().requests().len(), 1);
    assert_eq!(world.read("ran"), None, "nothing is run for money that is not there");
}

#[test]
fn what_a_subagent_spends_counts_against_the_budget() {
    let agent =
        call("Agent", &json!({"description": "spend", "prompt": "spend it", "subagent_type": "general-purpose"}));
    let world = world(json!([agent, costly(bash("touch ran")), say("never"), say("never")]));
    let outcome = finish(streaming(&world, "go").args(["--max-budget-usd", "1"]));
    let result = outcome.result().unwrap();
    assert_eq!((outcome.code, &result["subtype"]), (Some(1), &json!("error_max_budget_usd")), "{result}");
    assert!(result["total_cost_usd"].as_f64().unwrap() >= 1.0);
    assert_eq!(world.mock().requests().len(), 2, "nobody asks again once the money is spent");
    assert_eq!(world.read("ran"), None);
}

#[test]
fn a_budget_that_is_spent_stays_spent_for_the_next_prompt() {
    let world = world(json!([costly(say("dear")), say("never")]));
    let arguments =
        ["-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json", "--max-budget-usd", "1"];
    let run = crate::claude(&world).args(arguments).prompt("a").wait(json!({"type": "result"})).prompt("b").close();
    let outcome = finish(run);
    let subtypes: Vec<Value> = results(&outcome).iter().map(|result| result["subtype"].clone()).collect();
    assert_eq!(subtypes, ["error_max_budget_usd", "error_max_budget_usd"]);
    assert_eq!(world.mock().requests().len(), 1);
}
