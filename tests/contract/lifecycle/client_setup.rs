//! What a client sets up and switches reaches the model: plan mode, and what its prompt leaves out.

use super::asked::asking;
use super::{DUPLEX, duplex, said_to_model};
use crate::common::{bash, claude, finish, say, world};
use serde_json::{Value, json};

#[test]
fn plan_mode_is_told_when_it_begins_and_when_it_ends() {
    let world = world(json!([say("one"), say("two"), say("three"), say("four")]));
    let mode = |mode: &str| json!({"subtype": "set_permission_mode", "mode": mode});
    let run = asking(duplex(&world), "i", &json!({"subtype": "initialize", "planModeInstructions": "Ask the mason."}));
    let run = run.prompt("a").wait(json!({"type": "result"}));
    let run = asking(run, "on", &mode("plan")).prompt("b").wait(json!({"type": "result"}));
    let run = run.prompt("c").wait(json!({"type": "result"}));
    let outcome = finish(asking(run, "off", &mode("default")).prompt("d").wait(json!({"type": "result"})).close());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let told = |request: usize, words: &str| said_to_model(&world, request).matches(words).count();
    let on: Vec<usize> = (0..4).map(|request| told(request, "Plan mode is on")).collect();
    let off: Vec<usize> = (0..4).map(|request| told(request, "Plan mode is off")).collect();
    assert_eq!((on, off), (vec![0, 1, 1, 1], vec![0, 0, 0, 1]));
    assert!(told(1, "Ask the mason.") == 1 && told(1, "ExitPlanMode") == 1);
    let again = finish(duplex(&world).args(["--resume", &outcome.session_id().unwrap()]).prompt("e").close());
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert_eq!((told(4, "Plan mode is on"), told(4, "Plan mode is off")), (1, 1), "it is not told again");
}

#[test]
fn what_the_system_prompt_leaves_out_stands_before_the_conversation() {
    let world = world(json!([say("one"), say("two")]));
    let folder = world.wd().display().to_string();
    for asked in [false, true] {
        let request = json!({"subtype": "initialize", "excludeDynamicSections": asked});
        let run = asking(duplex(&world), "i", &request).prompt("go").wait(json!({"type": "result"}));
        finish(run.close());
        let body = &world.mock().requests()[usize::from(asked)].body;
        let holds = |part: &Value| part.to_string().contains(&folder);
        assert_eq!((holds(&body["system"]), holds(&body["messages"])), (!asked, asked));
    }
}

#[test]
fn a_session_id_that_is_taken_is_told_as_a_result_too() {
    let world = world(json!([say("one")]));
    let id = "11111111-1111-4111-8111-111111111111";
    let named = || duplex(&world).args(["--session-id", id]).prompt("go").close();
    assert_eq!(finish(named()).code, Some(0));
    let taken = finish(named());
    let result = taken.result().unwrap();
    assert_eq!((taken.code, &result["subtype"]), (Some(1), &json!("error_during_execution")));
    assert!(result["errors"][0].as_str().unwrap().contains("is already in use"), "{result}");
}

#[test]
fn what_the_user_may_say_next_is_guessed_where_it_is_wanted() {
    let script = || {
        let untooled = json!([say("\"Run the tests\"\nor not"), say("And now the docs")]);
        let turns = json!([say("one"), say("two"), say("three")]);
        testkit::World::empty(mock::Script::from_value(json!({"turns": turns, "untooled": untooled})).unwrap()).unwrap()
    };
    for (words, variable, expected) in [
        (&["--prompt-suggestions"][..], "1", vec!["Run the tests", "And now the docs"]),
        (&["--prompt-suggestions"], "0", vec![]),
        (&[], "1", vec![]),
        (&["--prompt-suggestions", "--permission-mode", "plan"], "1", vec![]),
    ] {
        let world = script();
        let run = claude(&world).args(DUPLEX).args(words.iter().copied());
        let run = run.env("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION", variable);
        let run = run.prompt("a").wait(json!({"type": "result"})).prompt("b").wait(json!({"type": "result"}));
        let run = if expected.is_empty() { run } else { run.wait(json!({"type": "prompt_suggestion"})) };
        let outcome = finish(run.prompt("c").wait(json!({"type": "result"})).close());
        assert!(outcome.code == Some(0) && outcome.unmet.is_empty(), "{:?}", outcome.lines);
        let events = outcome.events();
        let found = events.iter().filter(|event| event["type"] == "prompt_suggestion");
        let found: Vec<&str> = found.map(|event| event["suggestion"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "{words:?} {variable}");
    }
}

#[test]
fn settings_that_a_client_applies_hold_until_it_takes_them_back() {
    let world = world(json!([bash("touch one"), say("a"), bash("touch two"), say("b"), bash("touch three"), say("c")]));
    let apply = |settings: Value| json!({"subtype": "apply_flag_settings", "settings": settings});
    let run = claude(&world).args(DUPLEX);
    let run = asking(
        run,
        "bad",
        &apply(json!({"permissions": {"allow": ["Bash(touch:*)", "Bash("]}, "outputStyle": "Concise"})),
    );
    let run = asking(run, "bypass", &apply(json!({"permissions": {"defaultMode": "bypassPermissions"}})));
    let run = run.prompt("1").wait(json!({"type": "result"}));
    let run =
        asking(run, "good", &apply(json!({"permissions": {"allow": ["Bash(touch:*)"]}, "outputStyle": "Concise"})));
    let run = run.prompt("2").wait(json!({"type": "result"}));
    let run = asking(run, "back", &apply(json!({"permissions": null, "outputStyle": null})));
    let outcome = finish(run.prompt("3").wait(json!({"type": "result"})).close());
    let made = ["one", "two", "three"].map(|name| world.read(name).is_some());
    assert_eq!(made, [false, true, false], "{:?}", outcome.lines);
    let events = outcome.events();
    let answers = ["bad", "bypass", "good", "back"].map(|id| {
        events.iter().find(|event| event["response"]["request_id"] == id).unwrap()["response"]["subtype"].clone()
    });
    assert_eq!(answers, ["error", "error", "success", "success"]);
    let styles: Vec<&Value> =
        events.iter().filter(|event| event["subtype"] == "init").map(|event| &event["output_style"]).collect();
    assert_eq!(styles, ["default", "Concise", "default"]);
}

/// A client takes back what users and it itself have said, never what an administrator did.
#[test]
fn an_administrators_rule_is_not_a_clients_to_remove() {
    for (layer, removed) in [("--managed-settings", false), ("--disallowedTools", true)] {
        let world = world(json!([bash("mkdir made"), bash("touch x"), say("done")]));
        let rule = json!({"permissions": {"deny": ["Bash(touch:*)"]}}).to_string();
        let value = if removed { "Bash(touch:*)" } else { rule.as_str() };
        let remove = |place: &str| {
            json!({"type": "removeRules", "behavior": "deny", "destination": place,
                "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}]})
        };
        let allow = json!({"behavior": "allow", "updatedInput": {"command": "mkdir made"}, "updatedPermissions": [
            remove("session"), remove("cliArg"), remove("policySettings"),
            {"type": "setMode", "mode": "acceptEdits", "destination": "session"}]});
        let run = claude(&world).args(DUPLEX).args(["--permission-prompt-tool", "stdio", layer, value]).prompt("go");
        let run = run.wait(json!({"type": "control_request", "request": {"subtype": "can_use_tool"}}));
        let run = run.send(json!({"type": "control_response", "response": {
            "subtype": "success", "request_id": "$REQ", "response": allow}}));
        let outcome = finish(run.wait(json!({"type": "result"})).close());
        assert!(world.wd().join("made").is_dir() && outcome.unmet.is_empty(), "{:?}", outcome.lines);
        assert_eq!(world.read("x").is_some(), removed, "{layer}");
    }
}

/// Every prompt that is taken is shown, also one that no model sees, right after its turn's `init`.
#[test]
fn a_prompt_is_replayed_whatever_becomes_of_it() {
    let world = world(json!([say("one")]));
    let run = duplex(&world).args(["--replay-user-messages"]);
    let outcome = finish(["go", "/cost", "/nonsense", "  "].iter().fold(run, |run, text| run.prompt(text)).close());
    let events = outcome.events();
    let kinds: Vec<&str> = events
        .iter()
        .filter_map(|event| match (event["type"].as_str()?, event["subtype"].as_str()) {
            ("user", _) => Some("replay"),
            ("system", Some("init")) => Some("init"),
            ("result", _) => Some("result"),
            _ => None,
        })
        .collect();
    assert_eq!(kinds, ["init", "replay", "result"].repeat(4));
    let replayed: Vec<&Value> =
        events.iter().filter(|event| event["isReplay"] == true).map(|event| &event["message"]["content"]).collect();
    assert_eq!(replayed, ["go", "/cost", "/nonsense", "  "]);
}

#[test]
fn a_tools_name_may_mean_another_tool() {
    let world = world(
        json!([{"content": [{"type": "tool_use", "name": "Run", "input": {"command": "echo hi"}}]}, say("done")]),
    );
    let aliases = json!({"subtype": "initialize", "toolAliases": {"Run": "Bash", "Bash": "Read"}});
    let run = asking(duplex(&world), "i", &aliases).prompt("go").wait(json!({"type": "result"}));
    let outcome = finish(run.close());
    assert_eq!(crate::common::tool_results(&outcome), ["hi"], "one step, not two");
}

#[test]
fn settings_can_be_typed_as_a_command() {
    let world = world(json!([say("one")]));
    let outcome = finish(
        duplex(&world)
            .prompt("/config effortLevel=low model=haiku")
            .wait(json!({"type": "result"}))
            .prompt("go")
            .wait(json!({"type": "result"}))
            .prompt("/config theme=dark")
            .prompt("/config")
            .close(),
    );
    let body = &world.mock().requests()[0].body;
    assert_eq!((&body["output_config"]["effort"], &body["model"]), (&json!("low"), &json!("claude-haiku-5-5")));
    let errors: Vec<bool> = crate::common::results(&outcome).iter().map(|result| result["is_error"] == true).collect();
    assert_eq!(errors, [false, false, true, true]);
}
