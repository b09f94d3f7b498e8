//! `otelHeadersHelper`: a command of the user's that says which headers the collector gets.

use super::{PRINT, collector, exporting};
use crate::common::{finish, say, world};
use serde_json::json;
use testkit::{Collector, Outcome, World};

fn with_helper(command: &str, collector: &Collector) -> (World, Outcome) {
    let world = world(json!([say("ok")]));
    std::fs::create_dir_all(world.home().join(".claude")).unwrap();
    let settings = json!({"otelHeadersHelper": command});
    std::fs::write(world.home().join(".claude/settings.json"), settings.to_string()).unwrap();
    let run = exporting(&world, &collector.url()).env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=fixed,x-other=stays");
    let outcome = finish(run.args(PRINT));
    (world, outcome)
}

#[test]
fn its_headers_win() {
    let collector = collector();
    let (_, outcome) = with_helper("sleep 0.2; echo '{\"x-key\": \"fresh\"}'", &collector);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    let batches = collector.batches();
    assert_eq!(batches.len(), 3);
    for batch in batches {
        assert_eq!((batch.header("x-key"), batch.header("x-other")), (Some("fresh"), Some("stays")));
    }
}

#[test]
fn over_grpc_only_the_configured_headers_are_sent() {
    let collector = collector();
    let world = world(json!([say("ok")]));
    std::fs::create_dir_all(world.home().join(".claude")).unwrap();
    let settings = json!({"otelHeadersHelper": "touch \"$HOME\"/asked; exit 3"});
    std::fs::write(world.home().join(".claude/settings.json"), settings.to_string()).unwrap();
    let run = |protocol: &str| {
        let run = exporting(&world, &collector.url()).env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        finish(run.env("OTEL_EXPORTER_OTLP_LOGS_PROTOCOL", protocol).args(PRINT))
    };
    assert_eq!(run("grpc").stderr, "");
    assert_eq!((collector.batches().len(), world.home().join("asked").exists()), (3, false));
    // A signal that needs it keeps back nothing but itself.
    assert!(run("http/json").stderr.contains("otelHeadersHelper"));
    assert_eq!((collector.batches().len(), world.home().join("asked").exists()), (5, true));
}

#[test]
fn without_its_answer_nothing_is_exported() {
    for command in ["echo no-json", "exit 3"] {
        let collector = collector();
        let (_, outcome) = with_helper(command, &collector);
        assert_eq!(outcome.code, Some(0), "{command}");
        assert!(collector.batches().is_empty(), "{command}");
        let lines: Vec<&str> = outcome.stderr.lines().collect();
        assert!(matches!(lines[..], [line] if line.contains("otelHeadersHelper")), "{command}: {lines:?}");
    }
}
