//! A real collector of OpenTelemetry between the agent and the one that records: what the agent exports arrives through it unharmed, by
//! every protocol, also from a process that is gone at once.

use crate::scripts::clients;
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::{Duration, Instant};
use testkit::{Collector, Manner, Service, World};

/// The span that every session here belongs to.
const INCOMING: &str = "00-2aae912c5d41eeb1c6c61e348f96934f-b6e2c8e270195947-01";
const TRACE: &str = "2aae912c5d41eeb1c6c61e348f96934f";
const PARENT: &str = "b6e2c8e270195947";
/// Until it takes connections, on a machine that is busy with other tests.
const START: Duration = Duration::from_secs(20);
/// Another process may take a port between our look at it and the collector's; not again and again.
const STARTS: usize = 5;
const SIGNALS: [&str; 3] = ["resourceSpans", "resourceLogs", "resourceMetrics"];

/// A real collector that passes everything on to one that records.
struct Relay {
    service: Service,
    recorder: Collector,
    http: String,
    grpc: String,
}

impl Relay {
    fn start(world: &World) -> Option<Self> {
        let program = clients().join("collector");
        if !program.exists() {
            // Not the macro: the test harness would swallow the line.
            let _ = writeln!(std::io::stderr(), "SKIPPED: no collector installed, run tests/clients/install");
            return None;
        }
        let recorder = Collector::start(Manner::Takes).expect("a recorder");
        let (service, grpc, http) = (0..STARTS)
            .find_map(|_| {
                let (grpc, http) = (free_address(), free_address());
                let service = launch(&program, world, &grpc, &http, &recorder.url());
                (answers(&grpc) && answers(&http)).then_some((service, grpc, http))
            })
            .expect("a collector that takes connections");
        Some(Self { service, recorder, http: format!("http://{http}"), grpc: format!("http://{grpc}") })
    }

    /// Where it takes this protocol.
    fn url(&self, protocol: &str) -> &str {
        if protocol == "grpc" { &self.grpc } else { &self.http }
    }

    /// It passes on what it has before it ends.
    fn end(self) -> Collector {
        let (status, said) = self.service.end(Signal::TERM).expect("an end");
        assert!(status.success(), "{status}: {said}");
        self.recorder
    }
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").to_string()
}

fn launch(program: &Path, world: &World, grpc: &str, http: &str, to: &str) -> Service {
    let file = |name: &str| world.home().join(name).display().to_string();
    let (pid, log) = (file("collector.pid"), file("collector.log"));
    let receives = ["start", "--otlp-grpc-endpoint", grpc, "--otlp-http-endpoint", http];
    let sends = ["--exporter", "otlp", "--otlp-exporter-protocol", "http", "--otlp-exporter-endpoint", to];
    let more = ["--disable-batching", "--pid-file", &pid, "--log-file", &log];
    let args = [receives.as_slice(), &sends, &more].concat();
    Service::start(program, world.wd(), &args, &[]).expect("a collector")
}

fn answers(address: &str) -> bool {
    let until = Instant::now() + START;
    while Instant::now() < until {
        if TcpStream::connect(address).is_ok() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

fn world(turns: Value) -> World {
    let script = mock::Script::from_value(turns).expect("a script");
    World::new([("a.txt", "one\ntwo\n")], script).expect("a world")
}

/// Text with a call, calls that run and one that fails, an edit, a sub-agent: records with every kind of attribute.
fn conversation() -> Value {
    let call = |name: &str, input: Value| json!({"content": [{"type": "tool_use", "name": name, "input": input}]});
    json!([
        {"content": [{"type": "text", "text": "At work: äöü."},
            {"type": "tool_use", "name": "Bash", "input": {"command": "echo hi"}}]},
        call("Bash", json!({"command": "exit 3"})),
        call("Edit", json!({"file_path": "$WD/a.txt", "old_string": "two", "new_string": "2\n3"})),
        call("Agent", json!({"description": "look", "prompt": "look", "subagent_type": "Explore"})),
        {"content": [{"type": "text", "text": "seen"}]},
        {"content": [{"type": "text", "text": "done"}]},
    ])
}

/// One session that exports everything to this address. How long it lived.
fn export(world: &World, url: &str, protocol: &str, more: &[(&str, &str)]) -> Duration {
    let env = [
        ("CLAUDE_CODE_ENABLE_TELEMETRY", "1"),
        ("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1"),
        ("OTEL_METRICS_EXPORTER", "otlp"),
        ("OTEL_LOGS_EXPORTER", "otlp"),
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", protocol),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url),
        ("OTEL_RESOURCE_ATTRIBUTES", "team=%C3%A4 b"),
        // Everything at the end, in one batch a signal, however busy the machine is.
        ("OTEL_LOGS_EXPORT_INTERVAL", "600000"),
        ("OTEL_TRACES_EXPORT_INTERVAL", "600000"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "600000"),
        ("CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS", "20000"),
        ("TRACEPARENT", INCOMING),
        ("TRACESTATE", "vendor=x"),
        ("TERM", "dumb"),
    ];
    let run = world.run(Path::new(env!("CARGO_BIN_EXE_ralph")));
    let run = env.iter().chain(more).fold(run, |run, (name, value)| run.env(name, value));
    let model = ["--model", "claude-opus-5-5", "--effort", "medium", "--dangerously-skip-permissions"];
    let outcome = run.args(["-p", "go", "--output-format", "json"]).args(model).finish().expect("a run");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{protocol}");
    outcome.elapsed
}

/// What no two sessions have in common.
fn differs(name: &str) -> bool {
    ["id", "uuid", "_ms", "timestamp"].iter().any(|end| name.ends_with(end))
}

/// The kind and the value of an attribute, in one text. A number is the same with and without a fraction.
fn told(attribute: &Value) -> Value {
    let name = attribute["key"].as_str().unwrap_or_default();
    let (kind, value) = attribute["value"].as_object().and_then(|value| value.iter().next()).expect("a value");
    let value = match value.as_f64() {
        _ if differs(name) => String::new(),
        Some(number) => number.to_string(),
        None => plain(value).to_string(),
    };
    json!(format!("{name}: {kind} {value}"))
}

/// A batch without what is the default, and without what differs between two sessions. Ids are there or not; the test looks at
/// them by themselves.
fn plain(batch: &Value) -> Value {
    match batch {
        Value::Object(fields) if fields.contains_key("key") => told(batch),
        Value::Object(fields) => {
            let is_time = fields.get("name").is_some_and(|name| name == "claude_code.active_time.total");
            let field = |(name, value): (&String, &Value)| match name.as_str() {
                "traceId" | "spanId" | "parentSpanId" => Some((name.clone(), json!(value.as_str()?.len()))),
                name if name.ends_with("UnixNano") => Some((name.to_owned(), json!(value != "0"))),
                "sum" if is_time => None,
                _ => Some((name.clone(), plain(value))),
            };
            let is_said =
                |(_, value): &(String, Value)| *value != json!([]) && *value != json!({}) && *value != json!("");
            let fields = fields.iter().filter_map(field).filter(is_said);
            fields.filter(|(_, value)| value.as_f64() != Some(0.0)).collect()
        }
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Number(number) => json!(number.as_f64()),
        other => other.clone(),
    }
}

/// The batches of each signal.
fn batches(collector: &Collector) -> [Vec<Value>; 3] {
    let bodies: Vec<Value> = collector.batches().into_iter().map(|batch| batch.body).collect();
    SIGNALS.map(|signal| bodies.iter().filter(|body| body[signal].is_array()).cloned().collect())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The names of spans with the names of those above them.
fn edges(spans: &[Value]) -> BTreeSet<(String, String)> {
    let above = |span: &Value| match spans.iter().find(|other| other["spanId"] == span["parentSpanId"]) {
        Some(parent) => text(&parent["name"]),
        None => text(&span["parentSpanId"]),
    };
    spans.iter().map(|span| (text(&span["name"]), above(span))).collect()
}

fn in_one_trace(collector: &Collector) {
    let spans = collector.spans();
    let ids: BTreeSet<String> = spans.iter().map(|span| text(&span["spanId"])).collect();
    assert_eq!(ids.len(), spans.len(), "two spans of one id");
    assert!(spans.iter().all(|span| span["traceId"] == TRACE && span["traceState"] == "vendor=x"), "{spans:?}");
    let is_known = |record: &Value| record["spanId"] == PARENT || ids.contains(&text(&record["spanId"]));
    let logs = collector.logs();
    assert!(logs.iter().all(|record| record["traceId"] == TRACE && is_known(record)), "{logs:?}");
}

#[test]
fn s49_a_collector_passes_everything_on_unharmed() {
    let recorder = Collector::start(Manner::Takes).expect("a recorder");
    export(&world(conversation()), &recorder.url(), "http/json", &[]);
    let direct = batches(&recorder);
    assert_eq!(direct.each_ref().map(Vec::len), [1, 1, 1]);
    let edges_direct = edges(&recorder.spans());
    assert!(edges_direct.contains(&("claude_code.interaction".to_owned(), PARENT.to_owned())), "{edges_direct:?}");
    for protocol in ["http/json", "http/protobuf", "grpc"] {
        for compression in ["none", "gzip"] {
            let world = world(conversation());
            let Some(relay) = Relay::start(&world) else { return };
            export(&world, relay.url(protocol), protocol, &[("OTEL_EXPORTER_OTLP_COMPRESSION", compression)]);
            let arrived = relay.end();
            let through = batches(&arrived);
            for (signal, (direct, through)) in SIGNALS.into_iter().zip(direct.iter().zip(&through)) {
                let [direct, through] = [direct, through].map(|batches| batches.iter().map(plain).collect::<Vec<_>>());
                assert_eq!(through, direct, "{protocol} {compression}: {signal}");
            }
            in_one_trace(&arrived);
            assert_eq!(edges(&arrived.spans()), edges_direct, "{protocol} {compression}");
        }
    }
}

#[test]
fn s50_a_short_life_is_long_enough_for_every_signal() {
    for protocol in ["http/json", "http/protobuf", "grpc"] {
        let world = world(json!([{"content": [{"type": "text", "text": "ok"}]}]));
        let Some(relay) = Relay::start(&world) else { return };
        let lived = export(&world, relay.url(protocol), protocol, &[]);
        let arrived = relay.end();
        let names = |records: Vec<Value>, of: fn(&Value) -> &Value| -> BTreeSet<String> {
            records.iter().map(|record| text(of(record)).replace("claude_code.", "")).collect()
        };
        let expected = |all: &[&str]| -> BTreeSet<String> { all.iter().map(|name| (*name).to_owned()).collect() };
        let spans = names(arrived.spans(), |span| &span["name"]);
        assert_eq!(spans, expected(&["interaction", "llm_request"]), "{protocol}, {lived:?}");
        let events = names(arrived.logs(), |record| &record["body"]["stringValue"]);
        let all = ["managed_settings_resolved", "user_prompt", "api_request", "assistant_response"];
        assert_eq!(events, expected(&all), "{protocol}, {lived:?}");
        let metrics = names(arrived.metrics(), |metric| &metric["name"]);
        let all = ["session.count", "cost.usage", "token.usage", "active_time.total"];
        assert_eq!(metrics, expected(&all), "{protocol}, {lived:?}");
    }
}
