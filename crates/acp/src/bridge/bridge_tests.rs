//! Whole conversations of the bridge.

use super::*;

/// The messages for the agent.
fn sent(outputs: &[BridgeOutput]) -> Vec<Value> {
    let to_agent = outputs.iter().filter_map(|output| match output {
        BridgeOutput::ToAgent(message) => Some(message.clone()),
        _ => None,
    });
    to_agent.collect()
}

struct World {
    bridge: Bridge,
    out: Vec<BridgeOutput>,
    last_id: u64,
}

impl World {
    fn new(options: BridgeOptions) -> Self {
        let mut bridge =
            Bridge::new(BridgeOptions { name: "agent".into(), cwd: "/w".into(), ..options }, || "u".into());
        let out = bridge.start();
        Self { bridge, out, last_id: 0 }
    }

    fn step(&mut self, input: BridgeInput) {
        let out = self.bridge.step(input);
        self.out.extend(out);
    }

    fn agent(&mut self, message: &Value) {
        self.step(BridgeInput::Agent(message.to_string().into_bytes()));
    }

    /// The agent answers the last request.
    fn answers(&mut self, result: &Value) {
        let id = self.asked()["id"].clone();
        self.agent(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    }

    fn fails(&mut self, code: i64, message: &str) {
        let id = self.asked()["id"].clone();
        self.agent(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}));
    }

    fn asked(&self) -> Value {
        let mut sent = sent(&self.out);
        sent.retain(|message| message["method"].is_string() && message.get("id").is_some());
        sent.pop().unwrap_or_default()
    }

    fn update(&mut self, update: &Value) {
        self.agent(
            &json!({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}),
        );
    }

    fn say(&mut self, text: &str) {
        self.update(&json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}));
    }

    fn prompt(&mut self, text: &str) {
        self.step(BridgeInput::Loop(Input::prompt(text).to_line()));
    }

    /// With an open session `s` and a running turn.
    fn working(decision: Decision) -> Self {
        let mut world = Self::new(BridgeOptions { decision, ..BridgeOptions::default() });
        world.answers(&json!({"protocolVersion": 1}));
        world.answers(&json!({"sessionId": "s"}));
        world.prompt("go");
        assert_eq!(world.asked()["method"], "session/prompt");
        world
    }

    fn events(&self) -> Vec<Value> {
        let lines = self.out.iter().filter_map(|output| match output {
            BridgeOutput::ToLoop(line) => serde_json::from_slice(line).ok(),
            _ => None,
        });
        lines.collect()
    }

    fn result(&self) -> Value {
        self.events().into_iter().rfind(|event| event["type"] == "result").unwrap_or_default()
    }

    fn stopped(&self) -> Option<bool> {
        self.out.iter().find_map(|output| match output {
            BridgeOutput::Stop { is_success } => Some(*is_success),
            _ => None,
        })
    }

    /// The agent asks for a permission; what it is answered.
    fn permission(&mut self, kind: &str) -> Value {
        self.last_id += 1;
        let id = format!("ask-{}", self.last_id);
        self.agent(&json!({"jsonrpc": "2.0", "id": id, "method": "session/request_permission", "params": {
            "sessionId": "s", "toolCall": {"toolCallId": "t", "kind": kind, "title": "x"},
            "options": [{"optionId": "f", "name": "", "kind": "allow_always"}, {"optionId": "y", "name": "", "kind": "allow_once"},
                {"optionId": "n", "name": "", "kind": "reject_once"}]}}));
        sent(&self.out).into_iter().rfind(|message| message["id"] == id).unwrap()["result"]["outcome"].clone()
    }
}

#[test]
fn a_turn_looks_like_one_of_claude() {
    let mut world = World::working(Decision::All);
    world.say("First I ");
    world.say("write.");
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Write a", "kind": "edit", "status": "pending"});
    world.update(&call);
    world.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "rawInput": {"file_path": "/w/a"}}));
    world.update(&json!({"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed", "content": [{"type": "content", "content": {"type": "text", "text": "ok"}}]}));
    world.update(
        &json!({"sessionUpdate": "plan", "entries": [{"content": "a", "priority": "high", "status": "completed"}]}),
    );
    world.update(&json!({"sessionUpdate": "something_new", "x": 1}));
    world.update(&json!({"sessionUpdate": "usage_update", "used": 10, "size": 1000, "cost": {"amount": 0.25, "currency": "USD"}}));
    world.say("Done.");
    world.answers(&json!({"stopReason": "end_turn", "usage": {"totalTokens": 9, "inputTokens": 5, "outputTokens": 4}}));
    let kinds: Vec<String> = world
        .events()
        .iter()
        .map(|event| {
            let block = &event["message"]["content"][0];
            let what = block["type"].as_str().or_else(|| event["subtype"].as_str()).unwrap_or_default();
            format!("{} {what}", event["type"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        kinds,
        [
            "system init",
            "assistant text",
            "assistant tool_use",
            "user tool_result",
            "assistant tool_use",
            "user tool_result",
            "assistant text",
            "result success"
        ]
    );
    let result = world.result();
    assert_eq!(
        (&result["result"], &result["is_error"], &result["total_cost_usd"]),
        (&json!("Done."), &json!(false), &json!(0.25))
    );
    assert_eq!(result["usage"]["output_tokens"], 4);
    assert_eq!(result["session_id"], "s");
    world.step(BridgeInput::LoopEnded);
    assert_eq!(world.stopped(), Some(true));
}

#[test]
fn an_agent_that_cannot_reach_its_model_is_shown_to_try_again() {
    let mut world = World::working(Decision::All);
    for (will_retry, status) in [(false, json!(null)), (true, json!(null)), (true, json!(503))] {
        let error = json!({"message": "Reconnecting", "willRetry": will_retry, "codexErrorInfo": {"x": {"httpStatusCode": status}}});
        world.update(&json!({"sessionUpdate": "session_info_update", "_meta": {"codex": {"error": error}}}));
    }
    world.update(&json!({"sessionUpdate": "session_info_update", "title": "x"}));
    let retries: Vec<Value> = world.events().into_iter().filter(|event| event["subtype"] == "api_retry").collect();
    let seen: Vec<_> = retries.iter().map(|event| (event["attempt"].clone(), event["error_status"].clone())).collect();
    assert_eq!(seen, [(json!(1), json!(null)), (json!(2), json!(503))], "{retries:#?}");
}

#[test]
fn a_promise_counts_in_the_last_message_only() {
    let mut world = World::working(Decision::All);
    world.say("<promise>COMPLETE</promise>");
    world.update(&json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "ls", "kind": "execute", "status": "completed"}));
    world.answers(&json!({"stopReason": "end_turn", "usage": {"inputTokens": 1}}));
    let words = world.result()["result"].as_str().unwrap().to_owned();
    assert!(!words.is_empty() && !words.contains("promise"), "a call came after it: {words}");
    let mut world = World::working(Decision::All);
    let message = |id: &str, text: &str| json!({"sessionUpdate": "agent_message_chunk", "messageId": id, "content": {"type": "text", "text": text}});
    world.update(&message("1", "<promise>COMPLETE</promise>"));
    world.update(&message("2", "not "));
    world.update(&message("2", "yet"));
    world.answers(&json!({"stopReason": "end_turn", "usage": {"inputTokens": 1}}));
    assert_eq!(world.result()["result"], "not yet");
}

#[test]
fn failures_are_failures_however_they_arrive() {
    for (text, answer, status) in [
        (
            "exceeded retry limit, last status: 429 Too Many Requests",
            Ok(json!({"stopReason": "end_turn", "usage": null})),
            json!(429),
        ),
        ("unexpected status 401 Unauthorized", Ok(json!({"stopReason": "end_turn"})), json!(401)),
        ("", Ok(json!({"stopReason": "end_turn"})), Value::Null),
        ("I will not", Ok(json!({"stopReason": "refusal"})), Value::Null),
        ("cut", Ok(json!({"stopReason": "max_tokens"})), Value::Null),
        ("odd", Ok(json!({})), Value::Null),
        ("<promise>COMPLETE</promise>", Ok(json!({"stopReason": "cancelled"})), Value::Null),
        ("", Err((-32000, "Authentication required")), json!(401)),
        ("", Err((-32603, "HTTP status 529: overloaded")), json!(529)),
        ("", Err((401, "no")), json!(401)),
    ] {
        let mut world = World::working(Decision::All);
        if !text.is_empty() {
            world.say(text);
        }
        match &answer {
            Ok(answer) => world.answers(answer),
            Err((code, message)) => world.fails(*code, message),
        }
        let result = world.result();
        assert_eq!(result["is_error"], true, "{text} {answer:?}");
        assert_eq!(result.get("api_error_status").cloned().unwrap_or_default(), status, "{text} {answer:?}");
        world.step(BridgeInput::LoopEnded);
        assert_eq!(world.stopped(), Some(false));
    }
}

#[test]
fn permissions_are_answered_by_the_mode() {
    for (decision, kind, option) in [
        (Decision::All, "execute", "y"),
        (Decision::Edits, "edit", "y"),
        (Decision::Edits, "execute", "n"),
        (Decision::Deny, "edit", "n"),
    ] {
        let mut world = World::working(decision);
        assert_eq!(world.permission(kind), json!({"outcome": "selected", "optionId": option}), "{decision:?} {kind}");
        let events = world.events();
        assert!(
            events.iter().any(|event| event["message"]["content"][0]["type"] == "tool_use"),
            "it is first named here"
        );
        let denied = events.iter().any(|event| event["subtype"] == "permission_denied");
        assert_eq!(denied, option == "n");
    }
}

#[test]
fn methods_that_were_not_offered_are_refused() {
    let mut world = World::working(Decision::All);
    for method in ["fs/write_text_file", "terminal/create", "elicitation/create", "_x/y"] {
        world.agent(&json!({"jsonrpc": "2.0", "id": method, "method": method, "params": {}}));
        let answer = sent(&world.out).pop().unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(method), &json!(code::NO_METHOD)));
    }
}

#[test]
fn an_interrupt_cancels_and_is_remembered() {
    let mut world = World::working(Decision::All);
    let request = json!({"type": "control_request", "request_id": "i", "request": {"subtype": "interrupt"}});
    world.step(BridgeInput::Loop(request.to_string().into_bytes()));
    assert!(sent(&world.out).iter().any(|message| message["method"] == "session/cancel"));
    assert!(world.out.contains(&BridgeOutput::WatchCancel));
    assert_eq!(world.permission("edit"), json!({"outcome": "cancelled"}));
    world.say("<promise>COMPLETE</promise>");
    world.answers(&json!({"stopReason": "end_turn", "usage": {"inputTokens": 1}}));
    assert_eq!(world.result()["is_error"], true, "some agents say end_turn after a cancel");
    let mut world = World::working(Decision::All);
    world.step(BridgeInput::Loop(request.to_string().into_bytes()));
    world.step(BridgeInput::CancelOverdue);
    assert_eq!(world.stopped(), Some(false));
}

#[test]
fn messages_reach_the_agent_between_turns_or_within_one() {
    let mut world = World::working(Decision::All);
    world.prompt("more");
    world.step(BridgeInput::LoopEnded);
    world.say("one");
    world.answers(&json!({"stopReason": "end_turn"}));
    assert_eq!(world.asked()["params"]["prompt"][0]["text"], "more");
    assert_eq!(world.stopped(), None, "the second turn runs");
    let mut world = World::new(BridgeOptions::default());
    world.answers(&json!({"protocolVersion": 1, "_meta": {"steering": {"supported": true}}}));
    world.answers(&json!({"sessionId": "s"}));
    world.prompt("go");
    world.prompt("rather there");
    assert_eq!(world.asked()["method"], "_session/steering");
}

#[test]
fn a_login_is_tried_only_where_the_agent_wants_one() {
    let mut world = World::new(BridgeOptions::default());
    world.answers(&json!({"protocolVersion": 1, "authMethods": [{"id": "api-key", "name": "Key"}]}));
    assert_eq!(world.asked()["method"], "session/new");
    world.fails(code::NO_LOGIN, "log in");
    assert_eq!(world.asked()["params"]["methodId"], "api-key");
    world.answers(&json!({}));
    assert_eq!(world.asked()["method"], "session/new");
    world.fails(code::NO_LOGIN, "log in");
    assert_eq!((world.stopped(), &world.result()["api_error_status"]), (Some(false), &json!(401)));
}

#[test]
fn a_session_goes_on_where_the_agent_can() {
    for (answer, method) in [
        (
            json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true, "sessionCapabilities": {"resume": {}}}}),
            "session/resume",
        ),
        (json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}}), "session/load"),
        (json!({"protocolVersion": 1}), "session/new"),
    ] {
        let mut world = World::new(BridgeOptions { resume: Some("old".into()), ..BridgeOptions::default() });
        world.answers(&answer);
        assert_eq!(world.asked()["method"], method);
        world.say("replayed words are nobody's");
        world.answers(&json!({"sessionId": "new"}));
        world.prompt("go");
        let session = if method == "session/new" { "new" } else { "old" };
        assert_eq!(world.asked()["params"]["sessionId"], session);
        assert!(!world.events().iter().any(|event| event["type"] == "assistant"));
    }
}

#[test]
fn an_agent_that_ends_or_never_begins_is_a_failure() {
    let mut world = World::new(BridgeOptions::default());
    world.prompt("go");
    world.step(BridgeInput::AgentEnded("no such file".into()));
    assert!(world.result()["result"].as_str().unwrap().contains("no such file"));
    assert_eq!(world.stopped(), Some(false));
    world.out.clear();
    world.step(BridgeInput::LoopEnded);
    assert!(world.out.is_empty(), "exactly one end");
    let mut world = World::new(BridgeOptions::default());
    world.step(BridgeInput::StartOverdue);
    assert_eq!((world.stopped(), &world.result()["is_error"]), (Some(false), &json!(true)));
    let mut world = World::new(BridgeOptions::default());
    world.answers(&json!({"protocolVersion": 2}));
    assert_eq!(world.stopped(), Some(false));
}
