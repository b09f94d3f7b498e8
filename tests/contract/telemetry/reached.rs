//! Other ways to a collector: behind TLS with a certificate of ours, scraped by Prometheus, with headers that age.

use super::{collector, exporting};
use crate::common::{bash, claude, finish, say, world};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use testkit::{Collector, Manner};

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name);
    path.canonicalize().unwrap().display().to_string()
}

/// TLS that lets in only clients with a certificate of our authority.
fn tls() -> rustls::ServerConfig {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("../../../crates/model/fixtures/leaf.pem"));
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../../../crates/model/fixtures/leaf.key"));
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(include_bytes!("../fixture/tls/client-ca.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
    rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier)
        .with_single_cert(vec![certificate.unwrap()], key.unwrap())
        .unwrap()
}

/// A collector behind that. The first lines of what it was sent.
fn secure_collector() -> (String, Arc<Mutex<Vec<String>>>) {
    let config = Arc::new(tls());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://127.0.0.1:{}", listener.local_addr().unwrap().port());
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&seen);
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(session, socket);
            let mut chunk = vec![0; 64 * 1024];
            // A client without a certificate fails in the handshake, at its first byte.
            if let Ok(count) = stream.read(&mut chunk)
                && count > 0
            {
                let text = String::from_utf8_lossy(&chunk[..count]).into_owned();
                kept.lock().unwrap().push(text.lines().next().unwrap_or_default().to_owned());
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
    });
    (url, seen)
}

#[test]
fn a_collector_that_asks_for_a_certificate_gets_ours() {
    let (url, seen) = secure_collector();
    let export = |env: &[(&str, &str)]| {
        let world = world(json!([say("ok")]));
        let run = exporting(&world, &url)
            .env("NODE_EXTRA_CA_CERTS", &file("crates/model/fixtures/ca.pem"))
            .args(["-p", "go"]);
        let outcome = finish(env.iter().fold(run, |run, (name, value)| run.env(name, value)));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    };
    export(&[]);
    assert_eq!(*seen.lock().unwrap(), Vec::<String>::new());
    let (cert, key) = (file("tests/contract/fixture/tls/client.pem"), file("tests/contract/fixture/tls/client.key"));
    export(&[("CLAUDE_CODE_CLIENT_CERT", &cert), ("CLAUDE_CODE_CLIENT_KEY", &key)]);
    let mut lines = seen.lock().unwrap().clone();
    lines.sort();
    assert_eq!(lines, ["logs", "metrics", "traces"].map(|signal| format!("POST /v1/{signal} HTTP/1.1")));
}

#[test]
fn a_grpc_collector_behind_tls_gets_every_signal() {
    let mut config = tls();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let config = Arc::new(config);
    let layer = move |socket: TcpStream| {
        let session = rustls::ServerConnection::new(Arc::clone(&config)).ok()?;
        Some(rustls::StreamOwned::new(session, socket))
    };
    let collector = Collector::start_behind("https", Manner::Takes, layer).unwrap();
    let export = |env: &[(&str, &str)]| {
        let world = world(json!([say("ok")]));
        let run = exporting(&world, &collector.url()).env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc").args(["-p", "go"]);
        let outcome = finish(env.iter().fold(run, |run, (name, value)| run.env(name, value)));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{env:?}");
        collector.batches().len()
    };
    let roots = ("OTEL_EXPORTER_OTLP_CERTIFICATE", file("crates/model/fixtures/ca.pem"));
    let (cert, key) = (file("tests/contract/fixture/tls/client.pem"), file("tests/contract/fixture/tls/client.key"));
    let cert = ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", cert);
    let key = ("OTEL_EXPORTER_OTLP_CLIENT_KEY", key);
    let named = |pair: &(&'static str, String)| (pair.0, pair.1.clone());
    for missing in [[named(&cert), named(&key)].as_slice(), &[named(&roots)], &[named(&roots), named(&cert)]] {
        let env: Vec<(&str, &str)> = missing.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(export(&env), 0, "{env:?}");
    }
    assert_eq!(export(&[(roots.0, &roots.1), (cert.0, &cert.1), (key.0, &key.1)]), 3);
    let [logs, spans, metrics] = [collector.logs(), collector.spans(), collector.metrics()];
    assert!(!logs.is_empty() && !spans.is_empty() && !metrics.is_empty());
}

#[test]
fn prometheus_finds_the_sums_while_the_session_lives() {
    // Free a moment ago.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let world = world(json!([bash("sleep 3"), say("ok")]));
    let run = claude(&world)
        .env("CLAUDE_CODE_ENABLE_TELEMETRY", "1")
        .env("OTEL_METRICS_EXPORTER", "prometheus")
        .env("OTEL_EXPORTER_PROMETHEUS_HOST", "127.0.0.1")
        .env("OTEL_EXPORTER_PROMETHEUS_PORT", &port.to_string())
        .args(["-p", "go", "--dangerously-skip-permissions"]);
    let session = std::thread::spawn(move || finish(run));
    let until = Instant::now() + Duration::from_secs(30);
    let mut page = String::new();
    while !page.contains("claude_code_token_usage_total{") && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(50));
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { continue };
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        page.clear();
        let _ = stream.read_to_string(&mut page);
    }
    assert_eq!(session.join().unwrap().code, Some(0));
    assert!(page.contains("claude_code_session_count_total{") && page.contains("target_info{"), "{page}");
}

#[test]
fn headers_that_have_aged_are_asked_for_again() {
    let collector = collector();
    let world = world(json!([bash("sleep 2"), say("ok")]));
    std::fs::create_dir_all(world.home().join(".claude")).unwrap();
    let count = "echo x >> \"$HOME\"/asked; echo \"{\\\"x-key\\\": \\\"$(wc -l < \"$HOME\"/asked | tr -d ' ')\\\"}\"";
    let settings = json!({"otelHeadersHelper": count});
    std::fs::write(world.home().join(".claude/settings.json"), settings.to_string()).unwrap();
    let run = exporting(&world, &collector.url())
        .env("CLAUDE_CODE_OTEL_HEADERS_HELPER_DEBOUNCE_MS", "300")
        .env("OTEL_LOGS_EXPORT_INTERVAL", "200")
        .args(["-p", "go", "--dangerously-skip-permissions"]);
    assert_eq!(finish(run).code, Some(0));
    let keys: Vec<u32> = collector.batches().iter().filter_map(|batch| batch.header("x-key")?.parse().ok()).collect();
    assert!(keys.first() < keys.last() && keys.len() > 3, "{keys:?}");
}
