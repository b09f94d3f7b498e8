use serde_json::json;

use super::*;
use crate::testbed::Bed;

fn found(bed: &Bed, flag: Option<&str>) -> Vec<AgentDef> {
    agents(&bed.places, Sources::default(), flag).unwrap()
}

#[test]
fn the_strongest_definition_of_a_name_wins() {
    let mut bed = Bed::new();
    bed.dir("work/.git");
    let file = |path: &str, description: &str| {
        bed.file(path, &format!("---\nname: x\ndescription: {description}\n---\nprompt\n"));
    };
    let description = |bed: &Bed, flag| found(bed, flag)[0].description.clone();
    file("home/.claude/agents/x.md", "user");
    assert_eq!(description(&bed, None), "user");
    file("work/.claude/agents/deep/x.md", "root");
    assert_eq!(description(&bed, None), "root");
    file("work/sub/.claude/agents/x.md", "nearest");
    bed.places.cwd = bed.path("work/sub");
    assert_eq!(description(&bed, None), "nearest");
    let flag = r#"{"x":{"description":"flag","prompt":"p"}}"#;
    assert_eq!(description(&bed, Some(flag)), "flag");
    bed.file("etc/.claude/agents/x.md", "---\nname: x\ndescription: managed\n---\n");
    assert_eq!(description(&bed, Some(flag)), "managed");
    assert_eq!(found(&bed, Some(flag)).len(), 1);
}

#[test]
fn fields_are_read() {
    let bed = Bed::new();
    bed.file(
        "home/.claude/agents/r.md",
        "---\nname: reviewer\ndescription: Reviews. Use when: asked\ntools: Read, Bash(git diff:*)\nmodel: haiku\n\
         permissionMode: plan\nmaxTurns: 5\nskills: [a]\nbackground: no\n---\n\nYou review.\n",
    );
    let expected = AgentDef {
        name: "reviewer".into(),
        description: "Reviews. Use when: asked".into(),
        prompt: "You review.".into(),
        tools: Some(vec!["Read".into(), "Bash(git diff:*)".into()]),
        model: Some("haiku".into()),
        permission_mode: Some("plan".into()),
        max_turns: Some(5),
        skills: vec!["a".into()],
        background: Some(false),
        source: "user",
        ..AgentDef::default()
    };
    assert_eq!(found(&bed, None), [expected]);
}

#[test]
fn empty_tools_are_none_and_missing_tools_are_all() {
    for (line, expected) in [
        ("model: haiku", None),
        ("tools: '*'", None),
        ("tools: []", Some(vec![])),
        ("tools:", Some(vec![])),
        ("tools: Read", Some(vec!["Read".to_owned()])),
    ] {
        let bed = Bed::new();
        bed.file("home/.claude/agents/a.md", &format!("---\nname: a\ndescription: d\n{line}\n---\n"));
        assert_eq!(found(&bed, None)[0].tools, expected, "{line}");
    }
}

#[test]
fn incomplete_files_are_skipped() {
    let bed = Bed::new();
    for (name, text) in [
        ("none", "no frontmatter"),
        ("no-name", "---\ndescription: d\n---\n"),
        ("no-description", "---\nname: a\n---\n"),
        ("colon", "---\nname: \"a:b\"\ndescription: d\n---\n"),
        ("broken", "---\nname: [\n---\n"),
        ("spaces", "---\nname: a b\ndescription: d\n---\n"),
    ] {
        bed.file(&format!("work/.claude/agents/{name}.md"), text);
    }
    assert!(found(&bed, None).is_empty());
}

#[test]
fn an_untrusted_folders_agent_may_only_hold_back() {
    let bed = Bed::new();
    for (name, mode) in [("wide", "bypassPermissions"), ("edits", "acceptEdits"), ("odd", "yolo"), ("plan", "plan")] {
        let text = format!(
            "---\nname: {name}\ndescription: d\npermissionMode: {mode}\nhooks:\n  Stop: []\nmcpServers: [x]\n---\n"
        );
        bed.file(&format!("work/.claude/agents/{name}.md"), &text);
    }
    for agent in found(&bed, None) {
        assert_eq!(agent.permission_mode.as_deref(), (agent.name == "plan").then_some("plan"), "{}", agent.name);
        assert!(agent.hooks.is_none() && agent.mcp_servers.is_none());
    }
    bed.trust("work");
    let wide = found(&bed, None).into_iter().find(|agent| agent.name == "wide").unwrap();
    assert_eq!(wide.permission_mode.as_deref(), Some("bypassPermissions"));
    assert_eq!(wide.mcp_servers, Some(json!(["x"])));
}

#[test]
fn agents_on_the_command_line_must_be_whole() {
    let bed = Bed::new();
    for (json, word) in [
        ("{", "not JSON"),
        ("[]", "expected an object"),
        (r#"{"a":1}"#, "agent `a` is not an object"),
        (r#"{"a":{"description":"d"}}"#, "no prompt"),
        (r#"{"a":{"prompt":"p"}}"#, "no description"),
        (r#"{"a b":{"prompt":"p","description":"d"}}"#, "name"),
    ] {
        let error = agents(&bed.places, Sources::NONE, Some(json)).unwrap_err().to_string();
        assert!(error.contains(word), "{json}: {error}");
    }
    assert!(found(&bed, Some(" ")).is_empty());
    let two =
        r#"{"b":{"description":"d","prompt":"p","tools":["Read"],"maxTurns":3},"a":{"description":"d","prompt":"p"}}"#;
    let agents = found(&bed, Some(two));
    assert_eq!((agents[0].name.as_str(), agents[1].name.as_str()), ("b", "a"));
    assert_eq!((agents[0].max_turns, agents[0].source), (Some(3), "flag"));
}
