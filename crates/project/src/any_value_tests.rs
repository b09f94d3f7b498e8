//! Every reader of this crate and of `settings`, given files that hold any JSON value at all: it answers, and never panics. A value
//! indexed as if it were an object was a crash at the start, made by whoever wrote the file.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::testbed::Bed;
use crate::{
    PluginDir, Source, agents, agents_from_json, enabled_plugins, installed, known_marketplaces, marketplace, may_use,
    output_styles, override_skills, plugins, skills, switch,
};
use settings::{
    CredentialInputs, FlagSettings, Scope, Sources, add_server, credentials, load, remove_server,
    reset_project_choices, restrictions, store_oauth, store_permission_update, stored_servers, trust, trust_state,
};

/// Words that readers look for, so that wrong values stand where they are read.
const KEYS: [&str; 44] = [
    "mcpServers",
    "projects",
    "permissions",
    "allow",
    "deny",
    "ask",
    "env",
    "sandbox",
    "network",
    "filesystem",
    "hooks",
    "Stop",
    "plugins",
    "name",
    "source",
    "version",
    "owner",
    "agents",
    "commands",
    "skills",
    "outputStyles",
    "path",
    "repo",
    "url",
    "claudeAiOauth",
    "accessToken",
    "expiresAt",
    "scopes",
    "primaryApiKey",
    "customApiKeyResponses",
    "enabledPlugins",
    "skillOverrides",
    "strictKnownMarketplaces",
    "availableModels",
    "modelOverrides",
    "type",
    "rules",
    "destination",
    "behavior",
    "description",
    "prompt",
    "tools",
    "installLocation",
    "scope",
];

fn value() -> impl Strategy<Value = Value> {
    let text =
        prop_oneof![Just("addRules".to_owned()), Just("userSettings".to_owned()), Just("a".to_owned()), "\\PC{0,6}"];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let key = prop_oneof![prop::sample::select(&KEYS[..]).prop_map(str::to_owned), "[a-z@/]{0,4}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key, inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

const FILES: [&str; 14] = [
    "home/.claude.json",
    "home/.claude.json.api",
    "home/.claude/.credentials.json",
    "home/.claude/settings.json",
    "home/.claude/plugins/known_marketplaces.json",
    "home/.claude/plugins/installed_plugins.json",
    "work/.claude/settings.json",
    "work/.claude/settings.local.json",
    "work/.mcp.json",
    "etc/managed-settings.json",
    "work/kit/.claude-plugin/plugin.json",
    "work/kit/.claude-plugin/marketplace.json",
    "work/kit/hooks/hooks.json",
    "work/kit/.mcp.json",
];

/// Asks everything there is to ask.
fn read_all(bed: &Bed, given: &Value) {
    let places = &bed.places;
    let text = given.to_string();
    for flag in [None, Some(FlagSettings::Inline(text.clone()))] {
        let loaded = load(places, Sources::default(), flag.as_ref(), Some(&text), false);
        let settings = loaded.map(|loaded| loaded.settings).unwrap_or_default();
        let env = |_: &str| None;
        let _ = credentials(&CredentialInputs { env: &env, settings: &settings, places, now_ms: 0, bare: false });
        let _ = enabled_plugins(places, &settings);
        let mut found = skills(places, Sources::default(), &[]);
        override_skills(&mut found, &settings);
        let _ = may_use(&settings, &Source::Folder(bed.path("work/kit")));
    }
    let _ = (trust_state(places).explanation(), trust(places), reset_project_choices(places));
    let _ = (agents(places, Sources::default(), Some(&text)), agents_from_json(given));
    let _ = (output_styles(places, Sources::default()), stored_servers(places));
    let _ = (installed(places), known_marketplaces(places), marketplace(&bed.path("work/kit")));
    let dir = PluginDir { path: bed.path("work/kit"), with_mcp: true, called: None };
    let _ = plugins(places, &[dir]);
    for scope in [Scope::User, Scope::Local, Scope::Project] {
        let _ = (add_server(places, scope, "a", given), remove_server(places, scope, "a"));
        let _ = switch(places, "a@b", scope, Some(true));
    }
    for destination in ["userSettings", "projectSettings", "localSettings", "session"] {
        let mut update = given.as_object().cloned().unwrap_or_default();
        update.insert("destination".to_owned(), json!(destination));
        let _ = store_permission_update(places, &Value::Object(update));
    }
    let _ = store_permission_update(places, given);
    let _ = restrictions(&bed.path("work/.claude/settings.json"));
    let _ = store_oauth(&bed.path("home/.claude/.credentials.json"), "a", Some("b"), 1);
}

fn fill(bed: &Bed, text: &str) {
    for file in FILES {
        bed.file(file, text);
    }
    let document = format!("---\n{text}\n---\nbody\n");
    for file in
        [".claude/agents/a.md", ".claude/skills/a/SKILL.md", ".claude/commands/a.md", ".claude/output-styles/a.md"]
    {
        bed.file(&format!("work/{file}"), &document);
        bed.file(&format!("work/kit/{}", file.trim_start_matches(".claude/")), &document);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_value_in_any_file_is_answered(value in value(), given in value()) {
        let bed = Bed::new();
        fill(&bed, &value.to_string());
        read_all(&bed, &given);
    }
}

#[test]
fn the_simplest_wrong_files_are_answered() {
    let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(20_000));
    for text in [
        "1",
        "[]",
        "\"x\"",
        "null",
        "true",
        "{}",
        "",
        "{",
        "\u{feff}{}",
        "{\"mcpServers\": 3}",
        "{\"projects\": 3}",
        &deep,
    ] {
        let bed = Bed::new();
        fill(&bed, text);
        for given in [json!([]), json!({"mcpServers": 3})] {
            read_all(&bed, &given);
        }
    }
}
