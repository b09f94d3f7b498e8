//! What the model is told beside the prompt: language, attribution, lines of files, tools, and little where little is wanted.

use super::{Seen, claude, plain, settings, with};
use crate::common::finish;
use serde_json::json;
use testkit::World;

#[test]
fn the_language_of_the_settings_reaches_the_model() {
    let world = plain();
    assert!(!with(&world, &[], &[]).system().contains("# Language"));
    settings(&world, &json!({"language": "klingon"}));
    let seen = with(&world, &[], &[]);
    assert!(seen.system().contains("klingon"), "{}", seen.told());
    let own = with(&world, &[], &["--system-prompt", "Mine."]);
    assert_eq!(own.system(), "Mine.", "a prompt of the caller's stays as it is");
}

#[test]
fn commits_are_attributed_as_the_settings_say() {
    let world = plain();
    assert!(with(&world, &[], &[]).system().contains("Co-Authored-By: Ralph"));
    for (value, expected, unexpected) in [
        (json!({"includeCoAuthoredBy": false}), None, "Co-Authored"),
        (json!({"attribution": {"commit": "", "pr": ""}}), None, "Co-Authored"),
        (json!({"attribution": {"commit": "Helped-By: a machine"}}), Some("Helped-By: a machine"), "Co-Authored"),
        (json!({"includeGitInstructions": false}), None, "Co-Authored"),
    ] {
        settings(&world, &value);
        let system = with(&world, &[], &[]).system();
        assert!(!system.contains(unexpected), "{value}: {system}");
        assert!(expected.is_none_or(|words| system.contains(words)), "{value}: {system}");
    }
    settings(&world, &json!({}));
    let off = with(&world, &[("CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS", "1")], &[]);
    assert!(!off.system().contains("Co-Authored"), "{}", off.told());
}

#[test]
fn a_mention_may_name_lines() {
    let files = [("a.txt", "one\ntwo\nthree\nfour\n"), ("b.txt#L1", "named like lines\n")];
    let world = World::new(files, mock::Script::default()).unwrap();
    let sent = |prompt: &str| {
        let run = claude(&world).args(["-p", prompt]);
        Seen::of(&world, run).messages()
    };
    let two = sent("see @a.txt#L2-3 please");
    assert!(two.contains("two") && two.contains("three"), "{two}");
    assert!(!two.contains("one") && !two.contains("four"), "{two}");
    let single = sent("see @a.txt#L4");
    assert!(single.contains("four") && !single.contains("three"), "{single}");
    assert!(sent("see @b.txt#L1").contains("named like lines"));
    let beyond = sent("see @a.txt#L90-99");
    assert!(!beyond.contains("one"), "{beyond}");
    let none = sent("see @a.txt#L3-1");
    assert!(!none.contains("Contents of"), "{none}");
}

#[test]
fn older_models_have_the_task_list_by_default() {
    let world = plain();
    for (model, env, offered) in [
        ("claude-sonnet-4-5-20250929", &[][..], true),
        ("claude-sonnet-4-5-20250929", &[("CLAUDE_CODE_ENABLE_TODO_TOOLS", "0")], false),
        ("claude-sonnet-4-5-20250929", &[("CLAUDE_CODE_ENABLE_TASKS", "0")], false),
        ("claude-opus-5-5", &[], false),
        ("claude-opus-5-5", &[("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1")], true),
        ("a-model-of-nobody", &[], false),
    ] {
        let seen = with(&world, env, &["--model", model]);
        let tools = seen.init()["tools"].to_string();
        for name in ["TaskCreate", "TaskGet", "TaskList", "TaskUpdate"] {
            assert_eq!(tools.contains(&format!("{name:?}")), offered, "{model} {env:?}: {tools}");
        }
    }
}

#[test]
fn the_prompt_is_short_where_that_is_asked_for() {
    let world = plain();
    let (usual, short) = (with(&world, &[], &[]), with(&world, &[("CLAUDE_CODE_SIMPLE_SYSTEM_PROMPT", "1")], &[]));
    assert!(short.system().len() < usual.system().len() / 2, "{}", short.system());
    assert!(short.system().contains("Working folder:"), "{}", short.system());
}

#[test]
fn a_smaller_window_is_told_in_the_result() {
    let world = plain();
    let window = |seen: &Seen| seen.result()["modelUsage"]["claude-opus-5-5"]["contextWindow"].as_u64();
    assert_eq!(window(&with(&world, &[], &[])), Some(1_000_000));
    assert_eq!(window(&with(&world, &[("CLAUDE_CODE_DISABLE_1M_CONTEXT", "1")], &[])), Some(200_000));
}

#[test]
fn a_share_of_the_window_compacts_earlier() {
    let turns = json!([
        {"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "echo a"}}],
         "usage": {"input_tokens": 60_000, "output_tokens": 5}},
        {"content": [{"type": "text", "text": "a summary"}]},
        {"content": [{"type": "text", "text": "done"}]},
    ]);
    for (env, compacts) in [
        (&[("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "200000")][..], false),
        (&[("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "200000"), ("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "10")], true),
        (&[("CLAUDE_CODE_MAX_CONTEXT_TOKENS", "200000"), ("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "rubbish")], false),
    ] {
        let world = crate::common::world(turns.clone());
        let run = claude(&world).args(super::STREAM);
        let outcome = finish(env.iter().fold(run, |run, (name, value)| run.env(name, value)));
        let compacted = outcome.events().iter().any(|event| event["subtype"] == "compact_boundary");
        assert_eq!(compacted, compacts, "{env:?} {:#?}", outcome.lines);
    }
}

/// A gateway has the model that was asked for; whether it has another one nobody knows.
#[test]
fn a_gateway_is_asked_small_questions_of_the_main_model() {
    let hooks = json!({"hooks": {"Stop": [{"hooks": [{"type": "prompt", "prompt": "Is it done?"}]}]}});
    let small = |env: &[(&str, &str)]| {
        let answer = json!({"content": [{"type": "text", "text": "{\"ok\": true}"}]});
        let world = crate::common::world(json!({"turns": [crate::common::say("done")], "untooled": [answer]}));
        let seen = with(&world, env, &["--model", "their-model", "--settings", &hooks.to_string()]);
        let question = seen.requests.iter().find(|request| !request.has_tools());
        question.unwrap_or_else(|| panic!("{}", seen.told())).body["model"].clone()
    };
    assert_eq!(small(&[]), "their-model");
    assert_eq!(small(&[("ANTHROPIC_SMALL_FAST_MODEL", "a-small-one")]), "a-small-one");
    assert_eq!(small(&[("ANTHROPIC_DEFAULT_HAIKU_MODEL", "their-haiku")]), "their-haiku");
    assert_eq!(small(&[("RALPH_ENDPOINT_PROFILE", "anthropic")]), "claude-haiku-5-5");
}
