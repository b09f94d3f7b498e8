//! The guard from end to end: every row is a request that a hostile page, a stranger or a careless client would send.

use super::http::{Events, connect, head, raw};
use super::world::Server;
use serde_json::json;
use std::io::{BufReader, Read as _, Write as _};
use std::time::{Duration, Instant};

/// Method, path, headers, and the status that is expected.
type Row<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], u16);

#[test]
fn strangers_and_other_pages_are_refused() {
    let server = Server::start(&[]);
    let (full, read) = (format!("Bearer {}", server.full), format!("Bearer {}", server.read));
    let ours = format!("http://{}", server.host);
    let host = server.host.as_str();
    let port = host.rsplit(':').next().expect("a port");
    let cookie = format!("ralph-{port}={}", server.full);
    let json = ("Content-Type", "application/json");
    let rows: [Row<'_>; 26] = [
        ("GET", "/v1/health", &[("Host", host)], 200),
        ("GET", "/", &[("Host", host)], 200),
        ("GET", "/v1/runs", &[("Host", host)], 401),
        ("GET", "/v1/runs", &[("Host", host), ("Authorization", "Bearer wrong")], 401),
        ("GET", "/v1/runs", &[("Host", host), ("Authorization", &full)], 200),
        ("GET", "/v1/runs", &[("Host", host), ("Authorization", &read)], 200),
        ("GET", "/v1/runs", &[("Host", host), ("Cookie", &cookie)], 200),
        ("GET", "/v1/runs", &[("Host", "evil.test"), ("Authorization", &full)], 403),
        ("GET", "/", &[("Host", "evil.test")], 403),
        ("GET", "/v1/runs", &[("Authorization", &full)], 403),
        ("GET", "/v1/runs", &[("Host", host), ("Host", "evil.test"), ("Authorization", &full)], 403),
        ("GET", "http://evil.test/v1/runs", &[("Host", host), ("Authorization", &full)], 403),
        ("GET", "/v1/runs", &[("Host", host), ("Authorization", &full), ("Origin", "http://evil.test")], 403),
        ("GET", "/v1/runs", &[("Host", host), ("Cookie", &cookie), ("Origin", "null")], 403),
        ("GET", "/v1/runs", &[("Host", host), ("Cookie", &cookie), ("Sec-Fetch-Site", "same-site")], 403),
        ("GET", "/v1/runs", &[("Host", host), ("Cookie", &cookie), ("Sec-Fetch-Site", "cross-site")], 403),
        ("POST", "/v1/runs", &[("Host", host), ("Authorization", &read), json], 403),
        ("DELETE", "/v1/fs/entry?path=x", &[("Host", host), ("Authorization", &read)], 403),
        ("POST", "/v1/runs/x/pause", &[("Host", host), ("Cookie", &cookie)], 403),
        ("POST", "/v1/runs/x/pause", &[("Host", host), ("Cookie", &cookie), ("Origin", &ours)], 404),
        ("POST", "/v1/login", &[("Host", host), ("Origin", "http://evil.test"), json], 403),
        ("OPTIONS", "/v1/runs", &[("Host", host), ("Origin", &ours)], 405),
        ("PATCH", "/v1/runs", &[("Host", host), ("Authorization", &full)], 405),
        ("PUT", "/v1/runs", &[("Host", host), ("Authorization", &full)], 405),
        ("GET", "/nothing", &[("Host", host)], 401),
        ("GET", "/nothing", &[("Host", host), ("Authorization", &full)], 404),
    ];
    for (method, path, headers, expected) in rows {
        let answer = raw(&server.at, method, path, headers, b"");
        assert_eq!(answer.status, expected, "{method} {path} {headers:?}: {}", answer.text());
        assert_eq!(answer.header("access-control-allow-origin"), None);
        assert!(
            answer.header("content-security-policy").is_some_and(|policy| policy.contains("frame-ancestors 'none'"))
        );
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        if expected >= 400 {
            assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{method} {path}");
            assert_eq!(answer.json()["status"], expected);
        }
    }
}

#[test]
fn the_link_becomes_a_cookie_that_scripts_and_other_sites_do_not_get() {
    let server = Server::start(&[]);
    let headers = [("Host", server.host.as_str()), ("Content-Type", "application/json")];
    let login = |token: &str, headers: &[(&str, &str)]| {
        raw(&server.at, "POST", "/v1/login", headers, json!({ "token": token }).to_string().as_bytes())
    };
    assert_eq!(login("wrong", &headers).status, 401);
    assert_eq!(login(&server.full, &headers[..1]).status, 415, "a form of another page cannot do it");
    let answer = login(&server.read, &headers);
    assert_eq!((answer.status, answer.json()["access"].as_str()), (200, Some("read")));
    let cookie = answer.header("set-cookie").expect("a cookie");
    assert!(
        cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict") && cookie.contains("; Path=/"),
        "{cookie}"
    );
    let pair = cookie.split(';').next().expect("a pair");
    let me = raw(&server.at, "GET", "/v1/me", &[("Host", &server.host), ("Cookie", pair)], b"");
    assert_eq!(me.json()["access"], "read");
}

#[test]
fn bodies_are_bounded_and_slow_ones_are_cut() {
    let server = Server::start(&[]);
    let large = vec![b' '; 1024 * 1024 + 1];
    assert_eq!(server.send("POST", "/v1/runs", "application/json", &large).status, 413);
    // Nobody has to send it all: the length is enough.
    let mut stream = connect(&server.at);
    let request = format!(
        "PUT /v1/fs/file?path=x HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Length: 99999999999\r\n\r\n",
        server.host, server.full
    );
    stream.write_all(request.as_bytes()).expect("a request");
    assert_eq!(head(&mut BufReader::new(stream)).expect("an answer").0, 413);
    assert!(!server.world.wd().join("x").exists());
    assert_eq!(server.send("POST", "/v1/runs", "text/plain", b"{}").status, 415);
    assert_eq!(server.send("POST", "/v1/runs", "application/json", b"{").status, 400);
}

#[test]
fn a_client_that_never_finishes_its_head_is_cut() {
    let server = Server::start(&[]);
    let mut stream = connect(&server.at);
    stream.write_all(b"GET /v1/health HTTP/1.1\r\nHost: ").expect("half a head");
    let started = Instant::now();
    let mut rest = Vec::new();
    // It ends; what stands in it is a refusal at most.
    let _ = stream.read_to_end(&mut rest);
    assert!(started.elapsed() < Duration::from_secs(40), "{:?}", started.elapsed());
    assert!(!String::from_utf8_lossy(&rest).contains("200 OK"));
    assert_eq!(server.get("/v1/health").status, 200);
}

#[test]
fn more_streams_than_allowed_are_refused_until_one_ends() {
    let server = Server::start(&["--streams", "3"]);
    let mut open: Vec<Events> = (0..3).map(|_| server.events("/v1/events", &[])).collect();
    assert!(open.iter().all(|stream| stream.status == 200));
    let answer = server.get("/v1/events");
    assert_eq!((answer.status, answer.header("retry-after")), (503, Some("5")));
    assert_eq!(server.get("/v1/runs").status, 200, "other requests go on");
    drop(open.pop());
    let until = Instant::now() + Duration::from_secs(10);
    while server.events("/v1/events", &[]).status != 200 {
        assert!(Instant::now() < until, "the place is not given back");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_default_is_64_streams() {
    let server = Server::start(&[]);
    let open: Vec<Events> = (0..64).map(|_| server.events("/v1/events", &[])).collect();
    assert!(open.iter().all(|stream| stream.status == 200));
    assert_eq!(server.events("/v1/events", &[]).status, 503);
}

#[test]
fn a_unix_socket_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = testkit::looping::folder();
    let path = world.home().join("s.sock");
    let words = ["serve", "--no-token", "--listen", &format!("unix:{}", path.display())];
    let (home, search) = (world.home().display().to_string(), super::world::search_path());
    let env = [("HOME", home.as_str()), ("PATH", &search)];
    let service = testkit::Service::start(&super::world::binary(), world.wd(), &words, &env).expect("a server");
    assert!(service.greeting.starts_with("unix:"), "{}", service.greeting);
    assert_eq!(std::fs::metadata(&path).expect("a socket").permissions().mode() & 0o777, 0o600);
    let at = super::http::At::Socket(path.clone());
    assert_eq!(raw(&at, "GET", "/v1/me", &[("Host", "localhost")], b"").json()["access"], "full");
    assert_eq!(raw(&at, "GET", "/v1/me", &[("Host", "evil.test")], b"").status, 403);
    let (status, _) = service.end(rustix::process::Signal::TERM).expect("its end");
    assert!(status.success() && !path.exists());
}

#[test]
fn every_described_operation_is_there() {
    let server = Server::start(&[]);
    let document = server.get("/openapi.json").json();
    let paths = document["paths"].as_object().expect("paths");
    assert!(paths.len() > 40, "{}", paths.len());
    for (path, item) in paths {
        let filled = path.replace("{number}", "1").replace("/v1/goals/{id}", "/v1/goals/1").replace("{id}", "none");
        let filled = filled.replace("{file}", "app.js").replace("{server_id}", "none").replace("{agent}", "ralph");
        for method in
            item.as_object().expect("methods").keys().filter(|method| *method == "get" && path != "/v1/events")
        {
            let answer = server.send(&method.to_uppercase(), &filled, "", b"");
            assert_ne!(answer.status, 405, "{method} {path}");
            assert!(answer.status != 404 || !answer.text().contains("no such path"), "{method} {path}");
        }
    }
}
