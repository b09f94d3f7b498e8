//! Flags whose effect takes more than one request to see: limits, schemas, agents, fallbacks.

use super::{Seen, ask, claude, plain, stream};
use crate::common::{bash, call, say, world};
use serde_json::{Value, json};
use testkit::World;

fn both(flag: &str, value: &str) -> [Vec<String>; 2] {
    [vec![flag.to_owned(), value.to_owned()], vec![format!("{flag}={value}")]]
}

fn streamed(world: &World, words: &[String]) -> Seen {
    stream(world, &words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_limit_of_turns_ends_the_turn_with_an_error() {
    for words in both("--max-turns", "2") {
        let world = world(json!([bash("echo again")]));
        let seen = streamed(&world, &words);
        let result = seen.outcome.result().unwrap();
        assert_eq!((seen.outcome.code, &result["subtype"]), (Some(1), &json!("error_max_turns")), "{}", seen.told());
        assert_eq!(seen.requests.len(), 2);
    }
    let limited = world(json!([bash("echo again")]));
    let run = claude(&limited).args(super::STREAM).env("CLAUDE_CODE_MAX_TURNS", "1");
    assert_eq!(Seen::of(&limited, run).outcome.result().unwrap()["subtype"], "error_max_turns");
}

#[test]
fn a_limit_of_money_ends_the_turn_with_an_error() {
    for words in both("--max-budget-usd", "0.000001") {
        let world = world(json!([bash("echo again")]));
        let seen = streamed(&world, &words);
        let result = seen.outcome.result().unwrap();
        assert_eq!(
            (seen.outcome.code, &result["subtype"]),
            (Some(1), &json!("error_max_budget_usd")),
            "{}",
            seen.told()
        );
    }
}

#[test]
fn a_schema_adds_its_tool_whatever_the_other_flags_say() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    for words in both("--json-schema", schema) {
        for more in
            [&[][..], &["--tools", ""], &["--tools=Read,StructuredOutput"], &["--disallowedTools=*"], &["--bare"]]
        {
            let world = world(json!([call("StructuredOutput", &json!({"n": 3})), say("done")]));
            let words: Vec<String> = words.iter().cloned().chain(more.iter().map(|word| (*word).to_owned())).collect();
            let seen = streamed(&world, &words);
            assert!(seen.is_clean(), "{words:?}: {}", seen.told());
            assert_eq!(seen.outcome.result().unwrap()["structured_output"], json!({"n": 3}), "{words:?}");
            let tools = seen.body()["tools"].as_array().cloned().unwrap_or_default();
            let tool = tools.iter().find(|tool| tool["name"] == "StructuredOutput").expect("the tool");
            assert_eq!(tool["input_schema"]["properties"], json!({"n": {"type": "integer"}}), "{words:?}");
        }
    }
}

#[test]
fn a_model_that_is_gone_is_replaced_by_the_next() {
    for words in both("--fallback-model", "claude-gone,haiku") {
        let gone = json!({"status": 404, "error": {"type": "error", "error": {"type": "not_found_error", "message": "model: x"}}});
        let world = world(json!([gone, gone, say("from the third")]));
        let words: Vec<String> = words.iter().cloned().chain(["--model=claude-missing".to_owned()]).collect();
        let seen = streamed(&world, &words);
        let asked: Vec<&Value> = seen.requests.iter().map(|request| &request.body["model"]).collect();
        assert_eq!(asked, ["claude-missing", "claude-gone", "claude-haiku-5-5"], "{}", seen.told());
        assert_eq!(seen.outcome.result().unwrap()["result"], "from the third");
    }
}

const AGENTS: &str = r#"{"tester": {"description": "tests", "prompt": "You test things.", "tools": ["Read", "Grep"], "model": "haiku"}}"#;

#[test]
fn agents_given_as_json_can_be_run_and_called() {
    for words in both("--agents", AGENTS) {
        let world = plain();
        let as_main: Vec<String> = words.iter().cloned().chain(["--agent=tester".to_owned()]).collect();
        let seen = streamed(&world, &as_main);
        assert!(seen.is_clean(), "{}", seen.told());
        assert!(seen.system().starts_with("You test things."), "{}", seen.system());
        assert_eq!(seen.tools(), ["Grep", "Read"]);
        let seen = streamed(&world, &words);
        assert!(seen.init()["agents"].as_array().unwrap().contains(&json!("tester")), "{}", seen.told());
    }
}

#[test]
fn a_subagent_has_its_own_prompt_and_its_text_only_where_asked() {
    let turns = json!([
        call("Agent", &json!({"description": "d", "prompt": "check it", "subagent_type": "tester"})),
        say("said inside"),
        say("done")
    ]);
    for (words, shown) in [
        (vec!["--agents".to_owned(), AGENTS.to_owned()], false),
        (vec![format!("--agents={AGENTS}"), "--forward-subagent-text".to_owned()], true),
    ] {
        let world = world(turns.clone());
        let more = ["--append-subagent-system-prompt".to_owned(), "Be brief.".to_owned()];
        let seen = streamed(&world, &words.iter().cloned().chain(more).collect::<Vec<_>>());
        assert!(seen.is_clean(), "{}", seen.told());
        let inner = &seen.requests[1].body;
        let system = super::texts(&inner["system"]);
        assert!(system.starts_with("You test things.") && system.ends_with("Be brief."), "{system}");
        assert!(!seen.system().contains("Be brief."));
        let says =
            |event: &Value| event["type"] == "assistant" && event["message"]["content"][0]["text"] == "said inside";
        let inside = seen.outcome.events().into_iter().find(says);
        assert_eq!(inside.is_some(), shown, "{}", seen.told());
        assert!(inside.is_none_or(|event| event["parent_tool_use_id"] == "toolu_000001_0"));
    }
}

#[test]
fn a_minimal_start_still_takes_what_the_command_line_gives() {
    let world = plain();
    for flag in ["--bare", "--safe-mode"] {
        let seen = stream(&world, &[flag, "--agents", AGENTS, "--agent", "tester", "--append-system-prompt=More."]);
        assert!(seen.is_clean(), "{flag}: {}", seen.told());
        assert!(seen.system().starts_with("You test things.") && seen.system().ends_with("More."), "{}", seen.system());
    }
}

#[test]
fn slash_commands_can_be_switched_off() {
    let files =
        [(".claude/skills/greet/SKILL.md", "---\nname: greet\ndescription: greets\n---\nSay hello to $ARGUMENTS.\n")];
    let world = World::new(files, mock::Script::default()).unwrap();
    let on = ask(&world, ["-p", "/greet Ann"]);
    assert!(on.messages().contains("Say hello to Ann."), "{}", on.told());
    let off = ask(&world, ["-p", "/greet Ann", "--disable-slash-commands"]);
    assert!(off.is_clean(), "{}", off.told());
    assert!(!off.messages().contains("Say hello") && off.messages().contains("/greet Ann"), "{}", off.messages());
}

/// Every file below a folder.
fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in folder.read_dir().into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn transcripts_are_kept_under_their_id_and_title_or_not_at_all() {
    let world = plain();
    let none = stream(&world, &["--no-session-persistence"]);
    assert!(none.is_clean(), "{}", none.told());
    assert_eq!(files_below(world.home()), [] as [std::path::PathBuf; 0]);
    for (words, id) in [
        (&["--session-id", "11111111-2222-4333-8444-555555555551"][..], "11111111-2222-4333-8444-555555555551"),
        (
            &["--session-id=11111111-2222-4333-8444-555555555552", "--name=My title"],
            "11111111-2222-4333-8444-555555555552",
        ),
    ] {
        let seen = stream(&world, words);
        assert_eq!(seen.outcome.session_id().as_deref(), Some(id), "{}", seen.told());
        let file = files_below(world.home())
            .into_iter()
            .find(|file| file.ends_with(format!("{id}.jsonl")))
            .expect("a transcript");
        let text = std::fs::read_to_string(file).unwrap();
        assert_eq!(text.contains("My title"), words.len() == 2 && words[1].starts_with("--name"), "{text}");
    }
    let by_title = stream(&world, &["--resume", "My title"]);
    assert_eq!(
        by_title.outcome.session_id().as_deref(),
        Some("11111111-2222-4333-8444-555555555552"),
        "{}",
        by_title.told()
    );
}

#[test]
fn the_debug_log_is_a_file_and_never_the_streams() {
    let world = plain();
    let file = world.wd().join("debug.txt");
    let quiet = stream(&world, &[]);
    for words in both("--debug-file", &file.display().to_string()) {
        let seen = streamed(&world, &words);
        assert!(seen.is_clean(), "{}", seen.told());
        assert_eq!(seen.outcome.lines.len(), quiet.outcome.lines.len(), "{}", seen.told());
        let log = std::fs::read_to_string(&file).expect("the log");
        assert!(log.lines().count() > 1 && !log.contains("sk-ant-"), "{log}");
        std::fs::remove_file(&file).unwrap();
    }
    let seen = stream(&world, &["--debug"]);
    let id = seen.outcome.session_id().unwrap();
    assert!(world.home().join(format!(".claude/debug/{id}.txt")).exists());
}
