//! The administrator's policies are enforced, or nothing starts.

use super::{claude, finish, here, managed, own, plain, refused, run};
use serde_json::json;

#[test]
fn root_without_a_sandbox_does_not_skip_permissions() {
    let world = plain();
    let bare = || claude(&world).without_env("IS_SANDBOX").args(["-p", "hi"]);
    if !rustix::process::geteuid().is_root() {
        assert_eq!(finish(bare().args(["--dangerously-skip-permissions"])).code, Some(0), "only root is restrained");
        return;
    }
    refused(&world, bare().args(["--dangerously-skip-permissions"]), "is refused for root");
    refused(&world, bare().args(["--permission-mode", "bypassPermissions"]), "is refused for root");
    own(&world, ".claude/settings.json", &json!({"permissions": {"defaultMode": "bypassPermissions"}}));
    refused(&world, bare(), "is refused for root");
    assert_eq!(finish(bare().args(["--permission-mode", "default"])).code, Some(0));
    assert_eq!(finish(bare().env("IS_SANDBOX", "1")).code, Some(0));
    refused(&world, bare().env("IS_SANDBOX", "0"), "is refused for root");
}

#[test]
fn models_outside_of_the_list_are_refused() {
    let world = plain();
    let policy = json!({"availableModels": ["sonnet", "haiku"]});
    let words = |model: &'static str| ["-p", "hi", "--model", model];
    let model = |run: testkit::Run| {
        let outcome = finish(run);
        assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
        world.mock().requests().last().map(|request| request.body["model"].clone()).expect("a request")
    };
    refused(&world, managed(&world, &policy).args(words("opus")), "do not allow the model 'opus'");
    refused(&world, managed(&world, &policy).args(["-p", "hi"]).env("ANTHROPIC_MODEL", "opus"), "do not allow");
    assert_eq!(model(managed(&world, &policy).args(words("sonnet"))), "claude-sonnet-5-5");
    assert_eq!(model(managed(&world, &policy).args(["-p", "hi"])), "claude-opus-5-5", "the default is always allowed");
    let enforced = json!({"availableModels": ["sonnet"], "enforceAvailableModels": true});
    assert_eq!(model(managed(&world, &enforced).args(["-p", "hi"])), "claude-sonnet-5-5");
    let none = json!({"availableModels": [], "enforceAvailableModels": true});
    refused(&world, managed(&world, &none).args(["-p", "hi"]), "allows no model");
    // In the middle of a session, too.
    let switched = finish(managed(&world, &policy).args(["-p", "/model opus"]));
    assert!(switched.lines.concat().contains("do not allow the model"), "{:?}", switched.lines);
}

#[test]
fn flags_that_bring_something_along_are_refused_where_the_policy_says_so() {
    let world = plain();
    here(&world, "plug/.claude-plugin/plugin.json", r#"{"name": "plug"}"#);
    let policy = json!({"disableSideloadFlags": true});
    for words in [
        &["--plugin-dir", "plug"][..],
        &["--plugin-url", "https://127.0.0.1:1/x.zip"],
        &["--agents", r#"{"a": {"description": "d", "prompt": "p"}}"#],
        &["--mcp-config", r#"{"mcpServers": {}}"#],
    ] {
        let run = managed(&world, &policy).args(["-p", "hi"]).args(words.iter().copied());
        refused(&world, run, "disableSideloadFlags");
    }
    assert_eq!(finish(managed(&world, &policy).args(["-p", "hi"])).code, Some(0));
}

#[test]
fn customisation_is_left_to_plugins() {
    let world = plain();
    own(
        &world,
        ".claude/settings.json",
        &json!({"hooks": {"UserPromptSubmit": [{"hooks": [
        {"type": "command", "command": format!("touch {}/hooked", world.home().display())}]}]}}),
    );
    super::write(world.home().join(".claude/skills/mine/SKILL.md"), "---\nname: mine\ndescription: d\n---\nText");
    super::write(world.home().join(".claude/agents/helper.md"), "---\nname: helper\ndescription: d\n---\nText");
    here(&world, ".mcp.json", r#"{"mcpServers": {"theirs": {"command": "true"}}}"#);
    here(&world, "plug/.claude-plugin/plugin.json", r#"{"name": "plug"}"#);
    here(&world, "plug/skills/brought/SKILL.md", "---\nname: brought\ndescription: d\n---\nText");
    let init = |policy: &serde_json::Value| {
        let words = ["-p", "hi", "--plugin-dir", "plug", "--output-format", "stream-json", "--verbose"];
        let outcome = finish(managed(&world, policy).args(words));
        let init = outcome.events().into_iter().find(|event| event["subtype"] == "init").expect("init");
        let hooked = std::fs::remove_file(world.home().join("hooked")).is_ok();
        (init["skills"].to_string(), init["agents"].to_string(), init["mcp_servers"].to_string(), hooked)
    };
    let (skills, agents, servers, hooked) = init(&json!({}));
    assert!(skills.contains("mine") && agents.contains("helper") && servers.contains("theirs") && hooked);
    let (skills, agents, servers, hooked) = init(&json!({"strictPluginOnlyCustomization": true}));
    assert!(skills.contains("brought") && !skills.contains("mine"), "{skills}");
    assert!(!agents.contains("helper") && !servers.contains("theirs") && !hooked, "{agents} {servers} {hooked}");
    let (skills, _, servers, hooked) = init(&json!({"strictPluginOnlyCustomization": ["hooks"]}));
    assert!(skills.contains("mine") && servers.contains("theirs") && !hooked);
}

#[test]
fn what_cannot_be_enforced_stops_the_start() {
    let world = plain();
    for (policy, part) in [
        (json!({"requiredMinimumVersion": "99.0.0"}), "requires version at least 99.0.0"),
        (json!({"requiredMaximumVersion": "1.0.0"}), "requires version at most 1.0.0"),
        (json!({"policyHelper": {"path": "/bin/true"}}), "policyHelper"),
        (json!({"forceLoginOrgUUID": "11111111-2222-4333-8444-555555555555"}), "forceLoginOrgUUID"),
        (json!({"forceLoginMethod": "claudeai"}), "forceLoginMethod"),
        (json!({"forceRemoteSettingsRefresh": true}), "forceRemoteSettingsRefresh"),
    ] {
        refused(&world, managed(&world, &policy).args(["-p", "hi"]), part);
    }
    assert_eq!(finish(managed(&world, &json!({"forceLoginMethod": "console"})).args(["-p", "hi"])).code, Some(0));
    // A user cannot lock himself out, nor an administrator be imitated.
    own(&world, ".claude/settings.json", &json!({"requiredMinimumVersion": "99.0.0", "forceLoginMethod": "claudeai"}));
    assert_eq!(run(&world, &["-p", "hi"]).code, Some(0));
}

#[test]
fn auto_mode_can_be_switched_off() {
    let world = plain();
    for value in [json!("disable"), json!(true)] {
        let run = managed(&world, &json!({"disableAutoMode": value})).args(["-p", "hi", "--permission-mode", "auto"]);
        refused(&world, run, "disableAutoMode");
    }
    assert_eq!(run(&world, &["-p", "hi", "--permission-mode", "auto"]).code, Some(0));
}

#[test]
fn settings_without_effect_are_named_in_one_line() {
    let world = plain();
    own(
        &world,
        ".claude/settings.json",
        &json!({"processWrapper": "nice", "plansDirectory": "p", "statusLine": {"type": "x"}}),
    );
    let outcome = run(&world, &["-p", "hi"]);
    assert_eq!(
        (outcome.code, &*outcome.stderr),
        (Some(0), "warning: settings without effect in this agent: plansDirectory, processWrapper")
    );
}
