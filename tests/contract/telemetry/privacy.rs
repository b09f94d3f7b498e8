//! What leaves the machine: nothing of the work itself, unless it is released; and never where nobody asked for it.

use super::{PRINT, attribute, collector, events, exporting, spans};
use crate::common::{bash, call, claude, finish, mcp_server, say};
use serde_json::json;
use testkit::{Collector, World};

/// Words of the work: a prompt, an answer, a command, its output, a file, a server, its tool; an agent, a branch, a policy.
const WORDS: [&str; 10] = [
    "prompt-word",
    "answer-word",
    "command-word",
    "output-word",
    "path-word",
    "vaultserver",
    "opentool",
    "agent-word",
    "branch-word",
    "policy-word",
];

fn worked(gates: &[(&str, &str)]) -> Collector {
    let turns = json!([
        bash("echo output-wor'd' # command-word"),
        call("Read", &json!({"file_path": "$WD/path-word.txt"})),
        call("mcp__vaultserver__opentool", &json!({"door": "path-word"})),
        bash("./command-word.sh 2>/dev/null || true"),
        bash("git checkout -qb branch-word; git -c user.name=a -c user.email=a@b commit --allow-empty -m x"),
        call("Agent", &json!({"description": "d", "prompt": "look", "subagent_type": "agent-word"})),
        say("seen"),
        say("answer-word")
    ]);
    let world = World::new([("path-word.txt", "x\n")], mock::Script::from_value(turns).unwrap()).unwrap();
    let agents = json!({"agent-word": {"description": "looks", "prompt": "Look."}}).to_string();
    let hook = json!([{"hooks": [{"type": "command", "command": "true # command-word"}]}]);
    let named = ["PreToolUse", "PostToolUse", "SubagentStart", "SubagentStop", "UserPromptSubmit", "Stop"];
    let hooks: serde_json::Map<_, _> = named.iter().map(|event| ((*event).to_owned(), hook.clone())).collect();
    let managed = world.home().join("managed");
    std::fs::create_dir(&managed).unwrap();
    let policy = json!({"companyAnnouncements": ["policy-word"]}).to_string();
    std::fs::write(managed.join("managed-settings.json"), policy).unwrap();
    let branches = r#"    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}' ;;
    *tools/list*) answer '{"tools":[{"name":"opentool","inputSchema":{"type":"object"}}]}' ;;
    *tools/call*) answer '{"content":[{"type":"text","text":"output-word"}]}' ;;
"#;
    std::fs::write(world.home().join("server.sh"), mcp_server(branches)).unwrap();
    let servers = json!({"mcpServers": {"vaultserver": {
        "command": "/bin/sh", "args": [world.home().join("server.sh").display().to_string()]}}});
    let collector = collector();
    let run = exporting(&world, &collector.url())
        .env("RALPH_TEST_MANAGED_DIR", &managed.display().to_string())
        .env("ENABLE_BETA_TRACING_DETAILED", "1")
        .env("BETA_TRACING_ENDPOINT", &collector.url());
    let run = gates.iter().fold(run, |run, (name, value)| run.env(name, value));
    let outcome = finish(
        run.args([
            "-p",
            "prompt-word",
            "--output-format",
            "stream-json",
            "--verbose",
            "--dangerously-skip-permissions",
        ])
        .args(["--mcp-config", &servers.to_string(), "--agents", &agents])
        .args(["--settings", &json!({"hooks": hooks}).to_string()]),
    );
    assert_eq!(outcome.code, Some(0), "{} {:?}", outcome.stderr, outcome.lines);
    collector
}

fn found(collector: &Collector) -> Vec<&'static str> {
    let bytes: Vec<u8> = collector.batches().into_iter().flat_map(|batch| batch.bytes).collect();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    WORDS.into_iter().filter(|word| text.contains(word)).collect()
}

#[test]
fn nothing_of_the_work_leaves_unless_it_is_released() {
    let collector = worked(&[]);
    assert_eq!(found(&collector), Vec::<&str>::new());
    let decisions = events(&collector, "tool_decision");
    assert_eq!(attribute(&decisions[2], "tool_name"), "mcp_tool");
    let servers = events(&collector, "mcp_server_connection");
    let statuses: Vec<_> = servers.iter().map(|event| attribute(event, "status")).collect();
    assert_eq!(statuses, ["connected", "disconnected"]);
    assert_eq!(attribute(&servers[0], "transport_type"), "stdio");
    // The records that could have told were there.
    assert!(!events(&collector, "managed_settings_resolved").is_empty() && spans(&collector, "hook").len() > 5);
    assert!(events(&collector, "api_request_body").is_empty() && events(&collector, "api_response_body").is_empty());
}

#[test]
fn each_switch_releases_its_own() {
    assert_eq!(found(&worked(&[("OTEL_LOG_USER_PROMPTS", "1")])), ["prompt-word", "answer-word"]);
    let prompts = [("OTEL_LOG_USER_PROMPTS", "1"), ("OTEL_LOG_ASSISTANT_RESPONSES", "0")];
    assert_eq!(found(&worked(&prompts)), ["prompt-word"]);
    let details = worked(&[("OTEL_LOG_TOOL_DETAILS", "1")]);
    let expected = ["command-word", "path-word", "vaultserver", "opentool", "agent-word", "branch-word"];
    assert_eq!(found(&details), expected);
    let result = &events(&details, "tool_result")[0];
    let parameters: serde_json::Value =
        serde_json::from_str(attribute(result, "tool_parameters").as_str().unwrap()).unwrap();
    assert_eq!(parameters["bash_command"], "echo");
    assert_eq!(found(&worked(&[("OTEL_LOG_TOOL_CONTENT", "1")])), ["output-word", "branch-word"]);
    let bodies = worked(&[("OTEL_LOG_RAW_API_BODIES", "1"), ("CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH", "10000000")]);
    assert_eq!(found(&bodies), WORDS[..9]);
}

#[test]
fn secrets_are_hidden_in_what_is_released() {
    let world = crate::common::world(json!([bash("echo sk-ant-test-0000000000000000 > /dev/null"), say("ok")]));
    let collector = collector();
    let run = exporting(&world, &collector.url()).env("OTEL_LOG_TOOL_DETAILS", "1");
    let outcome = finish(run.args(PRINT).args(["--dangerously-skip-permissions"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let bytes: Vec<u8> = collector.batches().into_iter().flat_map(|batch| batch.bytes).collect();
    let text = String::from_utf8_lossy(&bytes).into_owned();
    assert!(text.contains("full_command") && !text.contains("sk-ant-test-0000000000000000"), "{text}");
    assert_eq!(spans(&collector, "tool").len(), 1);
}

#[test]
fn an_untrusted_folder_switches_nothing_on_and_runs_no_helper() {
    let collector = collector();
    let settings = json!({
        "env": {
            "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
            "OTEL_LOGS_EXPORTER": "otlp",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url(),
        },
        "otelHeadersHelper": "touch helper-ran; echo '{}'",
    });
    let script = mock::Script::from_value(json!([say("ok"), say("ok")])).unwrap();
    let world = World::new([(".claude/settings.json", settings.to_string().as_str())], script).unwrap();
    assert_eq!(finish(claude(&world).args(PRINT)).code, Some(0));
    assert!(collector.batches().is_empty(), "{:?}", collector.batches());
    // Also where the user exports, the folder's command does not run.
    assert_eq!(finish(exporting(&world, &collector.url()).args(PRINT)).code, Some(0));
    assert!(!collector.batches().is_empty());
    assert_eq!(world.read("helper-ran"), None);
}

#[test]
fn a_trusted_folder_does_not_say_what_is_exported_or_to_where() {
    let (users, folders) = (collector(), collector());
    let settings = json!({"env": {
        "OTEL_LOG_USER_PROMPTS": "1",
        "OTEL_EXPORTER_OTLP_ENDPOINT": folders.url(),
        "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": folders.url(),
        "OTEL_RESOURCE_ATTRIBUTES": "team=word",
    }});
    let script = mock::Script::from_value(json!([say("ok")])).unwrap();
    let world = World::new([(".claude/settings.json", settings.to_string().as_str())], script).unwrap();
    let trusted = json!({"projects": {world.wd().display().to_string(): {"hasTrustDialogAccepted": true}}});
    std::fs::write(world.home().join(".claude.json"), trusted.to_string()).unwrap();
    assert_eq!(finish(exporting(&world, &users.url()).args(PRINT)).code, Some(0));
    assert!(folders.batches().is_empty(), "{:?}", folders.batches());
    let prompt = &events(&users, "user_prompt")[0];
    assert_eq!((attribute(prompt, "prompt"), attribute(prompt, "team")), (json!("<REDACTED>"), json!("word")));
}

#[test]
fn the_users_own_settings_switch_it_on() {
    let collector = collector();
    let world = crate::common::world(json!([say("ok")]));
    let settings = json!({"env": {
        "CLAUDE_CODE_ENABLE_TELEMETRY": "1",
        "OTEL_LOGS_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url(),
    }});
    std::fs::create_dir_all(world.home().join(".claude")).unwrap();
    std::fs::write(world.home().join(".claude/settings.json"), settings.to_string()).unwrap();
    assert_eq!(finish(claude(&world).args(PRINT)).code, Some(0));
    assert_eq!(events(&collector, "user_prompt").len(), 1);
}
