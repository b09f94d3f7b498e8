//! The exporter against collectors of the test's own: good ones, and ones that refuse, stall or are not there.

use super::*;
use crate::event::Metric;
use crate::record::SpanStatus;
use crate::trace::{SpanId, TraceId};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Instant;

/// A collector that writes down whole requests and answers each in this way; `None` never answers.
struct Collector {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    fn start(answer: Option<&'static str>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let log = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, log) = (stream.unwrap(), Arc::clone(&log));
                std::thread::spawn(move || {
                    let mut bytes = Vec::new();
                    let mut piece = [0; 4096];
                    loop {
                        let text = String::from_utf8_lossy(&bytes).into_owned();
                        let whole = text.find("\r\n\r\n").is_some_and(|end| {
                            let length = text.to_lowercase();
                            let length = length
                                .split("content-length: ")
                                .nth(1)
                                .and_then(|rest| rest.split("\r\n").next()?.parse().ok());
                            bytes.len() >= end + 4 + length.unwrap_or(0usize)
                        });
                        if whole {
                            log.lock().unwrap().push(text);
                            match answer {
                                Some(status) => {
                                    let _ = stream.write_all(
                                        format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes(),
                                    );
                                    bytes.clear();
                                }
                                None => std::thread::sleep(Duration::from_mins(1)),
                            }
                        }
                        match stream.read(&mut piece) {
                            Ok(count) if count > 0 => bytes.extend(&piece[..count]),
                            _ => return,
                        }
                    }
                });
            }
        });
        Self { url, seen }
    }

    fn requests(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

fn telemetry(url: &str, more: &[(&str, &str)]) -> Telemetry {
    let mut pairs = vec![
        ("CLAUDE_CODE_ENABLE_TELEMETRY", "1"),
        ("CLAUDE_CODE_ENHANCED_TELEMETRY_BETA", "1"),
        ("OTEL_LOGS_EXPORTER", "otlp"),
        ("OTEL_METRICS_EXPORTER", "otlp"),
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url),
        ("CLAUDE_CODE_OTEL_SHUTDOWN_TIMEOUT_MS", "500"),
    ];
    pairs.retain(|(name, _)| !more.iter().any(|(other, _)| other == name));
    pairs.extend(more);
    let config = Config::read(&|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()));
    let resource = Resource { service: "claude-code".into(), version: "1".into(), ..Resource::default() };
    Telemetry::new(
        config.unwrap(),
        &resource,
        &Common { user_id: "u".into(), session_id: "s".into(), ..Common::default() },
        &|_| Some(Tls::default()),
    )
}

/// One record of each kind.
fn fill(telemetry: &Telemetry) {
    telemetry.set_prompt("p1");
    telemetry.record(Event::user_prompt("the secret plan", None, telemetry.gates()));
    let decision = Event::tool_decision("mcp__vault__open", "t1", true, "config", telemetry.gates());
    telemetry.record(decision.with_input(&serde_json::json!({"file_path": "/secret/place"}), telemetry.gates()));
    telemetry.count(Count::new(Metric::Tokens, 3.0).with("type", "input"));
    telemetry.span(Span {
        trace: TraceId(1),
        id: SpanId(2),
        parent: None,
        is_parent_remote: false,
        name: "claude_code.interaction".into(),
        start: 1,
        end: 2,
        attributes: Vec::new(),
        events: Vec::new(),
        status: SpanStatus::Unset,
    });
}

#[tokio::test]
async fn the_last_batch_of_a_short_life_arrives() {
    let collector = Collector::start(Some("200 OK"));
    let telemetry = telemetry(&collector.url, &[("OTEL_EXPORTER_OTLP_HEADERS", "x-key=configured,x-other=1")]);
    telemetry.set_headers(Some(vec![("X-Key".into(), "helper".into())]));
    fill(&telemetry);
    telemetry.flush().await;
    let all = collector.requests();
    for path in ["POST /v1/traces ", "POST /v1/logs ", "POST /v1/metrics "] {
        assert_eq!(all.iter().filter(|request| request.starts_with(path)).count(), 1, "{path}: {all:#?}");
    }
    let whole = all.concat();
    for secret in ["the secret plan", "/secret/place", "vault"] {
        assert!(!whole.contains(secret), "{secret} left the machine");
    }
    assert!(whole.contains("<REDACTED>") && whole.contains("prompt.id") && whole.contains("\"asDouble\":3"), "{whole}");
    assert!(all.iter().all(|request| request.contains("x-key: helper") && !request.contains("configured")), "{whole}");
    telemetry.flush().await;
    assert_eq!(collector.requests().len(), 3, "nothing is sent twice");
}

#[tokio::test]
async fn released_content_is_sent() {
    let collector = Collector::start(Some("200 OK"));
    let gates = [("OTEL_LOG_USER_PROMPTS", "1"), ("OTEL_LOG_TOOL_DETAILS", "1")];
    let telemetry = telemetry(&collector.url, &gates);
    fill(&telemetry);
    telemetry.flush().await;
    let whole = collector.requests().concat();
    for content in ["the secret plan", "/secret/place", "mcp__vault__open"] {
        assert!(whole.contains(content), "{content}: {whole}");
    }
}

#[tokio::test]
async fn a_collector_that_does_not_work_costs_no_more_than_the_budget() {
    let stalled = Collector::start(None);
    let busy = Collector::start(Some("503 Busy"));
    let refusing = Collector::start(Some("400 Bad Request"));
    for (url, least, most) in [
        (stalled.url.as_str(), 400, 1500),
        (busy.url.as_str(), 400, 1500),
        (refusing.url.as_str(), 0, 400),
        ("http://127.0.0.1:1", 0, 400),
        ("nonsense", 0, 400),
    ] {
        let telemetry = telemetry(url, &[]);
        fill(&telemetry);
        let started = Instant::now();
        telemetry.flush().await;
        let took = started.elapsed().as_millis();
        assert!(took >= least && took < most, "{url}: {took} ms");
    }
    assert_eq!(refusing.requests().len(), 3, "a refused signal does not stop the others");
    assert_eq!(stalled.requests().len(), 3, "nor does a slow one");
}

#[tokio::test]
async fn the_console_text_is_given_back_and_off_does_nothing() {
    let console =
        [("OTEL_LOGS_EXPORTER", "console"), ("OTEL_METRICS_EXPORTER", "none"), ("OTEL_TRACES_EXPORTER", "none")];
    let telemetry = telemetry("http://127.0.0.1:1", &console);
    fill(&telemetry);
    assert!(telemetry.flush().await.contains("claude_code.user_prompt"));
    let off = Telemetry::off();
    fill(&off);
    assert_eq!((off.flush().await, off.is_on(), off.traces()), (String::new(), false, false));
}

#[tokio::test]
async fn prometheus_reads_the_sums() {
    let telemetry = telemetry("http://127.0.0.1:1", &[("OTEL_METRICS_EXPORTER", "prometheus")]);
    fill(&telemetry);
    fill(&telemetry);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(prometheus::serve(listener, telemetry.clone()));
    let text = reqwest::get(format!("http://{address}/metrics")).await.unwrap().text().await.unwrap();
    server.abort();
    assert!(text.contains("claude_code_token_usage_total{user_id=\"u\",session_id=\"s\",type=\"input\","), "{text}");
    assert!(text.contains("} 6\n") && text.contains("target_info{") && text.contains("otel_scope_name="), "{text}");
}

#[tokio::test]
async fn a_scraper_does_not_change_what_a_collector_gets() {
    let collector = testkit::Collector::start(testkit::Manner::Takes).unwrap();
    let telemetry = telemetry(&collector.url(), &[("OTEL_METRICS_EXPORTER", "otlp,prometheus")]);
    for _ in 0..2 {
        fill(&telemetry);
        telemetry.flush().await;
    }
    let told = |metric: &Value| {
        (metric["sum"]["aggregationTemporality"].as_u64(), metric["sum"]["dataPoints"][0]["asDouble"].as_f64())
    };
    assert_eq!(collector.metrics().iter().map(told).collect::<Vec<_>>(), [(Some(1), Some(3.0)); 2]);
    assert!(telemetry.prometheus_text().contains("} 6\n"), "{}", telemetry.prometheus_text());
}

#[test]
fn grpc_frames_a_message_by_its_length() {
    let tree = serde_json::json!({"resourceLogs": [{}]});
    let plain = crate::batch_sender::Body::of(&tree, Protocol::HttpProtobuf, false).bytes;
    let framed = crate::batch_sender::Body::of(&tree, Protocol::Grpc, false);
    let (head, rest) = framed.bytes.split_at(5);
    assert_eq!((head[0], &head[1..], rest), (0, &(plain.len() as u32).to_be_bytes()[..], &plain[..]));
    assert_eq!(framed.headers, [("content-type", "application/grpc"), ("te", "trailers")]);
    let packed = crate::batch_sender::Body::of(&tree, Protocol::Grpc, true);
    assert_eq!((packed.bytes[0], packed.headers[1]), (1, ("grpc-encoding", "gzip")));
    assert_eq!(packed.bytes[1..5], (packed.bytes.len() as u32 - 5).to_be_bytes());
}

#[test]
fn files_for_tls_are_whole_or_nothing_is_sent() {
    let here = include_bytes!("../Cargo.toml");
    let named = |name: &str| Some(format!("{}/{name}", env!("CARGO_MANIFEST_DIR")));
    let files = |roots, certificate, key| crate::TlsFiles { roots, certificate, key };
    assert!(Tls::of_files(&files(None, None, None)).is_some());
    let whole = Tls::of_files(&files(named("Cargo.toml"), named("Cargo.toml"), named("Cargo.toml"))).unwrap();
    assert_eq!((whole.roots, whole.identity), (vec![here.to_vec()], Some([&here[..], b"\n", here].concat())));
    assert!(Tls::of_files(&files(None, named("Cargo.toml"), None)).is_none(), "a certificate without its key");
    assert!(Tls::of_files(&files(named("nothing"), None, None)).is_none(), "a file that is not there");
}
