//! Stored logins: when they count, when they have expired, and how they are renewed.

use super::{Shown, bearer, identities, identity, own, plain, streamed};
use crate::common::{say, world};
use crate::loopback::{Loopback, reply};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, SystemTime};
use testkit::{Run, World};

const FILE: &str = ".claude/.credentials.json";

/// Now and that many seconds, in milliseconds since 1970.
fn from_now(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(now.as_millis()).unwrap() + seconds * 1000
}

fn logged_in(world: &World, expires: &Value, refresh: Option<&str>) {
    let mut login =
        json!({"claudeAiOauth": {"accessToken": "old-access", "scopes": ["user:inference"]}, "mcpOAuth": {"kept": 1}});
    if !expires.is_null() {
        login["claudeAiOauth"]["expiresAt"] = expires.clone();
    }
    if let Some(token) = refresh {
        login["claudeAiOauth"]["refreshToken"] = json!(token);
    }
    own(world, FILE, &login);
}

fn stored(world: &World) -> Value {
    serde_json::from_str(&std::fs::read_to_string(world.home().join(FILE)).unwrap()).unwrap()
}

fn token_endpoint(status: u16, body: &'static str) -> Loopback {
    Loopback::start(move |_| reply(status, "application/json", body))
}

fn refreshing(world: &World, endpoint: &Loopback) -> Run {
    streamed(world).env("RALPH_OAUTH_REFRESH_URL", &format!("http://{}/token", endpoint.address))
}

const TOKENS: &str = r#"{"access_token": "new-access", "refresh_token": "new-refresh", "expires_in": 3600}"#;

#[test]
fn the_end_of_a_login_may_be_a_number_or_a_date() {
    for (expires, counts) in [
        (json!(null), true),
        (json!(from_now(3600)), true),
        (json!(from_now(3600).to_string()), true),
        (json!("2099-12-31T23:59:59Z"), true),
        (json!("2099-12-31T23:59:59.123+02:00"), true),
        (json!("2099-12-31T23:59:59"), true),
        (json!(from_now(-1)), false),
        (json!(1), false),
        (json!("2001-01-01T00:00:00Z"), false),
        (json!("some day"), false),
        (json!(true), false),
    ] {
        let world = plain();
        logged_in(&world, &expires, None);
        let (outcome, seen) = identities(&world, streamed(&world));
        let expected: Vec<Shown> = counts.then(|| bearer("old-access")).into_iter().collect();
        assert_eq!((seen, outcome.code), (expected, Some(i32::from(!counts))), "{expires}: {}", outcome.stderr);
    }
}

#[test]
fn an_expired_login_is_renewed_and_stored() {
    for expires in [json!(1), json!("2001-01-01T00:00:00Z"), json!(from_now(60))] {
        let world = plain();
        logged_in(&world, &expires, Some("old-refresh"));
        let endpoint = token_endpoint(200, TOKENS);
        assert_eq!(identity(&world, refreshing(&world, &endpoint)), bearer("new-access"), "{expires}");
        let asked = endpoint.arrived();
        assert_eq!(asked.len(), 1, "{expires}");
        assert!(asked[0].line.starts_with("POST /token "), "{}", asked[0].line);
        let body: Value = serde_json::from_slice(&asked[0].body).unwrap();
        assert_eq!((&body["grant_type"], &body["refresh_token"]), (&json!("refresh_token"), &json!("old-refresh")));
        assert!(asked[0].header("authorization").is_none() && asked[0].header("x-api-key").is_none());

        let login = stored(&world);
        assert_eq!(login["claudeAiOauth"]["accessToken"], "new-access");
        assert_eq!(login["claudeAiOauth"]["refreshToken"], "new-refresh");
        assert!(login["claudeAiOauth"]["expiresAt"].as_i64().unwrap() > from_now(3000));
        assert_eq!(
            (&login["mcpOAuth"]["kept"], &login["claudeAiOauth"]["scopes"][0]),
            (&json!(1), &json!("user:inference"))
        );
        let mode = std::fs::metadata(world.home().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        // The next process takes the stored one and asks nobody.
        assert_eq!(identity(&world, refreshing(&world, &endpoint)), bearer("new-access"));
        assert_eq!(endpoint.arrived().len(), 1);
    }
}

#[test]
fn a_login_that_lives_is_not_renewed() {
    let world = plain();
    logged_in(&world, &json!(from_now(3600)), Some("old-refresh"));
    let endpoint = token_endpoint(200, TOKENS);
    assert_eq!(identity(&world, refreshing(&world, &endpoint)), bearer("old-access"));
    assert!(endpoint.arrived().is_empty());
}

#[test]
fn a_living_login_beats_one_that_must_be_renewed() {
    let world = plain();
    logged_in(&world, &json!(1), Some("old-refresh"));
    own(&world, ".claude-oauth-credentials.json", &json!({"claudeAiOauth": {"accessToken": "alive"}}));
    let endpoint = token_endpoint(200, TOKENS);
    assert_eq!(identity(&world, refreshing(&world, &endpoint)), bearer("alive"));
    assert!(endpoint.arrived().is_empty());
}

#[test]
fn a_refused_login_is_renewed_once() {
    let world = world(json!([{"status": 401}, say("fine")]));
    logged_in(&world, &json!(from_now(3600)), Some("old-refresh"));
    let endpoint = token_endpoint(200, TOKENS);
    let (outcome, seen) = identities(&world, refreshing(&world, &endpoint));
    assert_eq!(seen, [bearer("old-access"), bearer("new-access")]);
    assert_eq!((outcome.code, &outcome.result().unwrap()["result"]), (Some(0), &json!("fine")), "{}", outcome.stderr);
}

#[test]
fn a_login_that_cannot_be_renewed_says_so_and_stays_as_it_is() {
    for (status, body) in
        [(400, r#"{"error": "invalid_grant", "token": "old-refresh"}"#), (500, "old-refresh"), (200, "<html>")]
    {
        let world = plain();
        logged_in(&world, &json!(1), Some("old-refresh"));
        let before = stored(&world);
        let endpoint = token_endpoint(status, body);
        let (outcome, seen) = identities(&world, refreshing(&world, &endpoint));
        let result = outcome.result().unwrap();
        assert_eq!((outcome.code, seen.len(), &result["is_error"]), (Some(1), 0, &json!(true)), "{status}");
        assert!(result["result"].as_str().unwrap().starts_with("Login expired · Please run /login"), "{result}");
        assert_eq!(stored(&world), before);
        let said = format!("{}{}", outcome.stderr, outcome.lines.concat());
        assert!(!said.contains("old-refresh") && !said.contains("old-access"), "{said}");
    }
    // Close to its end and the endpoint is down: better the old token than none.
    let world = plain();
    logged_in(&world, &json!(from_now(60)), Some("old-refresh"));
    assert_eq!(identity(&world, refreshing(&world, &token_endpoint(503, ""))), bearer("old-access"));
}

#[test]
fn a_broken_login_file_is_no_login_and_is_left_alone() {
    for text in ["{broken", "[]", "{}", r#"{"claudeAiOauth": {"accessToken": ""}}"#] {
        let world = plain();
        super::write(&world.home().join(FILE), text);
        let (outcome, seen) = identities(&world, streamed(&world));
        assert_eq!((outcome.code, seen.len()), (Some(1), 0), "{text}");
        assert_eq!(std::fs::read_to_string(world.home().join(FILE)).unwrap(), text);
    }
}
