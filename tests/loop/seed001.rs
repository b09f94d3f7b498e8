//! The acceptance criteria of seed 001, one test each.

use crate::backends::{ON_A_TERMINAL, named_claude, with_claude};
use crate::world::{PROMISE, agent, folder, heard, of, outcomes, ralph, told};
use serde_json::Value;
use testkit::Terminal;

/// Writes down whether it is on a terminal, then is done.
const PLACE: &str = "if [ -t 0 ] && [ -t 1 ]; then at=terminal; else at=pipe; fi; echo $at > \"$HOME/place\"; ";

fn place(world: &testkit::World) -> String {
    std::fs::read_to_string(world.home().join("place")).unwrap().trim().to_owned()
}

/// Without the sandbox, which would keep these agents from writing down what they see in their home folder.
fn config(world: &testkit::World, text: &str) {
    std::fs::write(world.wd().join(".ralph/config.toml"), format!("sandbox = \"off\"\n{text}")).unwrap();
}

#[test]
fn seed_001_the_claude_backend_gets_a_terminal_whatever_pty_mode_says() {
    for (settings, words) in [
        ("backend = \"claude\"\npty_mode = false", &[][..]),
        ("backend = \"claude\"\npty_mode = true", &[]),
        ("backend = \"claude\"", &["--pty=false"]),
        ("", &["--backend", "claude"]),
    ] {
        let world = folder();
        config(&world, settings);
        let (outcome, _) = told(with_claude(&world, &format!("{PLACE}work; result '{PROMISE}'"), words));
        assert_eq!((outcome.code, place(&world)), (Some(0), "terminal".into()), "{settings} {}", outcome.stderr);
    }
}

#[test]
fn seed_001_pty_mode_gives_any_backend_a_terminal_and_is_off_by_default() {
    for (settings, expected) in [("", "pipe"), ("pty_mode = true", "terminal")] {
        let world = folder();
        config(&world, settings);
        let program = agent(&world, &format!("{PLACE}work; result '{PROMISE}'")).display().to_string();
        let (outcome, _) = told(ralph(&world, &["--json", "--backend", &program]));
        assert_eq!((outcome.code, place(&world)), (Some(0), expected.into()), "{settings}");
    }
}

#[test]
fn seed_001_auto_selects_an_installed_claude() {
    let world = folder();
    config(&world, "backend = \"auto\"");
    let (outcome, events) = told(with_claude(&world, &format!("{PLACE}hear; work; result '{PROMISE}'"), &[]));
    assert_eq!((outcome.code, &of(&events, "run_started")[0]["backend"]), (Some(0), &"claude".into()));
    let args = std::fs::read_to_string(world.home().join("args")).unwrap();
    for words in ["-p ", "--dangerously-skip-permissions", "--output-format stream-json", "--input-format stream-json"]
    {
        assert!(args.contains(words), "{words}: {args}");
    }
    assert_eq!(place(&world), "pipe", "one that works on pipes can be steered there");
    assert!(heard(&world)[0].contains("# Build it"), "{:?}", heard(&world));
}

#[test]
fn seed_001_a_found_claude_that_needs_a_terminal_gets_one_and_keeps_it_over_a_resume() {
    let world = folder();
    let script = format!("{ON_A_TERMINAL}work; result \"step $n\"");
    let (outcome, events) = told(with_claude(&world, &script, &["2"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(2), vec!["progress".to_owned(); 2]), "{}", outcome.stderr);
    let found = of(&events, "transport");
    assert_eq!((found.len(), &found[0]["transport"], of(&events, "warning").len()), (1, &"terminal".into(), 1));
    let count = || std::fs::read_to_string(world.home().join("count")).unwrap().trim().to_owned();
    assert_eq!(count(), "3", "one refusal, two iterations");
    let resume = ralph(&world, &["resume", "--json", "--max", "3"]);
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", world.home().join("bin").display());
    let (outcome, events) = told(resume.env("PATH", &path));
    assert_eq!((outcome.code, outcomes(&events)), (Some(2), vec!["progress".to_owned()]), "{}", outcome.stderr);
    assert_eq!((&*count(), of(&events, "warning").len()), ("4", 0), "not tried on pipes again");
}

#[test]
fn seed_001_a_named_claude_that_is_dumb_on_a_terminal_is_tried_on_pipes() {
    let world = folder();
    let script = format!("[ -t 0 ] && sleep 60; hear; work; result '{PROMISE}'");
    let (outcome, events) = told(named_claude(&world, &script, &["--idle", "4s"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]), "{:?}", outcome.lines);
    assert_eq!(of(&events, "transport")[0]["transport"], "pipe");
    assert!(heard(&world)[0].contains("# Build it"));
}

#[test]
fn seed_001_a_prompt_of_more_than_7000_characters_goes_by_file() {
    for (length, by_file, named) in
        [(8_000, true, true), (2_000, false, true), (8_000, true, false), (2_000, false, false)]
    {
        let world = folder();
        std::fs::write(world.wd().join(".ralph/prompt.md"), "y".repeat(length)).unwrap();
        let script = format!(
            "if [ -t 0 ]; then for last; do :; done; else read -r last; fi
            printf '%s' \"$last\" > \"$HOME/last\"; work; result '{PROMISE}'"
        );
        let run = if named { named_claude(&world, &script, &[]) } else { with_claude(&world, &script, &[]) };
        let (outcome, _) = told(run);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let last = std::fs::read_to_string(world.home().join("last")).unwrap();
        assert_eq!(!last.contains("yyyy"), by_file, "{last}");
        if by_file {
            let word = last.split([' ', '"']).find(|word| word.contains("prompt_1.md")).expect("a file");
            assert!(std::fs::read_to_string(word).unwrap().contains(&"y".repeat(length)));
        }
    }
}

/// An agent on a terminal that says something, does nothing for half a second, and is done.
fn paced(said: &str) -> (Option<i32>, Vec<Value>) {
    let world = folder();
    config(&world, "output_format = \"stream-json\"");
    let script = format!("{ON_A_TERMINAL}work; {said}; sleep 0.5; result '{PROMISE}'");
    let (outcome, events) = told(named_claude(&world, &script, &[]));
    (outcome.code, events)
}

/// How long before the end of the iteration an event was told.
fn lead(events: &[Value], kind: &str) -> u64 {
    let at = |kind: &str| of(events, kind)[0]["at"].as_u64().unwrap();
    at("iteration_ended") - at(kind)
}

#[test]
fn seed_001_each_line_of_stream_json_is_read_and_passed_on_as_it_comes() {
    let (code, events) = paced("say hello");
    assert_eq!((code, &of(&events, "agent_text")[0]["text"]), (Some(0), &"hello".into()));
    assert_eq!(of(&events, "agent")[0]["line"]["type"], "assistant");
    assert!(lead(&events, "agent_text") >= 400, "not kept back until the end");
}

#[test]
fn seed_001_a_tool_call_is_shown_at_once_with_its_name_and_its_outcome() {
    let call = r#"printf '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make"}}]}}\n'"#;
    let (code, events) = paced(call);
    let told = &of(&events, "tool_call")[0];
    assert_eq!((code, &told["name"], &told["input"]["command"]), (Some(0), &"Bash".into(), &"make".into()));
    assert!(lead(&events, "tool_call") >= 400, "not kept back until the end");
    let result = r#"printf '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"no rule"}]}}\n'"#;
    let (_, events) = paced(&format!("{call}; {result}"));
    assert_eq!(
        (&of(&events, "tool_result")[0]["id"], &of(&events, "tool_result")[0]["is_error"]),
        (&"t1".into(), &true.into())
    );
}

/// The agent goes on only when the call has been seen: nothing here depends on time.
#[test]
fn seed_001_the_screen_shows_a_tool_call_while_it_runs() {
    let world = folder();
    let script = format!(
        r#"work; printf '{{"type":"assistant","message":{{"id":"m","content":[{{"type":"tool_use","id":"t1","name":"Bash","input":{{"command":"make-it-so"}}}}]}}}}\n'
        until [ -e "$HOME/seen" ]; do sleep 0.05; done
        printf '{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t1","content":"fine"}}]}}}}\n'
        until [ -e "$HOME/seen-again" ]; do sleep 0.05; done; result '{PROMISE}'"#
    );
    let program = agent(&world, &script);
    let words = ["--backend", &program.display().to_string()];
    let terminal = Terminal::start(&ralph(&world, &words).env("TERM", "xterm-256color"), 100, 30).unwrap();
    let shown = terminal.wait_for("make-it-so").unwrap();
    assert!(shown.shows("◐ Bash"), "it runs: {}", shown.text());
    std::fs::write(world.home().join("seen"), "").unwrap();
    let shown = terminal.wait(|screen| screen.shows("● Bash")).unwrap();
    assert!(!shown.shows("◐ Bash"), "it has run: {}", shown.text());
    std::fs::write(world.home().join("seen-again"), "").unwrap();
    terminal.wait_for("the agent says that all is done").unwrap();
}

#[test]
fn seed_001_usage_is_summed_up_and_the_result_brings_cost_and_duration() {
    let (_, events) = paced("say one; say two");
    let receipt = &of(&events, "iteration_ended")[0]["receipt"];
    assert!((receipt["cost_usd"].as_f64().unwrap() - 0.01).abs() < 1e-9, "{receipt}");
    assert_eq!((&receipt["tokens"]["input"], &receipt["tokens"]["output"]), (&10.into(), &5.into()), "{receipt}");
    assert!(receipt["duration_ms"].as_u64().unwrap() >= 400, "{receipt}");
}

#[test]
fn seed_001_an_error_result_marks_the_iteration_as_failed() {
    let world = folder();
    let script = format!("{ON_A_TERMINAL}work; if [ $n = 1 ]; then failure 'it broke'; else result '{PROMISE}'; fi");
    let (outcome, events) = told(named_claude(&world, &script, &[]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["error_result".to_owned(), "done".into()]));
    let receipt = &of(&events, "iteration_ended")[0]["receipt"];
    assert!(receipt["blocking"].as_str().unwrap().contains("it broke"), "{receipt}");
}

#[test]
fn seed_001_a_malformed_line_is_skipped_with_a_warning() {
    let world = folder();
    let script = format!("{ON_A_TERMINAL}work; say hi; echo '{{\"type\":\"assistant\",\"mess'; result '{PROMISE}'");
    let (outcome, events) = told(named_claude(&world, &script, &[]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]));
    let warnings = of(&events, "warning");
    assert!(warnings.len() == 1 && warnings[0]["text"].as_str().unwrap().contains("mess"), "{warnings:?}");
}
