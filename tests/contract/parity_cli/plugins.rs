//! Plugins that settings name are installed by a start; `plugin list --json`.

use super::{claude, finish, here, own, plain, run, write};
use serde_json::{Value, json};
use testkit::{Outcome, World};

/// A marketplace in a folder outside of the project, with one plugin that has a command.
fn market(world: &World) -> Value {
    let root = world.home().join("market");
    write(
        root.join(".claude-plugin/marketplace.json"),
        r#"{"name": "mk", "owner": {"name": "x"}, "plugins": [{"name": "pl", "source": "./pl", "version": "1.2.0"}]}"#,
    );
    write(root.join("pl/.claude-plugin/plugin.json"), r#"{"name": "pl", "version": "1.2.0"}"#);
    write(root.join("pl/commands/hey.md"), "Say hey to the harbour.");
    json!({
        "extraKnownMarketplaces": {"mk": {"source": {"source": "directory", "path": root}}},
        "enabledPlugins": {"pl@mk": true}
    })
}

fn was_asked(world: &World) -> bool {
    world.mock().requests().iter().any(|request| request.body.to_string().contains("hey to the harbour"))
}

fn installs(outcome: &Outcome) -> Vec<(String, String)> {
    let events = outcome.events().into_iter().filter(|event| event["subtype"] == "plugin_install");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    events.map(|event| (text(&event["status"]), text(&event["name"]))).collect()
}

const STREAM: [&str; 5] = ["-p", "/pl:hey", "--output-format", "stream-json", "--verbose"];

#[test]
fn a_start_installs_and_loads_them() {
    let world = plain();
    let settings = own(&world, ".claude/settings.json", &market(&world));
    let before = std::fs::read(&settings).expect("settings");
    let outcome = finish(claude(&world).args(STREAM));
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert!(was_asked(&world) && installs(&outcome).is_empty());
    assert_eq!(std::fs::read(&settings).expect("settings"), before, "the settings stay as they are");
    // Installed is installed: the marketplace is not needed again.
    std::fs::remove_dir_all(world.home().join("market")).expect("removed");
    let again = finish(claude(&world).args(STREAM));
    assert_eq!((again.code, &*again.stderr), (Some(0), ""));
    let listed = run(&world, &["plugin", "list", "--json"]);
    let listed: Value = serde_json::from_str(&listed.lines.join("\n")).expect("JSON");
    assert_eq!(
        (&listed[0]["id"], &listed[0]["scope"], &listed[0]["enabled"]),
        (&json!("pl@mk"), &json!("user"), &json!(true))
    );
    for key in ["installedAt", "lastUpdated"] {
        assert!(listed[0][key].as_str().is_some_and(|time| time.starts_with("20")), "{listed}");
    }
}

#[test]
fn a_client_that_waits_is_told() {
    let world = plain();
    let mut settings = market(&world);
    settings["enabledPlugins"]["gone@mk"] = json!(true);
    own(&world, ".claude/settings.json", &settings);
    let outcome = finish(claude(&world).args(STREAM).env("CLAUDE_CODE_SYNC_PLUGIN_INSTALL", "1"));
    let row = |status: &str, name: &str| (status.to_owned(), name.to_owned());
    assert_eq!(
        installs(&outcome),
        [row("started", ""), row("installed", "pl@mk"), row("failed", "gone@mk"), row("completed", "")]
    );
    let events = outcome.events();
    let place = |subtype: &str| events.iter().position(|event| event["subtype"] == subtype);
    assert!(place("plugin_install") < place("init"));
    let init = &events[place("init").expect("init")];
    assert_eq!(init["plugin_errors"][0]["plugin"], "gone@mk", "{init}");
    assert!(was_asked(&world));
}

#[test]
fn a_folder_that_is_not_trusted_installs_nothing() {
    let world = plain();
    here(&world, ".claude/settings.json", &market(&world).to_string());
    here(&world, ".claude/settings.local.json", &market(&world).to_string());
    let outcome = finish(claude(&world).args(STREAM));
    assert!(!was_asked(&world), "{:?}", outcome.lines);
    assert!(!world.home().join(".claude/plugins").exists());
    own(
        &world,
        ".claude.json",
        &json!({"projects": {world.wd().display().to_string(): {"hasTrustDialogAccepted": true}}}),
    );
    finish(claude(&world).args(STREAM));
    assert!(was_asked(&world), "a trusted one does");
}

#[test]
fn the_administrators_lists_hold() {
    let world = plain();
    own(&world, ".claude/settings.json", &market(&world));
    let policy = json!({"strictKnownMarketplaces": []});
    finish(super::managed(&world, &policy).args(STREAM));
    assert!(!was_asked(&world) && !world.home().join(".claude/plugins/cache").exists());
}

#[test]
fn a_seed_is_used_where_it_is_and_the_cache_can_be_elsewhere() {
    let world = plain();
    own(
        &world,
        ".claude/settings.json",
        &json!({
            "extraKnownMarketplaces": {"mk": {"source": {"source": "git", "url": "http://127.0.0.1:9/nothing.git"}}},
            "enabledPlugins": {"pl@mk": true}
        }),
    );
    let seed = world.home().join("seed");
    write(seed.join("cache/mk/pl/1.0.0/.claude-plugin/plugin.json"), r#"{"name": "pl"}"#);
    write(seed.join("cache/mk/pl/1.0.0/commands/hey.md"), "Say hey to the harbour.");
    let outcome = finish(claude(&world).args(STREAM).env("CLAUDE_CODE_PLUGIN_SEED_DIR", &seed.display().to_string()));
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    assert!(was_asked(&world));

    let world = plain();
    own(&world, ".claude/settings.json", &market(&world));
    let cache = world.home().join("elsewhere");
    finish(claude(&world).args(STREAM).env("CLAUDE_CODE_PLUGIN_CACHE_DIR", &cache.display().to_string()));
    assert!(was_asked(&world) && cache.join("installed_plugins.json").exists());
    assert!(!world.home().join(".claude/plugins").exists());
}

#[test]
fn a_repository_that_does_not_answer_costs_a_problem_and_not_the_run() {
    let world = plain();
    own(
        &world,
        ".claude/settings.json",
        &json!({
            "extraKnownMarketplaces": {"mk": {"source": {"source": "git", "url": "http://127.0.0.1:9/nothing.git"}}},
            "enabledPlugins": {"pl@mk": true}
        }),
    );
    let words = ["-p", "hi", "--output-format", "stream-json", "--verbose"];
    let outcome = finish(claude(&world).args(words).env("CLAUDE_CODE_PLUGIN_GIT_TIMEOUT_MS", "2000"));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let init = outcome.events().into_iter().find(|event| event["subtype"] == "init").expect("init");
    assert_eq!(init["plugin_errors"].as_array().map(Vec::len), Some(1), "{init}");
    assert_eq!(init["plugin_errors"][0]["type"], "install-failed");
}
