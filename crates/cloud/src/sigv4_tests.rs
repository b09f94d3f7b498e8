use super::*;
use serde_json::Value;

/// Requests recorded from a client that AWS accepts, and two computed for model ids with special characters.
const RECORDED: &str = include_str!("../testdata/sigv4-vectors.json");

fn keys(row: &Value) -> Keys {
    let token = row["signed_headers"]["x-amz-security-token"].as_str();
    Keys {
        access_key_id: row["access_key_id"].as_str().unwrap().to_owned(),
        secret_access_key: row["secret_access_key"].as_str().unwrap().to_owned(),
        session_token: token.map(str::to_owned),
    }
}

fn parsed(time: &str) -> Timestamp {
    let text =
        format!("{}-{}-{}T{}:{}:{}Z", &time[..4], &time[4..6], &time[6..8], &time[9..11], &time[11..13], &time[13..15]);
    text.parse().unwrap()
}

#[test]
fn recorded_requests_get_the_recorded_signature() {
    let rows: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
    assert!(rows.len() >= 5, "the vectors are there");
    for row in &rows {
        let note = row["note"].as_str().unwrap();
        let headers: Vec<(&str, &str)> = row["signed_headers"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        let ours = ["host", "x-amz-date", "x-amz-content-sha256", "x-amz-security-token"];
        let given: Vec<(&str, &str)> = headers.iter().filter(|(name, _)| !ours.contains(name)).copied().collect();
        let of = |wanted: &str| headers.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
        let request = Unsigned {
            method: row["method"].as_str().unwrap(),
            host: of("host").unwrap(),
            path: row["path_on_the_wire"].as_str().unwrap(),
            query: row["query"].as_str().unwrap(),
            headers: &given,
            body: row["body"].as_str().unwrap().as_bytes(),
        };
        let scope = Scope { region: row["region"].as_str().unwrap(), service: row["service"].as_str().unwrap() };
        let signed = sign(&request, &keys(row), scope, parsed(of("x-amz-date").unwrap()));
        let authorization = &signed.last().unwrap().1;
        let expected = format!("Signature={}", row["signature"].as_str().unwrap());
        assert!(authorization.ends_with(&expected), "{note}: {authorization}");
    }
}

/// From AWS's published suite: key AKIDEXAMPLE, 2015-08-30 12:36:00, us-east-1, service `service`.
#[test]
fn published_requests_get_the_published_canonical_form() {
    let headers = [
        ("host".to_owned(), "example.amazonaws.com".to_owned()),
        ("x-amz-date".to_owned(), "20150830T123600Z".to_owned()),
    ];
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let rows = [
        ("/", "", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
        ("/", "Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"),
    ];
    let keys = Keys {
        access_key_id: "AKIDEXAMPLE".into(),
        secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".into(),
        session_token: None,
    };
    let scope = Scope { region: "us-east-1", service: "service" };
    for (path, query, expected) in rows {
        let request = Unsigned { method: "GET", host: "example.amazonaws.com", path, query, headers: &[], body: b"" };
        let canonical = canonical_request(&request, &headers, empty);
        let to_sign = string_to_sign(&canonical, scope, "20150830T123600Z");
        assert_eq!(signature(&to_sign, &keys, scope, "20150830T123600Z"), expected, "{path}?{query}\n{canonical}");
    }
}

#[test]
fn paths_are_escaped_once_more_than_on_the_wire() {
    assert_eq!(canonical_path(""), "/");
    assert_eq!(
        canonical_path("/model/us.anthropic.claude-x-v1:0/invoke"),
        "/model/us.anthropic.claude-x-v1%3A0/invoke"
    );
    assert_eq!(canonical_path("/model/arn%3Aaws%2Fx/invoke"), "/model/arn%253Aaws%252Fx/invoke");
    assert_eq!(canonical_query("b=2&a=1&a=0&c"), "a=0&a=1&b=2&c=");
    assert_eq!(folded("  a   b\tc "), "a b c");
}

#[test]
fn keys_are_not_shown() {
    let keys = Keys {
        access_key_id: "AKIA".into(),
        secret_access_key: "topsecret".into(),
        session_token: Some("tokentoken".into()),
    };
    let shown = format!("{keys:?}");
    assert!(!shown.contains("topsecret") && !shown.contains("tokentoken"), "{shown}");
}
