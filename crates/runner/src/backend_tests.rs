//! Command lines and environments, word for word.

use super::*;
use cycle::Allowance;
use std::os::unix::fs::PermissionsExt as _;

fn start() -> IterationStart {
    IterationStart {
        iteration: 1,
        attempt: 1,
        way: 0,
        model: "sonnet".into(),
        session: None,
        strategy: None,
        work: None,
        notes: Vec::new(),
        summary: None,
        progress: Vec::new(),
        allowance: Allowance::default(),
    }
}

fn builtin() -> Backend {
    choose("builtin", Path::new("/x/ralph"), Path::new("/"), OsStr::new("")).unwrap()
}

fn words(call: &Call) -> String {
    call.args.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

#[test]
fn the_usual_call_is_stream_json_on_both_pipes() {
    let call = builtin().call(&Settings::default(), Transport::Pipe, &start(), "P", &Auth::Ambient, &Env::new());
    let expected = "agent -p --model sonnet --dangerously-skip-permissions --sandbox workspace --verbose --input-format \
                    stream-json --output-format stream-json";
    assert_eq!((words(&call).as_str(), call.talks), (expected, true));
    assert_eq!(call.env, [("MAX_THINKING_TOKENS".into(), "16384".into())]);
}

#[test]
fn only_our_own_agent_is_told_of_the_trackers_socket() {
    let socket = Path::new("/w/.beads/bd.sock");
    let settings = Settings { output_format: OutputFormat::Args, ..Settings::default() };
    let mut call = builtin().call(&settings, Transport::Pipe, &start(), "-x", &Auth::Ambient, &Env::new());
    builtin().open_beads(&mut call, socket);
    assert!(words(&call).starts_with("agent --beads-socket /w/.beads/bd.sock -p "), "{}", words(&call));
    assert!(words(&call).ends_with(" -- -x"), "{}", words(&call));
    let other = choose("/bin/true", Path::new("/x/ralph"), Path::new("/"), OsStr::new("")).unwrap();
    let mut call = other.call(&settings, Transport::Pipe, &start(), "x", &Auth::Ambient, &Env::new());
    other.open_beads(&mut call, socket);
    assert!(!words(&call).contains("beads"), "{}", words(&call));
}

#[test]
fn seed_000_a_goal_has_a_schema_a_budget_and_no_key() {
    let settings = Settings {
        goal: Some("g".into()),
        tools: Some("Read,StructuredOutput".into()),
        permissions: "default".into(),
        reasoning: Reasoning::None,
        ..Settings::default()
    };
    let env: Env = vec![("MAX_THINKING_TOKENS".into(), "9".into()), ("ANTHROPIC_API_KEY".into(), "k".into())];
    let call = builtin().call(&settings, Transport::Pipe, &start(), "P", &Auth::Login, &env);
    let expected = format!(
        "agent -p --model sonnet --sandbox workspace --tools Read,StructuredOutput --json-schema {SCHEMA} --verbose --input-format \
         stream-json --output-format stream-json"
    );
    assert_eq!(words(&call), expected);
    assert_eq!(call.env, [("ANTHROPIC_API_KEY".into(), "".into())], "unset at zero, and the key is empty");
}

#[test]
fn seed_000_the_summariser_looks_and_thinks_fully() {
    let call = builtin().summary_call("haiku", Transport::Pipe, "P", &Auth::Key("k".into()), &Env::new());
    assert!(
        words(&call).starts_with(
            "agent --sandbox read-only -p --model haiku --tools Read,Glob,Grep,StructuredOutput --verbose"
        )
    );
    let expected: Env = vec![("MAX_THINKING_TOKENS".into(), "16384".into()), ("ANTHROPIC_API_KEY".into(), "k".into())];
    assert_eq!(call.env, expected);
}

#[test]
fn an_argument_prompt_comes_last_and_long_ones_go_by_file() {
    let settings = Settings { output_format: OutputFormat::Text, ..Settings::default() };
    let call = builtin().call(&settings, Transport::Pipe, &start(), "-do it", &Auth::Ambient, &Env::new());
    assert!(words(&call).ends_with("--output-format text -- -do it") && !call.talks);
    for (format, transport, length, filed) in [
        (OutputFormat::Text, Transport::Pipe, 7_001, true),
        (OutputFormat::Text, Transport::Pipe, 7_000, false),
        (OutputFormat::StreamJson, Transport::Terminal, 7_001, true),
        (OutputFormat::StreamJson, Transport::Terminal, 7_000, false),
        (OutputFormat::StreamJson, Transport::Pipe, 70_000, false),
    ] {
        let needs = builtin().needs_file(format, transport, &"ü".repeat(length));
        assert_eq!(needs, filed, "{format:?} {transport:?} {length}");
    }
}

#[test]
fn seed_001_long_input_goes_by_file_to_another_claude() {
    let long = "y".repeat(7_001);
    for (name, known, filed) in [
        (CLAUDE, TransportHint::Nothing, true),
        (CLAUDE, TransportHint::WantsTerminal, true),
        (CLAUDE, TransportHint::Ours, false),
        ("./agent", TransportHint::Nothing, false),
    ] {
        let backend = Backend { name: name.into(), known, ..builtin() };
        let needs = |prompt: &str| backend.needs_file(OutputFormat::StreamJson, Transport::Pipe, prompt);
        assert_eq!((needs(&long), needs(&long[1..])), (filed, false), "{name} {known:?}");
    }
}

#[test]
fn seed_001_on_a_terminal_the_prompt_is_an_argument_and_events_come_out() {
    let env: Env = vec![("TERM".into(), "dumb".into())];
    let call = builtin().call(&Settings::default(), Transport::Terminal, &start(), "P", &Auth::Ambient, &env);
    let expected = "agent -p --model sonnet --dangerously-skip-permissions --sandbox workspace --verbose --output-format \
                    stream-json -- P";
    assert_eq!((words(&call).as_str(), call.talks), (expected, false));
    assert!(call.env.contains(&("TERM".into(), "xterm-256color".into())), "{:?}", call.env);
    let summary = builtin().summary_call("haiku", Transport::Terminal, "P", &Auth::Ambient, &env);
    assert!(words(&summary).ends_with(&format!("--output-format stream-json --json-schema {SCHEMA} -- P")));
    assert!(!words(&summary).contains("--input-format") && !summary.talks);
}

#[test]
fn money_left_and_the_session_are_passed_on() {
    let start = IterationStart {
        session: Some("s1".into()),
        allowance: Allowance { usd: Some(0.25), ..Allowance::default() },
        ..start()
    };
    let call = builtin().call(&Settings::default(), Transport::Pipe, &start, "P", &Auth::Ambient, &Env::new());
    assert!(words(&call).contains("--max-budget-usd 0.2500 --resume s1"), "{}", words(&call));
}

#[test]
fn seed_001_auto_takes_claude_first() {
    let dir = tempfile::tempdir().unwrap();
    let exe = Path::new("/x/ralph");
    let pick = |wish: &str| choose(wish, exe, dir.path(), dir.path().as_os_str()).map(|backend| backend.name);
    assert_eq!(pick("auto").unwrap(), "builtin");
    assert!(matches!(pick("claude"), Err(BackendError::NoClaude)));
    let claude = dir.path().join("claude");
    std::fs::write(&claude, "#!/bin/sh\n").unwrap();
    assert_eq!(pick("auto").unwrap(), "builtin", "a file that cannot be run is no program");
    std::fs::set_permissions(&claude, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(pick("auto").unwrap(), "claude");
    assert_eq!(pick("./claude").unwrap(), "./claude");
    assert!(matches!(pick("./nothing"), Err(BackendError::NoProgram(_))));
}

#[test]
fn seed_001_claude_by_name_wants_a_terminal_and_the_one_that_is_found_is_tried_on_pipes() {
    let dir = tempfile::tempdir().unwrap();
    let exe = dir.path().join("ralph");
    std::fs::write(&exe, "#!/bin/sh\n").unwrap();
    std::fs::set_permissions(&exe, std::fs::Permissions::from_mode(0o755)).unwrap();
    let claude = dir.path().join("claude");
    let known = |wish: &str| choose(wish, &exe, dir.path(), dir.path().as_os_str()).unwrap().known;
    std::fs::copy(&exe, &claude).unwrap();
    let expected = [
        TransportHint::Nothing,
        TransportHint::WantsTerminal,
        TransportHint::Ours,
        TransportHint::Nothing,
        TransportHint::Nothing,
    ];
    assert_eq!(["auto", "claude", "builtin", "./claude", "ralph"].map(known), expected);
    std::fs::remove_file(&claude).unwrap();
    std::os::unix::fs::symlink(&exe, &claude).unwrap();
    assert_eq!(["auto", "claude"].map(known), [TransportHint::Ours; 2]);
}

#[test]
fn an_acp_agent_is_started_through_our_bridge() {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("gemini");
    std::fs::write(&program, "").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let exe = Path::new("/x/ralph");
    let choose = |wish: &str| choose(wish, exe, Path::new("/"), dir.path().as_os_str());
    for (wish, command) in
        [("gemini", "gemini --acp"), ("acp:gemini --acp --model 'a b'", "gemini --acp --model 'a b'")]
    {
        let backend = choose(wish).unwrap();
        assert_eq!((backend.name.as_str(), backend.program.as_path(), backend.is_ours()), (wish, exe, false));
        assert_eq!(backend.leading, [ACP_BRIDGE, "--command", command]);
        assert!(!backend.needs_file(OutputFormat::StreamJson, Transport::Pipe, &"x".repeat(ARGUMENT_MAX + 1)));
        let call = backend.call(&Settings::default(), Transport::Pipe, &start(), "P", &Auth::Ambient, &Env::new());
        assert!(call.talks && !words(&call).contains("--sandbox"), "the sandbox holds it as a whole");
    }
    assert!(matches!(choose("codex"), Err(BackendError::NoAcpAgent { agent, .. }) if agent == "codex-acp"));
    assert!(matches!(choose("acp:"), Err(BackendError::Command(_))));
    assert!(matches!(choose("acp:a 'b"), Err(BackendError::Command(_))));
}
