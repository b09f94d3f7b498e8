//! Verdicts on everything that is not a shell command.

use serde_json::json;

use super::{Links, world};
use crate::PermissionMode;
use crate::PermissionMode::{AcceptEdits, Auto, BypassPermissions, Default, DontAsk, Plan};
use crate::Verdict::{self, Allow, Ask, Deny};

fn files(mode: PermissionMode, rules: &[&str], rows: &[(&str, &str, Verdict)]) {
    let world = world(mode, rules);
    for (tool, path, verdict) in rows {
        let decision = world.file(tool, path);
        assert_eq!(decision.verdict, *verdict, "{mode:?} {rules:?}: {tool} {path}: {}", decision.reason);
    }
}

#[test]
fn reading_and_writing_by_mode() {
    let rows = |inside: Verdict, outside: Verdict, guarded: Verdict, far: Verdict| {
        [
            ("Read", "a.txt", Allow),
            ("Read", "/added/x", Allow),
            ("Read", ".git/config", Allow),
            ("Read", "/etc/passwd", far),
            ("Read", "/w-evil/f", far),
            ("Read", "/w/../w-evil/f", far),
            ("Read", "etc/passwd", far),
            ("Read", "/proc/self/cwd/a", far),
            ("Read", "/dev/fd/0", far),
            ("Write", "x.txt", inside),
            ("Edit", "x.txt", inside),
            ("MultiEdit", "x.txt", inside),
            ("NotebookEdit", "x.ipynb", inside),
            ("Write", "../out.txt", outside),
            ("Write", "etc/x", outside),
            ("Write", ".git/hooks/x", guarded),
            ("Write", ".GIT/hooks/x", guarded),
            ("Write", "a/.vscode/x", guarded),
            ("Write", ".claude/settings.json", guarded),
            ("Write", ".bashrc", guarded),
            ("Write", ".yarnrc.yml", guarded),
            ("Write", ".mcp.json", guarded),
            ("Write", ".config/git/config", guarded),
            ("Write", ".claude/worktrees/a/x", inside),
            ("Write", ".gitignore", inside),
        ]
    };
    files(Default, &[], &rows(Ask, Ask, Ask, Ask));
    files(Auto, &[], &rows(Allow, Deny, Deny, Deny));
    files(AcceptEdits, &[], &rows(Allow, Ask, Ask, Ask));
    files(Plan, &[], &rows(Deny, Deny, Deny, Ask));
    files(DontAsk, &[], &rows(Deny, Deny, Deny, Deny));
    files(BypassPermissions, &[], &rows(Allow, Allow, Allow, Allow));
    files(Default, &["allow Write", "allow Edit", "allow NotebookEdit"], &rows(Allow, Allow, Ask, Ask));
    files(Plan, &["allow Write"], &[("Write", "x", Deny)]);
}

#[test]
fn deny_rules_on_paths_in_every_spelling() {
    let spellings = [
        "secret/x",
        "./secret/x",
        "/w/./secret/x",
        "secret//x",
        "src/../secret/x",
        "leak/x",
        "Secret/x",
        "SECRET/X",
        "secret./x",
        "secret /x",
        "sub/secret/x",
    ];
    for mode in [Default, AcceptEdits, BypassPermissions, DontAsk, Plan] {
        let rows: Vec<(&str, &str, Verdict)> = spellings
            .iter()
            .flat_map(|path| [("Read", *path, Deny), ("Edit", *path, Deny), ("Grep", *path, Deny)])
            .collect();
        files(mode, &["deny Read(./secret/**)", "allow Read", "allow Edit(secret/**)"], &rows);
    }
    files(Default, &["deny Read(caf\u{e9})"], &[("Read", "cafe\u{301}", Deny), ("Read", "CAF\u{c9}", Deny)]);
    files(
        Default,
        &["deny Read(./secret/**)"],
        &[("Read", "secretx/a", Allow), ("Read", "a", Allow), ("Read", "/w-evil/secret/x", Ask)],
    );
    files(Default, &["deny Edit(./secret/**)"], &[("Read", "secret/x", Allow), ("Write", "secret/x", Deny)]);
}

#[test]
fn the_four_anchors_and_the_depth_rule() {
    for (rule, path, verdict) in [
        ("allow Read(//etc/hosts)", "/etc/hosts", Allow),
        ("allow Read(//etc/hosts)", "/etc/passwd", Ask),
        ("allow Read(//etc/**)", "/etc/a/b", Allow),
        ("allow Read(~/notes/**)", "/home/u/notes/a", Allow),
        ("allow Read(~/notes/**)", "/home/u/other", Ask),
        ("allow Read(/etc/**)", "/etc/passwd", Ask),
        ("allow Read(../up/**)", "/up/x", Allow),
        ("allow Read(../up/**)", "/down/x", Ask),
        ("allow Edit(//tmp/x)", "/tmp/x", Allow),
        ("allow Read(*)", "/etc/passwd", Ask),
        ("allow Read(//)", "/etc/passwd", Ask),
        ("deny Read(.env)", ".env", Deny),
        ("deny Read(.env)", "a/b/.env", Deny),
        ("deny Read(.env)", ".envx", Allow),
        ("deny Read(*.pem)", "a/k.pem", Deny),
        ("deny Read(/.env)", ".env", Deny),
        ("deny Read(/.env)", "a/.env", Allow),
        ("deny Read(src/a.rs)", "src/a.rs", Deny),
        ("deny Read(src/a.rs)", "x/src/a.rs", Allow),
        ("deny Read(**/a.rs)", "x/y/a.rs", Deny),
        ("deny Read(a/**/b)", "a/b", Deny),
        ("deny Read(a/**/b)", "a/x/y/b", Deny),
        ("deny Read(a/**/b)", "a/x/c", Allow),
        ("deny Read(dir)", "dir/deep/x", Deny),
        ("deny Read(dir/)", "dir/deep/x", Deny),
        ("deny Read(dir/**)", "x/dir/y", Deny),
        ("deny Read(d?r)", "dar", Deny),
        ("deny Read(d[a-c]r)", "dbr", Deny),
        ("deny Read(d[!a-c]r)", "dbr", Allow),
        ("deny Read(*)", "a", Deny),
        ("deny Read(*)", "/etc/passwd", Deny),
        ("deny Write(.env)", ".env", Allow),
    ] {
        files(Default, &[rule], &[("Read", path, verdict)]);
    }
    for (rule, path, verdict) in [
        ("allow Edit(dir/**)", "dir/x", Allow),
        ("allow Edit(dir/**)", "a/dir/x", Ask),
        ("allow Edit(x.txt)", "a/b/x.txt", Allow),
        ("allow Edit(./x.txt)", "a/b/x.txt", Ask),
        ("allow Edit(./x.txt)", "x.txt", Allow),
        ("allow Edit(/src/*.rs)", "src/a.rs", Allow),
        ("allow Edit(/src/*.rs)", "src/a/b.rs", Ask),
        ("allow Edit(**/*.rs)", "q/a.rs", Allow),
        ("allow Edit(etc/**)", "etc/passwd", Ask),
        ("allow Read(x.txt)", "x.txt", Ask),
        ("allow Write(x.txt)", "x.txt", Ask),
        ("allow Edit(.git/**)", ".git/config", Ask),
        ("ask Edit(x.txt)", "x.txt", Ask),
    ] {
        files(Default, &[rule], &[("Write", path, verdict)]);
    }
}

#[test]
fn a_path_rule_does_not_follow_the_shell() {
    let mut world = world(Default, &["deny Read(./secret/x)"]);
    world.policy.cwd = "/w/sub".into();
    assert_eq!(world.file("Read", "/w/secret/x").verdict, Deny);
}

#[test]
fn links_are_judged_by_where_they_lead() {
    let mut world = world(AcceptEdits, &["deny Read(secret)"]);
    world.fs = Links::new(&[("/w/a", "/w/secret"), ("/w/b", "/home/u/.ssh"), ("/w/c", "/w/.git")]);
    assert_eq!(world.file("Read", "a/k").verdict, Deny);
    assert_eq!(world.file("Read", "b/id").verdict, Ask);
    assert_eq!(world.file("Write", "b/id").verdict, Ask);
    assert_eq!(world.file("Write", "c/config").verdict, Ask);
    assert!(world.policy.denies_read("/w/x".as_ref(), "/w/secret/y".as_ref()));
    assert!(!world.policy.denies_read("/w/x".as_ref(), "/w/x".as_ref()));
}

#[test]
fn a_call_without_its_file_is_never_allowed() {
    let world = world(AcceptEdits, &["allow Edit(**)"]);
    for tool in ["Read", "Write", "Edit"] {
        assert_eq!(world.call(tool, &json!({}), &[]).verdict, Ask, "{tool}");
    }
    assert_eq!(world.call("Grep", &json!({ "pattern": "x" }), &[]).verdict, Allow);
    assert_eq!(world.call("Grep", &json!({ "pattern": "x", "path": "/etc" }), &[]).verdict, Ask);
}

#[test]
fn hosts() {
    for (rule, url, verdict) in [
        ("allow WebFetch(domain:docs.python.org)", "https://docs.python.org/3/", Allow),
        ("allow WebFetch(domain:docs.python.org)", "http://DOCS.Python.ORG", Allow),
        ("allow WebFetch(domain:docs.python.org)", "https://docs.python.org./x", Allow),
        ("allow WebFetch(domain:docs.python.org)", "https://docs%2epython.org/x", Allow),
        ("allow WebFetch(domain:docs.python.org)", "https://docs.python.org.evil.test", Ask),
        ("allow WebFetch(domain:docs.python.org)", "https://evil.test#docs.python.org", Ask),
        ("allow WebFetch(domain:docs.python.org)", "https://evil.test/docs.python.org", Ask),
        ("allow WebFetch(domain:docs.python.org)", "https://docs.python.org@evil.test/", Ask),
        ("allow WebFetch(domain:docs.python.org)", "https://user@docs.python.org/", Ask),
        ("allow WebFetch(domain:docs.python.org)", "https://evil.test\\@docs.python.org/", Ask),
        ("allow WebFetch(domain:docs.python.org)", "https://docs.python.org\\.evil.test/", Ask),
        ("allow WebFetch(domain:docs.python.org)", "https://docs.python.org\0.evil.test/", Ask),
        ("allow WebFetch(domain:docs.python.org)", "https://d\u{43e}cs.python.org/", Ask),
        ("allow WebFetch(domain:docs.python.org)", "ftp://docs.python.org/", Ask),
        ("allow WebFetch(domain:docs.python.org)", "file:///docs.python.org", Ask),
        ("allow WebFetch(domain:docs.python.org)", "docs.python.org", Ask),
        ("allow WebFetch(domain:docs.python.org)", "https://xdocs.python.org/", Ask),
        ("allow WebFetch(domain:*.python.org)", "https://docs.python.org/", Allow),
        ("allow WebFetch(domain:*.python.org)", "https://a.b.python.org/", Allow),
        ("allow WebFetch(domain:*.python.org)", "https://python.org/", Ask),
        ("allow WebFetch(domain:*.python.org)", "https://evilpython.org/", Ask),
        ("allow WebFetch(domain:a*.org)", "https://abc.org/", Allow),
        ("allow WebFetch(domain:a*.org)", "https://a.b.org/", Ask),
        ("allow WebFetch(domain:127.0.0.1)", "http://2130706433/", Allow),
        ("allow WebFetch(domain:x.test)", "http://[::ffff:1.2.3.4]/", Ask),
        ("allow WebFetch(domain:*)", "https://anything.test/", Allow),
        ("allow WebFetch(domain:*)", "not a url", Ask),
        ("allow WebFetch", "https://x.test", Allow),
        ("allow WebFetch(https://x.test)", "https://x.test", Ask),
        ("deny WebFetch(domain:evil.test)", "https://EVIL.test./", Deny),
        ("deny WebFetch(domain:evil.test)", "https://u@evil.test", Deny),
        ("deny WebFetch(domain:evil.test)", "https://evil%2Etest/", Deny),
        ("deny WebFetch(domain:b\u{fc}cher.test)", "https://b\u{fc}cher.test/", Deny),
        ("deny WebFetch(domain:169.254.169.254)", "http://0xA9FEA9FE/", Deny),
    ] {
        let decision = world(Default, &[rule]).call("WebFetch", &json!({ "url": url, "prompt": "x" }), &[]);
        assert_eq!(decision.verdict, verdict, "{rule} {url:?}");
    }
}

#[test]
fn other_tools_by_default() {
    let world = world(Default, &[]);
    for tool in [
        "TodoWrite",
        "TaskCreate",
        "Task",
        "Agent",
        "TaskOutput",
        "BashOutput",
        "KillShell",
        "StructuredOutput",
        "ListMcpResourcesTool",
        "EnterPlanMode",
    ] {
        assert_eq!(world.call(tool, &json!({}), &[]).verdict, Allow, "{tool}");
    }
    for tool in [
        "Skill",
        "WebFetch",
        "WebSearch",
        "mcp__a__b",
        "ExitPlanMode",
        "AskUserQuestion",
        "Unknown",
        "",
        "Bash",
        "Monitor",
        "PowerShell",
    ] {
        assert_eq!(world.call(tool, &json!({}), &[]).verdict, Ask, "{tool}");
    }
}

#[test]
fn rules_on_other_tools() {
    for (rule, tool, input, verdict) in [
        ("allow mcp__a", "mcp__a__b", json!({}), Allow),
        ("allow mcp__a__*", "mcp__a__b", json!({}), Allow),
        ("allow mcp__a__b", "mcp__a__c", json!({}), Ask),
        ("allow mcp__*", "mcp__a__b", json!({}), Ask),
        ("allow *", "mcp__a__b", json!({}), Ask),
        ("allow mcp__a(x:y)", "mcp__a__b", json!({ "x": "y" }), Ask),
        ("deny mcp__a__b(x:y*)", "mcp__a__b", json!({ "x": "yes" }), Deny),
        ("deny mcp__a__b(x:y*)", "mcp__a__b", json!({ "x": "no" }), Ask),
        ("deny *", "TodoWrite", json!({}), Deny),
        ("deny mcp__*", "mcp__a__b", json!({}), Deny),
        ("allow Skill(pdf)", "Skill", json!({ "skill": "pdf" }), Allow),
        ("allow Skill(pdf)", "Skill", json!({ "skill": "pdfx" }), Ask),
        ("allow Skill(pdf *)", "Skill", json!({ "skill": "pdf", "args": "a b" }), Allow),
        ("allow Skill", "Skill", json!({ "skill": "x" }), Allow),
        ("deny Skill(pdf)", "SlashCommand", json!({ "command": "/pdf" }), Deny),
        ("deny Agent(reviewer)", "Task", json!({ "subagent_type": "reviewer" }), Deny),
        ("deny Task(reviewer)", "Agent", json!({ "subagent_type": "other" }), Allow),
        ("deny Agent(general-purpose)", "Agent", json!({}), Deny),
        ("ask Agent(model:opus)", "Agent", json!({ "model": "opus" }), Ask),
        ("deny Bash(run_in_background:true)", "Bash", json!({ "command": "ls", "run_in_background": true }), Deny),
        ("deny Bash(command:ls)", "Bash", json!({ "command": "ls" }), Allow),
        ("deny Monitor(curl:*)", "Monitor", json!({ "command": "curl x" }), Deny),
        ("allow WebSearch", "WebSearch", json!({ "query": "x" }), Allow),
        ("allow WebSearch(x)", "WebSearch", json!({ "query": "x" }), Ask),
        ("deny PowerShell(curl:*)", "PowerShell", json!({ "command": "curl x" }), Deny),
    ] {
        let decision = world(Default, &[rule]).call(tool, &input, &[]);
        assert_eq!(decision.verdict, verdict, "{rule} {tool} {input}");
    }
}

#[test]
fn some_things_need_a_person_in_every_mode() {
    for mode in [Default, AcceptEdits, Plan, BypassPermissions, Auto] {
        let world = world(mode, &["allow AskUserQuestion"]);
        assert_eq!(world.call("AskUserQuestion", &json!({}), &[]).verdict, Ask, "{mode:?}");
    }
    let plan = world(Plan, &["allow ExitPlanMode"]);
    let decision = plan.call("ExitPlanMode", &json!({ "plan": "x" }), &[]);
    assert_eq!((decision.verdict, decision.reason_type), (Ask, "mode"));
    assert!(decision.reason.contains("plan mode"));
}

#[test]
fn reasons_name_what_decided() {
    let rule = world(Default, &["deny Bash(curl:*)"]).bash("curl x");
    assert_eq!((rule.reason_type, rule.rule.as_deref()), ("rule", Some("Bash(curl:*)")));
    assert!(rule.reason.contains("Bash(curl:*)"));
    for (mode, command, kind, word) in [
        (Default, "ls", "readOnly", "reads"),
        (Default, "id", "mode", "default mode"),
        (Plan, "touch x", "mode", "Plan mode"),
        (DontAsk, "id", "mode", "dontAsk"),
        (BypassPermissions, "id", "mode", "bypassPermissions"),
        (AcceptEdits, "touch x", "mode", "acceptEdits"),
        (Default, "echo '", "unparsable", "cannot be checked"),
        (BypassPermissions, "rm -rf /", "safety", "person"),
    ] {
        let decision = world(mode, &[]).bash(command);
        assert_eq!(decision.reason_type, kind, "{command}");
        assert!(decision.reason.contains(word), "{command}: {}", decision.reason);
    }
    let plan = world(Plan, &[]).file("Write", "x");
    assert!(plan.reason.contains("Plan mode") && plan.blocked_path == Some("/w/x".into()));
}
