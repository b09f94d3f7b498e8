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

/// A plugin in a zip archive, as GitHub packs repositories: one folder, files stored.
fn archive() -> Vec<u8> {
    let files = [
        ("kit-main/.claude-plugin/plugin.json", r#"{"name":"crate"}"#, 0o100_644_u32),
        ("kit-main/commands/open.md", "Open it with ${CLAUDE_PLUGIN_ROOT}.", 0o100_644),
        ("kit-main/bin/crate-tool", "#!/bin/sh\necho from-the-crate\n", 0o100_755),
    ];
    let (mut out, mut table) = (Vec::new(), Vec::new());
    for (name, text, mode) in files {
        let start = u32::try_from(out.len()).unwrap().to_le_bytes();
        let (size, length) =
            (u32::try_from(text.len()).unwrap().to_le_bytes(), u16::try_from(name.len()).unwrap().to_le_bytes());
        let facts = [&[0_u8; 8][..], &crc(text.as_bytes()).to_le_bytes(), &size, &size, &length].concat();
        out.extend([b"PK\x03\x04", &[20, 0][..], &facts, &[0, 0], name.as_bytes(), text.as_bytes()].concat());
        let place = [&[0_u8; 6][..], &(mode << 16).to_le_bytes(), &start].concat();
        table.extend([b"PK\x01\x02", &[20, 3, 20, 0][..], &facts, &[0, 0], &place, name.as_bytes()].concat());
    }
    let (size, at) =
        (u32::try_from(table.len()).unwrap().to_le_bytes(), u32::try_from(out.len()).unwrap().to_le_bytes());
    out.extend(table);
    out.extend([b"PK\x05\x06", &[0; 4][..], &[3, 0, 3, 0], &size, &at, &[0, 0]].concat());
    out
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[test]
fn a_plugin_may_come_as_an_archive_or_from_an_address() {
    let server = crate::common::loopback::Loopback::serving(archive());
    for by_address in [false, true] {
        let world = project(json!([bash("crate-tool"), say("done"), say("opened")]));
        let file = world.wd().join("kit.zip");
        std::fs::write(&file, archive()).unwrap();
        let address = format!("{}/kit.zip", server.url());
        let flag = if by_address { ["--plugin-url", &address] } else { ["--plugin-dir", "kit.zip"] };
        let outcome = finish(streaming(&world, "hi").args(flag).args(["--allowedTools", "Bash"]));
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{:?}", outcome.lines);
        assert_eq!(tool_results(&outcome)[0], "from-the-crate");
        let plugin = init(&outcome)["plugins"][0].clone();
        assert_eq!(plugin["name"], "crate");
        finish(streaming(&world, "/crate:open").args(flag));
        let root = plugin["path"].as_str().unwrap();
        assert!(
            said(&requests(&world)[2]).contains(&format!("Open it with {root}.")),
            "the same content, the same place"
        );
    }
}

#[test]
fn what_is_no_plugin_is_told_and_stops_nothing() {
    let server = crate::common::loopback::Loopback::serving(b"<html>".to_vec());
    let nowhere = format!("{}/nothing", server.url());
    for (flag, value, kind) in [
        ("--plugin-dir", "bad.zip", "archive-error"),
        ("--plugin-url", nowhere.as_str(), "fetch-failed"),
        ("--plugin-url", "http://plugins.example/kit.zip", "fetch-failed"),
        ("--plugin-url", "kit.zip", "fetch-failed"),
    ] {
        let world = project(json!([say("ok")]));
        std::fs::write(world.wd().join("bad.zip"), "PK and no more").unwrap();
        let outcome = finish(streaming(&world, "hi").args([flag, value]));
        assert_eq!(outcome.code, Some(0), "{value}: {}", outcome.stderr);
        assert_eq!(init(&outcome)["plugin_errors"][0]["type"], kind, "{value}");
    }
}
