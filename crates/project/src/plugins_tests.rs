use serde_json::json;

use super::*;
use crate::testbed::Bed;

fn dir(bed: &Bed, name: &str) -> PluginDir {
    PluginDir { path: bed.path(name), with_mcp: true, called: None }
}

fn one(bed: &Bed, name: &str) -> Result<Plugin, PluginProblem> {
    let mut all = plugins(&bed.places, &[dir(bed, name)]);
    all.loaded.pop().ok_or_else(|| all.problems.remove(0))
}

fn full(bed: &Bed) -> Plugin {
    bed.file("kit/.claude-plugin/plugin.json", r#"{"name":"kit","version":"1.2","unknown":[1]}"#);
    bed.file("kit/commands/ship.md", "---\ndescription: ships\n---\nShip $ARGUMENTS\n");
    bed.file("kit/commands/git/tidy.md", "Tidy\n");
    bed.file(
        "kit/agents/reviewer.md",
        "---\nname: reviewer\ndescription: reviews\npermissionMode: plan\n---\nReview.\n",
    );
    bed.file("kit/agents/deep/nested.md", "---\nname: nested\ndescription: n\n---\nN.\n");
    bed.file("kit/skills/lint/SKILL.md", "---\nname: lint\ndescription: lints\n---\nLint in ${CLAUDE_PLUGIN_ROOT}\n");
    bed.file("kit/output-styles/loud.md", "LOUD\n");
    bed.file("kit/hooks/hooks.json", r#"{"description":"d","hooks":{"Stop":[{"hooks":[]}]}}"#);
    bed.file(
        "kit/.mcp.json",
        r#"{"mcpServers":{"my db":{"command":"${CLAUDE_PLUGIN_ROOT}/run","args":["${OTHER}"]}}}"#,
    );
    one(bed, "kit").unwrap()
}

#[test]
fn every_part_comes_under_the_plugins_name() {
    let bed = Bed::new();
    let kit = full(&bed);
    assert_eq!((kit.name.as_str(), kit.version.as_deref()), ("kit", Some("1.2")));
    let skills: Vec<&str> = kit.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(skills, ["kit:lint", "kit:tidy", "kit:ship"]);
    assert_eq!(kit.skills[1].aliases, ["kit:git:tidy"]);
    assert!(kit.skills.iter().all(|skill| skill.plugin.as_ref() == Some(&kit.folders) && skill.source == "plugin"));
    let agents: Vec<(&str, Option<&str>)> =
        kit.agents.iter().map(|agent| (agent.name.as_str(), agent.permission_mode.as_deref())).collect();
    assert_eq!(agents, [("kit:deep:nested", None), ("kit:reviewer", None)]);
    assert_eq!(kit.styles[0].name, "kit:loud");
    assert_eq!(kit.hooks, [json!({"Stop": [{"hooks": []}]})]);
}

#[test]
fn its_servers_know_where_the_plugin_is_and_may_be_left_out() {
    let bed = Bed::new();
    let kit = full(&bed);
    let command = bed.path("kit/run").display().to_string();
    assert_eq!(Value::Object(kit.mcp_servers), json!({"plugin_kit_my_db": {"command": command, "args": ["${OTHER}"]}}));
    let without = plugins(&bed.places, &[PluginDir { with_mcp: false, ..dir(&bed, "kit") }]);
    assert!(without.loaded[0].mcp_servers.is_empty() && !without.loaded[0].hooks.is_empty());
}

#[test]
fn a_manifest_can_say_where_its_parts_are() {
    let bed = Bed::new();
    full(&bed);
    bed.file("kit/more/extra/SKILL.md", "---\ndescription: e\n---\nE\n");
    bed.file("kit/cmd/only.md", "Only\n");
    bed.file("kit/cmd/other.md", "Other\n");
    let manifest = json!({
        "name": "kit", "skills": "./more", "commands": ["./cmd/only.md"], "agents": [],
        "hooks": {"Stop": [{"matcher": "x", "hooks": []}]}, "mcpServers": {"b": {"command": "b"}},
    });
    bed.file("kit/.claude-plugin/plugin.json", &manifest.to_string());
    let kit = one(&bed, "kit").unwrap();
    let skills: Vec<&str> = kit.skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(skills, ["kit:lint", "kit:extra", "kit:only"], "skills add, commands replace");
    assert_eq!((kit.agents.len(), kit.hooks.len(), kit.mcp_servers.len()), (0, 2, 2));
}

#[test]
fn a_folder_without_a_manifest_is_a_plugin_of_its_own_name() {
    let bed = Bed::new();
    bed.file("plain/commands/go.md", "Go\n");
    assert_eq!(one(&bed, "plain").unwrap().skills[0].name, "plain:go");
}

#[test]
fn a_plugin_that_is_wrong_is_named_and_left_out_whole() {
    let rows = [
        (r#"{"version":"1"}"#, "manifest-error", "`name` is missing"),
        (r#"{"name":7}"#, "manifest-error", "`name` must be text"),
        (r#"{"name":"a b"}"#, "manifest-error", "`name` is"),
        (r#"{"name":"a:b"}"#, "manifest-error", "`name` is"),
        (r#"{"name":"p","version":1}"#, "manifest-error", "`version` must be text"),
        (r#"{"name":"p","keywords":"k"}"#, "manifest-error", "`keywords`"),
        (r#"{"name":"p","commands":{}}"#, "manifest-error", "`commands` must be a path"),
        (r#"{"name":"p","commands":"../work"}"#, "manifest-error", "outside the plugin"),
        (r#"{"name":"p","agents":["./none"]}"#, "manifest-error", "`agents` names ./none"),
        (r#"{"name":"p","mcpServers":{"mcpServers":3}}"#, "mcp-config-invalid", "not an object"),
        (r#"{"name":"p","hooks":{"hooks":3}}"#, "hook-load-failed", "not an object"),
        ("{", "manifest-error", "not JSON"),
        ("[]", "manifest-error", "not a JSON object"),
    ];
    for (manifest, kind, words) in rows {
        let bed = Bed::new();
        bed.file("bad/commands/go.md", "Go\n");
        bed.file("bad/.claude-plugin/plugin.json", manifest);
        let problem = one(&bed, "bad").unwrap_err();
        assert_eq!((problem.kind, problem.plugin.as_str()), (kind, "bad"), "{manifest}");
        assert!(problem.message.contains(words), "{manifest}: {}", problem.message);
    }
}

#[test]
fn missing_folders_and_second_plugins_of_a_name_are_problems() {
    let bed = Bed::new();
    full(&bed);
    bed.file("twin/.claude-plugin/plugin.json", r#"{"name":"kit"}"#);
    let all = plugins(&bed.places, &[dir(&bed, "none"), dir(&bed, "kit"), dir(&bed, "twin")]);
    let kinds: Vec<&str> = all.problems.iter().map(|problem| problem.kind).collect();
    assert_eq!((all.loaded.len(), kinds), (1, vec!["path-not-found", "duplicate-name"]));
}
