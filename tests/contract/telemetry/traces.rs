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
fn without_spans_events_carry_what_came_in() {
    let (collector, world) = (collector(), world(json!([say("ok")])));
    let run = exporting(&world, &collector.url()).env("TRACEPARENT", INCOMING).without_env("OTEL_TRACES_EXPORTER");
    finish(run.args(PRINT));
    assert!(collector.spans().is_empty());
    let logs = collector.logs();
    assert!(!logs.is_empty() && logs.iter().all(|record| record["spanId"] == "b6e2c8e270195947"), "{logs:?}");
}
