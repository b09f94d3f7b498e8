//! Plugins that the user installs: from a marketplace to the request that reaches the model.

use super::{add, described, init, project, requests, said, streaming};
use crate::common::{claude, finish, say};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::{Outcome, World};

/// The fixture project as a marketplace that offers its plugin.
fn market(turns: Value) -> World {
    let world = project(turns);
    let offers = json!({"name": "shop", "owner": {"name": "us"}, "plugins": [
        {"name": "kit", "source": "./kit", "description": "a plugin for tests"},
        {"name": "far", "source": {"source": "npm", "package": "far"}},
    ]});
    add(&world, ".claude-plugin/marketplace.json", &offers.to_string());
    world
}

fn plugin(world: &World, words: &[&str]) -> Outcome {
    finish(claude(world).args(["plugin"]).args(words.iter().copied()).close())
}

fn done(world: &World, words: &[&str]) -> String {
    let outcome = plugin(world, words);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{words:?}");
    outcome.lines.join("\n")
}

fn refused(world: &World, words: &[&str]) -> String {
    let outcome = plugin(world, words);
    assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0), "{words:?}: {:?}", outcome.lines);
    outcome.stderr
}

fn names(outcome: &Outcome) -> Vec<String> {
    let listed = init(outcome)["plugins"].as_array().cloned().unwrap_or_default();
    listed.iter().map(|plugin| plugin["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn an_installed_plugin_is_loaded_by_later_runs_until_it_is_switched_off() {
    let world = market(json!([say("ok"), say("ok"), say("ok"), say("ok"), say("ok")]));
    assert_eq!(done(&world, &["marketplace", "add", "."]), "Successfully added marketplace: shop (2 plugins)");
    assert_eq!(done(&world, &["install", "kit@shop"]), "Installed plugin: kit@shop (version 1.0.0)");
    assert_eq!(done(&world, &["list"]), "kit@shop 1.0.0 (enabled)");
    std::fs::remove_dir_all(world.wd().join("kit")).unwrap();
    let outcome = finish(streaming(&world, "/kit:ship 1.2"));
    assert_eq!((outcome.code, outcome.stderr.as_str(), names(&outcome)), (Some(0), "", vec!["kit".to_owned()]));
    let root = world.home().join(".claude/plugins/cache/shop/kit/1.0.0").canonicalize().unwrap();
    let request = &requests(&world)[0];
    assert!(
        said(request).contains(&format!("Ship 1.2 with the script in {}/bin.", root.display())),
        "{}",
        said(request)
    );
    assert!(described(request, "mcp__plugin_kit_db__look").contains("looks into the database of the kit"));
    assert!(said(request).contains("Context of the plugin's hook"));
    let bare = finish(streaming(&world, "hi").args(["--safe-mode"]));
    assert_eq!(names(&bare), Vec::<String>::new());
    assert_eq!(done(&world, &["disable", "kit"]), "Disabled plugin: kit@shop");
    assert_eq!(names(&finish(streaming(&world, "hi"))), Vec::<String>::new());
    assert_eq!(done(&world, &["enable", "kit@shop", "--scope=project"]), "Enabled plugin: kit@shop");
    let untrusted = finish(streaming(&world, "hi"));
    assert_eq!(names(&untrusted), Vec::<String>::new(), "a folder that is not trusted switches nothing on");
    assert!(untrusted.stderr.contains("enabledPlugins") && untrusted.stderr.contains("ralph trust"));
    testkit::looping::trust(&world);
    assert_eq!(names(&finish(streaming(&world, "hi"))), ["kit"]);
    assert_eq!(done(&world, &["uninstall", "kit"]), "Uninstalled plugin: kit@shop");
    assert_eq!(done(&world, &["list"]), "No plugins are installed.");
    assert!(!root.exists());
}

#[test]
fn what_cannot_be_done_is_said_with_what_could() {
    let world = market(json!([say("ok")]));
    assert!(refused(&world, &["install", "kit"]).contains("not found in any configured marketplace"));
    assert!(refused(&world, &["marketplace", "add", "nowhere"]).contains("neither a folder nor"));
    assert!(refused(&world, &["marketplace", "add", "docs"]).contains("marketplace.json does not exist"));
    done(&world, &["marketplace", "add", "."]);
    assert!(refused(&world, &["install", "ghost@shop"]).contains("Known: shop"));
    assert!(refused(&world, &["install", "far"]).contains("\"npm\" are not supported"));
    assert!(refused(&world, &["enable", "kit"]).contains("is not installed"));
    assert!(refused(&world, &["install", "kit", "--scope", "moon"]).contains("allowed are user, project, local"));
    assert!(refused(&world, &["list", "--odd"]).contains("unknown option '--odd'"));
    assert!(refused(&world, &["marketplace", "sell"]).starts_with("usage: plugin"));
    assert_eq!(done(&world, &["validate", "kit"]), "kit is a plugin: 2 skills and commands, 1 agents.");
    assert_eq!(done(&world, &["marketplace", "remove", "shop"]), "Removed marketplace: shop");
    assert!(refused(&world, &["marketplace", "remove", "shop"]).contains("there is no marketplace"));
}

#[test]
fn a_plugin_that_is_switched_on_and_not_installed_is_told_and_stops_nothing() {
    let world = market(json!([say("ok")]));
    let settings = r#"{"enabledPlugins":{"kit@shop":true}}"#;
    let outcome = finish(streaming(&world, "hi").args(["--settings", settings]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(init(&outcome)["plugin_errors"][0]["type"], "plugin-not-found");
}

#[expect(clippy::disallowed_methods, reason = "a test makes a repository with the caller's git")]
fn git(folder: &Path, args: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{args:?}");
}

#[test]
fn a_repository_is_cloned_and_the_plugins_in_other_repositories_too() {
    let world = market(json!([say("ok")]));
    let (market, other) = (world.home().join("market.git"), world.home().join("other.git"));
    git(world.wd(), &["clone", "-q", "--bare", ".", other.to_str().unwrap()]);
    let offers = json!({"name": "shop", "plugins": [{"name": "whole", "source": {"source": "url", "url": format!("file://{}", other.display())}}]});
    add(&world, ".claude-plugin/marketplace.json", &offers.to_string());
    git(world.wd(), &["add", "-A"]);
    git(world.wd(), &["commit", "-q", "-m", "market"]);
    git(world.wd(), &["clone", "-q", "--bare", ".", market.to_str().unwrap()]);
    assert!(done(&world, &["marketplace", "add", market.to_str().unwrap()]).contains("added marketplace: shop (1"));
    assert!(world.home().join(".claude/plugins/marketplaces/shop/CLAUDE.md").is_file());
    assert_eq!(done(&world, &["marketplace", "update"]), "Updated 1 marketplaces.");
    assert_eq!(done(&world, &["install", "whole"]), "Installed plugin: whole@shop (version unknown)");
    assert_eq!(names(&finish(streaming(&world, "hi"))), ["whole"]);
    let left: Vec<_> = world.home().join(".claude/plugins/marketplaces").read_dir().unwrap().flatten().collect();
    assert_eq!(left.len(), 1, "nothing half fetched stays: {left:?}");
    let gone = format!("file://{}/none.git", world.home().display());
    assert!(refused(&world, &["marketplace", "add", &gone]).contains("cannot be cloned"));
}

/// What the GitHub action does before it starts a run, and the run.
#[test]
fn s29_the_action_installs_plugins_and_calls_a_command_of_theirs() {
    let world = market(json!([say("shipped")]));
    std::fs::create_dir_all(world.home().join(".claude")).unwrap();
    std::fs::write(world.home().join(".claude/settings.json"), r#"{"enableAllProjectMcpServers":true}"#).unwrap();
    let source = world.wd().display().to_string();
    done(&world, &["marketplace", "add", &source]);
    done(&world, &["install", "kit@shop"]);
    let content = json!([{"type": "text", "text": "context first"}, {"type": "text", "text": "/kit:ship 2.0"}]);
    let run = claude(&world)
        .args(["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"])
        .args(["--mcp-config", r#"{"mcpServers":{}}"#])
        .env("CLAUDE_CODE_ENTRYPOINT", "claude-code-github-action")
        .send(json!({"type": "user", "message": {"role": "user", "content": content}}));
    let outcome = finish(run.close());
    assert_eq!((outcome.code, outcome.result().unwrap()["result"].clone()), (Some(0), json!("shipped")));
    let sent = said(&requests(&world)[0]);
    assert!(sent.contains("context first") && sent.contains("Ship 2.0 with the script in"), "{sent}");
    let settings = std::fs::read_to_string(world.home().join(".claude/settings.json")).unwrap();
    assert!(settings.contains("enableAllProjectMcpServers") && settings.contains("kit@shop"), "{settings}");
}

#[test]
fn a_prompt_that_speaks_of_plugins_is_a_prompt() {
    let world = market(json!([say("one"), say("two")]));
    for words in [&["-p", "plugin list"][..], &["-p", "--", "plugin", "list"]] {
        let outcome = finish(claude(&world).args(words.iter().copied()).close());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
    assert_eq!(requests(&world).len(), 2);
}

#[test]
fn project_configuration_can_come_from_another_checkout() {
    let world = project(json!([say("ok"), say("ok")]));
    let other = world.home().join("other");
    for (name, text) in [
        ("CLAUDE.md", "Memory of the other checkout."),
        (".claude/commands/there.md", "Over there."),
        (".claude/settings.json", r#"{"permissions":{"deny":["Read(/secret/**)"]}}"#),
    ] {
        let path = other.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let flag = format!("--project-config-root={}", other.display());
    let outcome = finish(streaming(&world, "hi").args([&flag]));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    let told = said(&requests(&world)[0]);
    assert!(told.contains("Memory of the other checkout.") && !told.contains("Memory of the project"), "{told}");
    assert!(init(&outcome)["slash_commands"].as_array().unwrap().contains(&json!("there")));
    assert_eq!(init(&outcome)["cwd"], json!(world.wd()));
    let outcome = finish(streaming(&world, "hi").args(["--project-config-root", "nowhere"]));
    assert!(outcome.code == Some(1) && outcome.stderr.contains("not a folder that exists"), "{}", outcome.stderr);
}
