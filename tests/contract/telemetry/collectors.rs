//! Collectors that refuse, hang or are not there: the run ends as it would without one, and hardly later.

use super::{PRINT, attribute, collector, events, exporting};
use crate::common::{finish, say, world};
use serde_json::json;
use std::net::TcpListener;
use std::time::Duration;
use testkit::{Collector, Manner};

/// For the last export in these tests.
const BUDGET_MS: &str = "700";
/// For everything else that a run does, on a machine that is busy with other tests.
const RUN: Duration = Duration::from_secs(15);

#[test]
fn a_collector_never_changes_how_a_run_ends() {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let gone = format!("http://{}", nobody.local_addr().unwrap());
    drop(nobody);
    let start = |manner| Collector::start(manner).unwrap();
    let collectors = [Manner::Refuses(400), Manner::Refuses(401), Manner::Refuses(503), Manner::Hangs].map(start);
    let urls = collectors.iter().map(Collector::url).chain([gone]);
    for (url, protocol) in urls.flat_map(|url| [(url.clone(), "http/json"), (url, "grpc")]) {
        let world = world(json!([say("the answer")]));
        let run = exporting(&world, &url)
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
            .env("CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS", BUDGET_MS);
        let outcome = finish(run.args(PRINT));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{url} {protocol}");
        assert_eq!(outcome.result().unwrap()["result"], "the answer", "{url} {protocol}");
        assert!(outcome.elapsed < RUN, "{url} {protocol}: {:?}", outcome.elapsed);
    }
    // A signal that is refused does not keep the others back.
    let seen: Vec<String> = collectors[0].batches().into_iter().map(|batch| batch.line).collect();
    for path in ["/v1/traces", "/v1/logs", "/v1/metrics"] {
        assert!(seen.iter().any(|line| line.contains(path)), "{path}: {seen:?}");
    }
}

#[test]
fn a_hanging_collector_costs_the_budget_and_no_more() {
    let collector = Collector::start(Manner::Hangs).unwrap();
    let timed = |budget: &str| {
        let world = world(json!([say("ok")]));
        let run = exporting(&world, &collector.url()).env("CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS", budget);
        finish(run.args(PRINT)).elapsed
    };
    let (short, long) = (timed("1"), timed("3000"));
    assert!(long >= Duration::from_secs(3), "{long:?}");
    // Not the ten seconds that a request may take otherwise.
    assert!(long < short + Duration::from_secs(8), "{short:?} {long:?}");
}

#[test]
fn a_status_of_grpc_decides_whether_a_batch_is_sent_again() {
    let (taken, exhausted, refused, busy) = (0, 8, 3, 14);
    for (manner, times) in [
        (Manner::StatusInTrailers(taken), 1),
        (Manner::StatusInHead(busy), 2),
        (Manner::StatusInTrailers(busy), 2),
        (Manner::StatusInHead(refused), 1),
        (Manner::StatusInTrailers(refused), 1),
        (Manner::StatusInHead(exhausted), 1),
    ] {
        let (collector, world) = (Collector::start(manner).unwrap(), world(json!([say("ok")])));
        let run = exporting(&world, &collector.url())
            .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
            .env("OTEL_LOGS_EXPORT_INTERVAL", "600000")
            .env("OTEL_TRACES_EXPORT_INTERVAL", "600000")
            .env("CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS", "10000");
        let outcome = finish(run.args(PRINT));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{manner:?}");
        for part in ["resourceLogs", "resourceMetrics", "resourceSpans"] {
            let seen = collector.batches().iter().filter(|batch| batch.body[part].is_array()).count();
            assert_eq!(seen, times, "{manner:?}: {part}");
        }
    }
}

#[test]
fn headers_and_addresses_are_as_configured() {
    let (all, logs) = (collector(), collector());
    let world = world(json!([say("ok")]));
    let run = exporting(&world, &all.url())
        .env("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", &format!("{}/here", logs.url()))
        .env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer tok, x-team = a")
        .env("OTEL_EXPORTER_OTLP_LOGS_HEADERS", "x-team=b");
    assert_eq!(finish(run.args(PRINT)).code, Some(0));
    let batch = &logs.batches()[0];
    assert_eq!(batch.line, "POST /here HTTP/1.1");
    assert_eq!((batch.header("authorization"), batch.header("x-team")), (Some("Bearer tok"), Some("b")));
    assert!(all.batches().iter().all(|batch| batch.header("x-team") == Some("a")));
    assert_eq!(all.batches().len(), 2);
}

#[test]
fn batches_are_packed_where_that_is_asked_for() {
    for protocol in ["http/json", "http/protobuf", "grpc"] {
        for (compression, is_packed) in [("gzip", true), ("none", false), ("zstd", false)] {
            let (collector, world) = (collector(), world(json!([say("ok")])));
            let run = exporting(&world, &collector.url())
                .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
                .env("OTEL_EXPORTER_OTLP_COMPRESSION", compression);
            assert_eq!(finish(run.args(PRINT)).code, Some(0));
            let packed: Vec<bool> = collector.batches().iter().map(|batch| batch.is_packed).collect();
            assert_eq!(packed, [is_packed; 3], "{protocol} {compression}");
            let all = [collector.logs(), collector.spans(), collector.metrics()];
            assert!(all.iter().all(|records| !records.is_empty()), "{protocol} {compression}");
        }
    }
}

#[test]
fn the_console_exporter_keeps_a_stream_clean_and_prints_after_a_text() {
    let run = |more: &[&str]| {
        let world = world(json!([say("the answer")]));
        let run = exporting(&world, "http://127.0.0.1:1").env("OTEL_LOGS_EXPORTER", "console");
        finish(
            run.without_env("OTEL_TRACES_EXPORTER")
                .without_env("OTEL_METRICS_EXPORTER")
                .args(["-p", "go"])
                .args(more.iter().copied()),
        )
    };
    let stream = run(&["--output-format", "stream-json", "--verbose"]);
    assert_eq!(stream.events().len(), stream.lines.len());
    let text = run(&[]);
    assert_eq!(text.lines[0], "the answer");
    assert!(text.lines.concat().contains("claude_code.user_prompt"), "{:?}", text.lines);
}

#[test]
fn attributes_follow_their_switches() {
    let (with, without) = (collector(), collector());
    let export = |collector: &Collector, env: &[(&str, &str)]| {
        let world = world(json!([say("ok")]));
        let run = env.iter().fold(exporting(&world, &collector.url()), |run, (name, value)| run.env(name, value));
        let outcome = finish(run.args(PRINT));
        (outcome.session_id().unwrap(), std::fs::read_to_string(world.home().join(".claude.json")).unwrap())
    };
    let (session, state) = export(
        &with,
        &[
            ("OTEL_METRICS_INCLUDE_VERSION", "true"),
            ("OTEL_METRICS_INCLUDE_ENTRYPOINT", "true"),
            ("OTEL_RESOURCE_ATTRIBUTES", "team=a%20b"),
            ("OTEL_SERVICE_NAME", "mine"),
        ],
    );
    let record = &events(&with, "user_prompt")[0];
    assert_eq!(attribute(record, "session.id"), session);
    assert_eq!((attribute(record, "app.entrypoint"), attribute(record, "team")), (json!("sdk-cli"), json!("a b")));
    assert!(attribute(record, "app.version").is_string());
    let user = attribute(record, "user.id");
    assert_eq!(user.as_str().map(str::len), Some(64));
    assert!(state.contains(user.as_str().unwrap()), "the id is kept");
    let traces = with.batches().into_iter().find(|batch| batch.line.contains("traces")).unwrap();
    let resource = traces.body["resourceSpans"][0]["resource"].clone();
    assert_eq!(attribute(&resource, "service.name"), "mine");
    export(&without, &[("OTEL_METRICS_INCLUDE_SESSION_ID", "false")]);
    assert!(attribute(&events(&without, "user_prompt")[0], "session.id").is_null());
}
