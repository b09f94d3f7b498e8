//! Goals by HTTP.

use super::world::Server;
use serde_json::json;

#[test]
fn goals_are_added_commented_answered_and_cancelled() {
    let server = Server::start(&[]);
    assert_eq!(server.get("/v1/goals").json()["goals"], json!([]));
    assert_eq!(server.post("/v1/goals", &json!({"text": " "})).status, 400);
    assert_eq!(server.post("/v1/goals", &json!({"text": "x", "folder": "/etc"})).status, 403);
    let body = json!({"text": "--accept CRLF\nin the parser", "title": "CRLF", "checks": ["true"], "priority": 2, "draft": true});
    let added = server.post("/v1/goals", &body);
    assert_eq!(added.status, 201, "{}", added.text());
    let goal = added.json();
    assert_eq!(
        (goal["title"].as_str(), goal["state"].as_str(), goal["priority"].as_i64()),
        (Some("CRLF"), Some("draft"), Some(2))
    );
    let path = format!("/v1/goals/{}", goal["id"]);
    assert_eq!(server.post(&format!("{path}/comment"), &json!({"text": "tabs, too"})).status, 200);
    let shown = server.get(&path).json();
    assert_eq!(
        (shown["comments"][0]["body"].as_str(), shown["spec"]["checks"][0].as_str()),
        (Some("tabs, too"), Some("true"))
    );
    assert_eq!(server.post(&format!("{path}/answer"), &json!({"text": "yes"})).status, 409, "it asks nothing");
    assert_eq!(server.post(&format!("{path}/queue"), &json!({})).json()["state"], "queued");
    assert_eq!(server.send("PUT", &path, "application/json", br#"{"priority": 9}"#).json()["priority"], 9);
    assert_eq!(server.post(&format!("{path}/cancel"), &json!({})).json()["state"], "cancelled");
    assert_eq!(server.post(&format!("{path}/retry"), &json!({})).json()["state"], "queued");
    assert_eq!(server.get("/v1/goals?state=queued").json()["goals"].as_array().map(Vec::len), Some(1));
    assert_eq!(server.get("/v1/goals?state=nonsense").status, 400);
    assert_eq!(server.get("/v1/goals/77").status, 404);
    assert!(server.get(&format!("{path}/log")).json()["lines"].is_array());
}
