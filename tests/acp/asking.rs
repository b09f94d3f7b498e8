//! Modes, models, plans and questions.

use crate::client::{Client, call, say, world};
use serde_json::{Value, json};

#[test]
fn a_mode_is_obeyed_and_an_unknown_one_is_refused() {
    let world = world(json!([call("Write", json!({"file_path": "$WD/a", "content": "x"})), say("Written.")]));
    let (mut client, session) = Client::open(&world);
    client.choice = None;
    let error = client.ask("session/set_mode", json!({"sessionId": session, "modeId": "wild"}));
    assert_eq!(error["error"]["code"], -32602);
    assert_eq!(
        client.ask("session/set_mode", json!({"sessionId": session, "modeId": "acceptEdits"}))["result"],
        json!({})
    );
    assert_eq!(client.turn(&session, "write")["result"]["stopReason"], "end_turn");
    assert_eq!(world.read("a").as_deref(), Some("x"), "nobody was asked");
    assert_eq!(client.updates("config_option_update")[0]["configOptions"][0]["currentValue"], "acceptEdits");
}

#[test]
fn a_model_is_chosen_and_used() {
    let world = world(json!([say("Hello.")]));
    let mut client = Client::start(&world);
    client.initialize(json!({}));
    let opened = client.ask("session/new", json!({"cwd": world.wd(), "mcpServers": []}))["result"].clone();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    let options = opened["configOptions"].as_array().unwrap();
    let ids: Vec<&Value> = options.iter().map(|option| &option["id"]).collect();
    assert!(ids.contains(&&json!("mode")) && ids.contains(&&json!("model")), "{opened}");
    let set = |value: &str| json!({"sessionId": session, "configId": "model", "value": value});
    assert_eq!(client.ask("session/set_config_option", set("nonsense"))["error"]["code"], -32602);
    let answer = client.ask("session/set_config_option", set("haiku"));
    let current = answer["result"]["configOptions"].as_array().unwrap().iter().find(|option| option["id"] == "model");
    assert_eq!(current.unwrap()["currentValue"], "haiku");
    client.turn(&session, "hello");
    let model = world.mock().requests()[0].body["model"].as_str().unwrap().to_owned();
    assert!(model.contains("haiku"), "{model}");
}

#[test]
fn tasks_are_a_plan() {
    let turns = json!([
        call("TaskCreate", json!({"subject": "Write it", "description": "all of it", "activeForm": "Writing it"})),
        call("TaskUpdate", json!({"taskId": "1", "status": "in_progress"})),
        say("Planned."),
    ]);
    let world = world(turns);
    let (mut client, session) = Client::open(&world);
    client.turn(&session, "plan");
    let plans = client.updates("plan");
    let entry = |index: usize| &plans[index]["entries"][0];
    assert_eq!((&entry(0)["content"], &entry(0)["status"]), (&json!("Write it"), &json!("pending")), "{plans:?}");
    assert_eq!((&entry(1)["content"], &entry(1)["status"]), (&json!("Writing it"), &json!("in_progress")));
    assert!(client.updates("tool_call").is_empty(), "plans are no calls");
}

#[test]
fn a_plan_is_approved_into_a_mode() {
    let turns = json!([
        call("ExitPlanMode", json!({"plan": "1. write a"})),
        call("Write", json!({"file_path": "$WD/a", "content": "x"})),
        say("Written."),
    ]);
    let world = world(turns);
    let (mut client, session) = Client::open(&world);
    client.ask("session/set_mode", json!({"sessionId": session, "modeId": "plan"}));
    client.choice = Some("allow_always");
    assert_eq!(client.turn(&session, "plan it")["result"]["stopReason"], "end_turn");
    assert_eq!(world.read("a").as_deref(), Some("x"));
    assert_eq!(client.updates("current_mode_update").last().unwrap()["currentModeId"], "acceptEdits");
}

const QUESTIONS: &str = r#"{"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false,
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]}]}"#;

#[test]
fn a_question_is_a_form_for_clients_that_have_forms() {
    let questions: Value = serde_json::from_str(QUESTIONS).unwrap();
    let world = world(json!([call("AskUserQuestion", questions), say("Thanks.")]));
    let mut client = Client::start(&world);
    client.initialize(json!({"elicitation": {"form": {}}}));
    let session = client.new_session(&world);
    let turn = client.prompt(&session, "ask me");
    let form = client.until(|message| message["method"] == "elicitation/create");
    assert_eq!(form["params"]["requestedSchema"]["properties"]["question_0"]["oneOf"][1]["const"], "Blue");
    let answer =
        json!({"jsonrpc": "2.0", "id": form["id"], "result": {"action": "accept", "content": {"question_0": "Blue"}}});
    client.write(&answer.to_string());
    assert_eq!(client.answer(turn)["result"]["stopReason"], "end_turn");
    assert!(world.mock().requests()[1].body.to_string().contains("Blue"));
}

#[test]
fn a_client_without_forms_has_no_questions() {
    let world = world(json!([say("Hello.")]));
    let (mut client, session) = Client::open(&world);
    client.turn(&session, "hello");
    let tools = world.mock().requests()[0].body["tools"].to_string();
    assert!(!tools.contains("AskUserQuestion") && tools.contains("Bash"), "{tools}");
}
