use super::*;
use serde_json::json;

#[test]
fn addresses_fit_their_patterns() {
    for (pattern, url, expected) in [
        ("https://a.test/*", "https://a.test/mcp", true),
        ("https://a.test/*", "https://a.test.evil/mcp", false),
        ("https://*.a.test/*", "https://x.a.test/mcp", true),
        ("https://*.a.test/*", "https://a.test/mcp", false),
        ("https://a.test/mcp", "https://a.test/mcp", true),
        ("https://a.test/mcp", "https://a.test/mcp/more", false),
        ("*/mcp", "https://a.test/mcp", true),
        ("*/mcp", "https://a.test/mcp/x", false),
        ("*", "anything", true),
        ("", "anything", false),
    ] {
        assert_eq!(fits(pattern, url), expected, "{pattern} and {url}");
    }
}

fn variable(name: &str) -> Option<String> {
    match name {
        "HOME" => Some("/home/me".to_owned()),
        "GITHUB_TOKEN" | "ANTHROPIC_API_KEY" | "PLAIN" => Some("secret".to_owned()),
        _ => None,
    }
}

fn taken(entry: &Value, trusted: bool) -> Found {
    let mut found = Found::default();
    let servers = [("s".to_owned(), entry.clone())].into_iter().collect();
    let settings = Settings { folder_is_trusted: trusted, ..Settings::default() };
    found.take_project(servers, &settings, &variable);
    found
}

#[test]
fn a_folders_server_gets_variables_and_a_helper_only_where_the_folder_is_trusted() {
    let remote = |url: &str, key: &str, value: &str| json!({"type": "http", "url": url, "headers": {key: value}});
    for entry in [
        remote("https://a.test/${ANTHROPIC_API_KEY}", "A", "b"),
        remote("https://a.test/", "A", "Bearer ${GITHUB_TOKEN}"),
        remote("https://a.test/", "A", "${PLAIN}"),
        remote("https://a.test/", "A", "${NOT_SET:-x}${PLAIN:-y}"),
        json!({"command": "${PLAIN}/x", "args": ["${GITHUB_TOKEN}"], "env": {"K": "${ANTHROPIC_API_KEY}"}}),
        json!({"type": "sse", "url": "https://${PLAIN}.test/mcp"}),
    ] {
        let found = taken(&entry, true);
        assert!(format!("{:?}", found.servers[0].transport).contains("secret"), "{entry}");
        assert_eq!(found.servers[0].inherits, Inherits::Everything);
        let found = taken(&entry, false);
        assert!(!format!("{:?}{:?}", found.servers, found.problems).contains("secret"), "{entry}");
        assert!(found.servers.iter().all(|server| server.inherits == Inherits::Basics), "{entry}");
    }
    let found = taken(&json!({"command": "${HOME}/bin/server"}), false);
    assert!(format!("{:?}", found.servers[0].transport).contains("/home/me/bin/server"));
    assert!(found.problems.is_empty());
    let helped = json!({"type": "http", "url": "https://two.test/mcp", "headersHelper": "./token"});
    for trusted in [false, true] {
        let found = taken(&helped, trusted);
        assert_eq!((found.servers[0].headers_helper.is_some(), found.problems.is_empty()), (trusted, trusted));
    }
}

#[test]
fn what_is_no_map_of_servers_is_one_problem_and_no_panic() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(".mcp.json");
    assert_eq!(project(&file).unwrap(), Map::new(), "a missing file");
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    for (text, expected) in [
        ("1", "not a JSON object"),
        ("[]", "not a JSON object"),
        ("\"x\"", "not a JSON object"),
        ("null", "not a JSON object"),
        (r#"{"mcpServers": 3}"#, "not an object"),
        (r#"{"mcpServers": []}"#, "not an object"),
        (r#"{"mcpServers": "x"}"#, "not an object"),
        (r#"{"mcpServers": {"a": {}, "a": {}}}"#, "twice"),
        (r#"{"mcpServers": {}, "mcpServers": {}}"#, "twice"),
        ("{", "not JSON"),
        ("", "not JSON"),
        (&deep, "not JSON"),
    ] {
        std::fs::write(&file, text).unwrap();
        let reason = project(&file).unwrap_err().to_string();
        assert!(reason.contains(expected), "{text:.40}: {reason}");
        assert!(managed(&file).is_err(), "{text:.40}");
    }
    std::fs::write(&file, b"{\"a\": \"\xff\"}").unwrap();
    assert!(project(&file).unwrap_err().to_string().contains("UTF-8"));
    for text in ["{}", r#"{"mcpServers": null}"#, r#"{"other": 1}"#] {
        std::fs::write(&file, text).unwrap();
        assert_eq!(project(&file).unwrap(), Map::new(), "{text}");
    }
    for entry in [json!(1), json!([]), json!("x"), json!(null), json!({}), json!({"command": 3}), json!({"type": {}})] {
        let found = taken(&entry, false);
        assert_eq!((found.servers.len(), found.problems.len()), (0, 1), "{entry}");
    }
}

#[test]
fn lists_decide_which_servers_count() {
    let configured = json!({"mcpServers": {
        "one": {"command": "run", "args": ["it"]}, "two": {"type": "http", "url": "https://two.test/mcp"}}});
    for (merged, managed, expected) in [
        (json!({}), json!({}), vec!["one", "two"]),
        (json!({"deniedMcpServers": [{"serverName": "one"}]}), json!({}), vec!["two"]),
        (json!({"deniedMcpServers": [{"serverCommand": ["run", "it"]}]}), json!({}), vec!["two"]),
        (json!({"deniedMcpServers": [{"serverCommand": ["run"]}]}), json!({}), vec!["one", "two"]),
        (json!({"allowedMcpServers": [{"serverUrl": "https://two.test/*"}]}), json!({}), vec!["two"]),
        (json!({"allowedMcpServers": []}), json!({}), vec![]),
        (
            json!({"allowedMcpServers": [{"serverName": "one"}, {"serverName": "two"}]}),
            json!({"allowManagedMcpServersOnly": true, "allowedMcpServers": [{"serverName": "two"}]}),
            vec!["two"],
        ),
        (
            json!({"allowedMcpServers": [{"serverName": "one"}], "deniedMcpServers": [{"serverName": "one"}]}),
            json!({}),
            vec![],
        ),
    ] {
        let (servers, problems) = mcp::parse(&configured, "project", &|_| None);
        let mut found = Found { servers, problems };
        found.keep_allowed(&Settings { merged: merged.clone(), managed, ..Settings::default() });
        let names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!((&names, names.len() + found.problems.len()), (&expected, 2), "{merged}");
    }
}
