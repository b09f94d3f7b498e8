use super::*;
use crate::{Content, WebError};
use reqwest::Client;
use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering};
use web::get::{Guard, client};
use web::pages::{AskSmall, MOST_CACHED, MakeClient};

/// Serves fixed answers on loopback, one connection at a time, for as long as the test's process runs.
struct Site {
    address: SocketAddr,
    hits: Arc<AtomicUsize>,
}

fn answer(head: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

fn serve(pages: impl FnOnce(SocketAddr) -> HashMap<&'static str, Vec<u8>>) -> Site {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let pages = pages(address);
    let hits = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&hits);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().filter_map(Result::ok) {
            let mut request = Vec::new();
            let mut chunk = [0; 1024];
            while !request.ends_with(b"\r\n\r\n") {
                match stream.read(&mut chunk) {
                    Ok(read @ 1..) => request.extend_from_slice(&chunk[..read]),
                    _ => break,
                }
            }
            counted.fetch_add(1, Ordering::SeqCst);
            let request = String::from_utf8_lossy(&request).into_owned();
            let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
            let missing = answer("404 Not Found", b"");
            let _ = stream.write_all(pages.get(path.as_str()).unwrap_or(&missing));
        }
    });
    Site { address, hits }
}

fn web(allow_private: bool) -> Web {
    // The binary installs one at its start; a second try here is refused, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let make_client: MakeClient = Arc::new(|| Ok(Client::builder().no_proxy().tls_certs_only([])));
    let ask_small: AskSmall = Arc::new(|prompt| Box::pin(async move { Ok(format!("ANSWER TO {prompt}")) }));
    Web::with(make_client, ask_small, Web::CACHE_FOR, None, allow_private)
}

async fn ask(web: &Web, url: String) -> Result<ToolOutcome, String> {
    let told = fetch(&Input { url, prompt: "What is it?".into() }, web).await;
    told.map_err(|refused| text(&refused).to_owned())
}

fn text(outcome: &ToolOutcome) -> &str {
    match &outcome.content {
        Content::Text(text) => text,
        Content::Blocks(_) => panic!("no text"),
    }
}

#[tokio::test]
async fn a_page_is_read_by_the_small_model_and_cached() {
    let html = b"<title>T</title><h1>Hello</h1><script>x</script>";
    let site = serve(|_| HashMap::from([("/a", answer("200 OK\r\nContent-Type: text/html; charset=utf-8", html))]));
    let (web, url) = (web(true), format!("http://{}/a", site.address));
    let outcome = ask(&web, url.clone()).await.unwrap();
    assert!(text(&outcome).starts_with("ANSWER TO") && text(&outcome).contains("# Hello"), "{}", text(&outcome));
    assert!(text(&outcome).ends_with("What is it?"));
    let twin = &outcome.structured;
    assert_eq!((&twin["bytes"], &twin["code"], &twin["codeText"]), (&json!(html.len()), &json!(200), &json!("OK")));
    assert_eq!((&twin["url"], twin["result"].as_str()), (&json!(url), Some(text(&outcome))));
    ask(&web, url).await.unwrap();
    assert_eq!(site.hits.load(Ordering::SeqCst), 1, "the second time it comes from the cache");
}

#[test]
fn the_cache_forgets() {
    let web = web(true);
    let url = Url::parse("https://example.com/").unwrap();
    let page = |n: usize| {
        Arc::new(Readable { url: url.clone(), status: 200, reason: String::new(), bytes: n, text: String::new() })
    };
    web.remember(url.clone(), &page(1));
    assert!(web.cached(&url).is_some());
    let forgetful = Web::with(Arc::clone(&web.0.make_client), Arc::clone(&web.0.ask_small), Duration::ZERO, None, true);
    forgetful.remember(url.clone(), &page(1));
    assert!(forgetful.cached(&url).is_none());
    for n in 0..100 {
        web.remember(url.clone(), &page(n));
    }
    assert_eq!(web.0.cache.lock().unwrap().len(), MOST_CACHED);
}

#[tokio::test]
async fn redirects_are_followed_at_home_and_told_elsewhere() {
    let site = serve(|address| {
        let to = |location: String| answer(&format!("302 Found\r\nLocation: {location}"), b"");
        HashMap::from([
            ("/here", to("/there".into())),
            ("/there", answer("200 OK\r\nContent-Type: text/plain", b"made it")),
            ("/loop", to("/loop".into())),
            ("/away", to("https://example.org/new".into())),
            ("/port", to(format!("http://127.0.0.1:{}/x", address.port().wrapping_add(1)))),
            ("/user", to("https://user@example.org/".into())),
            ("/nowhere", answer("302 Found", b"")),
        ])
    });
    let web = web(true);
    let at = |path: &str| format!("http://{}{path}", site.address);
    assert!(text(&ask(&web, at("/here")).await.unwrap()).contains("made it"));
    let away = ask(&web, at("/away")).await.unwrap();
    assert!(text(&away).contains("https://example.org/new"), "{}", text(&away));
    assert_eq!(away.structured["code"], json!(302));
    assert!(text(&ask(&web, at("/port")).await.unwrap()).contains("another site"));
    for path in ["/loop", "/user", "/nowhere"] {
        assert!(ask(&web, at(path)).await.is_err(), "{path}");
    }
}

#[tokio::test]
async fn adversary_28_private_addresses_are_never_connected_to() {
    let site = serve(|_| HashMap::from([("/", answer("200 OK", b"secret"))]));
    let web = web(false);
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"] {
        let refused = ask(&web, format!("https://{host}:{}/", site.address.port())).await;
        assert!(refused.is_err_and(|why| why.contains("private")), "{host}");
    }
    // A public-looking name that resolves to a private address: stopped at resolution.
    let guard = Guard { private_allowed: false, proxy_host: None };
    let client = client(Client::builder().no_proxy().tls_certs_only([]), guard.clone()).unwrap();
    let url = Url::parse(&format!("http://localhost:{}/", site.address.port())).unwrap();
    let why = get(&client, &guard, url).await.map(drop).unwrap_err().to_string();
    assert!(why.contains("private network"), "{why}");
    assert_eq!(site.hits.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn what_is_no_text_or_no_success_is_an_error() {
    let site = serve(|_| {
        HashMap::from([
            ("/pdf", answer("200 OK\r\nContent-Type: application/pdf", b"%PDF")),
            ("/raw", answer("200 OK", b"a\0b")),
            ("/500", answer("500 Internal Server Error\r\nContent-Type: text/html", b"<p>x")),
        ])
    });
    let web = web(true);
    for (path, says) in [("/pdf", "application/pdf"), ("/raw", "binary data"), ("/500", "500"), ("/none", "404")] {
        let why = ask(&web, format!("http://{}{path}", site.address)).await.unwrap_err();
        assert!(why.contains(says), "{why}");
    }
}

#[tokio::test]
async fn large_bodies_are_cut() {
    let body = vec![b'x'; 12 * 1024 * 1024];
    let site = serve(|_| HashMap::from([("/big", answer("200 OK\r\nContent-Type: text/plain", &body))]));
    let outcome = ask(&web(true), format!("http://{}/big", site.address)).await.unwrap();
    assert_eq!(outcome.structured["bytes"], json!(10 * 1024 * 1024));
    assert!(text(&outcome).len() < LONGEST_TEXT + 2000 && text(&outcome).contains("The page goes on"));
}

#[tokio::test]
async fn a_model_that_fails_is_an_error() {
    let site = serve(|_| HashMap::from([("/a", answer("200 OK\r\nContent-Type: text/plain", b"x"))]));
    let _ = rustls::crypto::ring::default_provider().install_default();
    let make_client: MakeClient = Arc::new(|| Ok(Client::builder().no_proxy().tls_certs_only([])));
    let web = Web::with(
        make_client,
        Arc::new(|_| Box::pin(async { Err(WebError("overloaded".into())) })),
        Web::CACHE_FOR,
        None,
        true,
    );
    let why = ask(&web, format!("http://{}/a", site.address)).await.unwrap_err();
    assert!(why.contains("overloaded"), "{why}");
}

#[test]
fn kinds_and_encodings() {
    for (content_type, body, expected) in [
        ("text/html; charset=utf-8", b"".as_slice(), Kind::Html),
        ("application/ld+json", b"{}", Kind::Plain),
        ("image/svg+xml", b"<svg>", Kind::Plain),
        ("image/png", b"x", Kind::Binary),
        ("", b" <!doctype html>", Kind::Html),
        ("", b"hello", Kind::Plain),
    ] {
        assert_eq!(kind(content_type, body), expected, "{content_type}");
    }
    assert_eq!(decode(b"\xe9", "text/html; charset=iso-8859-1"), "é");
    assert_eq!(decode("é".as_bytes(), "text/html; charset=iso-8859-1"), "é");
    assert_eq!(decode(b"\xe9", "text/html"), "\u{fffd}");
}
