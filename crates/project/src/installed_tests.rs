use super::*;
use crate::testbed::Bed;
use settings::Sources;

const NOW: &str = "2026-01-01T00:00:00Z";

/// A marketplace `m` with the plugin `kit`, known to the user.
fn market(bed: &Bed) -> Marketplace {
    bed.file("market/.claude-plugin/marketplace.json", r#"{"name":"m","plugins":[{"name":"kit","source":"./kit"}]}"#);
    bed.file("market/kit/.claude-plugin/plugin.json", r#"{"name":"kit","version":"1.2"}"#);
    bed.file("market/kit/commands/go.md", "Go.");
    let market = marketplace(&bed.path("market")).unwrap();
    add_marketplace(&bed.places, &market, &Source::Folder(bed.path("market")), NOW).unwrap();
    market
}

fn settings(bed: &Bed) -> Settings {
    settings::load(&bed.places, Sources::default(), None, None, false).unwrap().settings
}

fn enabled(bed: &Bed) -> (Vec<PathBuf>, Vec<&'static str>) {
    let (dirs, problems) = enabled_plugins(&bed.places, &settings(bed));
    (dirs.into_iter().map(|dir| dir.path).collect(), problems.into_iter().map(|problem| problem.kind).collect())
}

#[test]
fn a_plugin_is_installed_switched_and_forgotten() {
    let bed = Bed::new();
    bed.trust("work");
    market(&bed);
    let (known, source) = known_marketplaces(&bed.places).remove(0);
    assert_eq!((known.name.as_str(), source), ("m", Source::Folder(bed.path("market"))));
    bed.file("home/.claude/settings.json", r#"{"model":"opus"}"#);
    let kit = install(&bed.places, "m", "kit", &bed.path("market/kit"), Scope::User, NOW).unwrap();
    assert_eq!((kit.id.as_str(), kit.version.as_str()), ("kit@m", "1.2"));
    std::fs::remove_dir_all(bed.path("market/kit")).unwrap();
    assert_eq!(enabled(&bed), (vec![kit.path.clone()], vec![]));
    assert!(kit.path.join("commands/go.md").is_file(), "a copy: what happens to the marketplace is no concern of it");
    assert_eq!(settings(&bed).model.as_deref(), Some("opus"));
    switch(&bed.places, "kit@m", Scope::User, Some(false)).unwrap();
    assert_eq!(enabled(&bed), (vec![], vec![]));
    switch(&bed.places, "kit@m", Scope::Local, Some(true)).unwrap();
    assert_eq!(enabled(&bed).0.len(), 1, "a nearer file decides");
    switch(&bed.places, "kit@m", Scope::Local, None).unwrap();
    uninstall(&bed.places, &kit, Scope::User).unwrap();
    assert!(installed(&bed.places).is_empty() && !kit.path.exists());
    assert_eq!(enabled(&bed), (vec![], vec![]));
}

#[test]
fn what_is_switched_on_and_not_there_is_told() {
    let bed = Bed::new();
    bed.trust("work");
    bed.file("work/.claude/settings.json", r#"{"enabledPlugins":{"ghost@m":true,"off@m":false,"odd@m":"yes"}}"#);
    assert_eq!(enabled(&bed), (vec![], vec!["plugin-not-found"]));
}

#[test]
fn an_administrators_lists_decide_which_marketplaces_count() {
    let path = |bed: &Bed| json!({"source": "directory", "path": bed.path("market")});
    for (list, expected) in [
        (json!({}), 1),
        (json!({"strictKnownMarketplaces": []}), 0),
        (json!({"strictKnownMarketplaces": ["m"]}), 0),
        (json!({"strictKnownMarketplaces": ["SOURCE"]}), 1),
        (json!({"blockedMarketplaces": ["SOURCE"]}), 0),
        (json!({"blockedMarketplaces": []}), 1),
    ] {
        let bed = Bed::new();
        market(&bed);
        install(&bed.places, "m", "kit", &bed.path("market/kit"), Scope::User, NOW).unwrap();
        bed.file("etc/managed-settings.json", &list.to_string().replace("\"SOURCE\"", &path(&bed).to_string()));
        assert_eq!(enabled(&bed).0.len(), expected, "{list}");
        // Nobody else extends the list.
        bed.file("work/.claude/settings.json", &json!({"strictKnownMarketplaces": [path(&bed)]}).to_string());
        assert_eq!(enabled(&bed).0.len(), expected, "{list} with a folder's own");
    }
}

#[test]
fn a_state_file_is_the_users_and_odd_ones_install_nothing() {
    let bed = Bed::new();
    for state in ["", "{}", "[]", r#"{"plugins":[]}"#, r#"{"plugins":{"a@b":{}}}"#] {
        bed.file("home/.claude/plugins/installed_plugins.json", state);
        assert!(installed(&bed.places).is_empty(), "{state}");
    }
    bed.file("home/.claude/plugins/installed_plugins.json", r#"{"plugins":{"a@b":{"installPath":"/x"}}}"#);
    assert_eq!(installed(&bed.places)[0].path, PathBuf::from("/x"));
    assert!(!remove_marketplace(&bed.places, "none").unwrap());
}

#[test]
fn versions_make_plain_folders() {
    for (version, expected) in [("1.2.3", "1.2.3"), ("../../x", "..-..-x"), ("..", "unknown"), ("", "unknown")] {
        assert_eq!(plain(version), expected, "{version}");
    }
}
