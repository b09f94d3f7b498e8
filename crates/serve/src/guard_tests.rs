use super::*;

fn config() -> GuardConfig {
    GuardConfig {
        hosts: vec!["127.0.0.1:4747".into(), "localhost:4747".into()],
        cookie: "ralph-4747".into(),
        tokens: Some(Tokens { full: "full-token".into(), read: "read-token".into() }),
    }
}

const HOST: RequestHead<'static> = RequestHead {
    method: "GET",
    path: "/v1/runs",
    host: Some("127.0.0.1:4747"),
    authority: None,
    origin: None,
    fetch_site: None,
    authorization: None,
    cookie: None,
    query_token: None,
};
const FULL: RequestHead<'static> = RequestHead { authorization: Some("Bearer full-token"), ..HOST };
const READ: RequestHead<'static> = RequestHead { authorization: Some("Bearer read-token"), ..HOST };
const COOKIE: RequestHead<'static> = RequestHead { cookie: Some("a=b; ralph-4747=full-token"), ..HOST };
const OURS: Option<&str> = Some("http://127.0.0.1:4747");

fn refused(head: RequestHead<'_>) -> Refused {
    match guard(&head, &config()) {
        GuardDecision::Refuse(refused) => refused,
        GuardDecision::Allow(access) => panic!("{head:?} is allowed as {access:?}"),
    }
}

fn allowed(head: RequestHead<'_>) -> Access {
    match guard(&head, &config()) {
        GuardDecision::Allow(access) => access,
        GuardDecision::Refuse(refused) => panic!("{head:?} is refused: {refused}"),
    }
}

#[test]
fn a_host_that_is_not_listed_is_refused_even_with_the_right_token() {
    for host in [None, Some(""), Some("evil.test"), Some("evil.test:4747"), Some("127.0.0.1"), Some("127.0.0.1:80")] {
        assert_eq!(refused(RequestHead { host, ..FULL }), Refused::Host, "{host:?}");
    }
    // After rebinding, origin and host agree with each other.
    let rebound = RequestHead { host: Some("evil.test:4747"), origin: Some("http://evil.test:4747"), ..FULL };
    assert_eq!(refused(rebound), Refused::Host);
    assert_eq!(refused(RequestHead { host: Some("evil.test"), path: "/", ..HOST }), Refused::Host);
    assert_eq!(refused(RequestHead { authority: Some("evil.test"), ..FULL }), Refused::Host);
    assert_eq!(allowed(RequestHead { host: Some("LOCALHOST:4747"), ..FULL }), Access::Full);
}

#[test]
fn other_pages_are_refused_whatever_they_send() {
    for origin in ["http://evil.test", "null", "http://127.0.0.1:3000", "http://localhost", "file://", "127.0.0.1:4747"]
    {
        assert_eq!(refused(RequestHead { origin: Some(origin), ..FULL }), Refused::Origin, "{origin}");
        assert_eq!(refused(RequestHead { origin: Some(origin), ..COOKIE }), Refused::Origin, "{origin}");
    }
    for site in ["cross-site", "same-site", "strange"] {
        assert_eq!(refused(RequestHead { fetch_site: Some(site), ..COOKIE }), Refused::CrossSite, "{site}");
    }
    // A link to the page may stand on any page; the page has no data without the cookie.
    assert_eq!(allowed(RequestHead { path: "/", fetch_site: Some("cross-site"), ..HOST }), Access::Open);
    assert_eq!(allowed(RequestHead { fetch_site: Some("same-origin"), ..COOKIE }), Access::Full);
}

#[test]
fn a_token_is_needed_for_everything_but_the_page() {
    for path in ["/v1/runs", "/v1/agents", "/v1/fs/file", "/nothing", "/v1/healthy", "/pages"] {
        assert_eq!(refused(RequestHead { path, ..HOST }), Refused::NoToken, "{path}");
    }
    for path in ["/", "/ui", "/page/app.js", "/openapi.json", "/v1/health"] {
        assert_eq!(allowed(RequestHead { path, ..HOST }), Access::Open, "{path}");
        assert_ne!(refused(RequestHead { path, method: "POST", ..HOST }), Refused::Host, "{path}");
    }
    assert_eq!(allowed(RequestHead { path: "/v1/login", method: "POST", ..HOST }), Access::Open);
}

#[test]
fn wrong_tokens_are_wrong_wherever_they_stand() {
    for header in ["Bearer wrong", "Bearer ", "Bearer", "full-token", "Basic full-token", "Bearer full-token2", ""] {
        assert_eq!(refused(RequestHead { authorization: Some(header), ..HOST }), Refused::WrongToken, "{header}");
        // A cookie does not help a wrong header.
        assert_eq!(refused(RequestHead { authorization: Some(header), ..COOKIE }), Refused::WrongToken, "{header}");
    }
    assert_eq!(refused(RequestHead { cookie: Some("ralph-4747=wrong"), ..HOST }), Refused::WrongToken);
    assert_eq!(refused(RequestHead { cookie: Some("ralph-4748=full-token"), ..HOST }), Refused::NoToken);
    assert_eq!(refused(RequestHead { query_token: Some("full-token"), ..HOST }), Refused::NoToken);
    assert_eq!(allowed(FULL), Access::Full);
    assert_eq!(allowed(COOKIE), Access::Full);
}

#[test]
fn an_empty_token_opens_nothing() {
    let config = GuardConfig { tokens: Some(Tokens { full: String::new(), read: String::new() }), ..config() };
    for head in
        [RequestHead { authorization: Some("Bearer "), ..HOST }, RequestHead { cookie: Some("ralph-4747="), ..HOST }]
    {
        assert_eq!(guard(&head, &config), GuardDecision::Refuse(Refused::WrongToken), "{head:?}");
    }
}

#[test]
fn the_read_only_token_changes_nothing() {
    assert_eq!(allowed(READ), Access::ReadOnly);
    assert_eq!(allowed(RequestHead { method: "HEAD", ..READ }), Access::ReadOnly);
    for method in ["POST", "PUT", "DELETE"] {
        assert_eq!(refused(RequestHead { method, ..READ }), Refused::ReadOnly, "{method}");
    }
    assert_eq!(refused(RequestHead { path: "/v1/processes/p1/terminal/ws", ..READ }), Refused::ReadOnly);
    assert_eq!(allowed(RequestHead { path: "/v1/processes/p1/logs", ..READ }), Access::ReadOnly);
}

#[test]
fn changes_by_cookie_must_say_where_they_come_from() {
    for method in ["POST", "PUT", "DELETE"] {
        assert_eq!(refused(RequestHead { method, ..COOKIE }), Refused::NoOrigin, "{method}");
        assert_eq!(allowed(RequestHead { method, origin: OURS, ..COOKIE }), Access::Full, "{method}");
        assert_eq!(allowed(RequestHead { method, ..FULL }), Access::Full, "{method}");
    }
    let terminal = RequestHead { path: "/v1/processes/p1/terminal/ws", ..COOKIE };
    assert_eq!(refused(terminal), Refused::NoOrigin);
    assert_eq!(allowed(RequestHead { origin: OURS, ..terminal }), Access::Full);
    let by_query = RequestHead { query_token: Some("full-token"), cookie: None, ..terminal };
    assert_eq!(allowed(by_query), Access::Full);
}

#[test]
fn other_methods_are_not_served() {
    for method in ["OPTIONS", "PATCH", "TRACE", "CONNECT", "get", ""] {
        assert_eq!(refused(RequestHead { method, ..FULL }), Refused::Method, "{method}");
    }
}

#[test]
fn without_tokens_the_other_rules_stay() {
    let config = GuardConfig { tokens: None, ..config() };
    assert_eq!(guard(&HOST, &config), GuardDecision::Allow(Access::Full));
    let hostile = RequestHead { host: Some("evil.test"), ..HOST };
    assert_eq!(guard(&hostile, &config), GuardDecision::Refuse(Refused::Host));
    let hostile = RequestHead { origin: Some("http://evil.test"), ..HOST };
    assert_eq!(guard(&hostile, &config), GuardDecision::Refuse(Refused::Origin));
}
