//! Every flag of the contract by itself, in both of its forms, and what it does to the request.

use super::{STREAM, Seen, ask, plain};
use serde_json::json;
use std::collections::BTreeSet;
use testkit::World;

/// A flag, a value it may have (`$WD` is the working folder), and what shows that it was heard.
struct Row {
    flag: &'static str,
    value: Option<&'static str>,
    heard: fn(&Seen) -> bool,
}

const fn on(flag: &'static str, heard: fn(&Seen) -> bool) -> Row {
    Row { flag, value: None, heard }
}

const fn with(flag: &'static str, value: &'static str, heard: fn(&Seen) -> bool) -> Row {
    Row { flag, value: Some(value), heard }
}

/// Both forms of every row, in one world. A run must answer and say nothing on stderr.
fn check(world: &World, rows: &[Row]) {
    for row in rows {
        for words in forms(world, row) {
            let seen = ask(world, STREAM.into_iter().map(str::to_owned).chain(words.iter().cloned()));
            assert!(seen.is_clean(), "{words:?}: {}", seen.told());
            assert!((row.heard)(&seen), "{words:?} was not heard: {}", seen.told());
        }
    }
}

fn forms(world: &World, row: &Row) -> Vec<Vec<String>> {
    let Row { flag, value, .. } = row;
    let wd = world.wd().display().to_string();
    match value.map(|value| value.replace("$WD", &wd)) {
        None => vec![vec![(*flag).to_owned()]],
        // A short option has no `=` form.
        Some(value) if !flag.starts_with("--") => vec![vec![(*flag).to_owned(), value]],
        Some(value) => vec![vec![(*flag).to_owned(), value.clone()], vec![format!("{flag}={value}")]],
    }
}

#[test]
fn flags_about_the_model() {
    let rows = [
        with("--model", "claude-opus-4-6", |seen| {
            seen.body()["model"] == "claude-opus-4-6" && seen.init()["model"] == "claude-opus-4-6"
        }),
        with("--model", "haiku", |seen| seen.body()["model"] == "claude-haiku-5-5"),
        with("--model", "sonnet", |seen| seen.body()["model"] == "claude-sonnet-5-5"),
        with("--model", "opus", |seen| seen.body()["model"] == "claude-opus-5-5"),
        with("--model", "fable", |seen| seen.body()["model"] == "claude-fable-5-2"),
        with("--model", "best", |seen| seen.body()["model"] == "claude-opus-5-5"),
        with("--model", "default", |seen| seen.body()["model"] == "claude-opus-5-5"),
        with("--model", "opus[1m]", |seen| seen.body()["model"] == "claude-opus-5-5"),
        with("--model", "some-model-of-tomorrow", |seen| seen.body()["model"] == "some-model-of-tomorrow"),
        with("--fallback-model", "haiku,sonnet", |seen| seen.body()["model"] == "claude-opus-5-5"),
        with("--effort", "low", |seen| seen.body()["output_config"]["effort"] == "low"),
        with("--effort", "xhigh", |seen| seen.body()["output_config"]["effort"] == "xhigh"),
        with("--effort", "max", |seen| seen.body()["output_config"]["effort"] == "max"),
        with("--thinking", "adaptive", |seen| seen.body()["thinking"]["type"] == "adaptive"),
        with("--thinking-display", "summarized", |seen| seen.body()["thinking"]["display"] == "summarized"),
        with("--thinking-display", "omitted", |seen| seen.body()["thinking"]["display"] == "omitted"),
        with("--max-thinking-tokens", "2048", |seen| seen.body()["thinking"]["type"] == "adaptive"),
        with("--betas", "context-1m-2025-08-07", |seen| {
            seen.header("anthropic-beta").contains("context-1m-2025-08-07")
        }),
        with("--betas", "one-2026,two-2026", |seen| seen.header("anthropic-beta").contains("one-2026,two-2026")),
        with("--task-budget", "1000", |seen| {
            seen.body()["output_config"]["task_budget"] == json!({"type": "tokens", "total": 1000})
                && seen.header("anthropic-beta").contains("task-budgets-2026-03-13")
        }),
        with("--autocompact", "100k", Seen::is_clean),
        with("--autocompact", "auto", Seen::is_clean),
        with("--max-budget-usd", "5.5", Seen::is_clean),
    ];
    check(&plain(), &rows);
}

#[test]
fn thinking_flags_on_models_that_take_a_budget() {
    let world = plain();
    for (words, expected) in [
        (
            &["--max-thinking-tokens", "2048"][..],
            json!({"budget_tokens": 2048, "type": "enabled", "display": "omitted"}),
        ),
        (&["--max-thinking-tokens=2048", "--thinking-display=summarized"], {
            json!({"budget_tokens": 2048, "type": "enabled", "display": "summarized"})
        }),
        (&["--max-thinking-tokens=0"], json!({"type": "disabled"})),
        (&["--thinking=disabled"], json!({"type": "disabled"})),
        (&["--thinking", "disabled", "--max-thinking-tokens", "2048"], json!({"type": "disabled"})),
        (&[], json!(null)),
    ] {
        let seen = super::stream(&world, &[&["--model", "claude-sonnet-4-5-20250929"], words].concat());
        assert_eq!(seen.body()["thinking"], expected, "{words:?}: {}", seen.told());
        assert!(seen.is_clean(), "{words:?}: {}", seen.told());
    }
    let off = super::stream(&world, &["--model=claude-opus-5", "--thinking=disabled", "--effort=max"]);
    assert_eq!(off.body()["thinking"], json!({"type": "disabled"}));
    assert_eq!(off.body()["output_config"]["effort"], "high", "more is refused by the API beside disabled thinking");
}

#[test]
fn every_request_says_who_asks_how_much_and_for_which_session() {
    let world = plain();
    let seen = super::stream(&world, &["--session-id", "11111111-2222-4333-8444-555555555555"]);
    let body = seen.body();
    assert_eq!(body["max_tokens"], 128_000);
    assert_eq!(body["stream"], true);
    assert_eq!(body["metadata"], json!({"user_id": "session_11111111-2222-4333-8444-555555555555"}));
    assert_eq!(seen.header("anthropic-version"), "2023-06-01");
    assert_eq!(seen.header("content-type"), "application/json");
    assert!(seen.header("user-agent").starts_with("ralph/"), "{}", seen.header("user-agent"));
    assert_eq!(seen.requests[0].path.split('?').next(), Some("/v1/messages"));
    let small = Seen::of(&world, super::claude(&world).args(STREAM).env("CLAUDE_CODE_MAX_OUTPUT_TOKENS", "1000"));
    assert_eq!(small.body()["max_tokens"], 1000);
}

#[test]
fn flags_about_the_system_prompt() {
    let files = [("own.txt", "From a file."), (".gitignore", "")];
    let world = World::new(files, mock::Script::default()).unwrap();
    let is_default = |seen: &Seen| seen.system().contains("Working folder:");
    assert!(is_default(&super::stream(&world, &[])));
    let rows = [
        with("--system-prompt", "Only this.", |seen| seen.system() == "Only this."),
        with("--system-prompt", "", |seen| seen.body().get("system").is_none() && seen.messages().contains("hi")),
        with("--system-prompt-file", "$WD/own.txt", |seen| seen.system() == "From a file."),
        with("--append-system-prompt", "And this.", |seen| {
            seen.system().contains("Working folder:") && seen.system().ends_with("And this.")
        }),
        with("--append-system-prompt", "", |seen| seen.system().contains("Working folder:")),
        with("--append-system-prompt-file", "own.txt", |seen| seen.system().ends_with("From a file.")),
        on("--exclude-dynamic-system-prompt-sections", |seen| {
            !seen.system().contains("Working folder:") && seen.messages().contains("Working folder:")
        }),
    ];
    check(&world, &rows);
    let both = super::stream(&world, &["--system-prompt=A.", "--append-system-prompt=B."]);
    assert_eq!(both.system(), "A.\nB.");
    let replaced = super::stream(&world, &["--system-prompt=A.", "--exclude-dynamic-system-prompt-sections"]);
    assert_eq!((&*replaced.system(), replaced.messages().contains("Working folder:")), ("A.", false));
}

#[test]
fn flags_about_sessions_and_settings() {
    let world = World::new([("own.json", r#"{"model": "haiku"}"#)], mock::Script::default()).unwrap();
    let rows = [
        with("--settings", "$WD/own.json", |seen| seen.body()["model"] == "claude-haiku-5-5"),
        with("--settings", r#"{"model": "fable"}"#, |seen| seen.body()["model"] == "claude-fable-5-2"),
        with("--settings", "", Seen::is_clean),
        with("--setting-sources", "user,project,local", Seen::is_clean),
        with("--setting-sources", "", Seen::is_clean),
        with("--managed-settings", r#"{"permissions": {"deny": ["WebFetch"]}}"#, |seen| {
            !seen.tools().contains(&"WebFetch".to_owned())
        }),
        with("--managed-settings", r#"{"model": "haiku"}"#, |seen| seen.body()["model"] == "claude-opus-5-5"),
        on("--no-session-persistence", Seen::is_clean),
        with("--name", "a title", Seen::is_clean),
        with("-n", "a title", Seen::is_clean),
        on("--continue", |seen| seen.messages().matches("hi").count() > 1),
        on("-c", |seen| seen.messages().matches("hi").count() > 1),
        on("--bare", |seen| seen.tools() == ["Bash", "Edit", "Read"]),
        on("--safe-mode", Seen::is_clean),
        on("--disable-slash-commands", Seen::is_clean),
    ];
    check(&world, &rows);
}

#[test]
fn flags_about_what_comes_out() {
    let world = plain();
    let rows = [
        on("--include-partial-messages", |seen| {
            seen.outcome.events().iter().any(|event| event["type"] == "stream_event")
        }),
        on("--include-hook-events", Seen::is_clean),
        on("--forward-subagent-text", Seen::is_clean),
        on("--prompt-suggestions", Seen::is_clean),
        on("--print", Seen::is_clean),
        on("--verbose", Seen::is_clean),
        on("--debug", Seen::is_clean),
        on("--debug=api,tools", Seen::is_clean),
        on("-d", Seen::is_clean),
        with("--debug-file", "$WD/debug.txt", Seen::is_clean),
        on("--mcp-debug", Seen::is_clean),
        on("--strict-mcp-config", Seen::is_clean),
        on("--enable-auto-mode", Seen::is_clean),
        with("--permission-prompts", "none", Seen::is_clean),
        with("--permission-prompt-tool", "stdio", Seen::is_clean),
        with("--max-turns", "3", Seen::is_clean),
    ];
    check(&world, &rows);
    for args in
        [["-p", "hi", "--output-format", "text"].as_slice(), &["-p", "hi", "--output-format=text"], &["-p", "hi"]]
    {
        let seen = ask(&world, args.iter().copied());
        assert_eq!(seen.outcome.lines, ["script exhausted"], "{args:?}");
    }
    for args in [["-p", "hi", "--output-format", "json"].as_slice(), &["-p", "hi", "--output-format=json"]] {
        let seen = ask(&world, args.iter().copied());
        assert_eq!(seen.outcome.lines.len(), 1, "{args:?}");
        assert_eq!(seen.outcome.result().unwrap()["result"], "script exhausted");
    }
    let list = ask(&world, ["-p", "hi", "--output-format=json", "--verbose"]);
    let list: serde_json::Value = serde_json::from_str(&list.outcome.lines.concat()).unwrap();
    assert_eq!(list.as_array().unwrap().last().unwrap()["type"], "result");
    assert_eq!(list[0]["subtype"], "init");
}

/// Flags that clients send whose features are large: each is accepted in both forms, and where it is not built yet
/// says so in one line, however often it is given.
#[test]
fn flags_of_large_features_are_accepted_and_say_at_most_one_line() {
    let world = plain();
    let rows = [
        ("--include-hook-events", None),
        ("--permission-prompt-tool", Some("stdio")),
        ("--mcp-config", Some("{\"mcpServers\":{}}")),
        ("--plugin-dir", Some("$WD")),
        ("--plugin-dir-no-mcp", Some("$WD")),
        ("--session-mirror", None),
        ("--init", None),
        ("--maintenance", None),
        ("--project-config-root", Some("$WD")),
    ];
    for (flag, value) in rows {
        for words in forms(&world, &Row { flag, value, heard: Seen::is_clean }) {
            let twice = words.iter().chain(&words).cloned();
            let seen = ask(&world, STREAM.into_iter().map(str::to_owned).chain(twice));
            assert_eq!(seen.outcome.code, Some(0), "{words:?}: {}", seen.told());
            assert_eq!(seen.outcome.result().unwrap()["subtype"], "success", "{words:?}");
            let said: Vec<&str> = seen.outcome.stderr.lines().collect();
            assert!(said.is_empty() || (said.len() == 1 && said[0].contains(flag)), "{words:?}: {said:?}");
        }
    }
}

/// What the table of flags calls `later`: its name, whether it takes a value, what is said.
fn not_built_yet() -> Vec<(&'static str, bool, &'static str)> {
    let table = include_str!("../../../crates/arguments/src/flags.rs");
    let rows = table.lines().filter_map(|line| line.trim().strip_prefix("later(\"")?.strip_suffix("\"),"));
    rows.map(|row| {
        let (name, rest) = row.split_once("\", ").expect("a name");
        let (arity, words) = rest.split_once(", \"").expect("an arity");
        (name, arity != "No", words)
    })
    .collect()
}

#[test]
fn flags_that_are_not_built_yet_say_so_once_and_the_run_goes_on() {
    let world = plain();
    for (name, has_value, words) in not_built_yet() {
        let flag = format!("--{name}");
        let given = if has_value { format!("{flag}=x") } else { flag.clone() };
        let seen = super::stream(&world, &[&given, &given]);
        assert_eq!(seen.outcome.stderr, format!("warning: {flag} is ignored: {words}"), "{given}");
        assert_eq!(seen.outcome.code, Some(0), "{given}: {}", seen.told());
        assert_eq!(seen.outcome.result().unwrap()["subtype"], "success", "{given}");
    }
}

/// The full command line of the TypeScript SDK with everything on, as captured.
#[test]
fn the_widest_command_line_that_clients_send_runs() {
    let world = plain();
    let schema = r#"{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}"#;
    let args = format!(
        "--output-format|stream-json|--verbose|--input-format|stream-json|--thinking=adaptive|\
         --thinking-display=summarized|--effort=high|--max-turns=3|--max-budget-usd=0.5|--task-budget=1000|\
         --model=sonnet|--agent=general-purpose|--betas=b-1|--json-schema={schema}|--debug-file=$WD/d.txt|\
         --permission-prompts=none|--allowedTools=Read,Bash(ls:*),Skill(pdf)|--disallowedTools=WebFetch|\
         --tools=Bash,Read|--mcp-config|{{\"mcpServers\":{{}}}}|--setting-sources=user,project|--strict-mcp-config|\
         --permission-mode=acceptEdits|--allow-dangerously-skip-permissions|--fallback-model=haiku|\
         --include-hook-events|--include-partial-messages|--project-config-root=/tmp|--add-dir=/usr|--add-dir=/opt|\
         --plugin-dir=/tmp/pl|--plugin-dir-no-mcp=/tmp/pl2|--session-id=11111111-2222-4333-8444-555555555555|\
         --no-session-persistence|--managed-settings|{{}}|--settings|{{}}"
    );
    let args = args.replace("$WD", &world.wd().display().to_string());
    let run = super::claude(&world).args(args.split('|')).prompt("hi").close();
    let seen = Seen::of(&world, run);
    let init = seen.init();
    assert_eq!(init["permissionMode"], "acceptEdits", "{}", seen.told());
    assert_eq!(seen.tools(), ["Bash", "Read", "StructuredOutput"]);
    assert_eq!(seen.body()["output_config"]["effort"], "high");
    assert_eq!(seen.body()["thinking"], json!({"type": "adaptive", "display": "summarized"}));
    let complaints: Vec<&str> = seen.outcome.stderr.lines().filter(|line| line.contains(" is ignored: ")).collect();
    let said = complaints.iter().collect::<BTreeSet<_>>();
    assert_eq!(said.len(), complaints.len(), "each once: {complaints:?}");
    assert!(complaints.iter().all(|line| line.starts_with("warning: --")), "{complaints:?}");
    assert!(seen.outcome.result().is_some());
}
