//! The rule grammar.

use std::path::PathBuf;

use super::world;
use crate::PermissionMode::Default;
use crate::{RuleError, RuleSet, Source, parse_rule, split_list};

fn parse(text: &str) -> Result<crate::Rule, RuleError> {
    parse_rule(text, &Source { name: "test".to_owned(), anchor: PathBuf::from("/w") })
}

#[test]
fn lists_split_on_commas_and_spaces_outside_parentheses() {
    for (text, wanted) in [
        ("A,B C(d, e f) G", &["A", "B", "C(d, e f)", "G"][..]),
        ("Bash(touch:*),Write", &["Bash(touch:*)", "Write"]),
        ("Bash(a (b), c) Read", &["Bash(a (b), c)", "Read"]),
        ("  , ,, ", &[]),
        ("", &[]),
        ("A\tB\nC", &["A", "B", "C"]),
        ("Bash(unclosed a, b", &["Bash(unclosed a, b"]),
        ("A) B", &["A)", "B"]),
    ] {
        assert_eq!(split_list(text), wanted, "{text:?}");
    }
}

#[test]
fn what_is_no_rule_is_an_error_and_never_a_wider_rule() {
    for text in [
        "",
        " ",
        "Bash()",
        "Bash( )",
        "(ls)",
        "Bash(ls",
        "Bash)",
        "Read()",
        "Ba sh",
        "Bash(ls) x",
        "Read(!x)",
        "WebFetch(domain:)",
        "B/x",
        "é",
    ] {
        assert!(parse(text).is_err(), "{text:?}");
    }
}

#[test]
fn bare_and_star_mean_the_whole_tool() {
    for (text, tool) in [
        ("Bash", "Bash"),
        ("Bash(*)", "Bash"),
        ("Bash(:*)", "Bash"),
        ("Task", "Agent"),
        ("Agent(*)", "Agent"),
        ("mcp__a__b", "mcp__a__b"),
        ("KillShell", "TaskStop"),
    ] {
        let rule = parse(text).expect(text);
        assert_eq!((rule.tool.as_str(), rule.specifier), (tool, None), "{text}");
    }
    // For files a star means "below the anchor", not every file there is.
    assert!(parse("Read(*)").expect("parses").specifier.is_some());
}

#[test]
fn unconditional_deny_rules_remove_tools() {
    let removes =
        |rule: &str, tool: &str| RuleSet { deny: vec![parse(rule).expect(rule)], ..RuleSet::default() }.removes(tool);
    for (rule, tool, gone) in [
        ("Bash", "Bash", true),
        ("Bash(*)", "Bash", true),
        ("Bash(rm:*)", "Bash", false),
        ("*", "Anything", true),
        ("mcp__*", "mcp__a__b", true),
        ("mcp__*", "Bash", false),
        ("mcp__a", "mcp__a__b", true),
        ("mcp__a", "mcp__ab__c", false),
        ("mcp__a__*", "mcp__a__b", true),
        ("mcp__a__b", "mcp__a__bc", false),
        ("Task", "Agent", true),
        ("Agent", "Task", true),
        ("Agent(x)", "Agent", false),
        ("Web*", "WebFetch", true),
        ("Edit", "Write", false),
        ("MultiEdit", "Edit", true),
    ] {
        assert_eq!(removes(rule, tool), gone, "{rule} on {tool}");
    }
}

#[test]
fn mentions_and_warnings() {
    let world = world(
        Default,
        &[
            "allow *",
            "allow mcp__*",
            "allow mcp__a__*",
            "allow Write(x)",
            "allow Glob(x)",
            "allow WebFetch(x)",
            "allow Agent(x)",
            "allow Read(x)",
            "allow TodoWrite(a:b)",
        ],
    );
    assert!(world.policy.rules.mentions_tool("Task"));
    assert!(!world.policy.rules.mentions_tool("Bash"));
    let warned = world.policy.rules.warnings();
    assert_eq!(warned.len(), 6, "{warned:#?}");
}
