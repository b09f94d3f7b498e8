//! What records say of the work beside its form: whose request it was, what a call brought, and what detailed tracing adds.

use super::{PRINT, attribute, collector, events, exporting, points, spans};
use crate::common::{bash, call, finish, mcp_server, say};
use serde_json::{Value, json};
use testkit::{Collector, World};

/// A session with one server, which may do everything.
fn worked(turns: Value, env: &[(&str, &str)]) -> Collector {
    let script = mock::Script::from_value(turns).unwrap();
    let skill = "---\ndescription: Does it.\n---\nDo it.\n";
    let world = World::new([("a.txt", "one\ntwo\n"), (".claude/skills/own-skill/SKILL.md", skill)], script).unwrap();
    let branches = r#"    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}' ;;
    *tools/list*) answer '{"tools":[{"name":"open","inputSchema":{"type":"object"}}]}' ;;
    *tools/call*) answer '{"content":[{"type":"text","text":"opened"}]}' ;;
"#;
    std::fs::write(world.home().join("server.sh"), mcp_server(branches)).unwrap();
    let servers = json!({"mcpServers": {"vault": {
        "command": "/bin/sh", "args": [world.home().join("server.sh").display().to_string()]}}});
    let collector = collector();
    let run = exporting(&world, &collector.url()).env("BETA_TRACING_ENDPOINT", &collector.url());
    let run = env.iter().fold(run, |run, (name, value)| run.env(name, value));
    let args = ["--dangerously-skip-permissions", "--mcp-config", &servers.to_string()];
    let outcome = finish(run.args(PRINT).args(args));
    assert_eq!(outcome.code, Some(0), "{} {:?}", outcome.stderr, outcome.lines);
    collector
}

const DETAILS: (&str, &str) = ("OTEL_LOG_TOOL_DETAILS", "1");
const CONTENT: (&str, &str) = ("OTEL_LOG_TOOL_CONTENT", "1");
const PROMPTS: (&str, &str) = ("OTEL_LOG_USER_PROMPTS", "1");
const DETAILED: (&str, &str) = ("ENABLE_BETA_TRACING_DETAILED", "1");

#[test]
fn a_request_says_whose_it_was() {
    let turns = || {
        json!([
            call("mcp__vault__open", &json!({})),
            bash("echo hi"),
            call("Skill", &json!({"skill": "own-skill"})),
            say("ok")
        ])
    };
    let told = |collector: &Collector, name: &str| -> Vec<Value> {
        events(collector, "api_request").iter().map(|event| attribute(event, name)).collect()
    };
    let (plain, shown) = (worked(turns(), &[]), worked(turns(), &[DETAILS]));
    // The first request after a result has it, and no other.
    let only = |at: usize, value: &str| {
        let mut all = vec![Value::Null; 4];
        all[at] = json!(value);
        all
    };
    assert_eq!(told(&plain, "mcp_server.name"), only(1, "custom"));
    assert_eq!(told(&shown, "mcp_server.name"), only(1, "vault"));
    assert_eq!(told(&shown, "mcp_tool.name"), only(1, "open"));
    assert_eq!(told(&plain, "skill.name"), only(3, "custom"));
    assert_eq!(told(&shown, "skill.name"), only(3, "own-skill"));
    let of_skill = |point: &&Value| attribute(point, "skill.name") == "own-skill";
    assert_eq!(points(&shown, "token.usage").iter().filter(of_skill).count(), 4);
    let result = &events(&plain, "tool_result")[0];
    assert_eq!(
        (attribute(result, "tool_name"), attribute(result, "mcp_server_scope")),
        (json!("mcp_tool"), json!("dynamic"))
    );
}

#[test]
fn a_call_tells_what_it_brought() {
    let edit = json!({"file_path": "$WD/a.txt", "old_string": "two", "new_string": "2"});
    let turns = || {
        json!([
            call("Read", &json!({"file_path": "$WD/a.txt"})),
            bash("printf 'four%.0s' $(seq 100)"),
            call("Edit", &edit),
            call("Write", &json!({"file_path": "$WD/b.txt", "content": "new"})),
            call("mcp__vault__open", &json!({})),
            bash("exit 3"),
            say("ok")
        ])
    };
    // The name and the attributes of each span's event.
    let told = |env: &[(&str, &str)]| -> Vec<Vec<(String, Value)>> {
        let one = |span: &Value| {
            let event = span["events"].as_array().and_then(|events| events.first().cloned()).unwrap_or_default();
            assert!(event.is_null() || event["name"] == "tool.output", "{event}");
            super::form(&event).into_iter().map(|(name, _)| (name.clone(), attribute(&event, &name))).collect()
        };
        spans(&worked(turns(), env), "tool").iter().map(one).collect()
    };
    let names = |told: &[Vec<(String, Value)>]| -> Vec<String> {
        told.iter().map(|one| one.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(names(&told(&[DETAILS])), [""; 6]);
    let plain = told(&[CONTENT]);
    assert_eq!(names(&plain), ["content", "output", "", "", "output", ""]);
    assert_eq!((&plain[0][0].1, &plain[4][0].1), (&json!("one\ntwo\n"), &json!("opened")));
    let all = told(&[CONTENT, DETAILS, ("CLAUDE_CODE_OTEL_CONTENT_MAX_LENGTH", "300")]);
    let expected = [
        "content file_path",
        "output output_truncated output_original_length bash_command",
        "diff file_path",
        "content file_path",
        "output",
        "",
    ];
    assert_eq!(names(&all), expected);
    assert_eq!((&all[1][1].1, &all[1][2].1, &all[3][0].1), (&json!(true), &json!(400), &json!("new")));
}

#[test]
fn detailed_tracing_says_more_of_requests_and_calls() {
    let turns = || {
        json!([{"content": [{"type": "text", "text": "answer-word"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "echo result-word"}}]}, say("ok")])
    };
    let requests = |env: &[(&str, &str)]| {
        let collector = worked(turns(), env);
        (spans(&collector, "llm_request"), collector)
    };
    let names = ["query_source", "tools_count", "system_prompt_hash", "response.has_tool_call"];
    let (plain, _) = requests(&[]);
    assert!(names.iter().all(|name| attribute(&plain[0], name).is_null()), "{plain:?}");
    let (detailed, collector) = requests(&[DETAILED]);
    assert_eq!(attribute(&detailed[0], "query_source"), "sdk");
    let tools = attribute(&detailed[0], "tools")["values"].as_array().cloned().unwrap();
    let has = |name: &str| tools.iter().any(|tool| tool["stringValue"] == name);
    assert!(has("Bash") && !has("mcp__vault__open"), "{tools:?}");
    assert_eq!(attribute(&detailed[0], "tools_count"), tools.len());
    let calls: Vec<Value> = detailed.iter().map(|span| attribute(span, "response.has_tool_call")).collect();
    assert_eq!(calls, [true, false]);
    assert_eq!(attribute(&detailed[1], "new_context_message_count"), 1);
    let length = attribute(&detailed[0], "system_prompt_length").as_u64().unwrap();
    assert!(length > 500 && attribute(&detailed[0], "system_reminders_count").is_u64());
    assert_eq!(attribute(&detailed[0], "system_prompt_hash"), attribute(&detailed[1], "system_prompt_hash"));
    let content = ["new_context", "system_reminders", "system_prompt_preview", "response.model_output"];
    assert!(content.iter().all(|name| attribute(&detailed[0], name).is_null()), "{detailed:?}");
    assert!(events(&collector, "system_prompt").is_empty());

    let (shown, collector) = requests(&[DETAILED, PROMPTS, DETAILS]);
    assert!(attribute(&shown[0], "new_context").as_str().unwrap().ends_with("go"), "{shown:?}");
    assert_eq!(attribute(&shown[1], "new_context"), "[tool result]");
    assert_eq!(attribute(&shown[0], "response.model_output"), "answer-word");
    assert_eq!(attribute(&shown[0], "system_prompt_preview").as_str().map(|text| text.chars().count()), Some(500));
    assert_eq!(attribute(&spans(&collector, "interaction")[0], "new_context"), "go");
    let input = attribute(&spans(&collector, "tool")[0], "tool_input");
    assert_eq!(input, r#"{"command":"echo result-word"}"#);
    let prompts = events(&collector, "system_prompt");
    assert_eq!(prompts.len(), 1, "once for the same");
    let text = attribute(&prompts[0], "system_prompt");
    assert_eq!(text.as_str().map(|text| text.encode_utf16().count() as u64), Some(length));

    let (shown, collector) = requests(&[DETAILED, PROMPTS, CONTENT]);
    assert_eq!(attribute(&shown[1], "new_context"), "result-word");
    assert_eq!(attribute(&spans(&collector, "tool")[0], "new_context"), "result-word");
    let prompts_alone = requests(&[DETAILED, PROMPTS]).0;
    assert!(attribute(&prompts_alone[0], "system_prompt_preview").is_null());
}

#[test]
fn an_agent_that_nobody_waits_for_is_told_as_such() {
    let agent = |is_async: bool| {
        let input =
            json!({"description": "d", "prompt": "p", "subagent_type": "Explore", "run_in_background": is_async});
        let collector = worked(json!([call("Agent", &input), say("one"), say("two"), say("three"), say("four")]), &[]);
        attribute(&events(&collector, "subagent_completed")[0], "is_async")
    };
    assert_eq!((agent(false), agent(true)), (json!(false), json!(true)));
}

#[test]
fn a_refusals_category_needs_details() {
    let told = |env: &[(&str, &str)]| {
        let turn = json!({"content": [{"type": "text", "text": "no"}], "stop_reason": "refusal",
            "stop_details": {"category": "cyber"}});
        let script = mock::Script::from_value(json!([turn, turn])).unwrap();
        let (collector, world) = (collector(), World::empty(script).unwrap());
        let run = env.iter().fold(exporting(&world, &collector.url()), |run, (name, value)| run.env(name, value));
        finish(run.args(PRINT));
        let refusal = events(&collector, "api_refusal").remove(0);
        (attribute(&refusal, "has_category"), attribute(&refusal, "category"))
    };
    assert_eq!(told(&[]), (json!(true), Value::Null));
    assert_eq!(told(&[DETAILS]), (json!(true), json!("cyber")));
}
