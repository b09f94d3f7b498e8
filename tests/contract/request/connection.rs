//! How the API is reached: headers, credentials, retries, and certificates on both sides.

use super::{Seen, claude, plain, with};
use crate::common::{finish, say, world};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use testkit::{Outcome, World};

#[test]
fn gateways_that_look_for_claude_cli_find_it() {
    let world = plain();
    let agent = with(&world, &[], &[]).header("user-agent").to_owned();
    assert!(agent.starts_with("ralph/") && agent.contains("claude-cli/"), "{agent}");
}

#[test]
fn effort_goes_with_its_beta() {
    let world = plain();
    let seen = with(&world, &[], &["--model", "claude-opus-4-5-20251101"]);
    assert_eq!(seen.body()["output_config"]["effort"], "high");
    assert_eq!(seen.header("anthropic-beta"), "effort-2025-11-24");
    let without = with(&world, &[], &["--model", "claude-sonnet-4-5-20250929"]);
    assert_eq!((&without.body()["output_config"], without.header("anthropic-beta")), (&json!(null), ""));
    let thinking = with(&world, &[("MAX_THINKING_TOKENS", "2048")], &["--model", "claude-opus-4-5-20251101"]);
    assert_eq!(thinking.header("anthropic-beta"), "interleaved-thinking-2025-05-14,effort-2025-11-24");
}

#[test]
fn experimental_fields_can_be_left_out() {
    let world = plain();
    assert_eq!(with(&world, &[], &[]).body()["thinking"]["display"], "omitted");
    let seen = with(&world, &[("CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS", "1")], &[]);
    assert_eq!(seen.body()["thinking"], json!({"type": "adaptive"}), "{}", seen.told());
}

#[test]
fn what_a_model_can_do_is_the_users_to_say() {
    let world = plain();
    let own = ("ANTHROPIC_DEFAULT_OPUS_MODEL", "my-opus");
    let variable = "ANTHROPIC_DEFAULT_OPUS_MODEL_SUPPORTED_CAPABILITIES";
    let asked = |list: &str| {
        let seen = with(&world, &[own, (variable, list)], &["--model", "opus"]);
        (seen.body()["thinking"].clone(), seen.body()["output_config"]["effort"].clone())
    };
    assert_eq!(asked("thinking"), (json!(null), json!(null)));
    assert_eq!(asked("effort,adaptive_thinking"), (json!({"type": "adaptive", "display": "omitted"}), json!("high")));
    let wrong = with(&world, &[own, (variable, "flying")], &["--model", "opus"]);
    assert_eq!((wrong.outcome.code, wrong.requests.len()), (Some(1), 0), "{}", wrong.told());
    assert!(wrong.outcome.stderr.contains(variable) && wrong.outcome.stderr.contains("flying"));
    let nobody = with(&world, &[], &["--model", "model-of-nobody"]);
    assert_eq!(nobody.body()["output_config"], json!(null));
    let always = with(&world, &[("CLAUDE_CODE_ALWAYS_ENABLE_EFFORT", "1")], &["--model", "model-of-nobody"]);
    assert_eq!(always.body()["output_config"]["effort"], "high", "{}", always.told());
}

#[test]
fn a_token_and_a_key_are_both_sent() {
    let world = plain();
    let seen = with(&world, &[("ANTHROPIC_AUTH_TOKEN", "a-token"), ("ANTHROPIC_API_KEY", "a-key")], &[]);
    assert_eq!((seen.header("authorization"), seen.header("x-api-key")), ("Bearer a-token", "a-key"));
    assert_eq!(seen.init()["apiKeySource"], "none", "as with the token alone");
    let shown = finish(claude(&world).args(["auth", "status"]).env("ANTHROPIC_AUTH_TOKEN", "a-token"));
    assert!(!shown.lines.join("\n").contains("a-token"), "{:?}", shown.lines);
}

#[test]
fn a_credential_that_is_not_supported_is_named_where_it_would_count() {
    let world = plain();
    for name in ["ANTHROPIC_PROFILE", "ANTHROPIC_FEDERATION_RULE_ID", "CLAUDE_CODE_OAUTH_REFRESH_TOKEN"] {
        let with_key = with(&world, &[(name, "x")], &[]);
        assert_eq!((with_key.outcome.code, &*with_key.outcome.stderr), (Some(0), ""), "a key goes first");
        let run = claude(&world).args(super::STREAM).without_env("ANTHROPIC_API_KEY").env(name, "x");
        let without = Seen::of(&world, run);
        assert_eq!((without.outcome.code, without.requests.len()), (Some(1), 0), "{}", without.told());
        assert!(without.outcome.stderr.contains(name), "{}", without.told());
    }
}

#[test]
fn a_model_of_ones_own_is_in_the_list_that_clients_show() {
    let world = plain();
    let formats = ["-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json"];
    let run = claude(&world)
        .args(formats)
        .env("ANTHROPIC_CUSTOM_MODEL_OPTION", "my-model")
        .env("ANTHROPIC_CUSTOM_MODEL_OPTION_NAME", "My model")
        .send(json!({"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}}))
        .close();
    let outcome = finish(run);
    let response = outcome.events().into_iter().find(|event| event["type"] == "control_response").unwrap();
    let models = response["response"]["response"]["models"].as_array().cloned().unwrap_or_default();
    let own = models.iter().find(|model| model["value"] == "my-model").unwrap_or_else(|| panic!("{models:#?}"));
    assert_eq!(own["displayName"], "My model");
}

/// More failures than there are retries, and then an answer.
fn overloaded(times: usize, status: u16) -> World {
    let mut turns = vec![json!({"status": status}); times];
    turns.push(say("at last"));
    world(json!(turns))
}

#[test]
fn the_watchdog_outlasts_overloads_and_limits() {
    for status in [529, 429] {
        let world = overloaded(3, status);
        let few = [("CLAUDE_CODE_MAX_RETRIES", "1")];
        let seen = with(&world, &few, &[]);
        assert_eq!((seen.outcome.code, seen.requests.len()), (Some(1), 2), "{}", seen.told());
        let world = overloaded(3, status);
        let seen = with(&world, &[few[0], ("CLAUDE_CODE_RETRY_WATCHDOG", "1")], &[]);
        assert_eq!(seen.result()["result"], "at last", "{}", seen.told());
        assert_eq!(seen.requests.len(), 4);
    }
    let world = overloaded(1, 400);
    let seen = with(&world, &[("CLAUDE_CODE_RETRY_WATCHDOG", "1")], &[]);
    assert_eq!((seen.outcome.code, seen.requests.len()), (Some(1), 1), "a bad request stays one");
}

#[test]
fn a_connection_that_does_not_come_about_is_given_up_in_time() {
    // A listener whose queue is full answers nobody.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let world = plain();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let env = [("ANTHROPIC_BASE_URL", url.as_str()), ("API_TIMEOUT_MS", "300"), ("CLAUDE_CODE_MAX_RETRIES", "0")];
    let seen = with(&world, &[env[0], env[1], env[2], ("CLAUDE_CODE_CONNECT_TIMEOUT_MS", "200")], &[]);
    assert_eq!(seen.outcome.code, Some(1), "{}", seen.told());
    assert!(seen.outcome.elapsed < std::time::Duration::from_secs(20), "{:?}", seen.outcome.elapsed);
}

// --- certificates ---------------------------------------------------------------------------------

const ANSWER: &str = concat!(
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"known\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

fn fixture(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/contract/fixture/tls");
    folder.join(name).canonicalize().unwrap().display().to_string()
}

fn server_ca() -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../model/fixtures/ca.pem");
    file.canonicalize().unwrap().display().to_string()
}

/// A server that lets in only clients with a certificate of our authority, and counts those it let in.
struct TlsServer {
    url: String,
    let_in: Arc<Mutex<usize>>,
}

impl TlsServer {
    fn start() -> Self {
        let certificate = CertificateDer::from_pem_slice(include_bytes!("../../../crates/model/fixtures/leaf.pem"));
        let key = PrivateKeyDer::from_pem_slice(include_bytes!("../../../crates/model/fixtures/leaf.key"));
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(include_bytes!("../fixture/tls/client-ca.pem")).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build().unwrap();
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate.unwrap()], key.unwrap())
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("https://127.0.0.1:{}", listener.local_addr().unwrap().port());
        let let_in = Arc::new(Mutex::new(0));
        let count = Arc::clone(&let_in);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let session = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = rustls::StreamOwned::new(session, socket);
                // A client without a certificate fails in the handshake, at its first byte.
                let mut head = Vec::new();
                let mut chunk = [0; 4096];
                while !head.windows(4).any(|four| four == b"\r\n\r\n") {
                    match stream.read(&mut chunk) {
                        Ok(count) if count > 0 => head.extend_from_slice(&chunk[..count]),
                        _ => break,
                    }
                }
                if head.is_empty() {
                    continue;
                }
                *count.lock().unwrap() += 1;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let _ = stream.write_all(format!("{head}{ANSWER}").as_bytes());
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        });
        Self { url, let_in }
    }

    fn let_in(&self) -> usize {
        *self.let_in.lock().unwrap()
    }
}

fn secure(world: &World, server: &TlsServer, env: &[(&str, &str)]) -> Outcome {
    let run = claude(world)
        .args(["-p", "hi", "--output-format", "json"])
        .env("ANTHROPIC_BASE_URL", &server.url)
        .env("NODE_EXTRA_CA_CERTS", &server_ca())
        .env("CLAUDE_CODE_MAX_RETRIES", "0");
    finish(env.iter().fold(run, |run, (name, value)| run.env(name, value)))
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_ours() {
    let (world, server) = (plain(), TlsServer::start());
    let (cert, key) = (fixture("client.pem"), fixture("client.key"));
    let without = secure(&world, &server, &[]);
    assert_eq!((without.code, server.let_in()), (Some(1), 0), "{:?}", without.lines);
    let plain_key = secure(&world, &server, &[("CLAUDE_CODE_CLIENT_CERT", &cert), ("CLAUDE_CODE_CLIENT_KEY", &key)]);
    assert_eq!(plain_key.result().unwrap()["result"], "known", "{}", plain_key.stderr);
    assert_eq!(server.let_in(), 1);
}

#[test]
fn an_encrypted_key_needs_its_passphrase() {
    let (world, server) = (plain(), TlsServer::start());
    let (cert, key) = (fixture("client.pem"), fixture("client-encrypted.key"));
    let files = [("CLAUDE_CODE_CLIENT_CERT", cert.as_str()), ("CLAUDE_CODE_CLIENT_KEY", key.as_str())];
    let name = "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE";
    let opened = secure(&world, &server, &[files[0], files[1], (name, "open-sesame")]);
    assert_eq!(opened.result().unwrap()["result"], "known", "{}", opened.stderr);
    for more in [&[][..], &[(name, "open-barley")]] {
        let closed = secure(&world, &server, &[&files[..], more].concat());
        assert_eq!((closed.code, closed.lines.len()), (Some(1), 0), "{more:?}: {:?}", closed.lines);
        assert!(closed.stderr.contains(name) && closed.stderr.lines().count() == 1, "{}", closed.stderr);
    }
    assert_eq!(server.let_in(), 1, "nothing is sent with half a certificate");
}

#[test]
fn a_certificate_that_cannot_be_used_is_named_before_the_run() {
    let world = plain();
    let (cert, key) = (fixture("client.pem"), fixture("client.key"));
    for (env, named) in [
        (&[("CLAUDE_CODE_CLIENT_CERT", "/nowhere/c.pem")][..], "/nowhere/c.pem"),
        (&[("CLAUDE_CODE_CLIENT_KEY", key.as_str())], "CLAUDE_CODE_CLIENT_CERT"),
        (&[("CLAUDE_CODE_CLIENT_CERT", cert.as_str())], "client.pem"),
        (&[("CLAUDE_CODE_CLIENT_CERT", cert.as_str()), ("CLAUDE_CODE_CLIENT_KEY", "/nowhere/k")], "/nowhere/k"),
        (&[("CLAUDE_CODE_CERT_STORE", "mine")], "CLAUDE_CODE_CERT_STORE"),
    ] {
        let seen = with(&world, env, &[]);
        let stderr = &seen.outcome.stderr;
        assert_eq!((seen.outcome.code, seen.requests.len()), (Some(1), 0), "{env:?}: {}", seen.told());
        assert!(stderr.contains(named) && stderr.lines().count() == 1, "{env:?}: {stderr}");
    }
    let system = Seen::of(&world, claude(&world).args(["-p", "hi"]).env("CLAUDE_CODE_CERT_STORE", "bundled,system"));
    assert_eq!((system.outcome.code, &*system.outcome.stderr), (Some(0), ""));
}

#[test]
fn unchecked_certificates_are_warned_about() {
    let (world, server) = (plain(), TlsServer::start());
    let (cert, key) = (fixture("client.pem"), fixture("client.key"));
    let files = [("CLAUDE_CODE_CLIENT_CERT", cert.as_str()), ("CLAUDE_CODE_CLIENT_KEY", key.as_str())];
    let unknown = secure(&world, &server, &[files[0], files[1], ("NODE_EXTRA_CA_CERTS", "")]);
    assert_eq!((unknown.code, server.let_in()), (Some(1), 0), "{:?}", unknown.lines);
    let off = ("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    let any = secure(&world, &server, &[files[0], files[1], ("NODE_EXTRA_CA_CERTS", ""), off]);
    assert_eq!(any.result().unwrap()["result"], "known", "{}", any.stderr);
    assert!(any.stderr.contains("NODE_TLS_REJECT_UNAUTHORIZED") && any.stderr.lines().count() == 1, "{}", any.stderr);
    let on = secure(&world, &server, &[files[0], files[1], ("NODE_TLS_REJECT_UNAUTHORIZED", "1")]);
    assert_eq!((on.code, &*on.stderr), (Some(0), ""));
}

#[test]
fn adversary_a_folder_cannot_switch_the_checks_off() {
    let (world, server) = (plain(), TlsServer::start());
    let settings = json!({"env": {"NODE_TLS_REJECT_UNAUTHORIZED": "0", "CLAUDE_CODE_CLIENT_CERT": "/x"}});
    super::write(&world.wd().join(".claude/settings.json"), &settings.to_string());
    let (cert, key) = (fixture("client.pem"), fixture("client.key"));
    let files = [("CLAUDE_CODE_CLIENT_CERT", cert.as_str()), ("CLAUDE_CODE_CLIENT_KEY", key.as_str())];
    let seen = secure(&world, &server, &[files[0], files[1], ("NODE_EXTRA_CA_CERTS", "")]);
    assert_eq!((seen.code, server.let_in()), (Some(1), 0), "{:?}", seen.lines);
}
