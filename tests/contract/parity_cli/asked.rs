//! What clients ask for beside the conversation, and what transcripts say of failures and hooks.

use super::{here, own};
use crate::common::{bash, call, claude, finish, mcp_server, say, world};
use serde_json::{Value, json};
use std::path::Path;
use testkit::{Outcome, World};

fn ask(id: &str, request: &Value) -> Value {
    json!({"type": "control_request", "request_id": id, "request": request})
}

/// Sends these requests one after another, and gives their answers.
fn asked(world: &World, words: &[&str], requests: &[(&str, Value)]) -> (Outcome, Vec<Value>) {
    let mut run = claude(world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .args(words.iter().copied());
    for (id, request) in requests {
        let is_prompt = *id == "prompt";
        run = if is_prompt {
            run.prompt(request.as_str().expect("a prompt")).wait(json!({"type": "result"}))
        } else {
            let answered = json!({"type": "control_response", "response": {"request_id": id}});
            run.send(ask(id, request)).wait(answered)
        };
    }
    let outcome = finish(run.close());
    assert!(outcome.unmet.is_empty(), "{:?} {}", outcome.lines, outcome.stderr);
    let answers = outcome.events().into_iter().filter(|event| event["type"] == "control_response");
    let answers = answers.map(|event| event["response"].clone()).collect();
    (outcome, answers)
}

fn git(world: &World, words: &[&str]) {
    let script = format!("git -c user.name=t -c user.email=t@localhost -c commit.gpgsign=false {}", words.join(" "));
    let done = finish(world.run(Path::new("/bin/sh")).args(["-c", &script]));
    assert_eq!(done.code, Some(0), "{script}: {}", done.stderr);
}

/// A repository with one commit.
fn repository(turns: Value) -> World {
    let world = world(turns);
    here(&world, "a.txt", "one\ntwo\n");
    git(&world, &["add", "a.txt"]);
    git(&world, &["commit", "-qm", "first"]);
    world
}

/// Every entry of the transcripts.
fn entries(world: &World) -> Vec<Value> {
    fn files(folder: &Path, found: &mut Vec<Value>) {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                files(&path, found);
            } else if path.extension().is_some_and(|kind| kind == "jsonl") {
                let text = std::fs::read_to_string(&path).expect("a transcript");
                found.extend(text.lines().filter_map(|line| serde_json::from_str(line).ok()));
            }
        }
    }
    let mut found = Vec::new();
    files(&world.home().join(".claude/projects"), &mut found);
    found
}

#[test]
fn the_changes_of_the_folder_are_told() {
    let world = repository(json!([]));
    here(&world, "a.txt", "one\nzwei\n");
    here(&world, "new.txt", "fresh\n");
    here(&world, "secret.txt", "hidden\n");
    own(&world, ".claude/settings.json", &json!({"permissions": {"deny": ["Read(./secret.txt)"]}}));
    let (_, answers) = asked(&world, &[], &[("d", json!({"subtype": "get_workspace_diff"}))]);
    let diff = &answers[0]["response"]["diff"];
    assert_eq!(diff["stats"]["linesAdded"], 1, "{diff}");
    assert_eq!(diff["hunks"][0]["hunks"][0]["lines"], json!([" one", "-two", "+zwei"]));
    let paths: Vec<&Value> = diff["perFileStats"].as_array().expect("files").iter().map(|file| &file["path"]).collect();
    assert!(paths.contains(&&json!("new.txt")) && !paths.contains(&&json!("secret.txt")), "{paths:?}");
    let elsewhere = super::plain();
    std::fs::remove_dir_all(elsewhere.wd().join(".git")).expect("no repository");
    let (_, answers) = asked(&elsewhere, &[], &[("d", json!({"subtype": "get_workspace_diff"}))]);
    assert_eq!(answers[0]["response"]["diff"], Value::Null);
}

#[test]
fn files_are_suggested_by_what_is_typed() {
    let world = super::plain();
    here(&world, "src/server.rs", "");
    here(&world, "src/client.rs", "");
    here(&world, "notes.md", "");
    let query = |text: &str| json!({"subtype": "file_suggestions", "query": text});
    let requests = [("a", query("serv")), ("b", query("")), ("c", json!({"subtype": "file_suggestions"}))];
    let (_, answers) = asked(&world, &[], &requests);
    assert_eq!(answers[0]["response"]["suggestions"], json!([{"path": "src/server.rs"}]));
    let top = answers[1]["response"]["suggestions"].as_array().expect("suggestions").clone();
    assert!(top.contains(&json!({"path": "src/"})) && top.contains(&json!({"path": "notes.md"})), "{top:?}");
    assert_eq!(answers[2]["subtype"], "error");
}

#[test]
fn the_last_plan_is_told() {
    let plan = call("ExitPlanMode", &json!({"plan": "1. look\n2. change"}));
    let world = world(json!([plan, say("planned")]));
    let get = json!({"subtype": "get_plan"});
    let words = ["--permission-mode", "plan"];
    let (_, answers) = asked(&world, &words, &[("before", get.clone()), ("prompt", json!("plan it")), ("after", get)]);
    assert_eq!(answers[0]["response"]["plan"], Value::Null);
    assert_eq!(answers[1]["response"]["plan"], "1. look\n2. change");
}

const SERVER: &str = r#"
    *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *'"tools/list"'*) answer '{"tools":[{"name":"hello","inputSchema":{"type":"object"}}]}' ;;
    *'"resources/read"'*) answer '{"contents":[{"uri":"ui://page","mimeType":"text/html","text":"<p>hi</p>"}]}' ;;
    *'"tools/call"'*) answer '{"content":[{"type":"text","text":"hello"}],"structuredContent":{"n":1}}' ;;
"#;

#[test]
fn a_client_calls_tools_and_reads_pages_of_servers_without_a_turn() {
    let world = super::plain();
    here(&world, "server.sh", &mcp_server(SERVER));
    let config = json!({"mcpServers": {"s": {"command": "sh", "args": ["server.sh"]}}}).to_string();
    let tool = |extra: Value| {
        let mut request = json!({"subtype": "mcp_call", "tool": "mcp__s__hello", "arguments": {}});
        request.as_object_mut().expect("an object").extend(extra.as_object().expect("an object").clone());
        request
    };
    let page = |uri: &str| json!({"subtype": "mcp_read_resource", "serverName": "s", "uri": uri});
    let requests = [
        ("call", tool(json!({}))),
        ("checked", tool(json!({"check_permissions": true}))),
        ("staged", tool(json!({"output_files": []}))),
        ("page", page("ui://page")),
        ("file", page("file:///etc/passwd")),
        ("unknown", json!({"subtype": "mcp_call", "tool": "mcp__s__nothing"})),
    ];
    let (_, answers) = asked(&world, &["--mcp-config", &config], &requests);
    assert_eq!(answers[0]["response"]["content"], json!([{"type": "text", "text": "hello"}]), "{answers:?}");
    assert_eq!(answers[0]["response"]["structuredContent"], json!({"n": 1}));
    assert!(
        answers[1]["error"].as_str().is_some_and(|error| error.starts_with("The tool did not run: ")),
        "{}",
        answers[1]
    );
    assert_eq!(answers[3]["response"]["contents"][0]["text"], "<p>hi</p>");
    for refused in [&answers[2], &answers[4], &answers[5]] {
        assert_eq!(refused["subtype"], "error", "{refused}");
    }
    let (_, answers) = asked(&world, &["--mcp-config", &config, "--disallowedTools", "mcp__s__hello"], &requests[..1]);
    assert_eq!(answers[0]["subtype"], "error", "a rule denies it to everybody: {answers:?}");
    assert!(world.mock().requests().is_empty(), "no model was asked");
}

#[test]
fn a_transcript_names_the_apis_own_error() {
    let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no"}});
    let world = world(json!([{"status": 400, "error": error}]));
    finish(claude(&world).args(["-p", "go"]).close());
    let entries = entries(&world);
    let failure = entries.iter().find(|entry| entry["isApiErrorMessage"] == true).expect("a failure");
    assert_eq!(failure["apiErrorType"], "invalid_request_error");
}

#[test]
fn a_transcript_notes_hooks_that_succeeded() {
    let world = world(json!([bash("true"), say("done"), say("more")]));
    let hook = json!({"matcher": "Bash", "hooks": [{"type": "command", "command": "echo looked at it"}]});
    own(&world, ".claude/settings.json", &json!({"hooks": {"PreToolUse": [hook]}}));
    let words = ["-p", "go", "--allowedTools", "Bash", "--output-format", "json"];
    let outcome = finish(claude(&world).args(words).close());
    let session = outcome.result().expect("a result")["session_id"].as_str().expect("an id").to_owned();
    let entries = entries(&world);
    let note = entries.iter().find(|entry| entry["attachment"]["type"] == "hook_success").expect("a note");
    assert_eq!(
        (&note["attachment"]["hookEvent"], &note["attachment"]["content"]),
        (&json!("PreToolUse"), &json!("looked at it"))
    );
    // The chain holds: the session goes on with everything that was said.
    finish(claude(&world).args(["-p", "and?", "--resume", &session]).close());
    let last = world.mock().requests().pop().expect("a request").body;
    assert!(last["messages"].to_string().contains("tool_result"), "{}", last["messages"]);
}

#[test]
fn an_agent_is_told_how_the_repository_stands() {
    let task = json!({"description": "look", "prompt": "look around", "subagent_type": "general-purpose"});
    let world = repository(json!([call("Agent", &task), say("seen"), say("done")]));
    here(&world, "dirty.txt", "");
    finish(claude(&world).args(["-p", "go"]).env("RALPH_TEST_GIT_DEADLINE_MS", "20000").close());
    let told = |body: &Value| body["system"].to_string().contains("dirty.txt");
    let asked: Vec<Value> = world.mock().requests().into_iter().map(|request| request.body).collect();
    let agents =
        asked.iter().find(|body| body["messages"][0].to_string().contains("look around")).expect("the agent's request");
    assert!(told(&asked[0]) && told(agents), "{}", agents["system"]);
}
