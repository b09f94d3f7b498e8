//! Servers on the other end of HTTP, old and new.

use crate::kit::{deps, eventually, run, started, status, text};
use crate::web::Web;
use ralph_mcp::{Deps, ServerError, Servers};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn world() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn remote(kind: &str, url: &str) -> Value {
    json!({"s": {"type": kind, "url": url, "headers": {"Authorization": "Bearer k"}}})
}

async fn echo(servers: &Servers, say: &str) -> Result<String, ServerError> {
    let called = servers.call("mcp__s__echo", json!({"say": say})).await?;
    Ok(text(&called).to_owned())
}

#[test]
fn streamable_http_from_hello_to_goodbye() {
    let folder = world();
    run(async {
        let web = Web::start().await;
        let servers = started(deps(&folder), &remote("http", &web.url("/mcp"))).await;
        let status = status(&servers, "s");
        assert_eq!((status.status, status.error), ("connected", None));
        assert_eq!(status.config["headers"]["Authorization"], "Bearer k");
        for say in ["one", "two"] {
            assert_eq!(echo(&servers, say).await.unwrap(), say);
        }
        let started = Instant::now();
        servers.shutdown().await;
        assert!(started.elapsed() < Duration::from_millis(300), "{:?}", started.elapsed());
        assert_eq!(web.count("DELETE /mcp -"), 1);
        assert!(web.keys.borrow().iter().all(|key| key == "Bearer k"), "{:?}", web.keys);
    });
}

#[test]
fn a_helper_tells_headers_anew_for_every_connection() {
    let folder = world();
    run(async {
        let web = Web::start().await;
        let script = "n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n > n; \
                      printf '{\"authorization\":\"Bearer %s-%s\"}' \"$CLAUDE_CODE_MCP_SERVER_NAME\" $n";
        for kind in ["http", "sse"] {
            let mut entry = remote(kind, &web.url(if kind == "http" { "/mcp" } else { "/sse" }));
            entry["s"]["headersHelper"] = json!(script);
            let _ = std::fs::remove_file(folder.path().join("n"));
            web.keys.borrow_mut().clear();
            let servers = started(deps(&folder), &entry).await;
            let status = status(&servers, "s");
            assert_eq!((status.status, status.error), ("connected", None), "{kind}");
            assert!(web.keys.borrow().iter().all(|key| key == "Bearer s-1"), "{kind}: {:?}", web.keys);
            web.keys.borrow_mut().clear();
            servers.reconnect("s").await.unwrap();
            let keys = web.keys.borrow().clone();
            assert_eq!(keys.last().map(String::as_str), Some("Bearer s-2"), "{kind}: {keys:?}");
            servers.shutdown().await;
        }
    });
}

#[test]
fn a_helper_that_fails_is_the_reason_and_its_output_is_not_told() {
    let folder = world();
    run(async {
        let web = Web::start().await;
        for (script, part) in [("echo s3cret; exit 3", "failed (exit 3)"), ("echo s3cret", "JSON object")] {
            let mut entry = remote("http", &web.url("/mcp"));
            entry["s"]["headersHelper"] = json!(script);
            let servers = started(deps(&folder), &entry).await;
            let error = status(&servers, "s").error.unwrap();
            assert!(error.contains(part) && !error.contains("s3cret"), "{error}");
            assert!(web.seen.borrow().is_empty(), "asked without its headers");
        }
    });
}

#[test]
fn a_remote_failure_names_its_cause() {
    let folder = world();
    run(async {
        let web = Web::start().await;
        for (kind, path, word, part) in [
            ("http", "/wants-key", "needs-auth", "authorization"),
            ("http", "/wants-key-quietly", "needs-auth", "authorization"),
            ("sse", "/wants-key", "needs-auth", "authorization"),
            ("http", "/gone", "failed", "HTTP 404: nothing here"),
            ("sse", "/gone", "failed", "HTTP 404: nothing here"),
            ("http", "/page", "failed", "text/html"),
            ("sse", "/page", "failed", "text/html"),
            ("http", "/away", "failed", "HTTP 307"),
            ("sse", "/sse-elsewhere", "failed", "another host"),
        ] {
            let servers = started(deps(&folder), &remote(kind, &web.url(path))).await;
            let status = status(&servers, "s");
            assert_eq!(status.status, word, "{kind} {path}: {:?}", status.error);
            assert!(status.error.clone().unwrap().contains(part), "{kind} {path}: {:?}", status.error);
        }
        // Nothing of this gets better by asking again.
        assert_eq!(web.count("POST /gone initialize"), 1);
    });
}

#[test]
fn a_busy_server_is_tried_three_times_and_no_more() {
    let folder = world();
    run(async {
        let web = Web::start().await;
        for (refusals, word, tries) in [(2, "connected", 3), (3, "failed", 3)] {
            web.seen.borrow_mut().clear();
            web.refusals.set(refusals);
            let servers = started(deps(&folder), &remote("http", &web.url("/flaky"))).await;
            assert_eq!(status(&servers, "s").status, word);
            assert_eq!(web.count("POST /flaky initialize"), tries);
        }
    });
}

#[test]
fn nobody_at_the_address_is_told_soon() {
    let folder = world();
    run(async {
        let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let deps = Deps { start_timeout: Duration::from_secs(5), ..deps(&folder) };
        let servers = started(deps, &remote("http", &format!("http://{unused}/mcp"))).await;
        let status = status(&servers, "s");
        assert_eq!(status.status, "failed");
        assert!(status.error.unwrap().contains("cannot be reached"), "{:?}", servers.statuses());
    });
}

#[test]
fn a_redirect_within_the_server_is_followed() {
    let folder = world();
    run(async {
        let web = Web::start().await;
        let servers = started(deps(&folder), &remote("http", &web.url("/moved"))).await;
        assert_eq!(status(&servers, "s").status, "connected");
    });
}

#[test]
fn an_answer_without_end_ends_its_own_call() {
    let folder = world();
    run(async {
        let web = Web::start().await;
        let servers = started(deps(&folder), &remote("http", &web.url("/mcp"))).await;
        let error = servers.call("mcp__s__endless", json!({})).await.unwrap_err().to_string();
        assert!(error.contains("longer than 16777216 bytes"), "{error}");
        assert_eq!(echo(&servers, "still here").await.unwrap(), "still here");
    });
}

#[test]
fn legacy_sse_answers_on_its_stream_and_comes_back_when_it_breaks() {
    let folder = world();
    run(async {
        let web = Web::start().await;
        let servers = started(deps(&folder), &remote("sse", &web.url("/sse"))).await;
        assert_eq!(status(&servers, "s").status, "connected");
        assert_eq!(echo(&servers, "one").await.unwrap(), "one");
        assert!(web.keys.borrow().iter().all(|key| key == "Bearer k"), "{:?}", web.keys);
        web.stream.take();
        eventually(|| status(&servers, "s").status == "failed").await;
        assert!(status(&servers, "s").error.unwrap().contains("ended its stream"));
        // A call does not wait for the pauses between the tries.
        assert_eq!(echo(&servers, "two").await.unwrap(), "two");
        web.stream.take();
        eventually(|| status(&servers, "s").status == "failed").await;
        eventually(|| status(&servers, "s").status == "connected").await;
        assert_eq!(web.count("GET /sse -"), 3);
    });
}
