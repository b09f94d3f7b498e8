//! Local plugins: every part of one arrives where the folder's own parts do.

use super::{described, init, project, requests, said, streaming, system};
use crate::common::{bash, call, finish, say, tool_results};
use serde_json::json;

#[test]
fn init_tells_what_a_plugin_brought() {
    let world = project(json!([say("ok")]));
    let outcome = finish(streaming(&world, "hi").args(["--plugin-dir", "kit"]));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    let init = init(&outcome);
    let kit = world.wd().join("kit");
    assert_eq!(init["plugins"], json!([{"name": "kit", "path": kit, "version": "1.0.0"}]));
    assert!(init.get("plugin_errors").is_none());
    for (list, name) in [("slash_commands", "kit:ship"), ("skills", "kit:lint"), ("agents", "kit:tester")] {
        assert!(init[list].as_array().unwrap().contains(&json!(name)), "{name} is not in {list}: {init}");
    }
    let request = &requests(&world)[0];
    assert!(described(request, "Skill").contains("- kit:lint: how we lint"));
    assert!(described(request, "Agent").contains("- kit:tester: runs the tests"));
    assert!(said(request).contains("Context of the plugin's hook"), "{}", said(request));
}

#[test]
fn its_command_knows_where_the_plugin_is() {
    let world = project(json!([say("shipped")]));
    finish(streaming(&world, "/kit:ship 1.2").args(["--plugin-dir", "kit"]));
    let expected = format!("Ship 1.2 with the script in {}/kit/bin.", world.wd().display());
    assert!(said(&requests(&world)[0]).contains(&expected));
}

#[test]
fn its_skill_agent_style_and_programs_work() {
    let task = json!({"description": "test it", "prompt": "test", "subagent_type": "kit:tester"});
    let world = project(json!([
        call("Skill", &json!({"skill": "kit:lint"})),
        call("Agent", &task),
        say("tested"),
        bash("kit-tool"),
        say("done"),
    ]));
    let bin = world.wd().join("kit/bin/kit-tool");
    std::fs::set_permissions(&bin, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let outcome = finish(streaming(&world, "hi").args([
        "--plugin-dir=kit",
        "--dangerously-skip-permissions",
        "--settings",
        r#"{"outputStyle":"kit:loud"}"#,
    ]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let requests = requests(&world);
    assert!(system(&requests[0]).contains("SPEAK UP."));
    assert!(said(&requests[1]).contains("Lint twice."));
    assert!(system(&requests[2]).contains("You run tests."));
    assert_eq!(tool_results(&outcome).last().unwrap(), "from-the-kit");
}

#[test]
fn a_plugin_that_cannot_be_loaded_is_told_and_stops_nothing() {
    let world = project(json!([say("ok")]));
    std::fs::write(world.wd().join("kit/.claude-plugin/plugin.json"), r#"{"name":"kit","version":2}"#).unwrap();
    let outcome = finish(streaming(&world, "hi").args(["--plugin-dir", "kit", "--plugin-dir", "none"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let init = init(&outcome);
    assert_eq!(init["plugins"], json!([]));
    let errors = init["plugin_errors"].as_array().unwrap();
    let kinds: Vec<&str> = errors.iter().map(|error| error["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["manifest-error", "path-not-found"]);
    assert_eq!(errors[0]["plugin"], "kit");
    assert!(errors[0]["message"].as_str().unwrap().contains("`version` must be text"), "{errors:?}");
}

#[test]
fn hooks_that_are_switched_off_are_off_for_plugins_too() {
    let world = project(json!([say("ok")]));
    let arguments = ["--plugin-dir", "kit", "--settings", r#"{"disableAllHooks":true}"#];
    finish(streaming(&world, "hi").args(arguments));
    assert!(!said(&requests(&world)[0]).contains("Context of the"));
}

#[test]
fn its_servers_bring_their_tools_unless_they_are_left_out() {
    let tool = "mcp__plugin_kit_db__look";
    let world = project(json!([call(tool, &json!({})), say("ok"), say("ok"), say("ok")]));
    let outcome = finish(streaming(&world, "hi").args(["--plugin-dir", "kit", "--allowedTools", tool]));
    assert!(described(&requests(&world)[0], tool).contains("looks into the database of the kit"));
    assert!(tool_results(&outcome)[0].contains("a row of the kit"), "{:?}", tool_results(&outcome));
    for flags in [&["--plugin-dir-no-mcp", "kit"][..], &["--plugin-dir", "kit", "--strict-mcp-config"]] {
        let outcome = finish(streaming(&world, "hi").args(flags.iter().copied()));
        let init = init(&outcome);
        assert!(!init["tools"].to_string().contains("plugin_kit_db"), "{init}");
        assert_eq!(init["plugins"][0]["name"], "kit");
    }
}

fn initialize(plugins: &serde_json::Value) -> serde_json::Value {
    json!({"type": "control_request", "request_id": "1", "request": {"subtype": "initialize", "plugins": plugins}})
}

/// A client may hand over its plugins with its first line; nothing is asked before it.
#[test]
fn plugins_that_a_client_brings_are_there_before_the_first_prompt() {
    let world = project(json!([say("shipped")]));
    let run = crate::common::claude(&world)
        .args(["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"])
        .args(["--await-initialize", "--", "/kit:ship 3"])
        .send(initialize(&json!([{"type": "local", "path": "kit"}, {"type": "local", "path": "none"}])))
        .wait(json!({"type": "result"}));
    let outcome = finish(run.close());
    assert!(outcome.unmet.is_empty(), "{:?} {}", outcome.lines, outcome.stderr);
    let answer = &outcome.events()[0]["response"]["response"];
    assert_eq!(answer["plugins_applied"], json!(true), "{:?}", outcome.lines);
    assert!(answer["commands"].to_string().contains("kit:ship"));
    let init = init(&outcome);
    assert_eq!((&init["plugins"][0]["name"], init["plugins"].as_array().unwrap().len()), (&json!("kit"), 1));
    assert_eq!(init["plugin_errors"][0]["type"], "path-not-found");
    let request = &requests(&world)[0];
    assert!(
        said(request).contains("Ship 3 with the script in") && said(request).contains("Context of the plugin's hook")
    );
    assert!(described(request, "mcp__plugin_kit_db__look").contains("database of the kit"));
}

#[test]
fn a_client_that_is_awaited_and_leaves_still_gets_its_prompt_answered() {
    let world = project(json!([say("ok")]));
    let flags = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--await-initialize"];
    let outcome = finish(crate::common::claude(&world).args(flags).prompt("hi").close());
    assert_eq!(outcome.result().unwrap()["result"], "ok");
}

#[test]
fn a_plugin_may_bring_the_agent_and_the_style_of_the_session() {
    let world = project(json!([say("ok"), say("ok")]));
    super::add(&world, "kit/settings.json", r#"{"agent":"tester","env":{"X":"1"}}"#);
    finish(streaming(&world, "hi").args(["--plugin-dir", "kit"]));
    assert!(system(&requests(&world)[0]).starts_with("You run tests."));
    super::add(&world, "kit/output-styles/loud.md", "---\nforce-for-plugin: true\n---\nSPEAK UP.");
    finish(streaming(&world, "hi").args(["--plugin-dir", "kit", "--agent", "general-purpose"]));
    let prompt = system(&requests(&world)[1]);
    assert!(prompt.contains("SPEAK UP.") && !prompt.contains("You run tests."), "{prompt}");
}
