//! The trace across processes: what comes in, what commands and requests carry on.

use super::{PRINT, collector, exporting, spans};
use crate::common::{bash, finish, say, tool_results, world};
use serde_json::json;

const INCOMING: &str = "00-2aae912c5d41eeb1c6c61e348f96934f-b6e2c8e270195947-01";
const PRINTS: &str = "echo parent=$TRACEPARENT";

#[test]
fn a_trace_goes_on_through_us() {
    let (collector, world) = (collector(), world(json!([bash(PRINTS), say("ok")])));
    let run = exporting(&world, &collector.url())
        .env("TRACEPARENT", INCOMING)
        .env("TRACESTATE", "vendor=x")
        .env("CLAUDE_CODE_PROPAGATE_TRACEPARENT", "1");
    let outcome = finish(run.args(PRINT).args(["--dangerously-skip-permissions"]));
    let root = &spans(&collector, "interaction")[0];
    assert_eq!(root["traceId"], "2aae912c5d41eeb1c6c61e348f96934f");
    assert_eq!((root["parentSpanId"].as_str(), root["flags"].as_u64()), (Some("b6e2c8e270195947"), Some(769)));
    assert_eq!(super::attribute(root, "parent.source"), "env");
    assert_eq!(root["traceState"], "vendor=x");
    let execution = &spans(&collector, "tool.execution")[0];
    let expected = format!("parent=00-2aae912c5d41eeb1c6c61e348f96934f-{}-01", execution["spanId"].as_str().unwrap());
    assert_eq!(tool_results(&outcome), [expected]);
    let requests = world.mock().requests();
    let sent = requests[0].headers.get("traceparent");
    let request = &spans(&collector, "llm_request")[0];
    let expected = format!("00-2aae912c5d41eeb1c6c61e348f96934f-{}-01", request["spanId"].as_str().unwrap());
    assert_eq!(sent, Some(&expected));
}

#[test]
fn an_address_of_the_users_own_is_told_nothing() {
    let (collector, world) = (collector(), world(json!([bash(PRINTS), say("ok")])));
    let run = exporting(&world, &collector.url()).env("TRACEPARENT", INCOMING);
    let outcome = finish(run.args(PRINT).args(["--dangerously-skip-permissions"]));
    assert_eq!(tool_results(&outcome), [format!("parent={INCOMING}")]);
    assert!(!world.mock().requests()[0].headers.contains_key("traceparent"));
}

#[test]
fn a_cloud_is_told_nothing() {
    let (collector, world) = (collector(), world(json!([bash(PRINTS), say("ok")])));
    let run = exporting(&world, &collector.url())
        .env("CLAUDE_CODE_USE_FOUNDRY", "1")
        .env("ANTHROPIC_FOUNDRY_BASE_URL", &world.mock().url())
        .env("ANTHROPIC_FOUNDRY_API_KEY", "key-of-a-resource")
        .without_env("ANTHROPIC_BASE_URL");
    let outcome = finish(run.args(PRINT).args(["--dangerously-skip-permissions"]));
    assert_eq!(outcome.code, Some(0), "{} {:?}", outcome.stderr, outcome.lines);
    let execution = spans(&collector, "tool.execution")[0]["spanId"].as_str().unwrap().to_owned();
    assert!(tool_results(&outcome)[0].contains(&execution), "commands are ours");
    let requests = world.mock().requests();
    assert!(!requests.is_empty() && requests.iter().all(|request| !request.headers.contains_key("traceparent")));
}

#[test]
fn a_trace_that_nobody_wants_has_no_spans_and_goes_on_as_such() {
    let unwanted = INCOMING.replace("-01", "-00");
    let run = |env: &[(&str, &str)]| {
        let (collector, world) = (collector(), world(json!([bash(PRINTS), say("ok")])));
        let run = exporting(&world, &collector.url()).env("CLAUDE_CODE_PROPAGATE_TRACEPARENT", "1");
        let run = env.iter().fold(run, |run, (name, value)| run.env(name, value));
        let outcome = finish(run.args(PRINT).args(["--dangerously-skip-permissions"]));
        let flags: Vec<_> = collector.logs().iter().map(|record| record["flags"].clone()).collect();
        let carried = tool_results(&outcome)[0].rsplit_once('-').map(|(_, flags)| flags.to_owned());
        (collector.spans().len(), carried, flags.last().cloned().unwrap())
    };
    let (none, all) = ((0, Some("00".to_owned()), json!(0)), (6, Some("01".to_owned()), json!(1)));
    let ratio = |share: &'static str| [("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", share)];
    assert_eq!(run(&[("TRACEPARENT", &unwanted)]), none);
    assert_eq!(run(&[("TRACEPARENT", &unwanted), ("OTEL_TRACES_SAMPLER", "always_on")]), all);
    assert_eq!(run(&[("TRACEPARENT", INCOMING), ("OTEL_TRACES_SAMPLER", "parentbased_always_off")]), all);
    assert_eq!(run(&[("OTEL_TRACES_SAMPLER", "parentbased_always_off")]), none);
    // No trace at all: there is nothing to carry on.
    assert_eq!(run(&ratio("0")), (0, None, json!(null)));
    assert_eq!(run(&ratio("1")), all);
}

#[test]
fn without_spans_events_carry_what_came_in() {
    let (collector, world) = (collector(), world(json!([say("ok")])));
    let run = exporting(&world, &collector.url()).env("TRACEPARENT", INCOMING).without_env("OTEL_TRACES_EXPORTER");
    finish(run.args(PRINT));
    assert!(collector.spans().is_empty());
    let logs = collector.logs();
    assert!(!logs.is_empty() && logs.iter().all(|record| record["spanId"] == "b6e2c8e270195947"), "{logs:?}");
}
