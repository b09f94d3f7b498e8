//! Whole conversations of the state machine: lines in, outputs out.

use super::*;

struct World {
    server: Server,
    out: Vec<ServerOutput>,
}

impl World {
    fn new(client: &Value) -> Self {
        let mut count = 0;
        let ids = move || {
            count += 1;
            format!("id-{count}")
        };
        let options = ServerOptions { version: "1".into(), may_bypass: false };
        let mut world = Self { server: Server::new(options, ids), out: Vec::new() };
        world.ask(0, "initialize", json!({"protocolVersion": 1, "clientCapabilities": client}));
        world.out.clear();
        world
    }

    /// With an open session `id-1`.
    fn open() -> Self {
        Self::open_for(&json!({}))
    }

    fn open_for(client: &Value) -> Self {
        let mut world = Self::new(client);
        world.ask(1, "session/new", json!({"cwd": "/w", "mcpServers": []}));
        world.ready();
        world.out.clear();
        world
    }

    fn step(&mut self, input: ServerInput) {
        let out = self.server.step(input);
        self.out.extend(out);
    }

    fn line(&mut self, line: &Value) {
        self.step(ServerInput::Client(line.to_string().into_bytes()));
    }

    #[expect(clippy::needless_pass_by_value, reason = "tests write their values in place")]
    fn ask(&mut self, id: u64, method: &str, params: Value) {
        self.line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn prompt(&mut self, id: u64, text: &str) {
        self.ask(id, "session/prompt", json!({"sessionId": "id-1", "prompt": [{"type": "text", "text": text}]}));
    }

    fn child(&mut self, line: &Value) {
        let child = self.server.children;
        self.step(ServerInput::Child { child, line: line.to_string() });
    }

    /// The agent process answers what it was asked last.
    fn controls_answered(&mut self) {
        for line in self.to_child() {
            if line["type"] == "control_request" {
                let payload = json!({"models": [{"value": "default", "displayName": "D"}, {"value": "haiku"}], "commands": [{"name": "compact", "description": ""}]});
                self.child(&json!({"type": "control_response", "response": {"subtype": "success", "request_id": line["request_id"], "response": payload}}));
            }
        }
    }

    fn ready(&mut self) {
        self.controls_answered();
    }

    fn to_child(&self) -> Vec<Value> {
        let lines = self.out.iter().filter_map(|out| match out {
            ServerOutput::ToChild { line, .. } => serde_json::from_slice(line).ok(),
            _ => None,
        });
        lines.collect()
    }

    fn to_client(&self) -> Vec<Value> {
        let messages = self.out.iter().filter_map(|out| match out {
            ServerOutput::ToClient(message) => Some(message.clone()),
            _ => None,
        });
        messages.collect()
    }

    fn answer(&self, id: u64) -> Option<Value> {
        self.to_client().into_iter().find(|message| message["id"] == id && message.get("method").is_none())
    }

    fn asked(&self) -> Value {
        self.to_client()
            .into_iter()
            .rfind(|message| message["method"] == "session/request_permission")
            .unwrap_or_default()
    }

    fn result(&mut self, more: &Value) {
        let mut line = json!({"type": "result", "subtype": "success", "is_error": false, "stop_reason": "end_turn"});
        for (key, value) in more.as_object().into_iter().flatten() {
            line[key] = value.clone();
        }
        self.child(&line);
    }
}

const ASKS: &str = r#"{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash",
    "input":{"command":"ls"},"tool_use_id":"t1","permission_suggestions":[]}}"#;

fn asks() -> Value {
    serde_json::from_str(ASKS).unwrap()
}

#[test]
fn nothing_is_said_before_initialize_and_it_is_answered_with_version_one() {
    let mut server = Server::new(ServerOptions::default(), String::new);
    let line = |text: &str| ServerInput::Client(text.as_bytes().to_vec());
    let out = server.step(line(r#"{"id":1,"method":"session/new","params":{}}"#));
    assert!(matches!(&out[..], [ServerOutput::ToClient(answer)] if answer["error"]["code"] == code::INVALID_REQUEST));
    for version in [0, 1, 2] {
        let request = json!({"id": 1, "method": "initialize", "params": {"protocolVersion": version}});
        let out = server.step(line(&request.to_string()));
        let [ServerOutput::ToClient(answer)] = &out[..] else { panic!("{out:?}") };
        assert_eq!(answer["result"]["protocolVersion"], 1);
        assert_eq!(answer["result"]["authMethods"].as_array().unwrap().len(), 1, "no terminal was offered");
    }
}

#[test]
fn a_session_is_open_when_its_process_has_answered() {
    let mut world = World::new(&json!({}));
    world.ask(
        1,
        "session/new",
        json!({"cwd": "/w", "mcpServers": [{"name": "s", "command": "x", "args": [], "env": []}]}),
    );
    assert!(matches!(&world.out[0], ServerOutput::Start { launch, .. } if launch.session == "id-1"));
    let subtypes: Vec<Value> = world.to_child().iter().map(|line| line["request"]["subtype"].clone()).collect();
    assert_eq!(subtypes, ["initialize", "mcp_set_servers", "get_settings"]);
    assert!(world.answer(1).is_none());
    world.ready();
    let answer = world.answer(1).unwrap();
    assert_eq!(
        (&answer["result"]["sessionId"], &answer["result"]["modes"]["currentModeId"]),
        (&json!("id-1"), &json!("default"))
    );
    let last = world.to_client().pop().unwrap();
    assert_eq!(last["params"]["update"]["availableCommands"][0]["name"], "compact");
}

#[test]
fn bad_requests_are_told_apart() {
    let mut world = World::open();
    for (id, method, params, expected) in [
        (10, "session/new", json!({"cwd": "relative", "mcpServers": []}), code::BAD_PARAMS),
        (11, "session/new", json!({"mcpServers": []}), code::BAD_PARAMS),
        (
            12,
            "session/prompt",
            json!({"sessionId": "none", "prompt": [{"type": "text", "text": "x"}]}),
            code::NOT_FOUND,
        ),
        (13, "session/prompt", json!({"sessionId": "id-1", "prompt": []}), code::BAD_PARAMS),
        (14, "session/set_mode", json!({"sessionId": "id-1", "modeId": "wild"}), code::BAD_PARAMS),
        (15, "session/set_mode", json!({"sessionId": "id-1", "modeId": "bypassPermissions"}), code::BAD_PARAMS),
        (
            16,
            "session/set_config_option",
            json!({"sessionId": "id-1", "configId": "nope", "value": "x"}),
            code::BAD_PARAMS,
        ),
        (
            17,
            "session/set_config_option",
            json!({"sessionId": "id-1", "configId": "model", "value": "x"}),
            code::BAD_PARAMS,
        ),
        (18, "fs/read_text_file", json!({}), code::NO_METHOD),
        (19, "authenticate", json!({"methodId": "x"}), code::BAD_PARAMS),
        (20, "session/close", json!({"sessionId": "none"}), code::NOT_FOUND),
    ] {
        world.ask(id, method, params);
        assert_eq!(world.answer(id).unwrap()["error"]["code"], expected, "{method} {id}");
    }
    world.step(ServerInput::Client(b"{ no".to_vec()));
    assert_eq!(world.to_client().pop().unwrap()["error"]["code"], code::PARSE);
    world.step(ServerInput::ClientTooLong);
    world.line(&json!({"jsonrpc": "2.0", "method": "unknown/notification"}));
    world.prompt(30, "still there?");
    assert_eq!(world.to_child().pop().unwrap()["message"]["content"][0]["text"], "still there?");
}

#[test]
fn a_turn_ends_with_its_result_and_the_next_prompt_waits_for_it() {
    let mut world = World::open();
    world.prompt(2, "one");
    world.prompt(3, "two");
    assert_eq!(world.to_child().len(), 1, "the second prompt waits");
    world.child(&json!({"type": "assistant", "message": {"id": "m", "content": [{"type": "text", "text": "hello"}]}}));
    world.result(&json!({"origin": {"kind": "task-notification"}}));
    assert!(world.answer(2).is_none(), "a turn that the agent began itself");
    world.result(&json!({"origin": {"kind": "human"}}));
    let updates: Vec<Value> = world.to_client();
    assert_eq!(updates[0]["params"]["update"]["content"]["text"], "hello");
    assert_eq!(world.answer(2).unwrap()["result"], json!({"stopReason": "end_turn"}));
    assert_eq!(world.to_child().len(), 2);
    world.result(&json!({"stop_reason": "max_tokens"}));
    assert_eq!(world.answer(3).unwrap()["result"]["stopReason"], "max_tokens");
}

/// What the process says while so many agents work in the background.
fn agents(many: usize) -> Value {
    let task = |n| json!({"task_id": format!("a{n}"), "task_type": "local_agent", "description": "d"});
    let shell = json!({"task_id": "b1", "task_type": "local_bash", "description": "d"});
    let tasks: Vec<Value> = (0..many).map(task).chain([shell]).collect();
    json!({"type": "system", "subtype": "background_tasks_changed", "tasks": tasks})
}

#[test]
fn a_prompt_is_answered_when_its_agents_in_the_background_have_told_their_work() {
    let init = json!({"type": "system", "subtype": "init", "permissionMode": "default"});
    let mut world = World::open();
    world.prompt(2, "one");
    for line in [&init, &agents(2)] {
        world.child(line);
    }
    world.result(&json!({"origin": {"kind": "human"}}));
    assert!(world.answer(2).is_none(), "two work on");
    for line in [&agents(1), &init] {
        world.child(line);
    }
    world.result(&json!({"origin": {"kind": "task-notification"}}));
    assert!(world.answer(2).is_none(), "one works on");
    for line in [&agents(0), &init] {
        world.child(line);
    }
    let child = world.server.children;
    world.step(ServerInput::Elapsed { child, timer: Timer::LateTurn(1) });
    assert!(world.answer(2).is_none(), "the turn after the last one has begun");
    world.result(&json!({"origin": {"kind": "task-notification"}, "stop_reason": "max_tokens"}));
    assert_eq!(world.answer(2).unwrap()["result"]["stopReason"], "max_tokens");
}

#[test]
fn a_prompt_does_not_wait_for_a_turn_that_never_begins() {
    let mut world = World::open();
    let child = world.server.children;
    world.prompt(2, "one");
    world.child(&agents(1));
    world.result(&json!({}));
    world.child(&agents(0));
    let waits = |out: &ServerOutput| matches!(out, ServerOutput::After { timer: Timer::LateTurn(1), .. });
    assert!(world.answer(2).is_none() && world.out.iter().any(waits));
    world.step(ServerInput::Elapsed { child, timer: Timer::LateTurn(1) });
    assert_eq!(world.answer(2).unwrap()["result"]["stopReason"], "end_turn");
}

#[test]
fn a_cancel_stops_agents_that_work_on_after_the_result() {
    let mut world = World::open();
    world.prompt(2, "one");
    world.child(&agents(1));
    world.result(&json!({}));
    world.out.clear();
    world.line(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "id-1"}}));
    assert_eq!(world.answer(2).unwrap()["result"]["stopReason"], "cancelled");
    let stop = &world.to_child()[0]["request"];
    assert_eq!((&stop["subtype"], &stop["task_id"]), (&json!("stop_task"), &json!("a0")));
    world.prompt(3, "two");
    assert_eq!(world.to_child().len(), 2, "the next prompt begins at once");
    let mut failing = World::open();
    failing.prompt(2, "one");
    failing.child(&agents(1));
    failing.result(&json!({"subtype": "error_during_execution", "is_error": true, "errors": ["boom"]}));
    assert!(failing.answer(2).unwrap()["error"].is_object(), "a failure does not wait");
}

#[test]
fn a_permission_is_asked_by_kind_and_answered() {
    for (choice, behavior) in [("allow-once", "allow"), ("reject", "deny"), ("nonsense", "deny")] {
        let mut world = World::open();
        world.prompt(2, "ls");
        world.child(&asks());
        let messages = world.to_client();
        let call = messages.iter().position(|message| message["params"]["update"]["sessionUpdate"] == "tool_call");
        let question = messages.iter().position(|message| message["method"] == "session/request_permission");
        assert!(call < question && call.is_some(), "{messages:?}");
        let asked = world.asked();
        assert_eq!(asked["params"]["toolCall"]["title"], "ls");
        let outcome = json!({"outcome": {"outcome": "selected", "optionId": choice}});
        world.line(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": outcome}));
        let answer = world.to_child().pop().unwrap();
        assert_eq!(answer["response"]["request_id"], "r1");
        assert_eq!(answer["response"]["response"]["behavior"], behavior, "{choice}");
    }
}

#[test]
fn a_cancel_withdraws_questions_interrupts_and_is_answered_as_cancelled() {
    let mut world = World::open();
    world.prompt(2, "one");
    world.prompt(3, "two");
    world.child(&asks());
    let asked = world.asked();
    world.out.clear();
    world.line(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "id-1"}}));
    assert_eq!(world.answer(3).unwrap()["result"]["stopReason"], "cancelled", "it had not begun");
    let messages = world.to_client();
    assert!(
        messages
            .iter()
            .any(|message| message["method"] == "$/cancel_request" && message["params"]["requestId"] == asked["id"])
    );
    assert_eq!(world.to_child()[0]["request"]["subtype"], "interrupt");
    world.line(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"outcome": {"outcome": "cancelled"}}}));
    world.result(&json!({"subtype": "error_during_execution", "is_error": true}));
    assert_eq!(world.answer(2).unwrap()["result"]["stopReason"], "cancelled");
    world.out.clear();
    world.line(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "id-1"}}));
    assert!(world.out.is_empty(), "there is nothing to cancel");
}

#[test]
fn a_cancel_is_answered_in_time_whatever_the_process_does() {
    let mut world = World::open();
    let child = world.server.children;
    world.prompt(2, "one");
    world.child(&json!({"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]}}));
    world.line(&json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": "id-1"}}));
    world.step(ServerInput::Elapsed { child, timer: Timer::CancelAnswer(1) });
    let messages = world.to_client();
    assert_eq!(messages[messages.len() - 2]["params"]["update"]["status"], "failed");
    assert_eq!(messages.last().unwrap()["result"]["stopReason"], "cancelled");
    world.out.clear();
    world.child(&json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "late"}]}}));
    assert!(world.out.is_empty(), "the turn is over for the client");
    world.prompt(3, "two");
    assert!(world.to_child().is_empty(), "the process is not done with the first");
    world.step(ServerInput::Elapsed { child, timer: Timer::CancelKill(1) });
    assert!(world.out.contains(&ServerOutput::Stop { child }));
    assert_eq!(world.answer(3).unwrap()["error"]["code"], code::INTERNAL);
}

#[test]
fn a_question_answered_as_cancelled_ends_the_turn() {
    let mut world = World::open();
    world.prompt(2, "one");
    world.child(&asks());
    let id = world.asked()["id"].clone();
    world.line(&json!({"jsonrpc": "2.0", "id": id, "result": {"outcome": {"outcome": "cancelled"}}}));
    let lines = world.to_child();
    assert_eq!(lines[lines.len() - 2]["response"]["response"]["interrupt"], true);
    assert_eq!(lines.last().unwrap()["request"]["subtype"], "interrupt");
    world.result(&json!({}));
    assert_eq!(world.answer(2).unwrap()["result"]["stopReason"], "cancelled");
}

#[test]
fn a_dead_process_costs_its_session_and_says_so() {
    let mut world = World::open();
    let child = world.server.children;
    world.ask(5, "session/new", json!({"cwd": "/w", "mcpServers": []}));
    world.ready();
    world.out.clear();
    world.prompt(2, "one");
    world.ask(7, "session/set_mode", json!({"sessionId": "id-1", "modeId": "plan"}));
    world.step(ServerInput::ChildEnded { child, words: "killed".into() });
    assert!(world.answer(2).unwrap()["error"]["message"].as_str().unwrap().contains("killed"));
    assert!(world.answer(7).unwrap()["error"].is_object());
    world.prompt(3, "again");
    assert_eq!(world.answer(3).unwrap()["error"]["code"], code::INTERNAL);
    world.out.clear();
    let other = json!({"sessionId": "id-2", "prompt": [{"type": "text", "text": "x"}]});
    world.ask(4, "session/prompt", other);
    assert_eq!(world.to_child().len(), 1, "the other session lives");
}

#[test]
fn a_process_that_does_not_start_is_an_error_of_its_request() {
    for (error, expected) in
        [(StartError::NoFolder("/none".into()), code::BAD_PARAMS), (StartError::NoProcess("no".into()), code::INTERNAL)]
    {
        let mut world = World::new(&json!({}));
        world.ask(1, "session/new", json!({"cwd": "/none", "mcpServers": []}));
        let child = world.server.children;
        world.step(ServerInput::NotStarted { child, error });
        assert_eq!(world.answer(1).unwrap()["error"]["code"], expected);
        assert!(world.server.sessions.is_empty());
    }
    let mut world = World::new(&json!({}));
    world.ask(1, "session/new", json!({"cwd": "/w", "mcpServers": []}));
    let child = world.server.children;
    world.step(ServerInput::Elapsed { child, timer: Timer::Startup });
    assert!(world.answer(1).unwrap()["error"].is_object() && world.out.contains(&ServerOutput::Stop { child }));
}

#[test]
fn load_replays_before_its_answer_and_resume_does_not() {
    let history = vec![json!({"role": "user", "content": "before"})];
    for (method, replayed) in [("session/load", 1), ("session/resume", 0), ("session/fork", 0)] {
        let mut world = World::new(&json!({}));
        world.ask(1, method, json!({"sessionId": "old", "cwd": "/w", "mcpServers": []}));
        let child = world.server.children;
        assert!(matches!(&world.out[0], ServerOutput::Find { session, .. } if session == "old"));
        world.step(ServerInput::Found { child, messages: Some(history.clone()) });
        let messages = world.to_client();
        assert_eq!(messages.len(), replayed, "{method}");
        world.ready();
        assert!(world.answer(1).unwrap()["result"]["configOptions"].is_array());
        assert_eq!(world.answer(1).unwrap()["result"]["sessionId"].is_string(), method == "session/fork");
    }
    let mut world = World::new(&json!({}));
    world.ask(1, "session/load", json!({"sessionId": "old", "cwd": "/w", "mcpServers": []}));
    let child = world.server.children;
    world.step(ServerInput::Found { child, messages: None });
    assert_eq!(world.answer(1).unwrap()["error"]["code"], code::NOT_FOUND);
}

#[test]
fn modes_and_options_are_answered_and_told() {
    let mut world = World::open();
    world.ask(2, "session/set_mode", json!({"sessionId": "id-1", "modeId": "plan"}));
    assert!(world.answer(2).is_none(), "the process has not agreed yet");
    world.child(&json!({"type": "system", "subtype": "status", "status": null, "permissionMode": "plan"}));
    world.controls_answered();
    assert_eq!(world.answer(2).unwrap()["result"], json!({}));
    let last = world.to_client().pop().unwrap();
    assert_eq!(last["params"]["update"]["configOptions"][0]["currentValue"], "plan");
    world.out.clear();
    world.ask(3, "session/set_config_option", json!({"sessionId": "id-1", "configId": "model", "value": "haiku"}));
    world.controls_answered();
    assert_eq!(world.answer(3).unwrap()["result"]["configOptions"][1]["currentValue"], "haiku");
    world.out.clear();
    world.child(&json!({"type": "system", "subtype": "status", "status": null, "permissionMode": "acceptEdits"}));
    let kinds: Vec<Value> =
        world.to_client().iter().map(|one| one["params"]["update"]["sessionUpdate"].clone()).collect();
    assert_eq!(kinds, ["current_mode_update", "config_option_update"]);
}

#[test]
fn a_question_goes_to_a_form_where_the_client_has_forms() {
    let mut world = World::open_for(&json!({"elicitation": {"form": {}}}));
    world.prompt(2, "ask me");
    world.child(&json!({"type": "control_request", "request_id": "q", "request": {"subtype": "can_use_tool",
        "tool_name": "AskUserQuestion", "tool_use_id": "t", "permission_suggestions": [],
        "input": {"questions": [{"question": "Which?", "header": "W", "options": [{"label": "A"}]}]}}}));
    let asked = world.to_client().pop().unwrap();
    assert_eq!(asked["method"], "elicitation/create");
    world.line(
        &json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept", "content": {"question_0": "A"}}}),
    );
    let answer = world.to_child().pop().unwrap();
    assert_eq!(answer["response"]["response"]["updatedInput"]["answers"], json!({"Which?": "A"}));
}

#[test]
fn a_closed_session_is_cancelled_and_forgotten() {
    let mut world = World::open();
    let child = world.server.children;
    world.prompt(2, "one");
    world.ask(3, "session/close", json!({"sessionId": "id-1"}));
    assert_eq!(world.answer(2).unwrap()["result"]["stopReason"], "cancelled");
    assert_eq!(world.answer(3).unwrap()["result"], json!({}));
    assert!(world.out.contains(&ServerOutput::Stop { child }));
    world.prompt(4, "two");
    assert_eq!(world.answer(4).unwrap()["error"]["code"], code::NOT_FOUND);
    world.ask(5, "session/delete", json!({"sessionId": "id-1"}));
    assert!(matches!(world.out.last(), Some(ServerOutput::Delete { session, .. }) if session == "id-1"));
}
