//! Logging in to a remote server: discovery, registration, the browser's answer, tokens that are sent and renewed.

use super::{own, run, write};
use crate::common::loopback::{Arrived, Loopback, reply};
use crate::common::{call, claude, finish, say, tool_results, world};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use testkit::{Outcome, World};

const PATIENCE: Duration = Duration::from_secs(30);

/// An MCP server that wants a login, and the authorization server for it, at one address.
struct Service {
    web: Loopback,
    /// The token that counts now.
    token: Arc<Mutex<String>>,
}

fn json_reply(status: u16, value: &Value) -> Vec<u8> {
    reply(status, "application/json", &value.to_string())
}

fn parameter(form: &str, name: &str) -> String {
    let pair = form.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
    pair.unwrap_or_default().to_owned()
}

impl Service {
    /// `lives` are the seconds that each token is good for.
    fn start(lives: i64) -> Self {
        Self::revoking(lives, None)
    }

    /// One that says where tokens are revoked, and answers there with this status.
    fn revoking(lives: i64, revocation: Option<u16>) -> Self {
        let token = Arc::new(Mutex::new(String::new()));
        let current = Arc::clone(&token);
        let web = Loopback::start(move |request| answer(request, &current, lives, revocation));
        Self { web, token }
    }

    fn token(&self) -> String {
        self.token.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What was there does not count any more.
    fn revoke(&self) {
        "revoked".clone_into(&mut self.token.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn forms(&self) -> Vec<String> {
        self.forms_at("/token")
    }

    fn forms_at(&self, path: &str) -> Vec<String> {
        let line = format!("POST {path}");
        let asked = self.web.arrived().into_iter().filter(|request| request.line.starts_with(&line));
        asked.map(|request| String::from_utf8_lossy(&request.body).into_owned()).collect()
    }
}

fn answer(request: &Arrived, current: &Mutex<String>, lives: i64, revocation: Option<u16>) -> Vec<u8> {
    let host = format!("http://{}", request.header("host").unwrap_or_default());
    let path = request.line.split(' ').nth(1).unwrap_or_default();
    let body = String::from_utf8_lossy(&request.body).into_owned();
    match path {
        "/.well-known/oauth-protected-resource/mcp" => json_reply(
            200,
            &json!({"resource": format!("{host}/mcp"), "authorization_servers": [host], "scopes_supported": ["tools"]}),
        ),
        "/.well-known/oauth-authorization-server" => {
            let mut metadata = json!({"issuer": host, "authorization_endpoint": format!("{host}/authorize"), "token_endpoint": format!("{host}/token"),
                "registration_endpoint": format!("{host}/register"), "code_challenge_methods_supported": ["S256"]});
            if revocation.is_some() {
                metadata["revocation_endpoint"] = json!(format!("{host}/revoke"));
            }
            json_reply(200, &metadata)
        }
        "/revoke" => json_reply(revocation.unwrap_or(404), &json!({"error": "temporarily_unavailable"})),
        "/register" => json_reply(201, &json!({"client_id": "client-7"})),
        "/token" => {
            let mut token = current.lock().unwrap_or_else(PoisonError::into_inner);
            let fits = match parameter(&body, "grant_type").as_str() {
                "authorization_code" => {
                    parameter(&body, "code") == "the-code" && parameter(&body, "code_verifier").len() == 43
                }
                "refresh_token" => parameter(&body, "refresh_token").starts_with("renew-"),
                _ => false,
            };
            if !fits {
                return json_reply(400, &json!({"error": "invalid_grant"}));
            }
            let number = token.rsplit('-').next().and_then(|number| number.parse().ok()).unwrap_or(0) + 1;
            *token = format!("access-{number}");
            json_reply(
                200,
                &json!({"access_token": *token, "token_type": "Bearer", "expires_in": lives, "refresh_token": format!("renew-{number}")}),
            )
        }
        "/mcp" => {
            let wanted = format!("Bearer {}", current.lock().unwrap_or_else(PoisonError::into_inner));
            if request.header("authorization") == Some(&wanted) { rpc(&body) } else { challenge(&host) }
        }
        _ => reply(404, "text/plain", "no"),
    }
}

fn challenge(host: &str) -> Vec<u8> {
    let metadata = format!("{host}/.well-known/oauth-protected-resource/mcp");
    format!("HTTP/1.1 401 X\r\nwww-authenticate: Bearer resource_metadata=\"{metadata}\"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").into_bytes()
}

fn rpc(body: &str) -> Vec<u8> {
    let message: Value = serde_json::from_str(body).unwrap_or_default();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "t", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "hello", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "hello, friend"}]}),
        _ => return reply(202, "text/plain", ""),
    };
    json_reply(200, &json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

fn with_server(service: &Service, turns: Value) -> World {
    let world = world(turns);
    own(
        &world,
        ".claude.json",
        &json!({"mcpServers": {"tracker": {"type": "http", "url": format!("{}/mcp", service.web.url())}}}),
    );
    world
}

/// Logs in with a browser that writes down where it was sent, and answers as the page would.
fn log_in(world: &World, said: &str) -> Outcome {
    let page = world.home().join("page");
    let browser = write(
        world.home().join("browser"),
        &format!("#!/bin/sh\nprintf %s \"$1\" > {0}.new\nmv {0}.new {0}\n", page.display()),
    );
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).expect("a program");
    let said = said.to_owned();
    let visited = std::thread::spawn(move || {
        let until = Instant::now() + PATIENCE;
        while !page.exists() {
            assert!(Instant::now() < until, "no browser was opened");
            std::thread::sleep(Duration::from_millis(20));
        }
        let url = std::fs::read_to_string(&page).expect("the address");
        let query = url.split_once('?').expect("a query").1.to_owned();
        let redirect = parameter(&query, "redirect_uri").replace("%3A", ":").replace("%2F", "/");
        let address = redirect.strip_prefix("http://").expect("loopback").split('/').next().expect("a host").to_owned();
        for (state, status) in [("wrong".to_owned(), "404"), (parameter(&query, "state"), "200")] {
            let mut stream = TcpStream::connect(&address).expect("the callback");
            stream
                .write_all(format!("GET /callback?{said}&state={state} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes())
                .expect("sent");
            let mut page = String::new();
            stream.read_to_string(&mut page).expect("a page");
            assert!(page.starts_with(&format!("HTTP/1.1 {status}")), "{page}");
        }
        query
    });
    let outcome =
        finish(claude(world).args(["mcp", "login", "tracker"]).env("BROWSER", &browser.display().to_string()).close());
    let query = visited.join().expect("a browser");
    for part in ["code_challenge_method=S256", "client_id=client-7", "scope=tools", "resource=http"] {
        assert!(query.contains(part), "{query}");
    }
    outcome
}

fn hello(world: &World) -> Outcome {
    let words = ["-p", "hi", "--verbose", "--output-format", "stream-json", "--allowedTools", "mcp__tracker"];
    finish(claude(world).args(words).close())
}

/// The server's tool ran and answered.
fn greeted(outcome: &Outcome) -> bool {
    tool_results(outcome).last().is_some_and(|result| result.contains("hello, friend"))
}

#[test]
fn a_login_is_kept_for_this_user_and_sent_to_its_server() {
    let service = Service::start(3600);
    let turns = json!([call("mcp__tracker__hello", &json!({})), say("done"), say("done")]);
    let world = with_server(&service, turns);
    let before = run(&world, &["mcp", "list"]);
    assert!(before.lines[0].contains("! Needs authentication ('mcp login tracker')"), "{:?}", before.lines);
    let outcome = log_in(&world, "code=the-code");
    assert_eq!(
        (outcome.code, outcome.lines.last().map(String::as_str)),
        (Some(0), Some("Logged in to tracker.")),
        "{}",
        outcome.stderr
    );
    let file = world.home().join(".claude/.credentials.json");
    assert_eq!(std::fs::metadata(&file).expect("kept").permissions().mode() & 0o777, 0o600);
    assert!(!outcome.lines.join("\n").contains("access-1"), "no token is shown");
    let outcome = hello(&world);
    assert!(greeted(&outcome), "{:?}", outcome.lines);
    assert!(run(&world, &["mcp", "list"]).lines[0].contains("✓ Connected"));
    // Gone is gone.
    assert_eq!(run(&world, &["mcp", "logout", "tracker"]).code, Some(0));
    assert!(!std::fs::read_to_string(&file).expect("kept").contains("access-1"));
    let again = run(&world, &["mcp", "logout", "tracker"]);
    assert!(again.code == Some(1) && again.stderr.contains("nobody is logged in"), "{}", again.stderr);
    assert!(run(&world, &["mcp", "list"]).lines[0].contains("Needs authentication"));
}

/// A copy of the tokens is worth nothing after the logout, and a server that refuses keeps nobody logged in here.
#[test]
fn a_logout_revokes_the_tokens_and_removes_them_whatever_the_server_says() {
    for (status, revoked) in [(200, true), (503, false)] {
        let service = Service::revoking(3600, Some(status));
        let world = with_server(&service, json!([]));
        assert_eq!(log_in(&world, "code=the-code").code, Some(0));
        let outcome = run(&world, &["mcp", "logout", "tracker"]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let forms = service.forms_at("/revoke");
        let expected = ["token=renew-1&token_type_hint=refresh_token", "token=access-1&token_type_hint=access_token"];
        assert_eq!(forms.len(), if revoked { 2 } else { 1 }, "{forms:?}");
        for (form, expected) in forms.iter().zip(expected) {
            assert_eq!(form, &format!("{expected}&client_id=client-7"));
        }
        assert_eq!(outcome.lines[0].contains("revoked at the server"), revoked, "{:?}", outcome.lines);
        let warned = outcome.stderr.contains("the tokens of tracker may still work") && outcome.stderr.contains("503");
        assert!(if revoked { outcome.stderr.is_empty() } else { warned }, "{}", outcome.stderr);
        assert_eq!(outcome.stderr.lines().count(), usize::from(!revoked), "{}", outcome.stderr);
        let kept = std::fs::read_to_string(world.home().join(".claude/.credentials.json")).unwrap_or_default();
        assert!(!kept.contains("access-1") && !kept.contains("renew-1"), "the tokens are still here");
    }
}

#[test]
fn tokens_that_are_over_or_refused_are_renewed_and_kept() {
    // Over at once: within the margin in which a token may die on its way.
    let service = Service::start(30);
    let turns = json!([
        call("mcp__tracker__hello", &json!({})),
        say("done"),
        call("mcp__tracker__hello", &json!({})),
        say("done")
    ]);
    let world = with_server(&service, turns);
    assert_eq!(log_in(&world, "code=the-code").code, Some(0));
    assert_eq!(service.token(), "access-1");
    assert!(greeted(&hello(&world)));
    assert!(service.forms().iter().any(|form| form.contains("refresh_token=renew-1")), "{:?}", service.forms());
    let kept = std::fs::read_to_string(world.home().join(".claude/.credentials.json")).expect("kept");
    assert!(kept.contains(&service.token()), "the renewed token is kept");
    let service = Service::start(3600);
    let world = with_server(&service, json!([call("mcp__tracker__hello", &json!({})), say("done")]));
    assert_eq!(log_in(&world, "code=the-code").code, Some(0));
    service.revoke();
    assert!(greeted(&hello(&world)));
    assert_eq!(service.forms().len(), 2, "one code, one renewal: {:?}", service.forms());
}

#[test]
fn a_login_that_is_refused_leaves_nothing() {
    let service = Service::start(3600);
    let world = with_server(&service, json!([]));
    for (said, words) in [("error=access_denied", "access_denied"), ("code=another", "invalid_grant")] {
        let outcome = log_in(&world, said);
        assert!(outcome.code == Some(1) && outcome.stderr.contains(words), "{}", outcome.stderr);
        assert!(!world.home().join(".claude/.credentials.json").exists());
        std::fs::remove_file(world.home().join("page")).expect("the page");
    }
    for (name, words) in [("nobody", "No MCP server found"), ("local", "not a remote server")] {
        own(&world, ".claude.json", &json!({"mcpServers": {"local": {"command": "sleep", "args": ["1"]}}}));
        let refused = run(&world, &["mcp", "login", name]);
        assert!(refused.code == Some(1) && refused.stderr.contains(words), "{}", refused.stderr);
    }
}

#[test]
fn a_client_gets_the_page_and_may_clear_a_login() {
    let service = Service::revoking(3600, Some(200));
    let world = with_server(&service, json!([say("done")]));
    assert_eq!(log_in(&world, "code=the-code").code, Some(0));
    let ask = |id: &str, request: Value| json!({"type": "control_request", "request_id": id, "request": request});
    let answered = |id: &str| json!({"type": "control_response", "response": {"request_id": id}});
    let named = |subtype: &str| json!({"subtype": subtype, "serverName": "tracker"});
    let mut wrong = named("mcp_oauth_callback_url");
    wrong["callbackUrl"] = json!("http://127.0.0.1/callback?code=x&state=guess");
    let run = claude(&world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .send(ask("status", json!({"subtype": "mcp_status"})))
        .wait(answered("status"))
        .send(ask("clear", named("mcp_clear_auth")))
        .wait(answered("clear"))
        .send(ask("cleared", json!({"subtype": "mcp_status"})))
        .wait(answered("cleared"))
        .send(ask("page", named("mcp_authenticate")))
        .wait(answered("page"))
        .send(ask("wrong", wrong))
        .wait(answered("wrong"));
    let outcome = finish(run.close());
    assert!(outcome.unmet.is_empty(), "{:?}", outcome.lines);
    let answers: Vec<Value> = outcome.events().into_iter().map(|event| event["response"].clone()).collect();
    let answer = |id: &str| answers.iter().find(|answer| answer["request_id"] == id).expect(id).clone();
    assert_eq!(answer("cleared")["response"]["mcpServers"][0]["status"], "needs-auth");
    let page = answer("page")["response"].clone();
    assert_eq!(page["requiresUserAction"], true);
    assert!(
        page["authUrl"].as_str().is_some_and(|url| url.starts_with(&format!("{}/authorize?", service.web.url()))),
        "{page}"
    );
    assert_eq!(answer("wrong")["subtype"], "error");
    let revoked = service.forms_at("/revoke");
    assert_eq!(revoked.len(), 2, "both tokens are revoked at the server: {revoked:?}");
    assert!(revoked[0].starts_with("token=renew-1&") && revoked[1].starts_with("token=access-1&"), "{revoked:?}");
}

/// The login is gone from this machine whatever the server says, and the client's answer does not wait for a server that is
/// silent.
#[test]
fn a_login_that_a_client_clears_is_removed_even_if_nobody_revokes_it() {
    let service = Service::revoking(3600, Some(503));
    let world = with_server(&service, json!([]));
    assert_eq!(log_in(&world, "code=the-code").code, Some(0));
    let request = json!({"subtype": "mcp_clear_auth", "serverName": "tracker"});
    let run = claude(&world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .send(json!({"type": "control_request", "request_id": "clear", "request": request}))
        .wait(json!({"type": "control_response", "response": {"request_id": "clear", "subtype": "success"}}));
    let outcome = finish(run.close());
    assert!(outcome.unmet.is_empty(), "{:?}", outcome.lines);
    assert!(outcome.stderr.contains("the tokens of tracker may still work"), "{}", outcome.stderr);
    let kept = std::fs::read_to_string(world.home().join(".claude/.credentials.json")).unwrap_or_default();
    assert!(!kept.contains("access-1") && !kept.contains("renew-1"), "the tokens are still here");
}
