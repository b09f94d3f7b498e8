//! Complaint 21: a login that is shared by several processes, and refreshed by one of them.

use crate::common::loopback::{Loopback, reply};
use crate::common::{claude, finish, say, world};
use crate::kit::{only_result, stream};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use testkit::{Run, World};

/// Slow enough that both processes have seen the expired login before one of them has a new one.
const SLOW: Duration = Duration::from_millis(500);

/// A token endpoint. A refresh token is good for one refresh, as at the real one.
fn endpoint(refreshes: usize) -> Loopback {
    let answered = AtomicUsize::new(0);
    Loopback::start(move |_| {
        std::thread::sleep(SLOW);
        let tokens = json!({"access_token": "new-access", "refresh_token": "new-refresh", "expires_in": 3600});
        if answered.fetch_add(1, Ordering::SeqCst) < refreshes {
            reply(200, "application/json", &tokens.to_string())
        } else {
            reply(400, "application/json", r#"{"error": "invalid_grant"}"#)
        }
    })
}

fn asked(endpoint: &Loopback) -> Vec<Value> {
    endpoint.arrived().iter().map(|request| serde_json::from_slice(&request.body).expect("JSON")).collect()
}

fn world_with_login(expires_at_ms: i64, turns: Value) -> World {
    let world = world(turns);
    let login = json!({
        "claudeAiOauth": {"accessToken": "old-access", "refreshToken": "old-refresh", "expiresAt": expires_at_ms,
                          "scopes": ["user:inference"]},
        "mcpOAuth": {"kept": true},
    });
    let folder = world.home().join(".claude");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join(".credentials.json"), login.to_string()).expect("a login");
    world
}

fn stored(world: &World) -> Value {
    let text = std::fs::read_to_string(world.home().join(".claude/.credentials.json")).expect("the login");
    serde_json::from_str(&text).expect("JSON")
}

fn logged_in(run: Run, endpoint: &Loopback) -> Run {
    run.without_env("ANTHROPIC_API_KEY").env("RALPH_OAUTH_REFRESH_URL", &format!("http://{}/token", endpoint.address))
}

fn bearers(world: &World) -> Vec<Option<String>> {
    world.mock().requests().iter().map(|request| request.headers.get("authorization").cloned()).collect()
}

const LONG_AGO: i64 = 1_000;
const FAR_OFF: i64 = 9_999_999_999_999;

#[test]
fn c21_27933_two_processes_refresh_once() {
    let world = world_with_login(LONG_AGO, json!([say("ok"), say("ok"), say("ok")]));
    let endpoint = endpoint(1);
    let outcomes: Vec<_> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..2).map(|_| scope.spawn(|| finish(logged_in(stream(&world, "go"), &endpoint)))).collect();
        runs.into_iter().map(|run| run.join().expect("a run")).collect()
    });
    for outcome in outcomes {
        assert_eq!((&only_result(&outcome)["result"], outcome.code), (&json!("ok"), Some(0)), "{}", outcome.stderr);
    }
    let asked_for = asked(&endpoint);
    assert_eq!(asked_for.len(), 1, "refreshed more than once");
    assert_eq!(
        (&asked_for[0]["grant_type"], &asked_for[0]["refresh_token"]),
        (&json!("refresh_token"), &json!("old-refresh"))
    );
    let login = stored(&world);
    assert_eq!(login["claudeAiOauth"]["accessToken"], "new-access");
    assert_eq!(login["claudeAiOauth"]["refreshToken"], "new-refresh");
    assert_eq!(
        (&login["claudeAiOauth"]["scopes"][0], &login["mcpOAuth"]["kept"]),
        (&json!("user:inference"), &json!(true))
    );
    let later = finish(logged_in(stream(&world, "go"), &endpoint));
    assert_eq!((later.code, asked(&endpoint).len()), (Some(0), 1), "the stored login was not used");
    assert_eq!(bearers(&world), vec![Some("Bearer new-access".to_owned()); 3]);
}

#[test]
fn c21_43392_a_login_refused_by_the_api_is_refreshed_once() {
    let world = world_with_login(FAR_OFF, json!([{"status": 401}, say("ok")]));
    let endpoint = endpoint(1);
    let outcome = finish(logged_in(stream(&world, "go"), &endpoint));
    assert_eq!((&only_result(&outcome)["result"], outcome.code), (&json!("ok"), Some(0)), "{}", outcome.stderr);
    let sent = ["Bearer old-access", "Bearer new-access"].map(|token| Some(token.to_owned()));
    assert_eq!((bearers(&world), asked(&endpoint).len()), (sent.to_vec(), 1));
}

#[test]
fn c21_80585_a_refresh_that_fails_is_said_and_the_login_kept() {
    let world = world_with_login(LONG_AGO, json!([say("never")]));
    let endpoint = endpoint(0);
    let outcome = finish(logged_in(claude(&world).args(["-p", "go"]), &endpoint));
    assert_eq!(outcome.code, Some(1));
    assert!(outcome.lines.join("\n").contains("Please run /login"), "{:?}", outcome.lines);
    assert_eq!(stored(&world)["claudeAiOauth"]["refreshToken"], "old-refresh");
    assert!(world.mock().requests().is_empty());
    assert!(!format!("{:?}{}", outcome.lines, outcome.stderr).contains("old-"), "a token was shown");
}
