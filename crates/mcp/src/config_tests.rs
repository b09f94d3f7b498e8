use super::*;
use serde_json::json;

fn var(name: &str) -> Option<String> {
    (name == "TOKEN").then(|| "t0k".to_owned())
}

fn one(entry: &Value) -> (Option<ServerConfig>, Vec<&'static str>) {
    let (mut servers, problems) = parse(&json!({"mcpServers": {"srv": entry}}), "project", &var);
    (servers.pop(), problems.iter().map(|problem| problem.kind).collect())
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn each_kind_of_server_is_understood() {
    let url = "https://x.test/mcp".to_owned();
    for (entry, expected) in [
        (
            json!({"command": "node", "args": ["s.js", "${TOKEN}"], "env": {"A": "${NO:-d}", "N": 7}}),
            Transport::Stdio {
                command: "node".into(),
                args: vec!["s.js".into(), "t0k".into()],
                env: pairs(&[("A", "d"), ("N", "7")]),
            },
        ),
        (json!({"type": "stdio", "command": "x"}), Transport::Stdio { command: "x".into(), args: vec![], env: vec![] }),
        (
            json!({"type": "http", "url": "https://x.test/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}),
            Transport::Http { url: url.clone(), headers: pairs(&[("Authorization", "Bearer t0k")]) },
        ),
        (
            json!({"type": "streamable-http", "url": "https://x.test/mcp"}),
            Transport::Http { url: url.clone(), headers: vec![] },
        ),
        (json!({"type": "sse", "url": "https://x.test/mcp"}), Transport::Sse { url, headers: vec![] }),
        (json!({"type": "sdk", "name": "srv"}), Transport::Sdk),
    ] {
        let (server, problems) = one(&entry);
        assert_eq!(problems, Vec::<&str>::new(), "{entry}");
        let server = server.unwrap();
        assert_eq!(server.source.is_some(), expected == Transport::Sdk, "{entry}");
        assert_eq!((server.transport, server.scope.as_str(), server.raw), (expected, "project", entry));
    }
}

#[test]
fn what_is_wrong_is_named() {
    for (entry, kind) in [
        (json!("x"), "invalid_config"),
        (json!({}), "missing_command"),
        (json!({"command": ""}), "missing_command"),
        (json!({"command": "x", "args": "y"}), "invalid_config"),
        (json!({"command": "x", "args": [1]}), "invalid_config"),
        (json!({"command": "x", "env": {"A": []}}), "invalid_config"),
        (json!({"url": "https://x.test"}), "url_missing_type"),
        (json!({"type": "http"}), "missing_url"),
        (json!({"type": "http", "url": "file:///etc"}), "invalid_url"),
        (json!({"type": "http", "url": "x.test"}), "invalid_url"),
        (json!({"type": "ws", "url": "ws://x.test"}), "unsupported_type"),
        (json!({"type": 5}), "unsupported_type"),
    ] {
        assert_eq!(one(&entry), (None, vec![kind]), "{entry}");
    }
}

#[test]
fn a_warning_leaves_the_server_usable() {
    for (entry, kind) in [
        (json!({"command": "${NOPE}"}), "missing_variable"),
        (json!({"command": "x", "timeout": 30}), "invalid_timeout"),
        (json!({"type": "http", "url": "https://x.test", "headersHelper": 7}), "invalid_headers_helper"),
    ] {
        let (server, problems) = one(&entry);
        assert_eq!((server.is_some(), problems), (true, vec![kind]), "{entry}");
    }
    let (server, _) = one(&json!({"command": "${NOPE}/x", "timeout": 5000, "alwaysLoad": true}));
    let server = server.unwrap();
    assert_eq!((server.timeout, server.always_load), (Some(Duration::from_secs(5)), true));
    assert!(matches!(server.transport, Transport::Stdio { command, .. } if command == "${NOPE}/x"));
}

#[test]
fn names_are_checked_and_a_bad_one_hides_nobody() {
    let stdio = json!({"command": "x"});
    let inner = json!({
        "good-1_A": stdio, "bad name": stdio, "": stdio, "ümlaut": stdio, "a.b": stdio, "workspace": stdio,
        "any name": {"type": "sdk"}, "computer-use": {"type": "sdk"},
    });
    for config in [inner.clone(), json!({"mcpServers": inner})] {
        let (servers, problems) = parse(&config, "user", &var);
        let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["good-1_A", "any name"]);
        let reserved = problems.iter().filter(|problem| problem.kind == "reserved_name").count();
        assert_eq!((problems.len(), reserved), (6, 2));
    }
}

#[test]
fn what_is_no_map_gives_no_servers() {
    for config in [json!([]), json!("x"), json!({"mcpServers": []}), json!(null)] {
        let (servers, problems) = parse(&config, "user", &var);
        assert_eq!((servers.len(), problems.len()), (0, 1), "{config}");
    }
}
