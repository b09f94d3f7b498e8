//! The agents a loop can run: the built-in one, a `claude` that needs a terminal, and one that misbehaves.
//! Each to a checked end.

use crate::common::say;
use crate::world::{PROMISE, agent, folder, looped, of, outcomes, ralph, told, verdict, with_model};
use serde_json::{Value, json};
use testkit::{Run, World};

/// How an agent that needs a terminal begins.
pub const ON_A_TERMINAL: &str =
    "[ -t 0 ] && [ -t 1 ] || { echo 'claude: standard input is not a terminal' >&2; exit 1; }; ";

/// Installs a program; the search path that finds it first.
fn installed(world: &World, name: &str, script: &str) -> String {
    let bin = world.home().join("bin");
    std::fs::create_dir_all(&bin).unwrap();
    std::fs::rename(agent(world, script), bin.join(name)).unwrap();
    format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display())
}

/// `ralph --json` with this script as the `claude` on PATH.
pub fn with_claude(world: &World, script: &str, words: &[&str]) -> Run {
    let path = installed(world, "claude", script);
    ralph(world, &["--json", "--failure-pause", "0"]).args(words.iter().copied()).env("PATH", &path)
}

/// The same, named: then it is taken for one that wants a terminal.
pub fn named_claude(world: &World, script: &str, words: &[&str]) -> Run {
    with_claude(world, script, words).args(["--backend", "claude"])
}

fn warnings(events: &[Value]) -> Vec<String> {
    of(events, "warning").iter().map(|event| event["text"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Wrong at first, then right, by the check.
const CHECK: [&str; 2] = ["--check", "grep right out.txt"];

fn work_on() -> String {
    format!("if [ $n = 1 ]; then echo wrong > out.txt; else echo right > out.txt; fi; say working; result '{PROMISE}'")
}

#[test]
fn the_built_in_agent_runs_to_a_checked_end_on_a_pipe_and_on_a_terminal() {
    let write = |text: &str| json!({"content": [{"type": "tool_use", "name": "Bash", "input": {"command": format!("echo {text} > out.txt")}}]});
    for pty in [&[][..], &["--pty"]] {
        let world = with_model(json!([write("wrong"), say(PROMISE), write("right"), say(PROMISE)]));
        let run = ralph(&world, &["5", "--json", "--backend", "builtin"]).args(CHECK).args(pty.iter().copied());
        let (outcome, events) = told(run);
        assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["not_done".to_owned(), "done".into()]), "{pty:?}");
        assert!(warnings(&events).is_empty() && !of(&events, "tool_call").is_empty(), "{:#?}", outcome.lines);
    }
}

#[test]
fn a_claude_that_needs_a_terminal_runs_to_a_checked_end() {
    let world = folder();
    let script = format!("{ON_A_TERMINAL}{}", work_on());
    let (outcome, events) = told(named_claude(&world, &script, &[]).args(CHECK));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["not_done".to_owned(), "done".into()]));
    assert_eq!(of(&events, "run_started")[0]["backend"], "claude");
    assert!(warnings(&events).is_empty(), "it is known by its name: {:?}", warnings(&events));
}

#[test]
fn an_agent_that_refuses_a_pipe_is_started_again_on_a_terminal_once_and_kept_there() {
    let world = folder();
    let script = format!(
        "{ON_A_TERMINAL}m=$(cat \"$HOME/times\" 2>/dev/null || echo 0); n=$((m + 1)); echo $n > \"$HOME/times\"; {}",
        work_on()
    );
    let (outcome, events) = told(looped(&world, &script, &CHECK));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["not_done".to_owned(), "done".into()]));
    assert_eq!(warnings(&events), ["the agent did not work without a terminal; starting it again on one"]);
    assert_eq!(of(&events, "iteration_started").len(), 2, "the refusal is no iteration of its own");
    assert_eq!(std::fs::read_to_string(world.home().join("count")).unwrap().trim(), "3", "one refusal, two calls");
}

#[test]
fn an_agent_that_hangs_without_a_terminal_gets_one() {
    let world = folder();
    let script = format!("[ -t 0 ] || sleep 60; work; say hi; result '{PROMISE}'");
    let (outcome, events) = told(looped(&world, &script, &["--idle", "3s"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]), "{:?}", outcome.lines);
    assert_eq!(warnings(&events).len(), 1);
}

#[test]
fn an_agent_that_reads_all_of_its_input_first_is_given_an_end_of_it() {
    let world = folder();
    let script = format!(
        "cat >> \"$HOME/heard\"; work; say hi; if [ $n = 1 ]; then result 'a step'; else result '{PROMISE}'; fi"
    );
    let (outcome, events) = told(looped(&world, &script, &["--idle", "5s"]));
    let expected = vec!["progress".to_owned(), "done".into()];
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), expected), "{:?}", outcome.lines);
    assert!(warnings(&events).is_empty() && of(&events, "transport").is_empty(), "{:?}", warnings(&events));
    let heard = testkit::looping::heard(&world);
    assert!(heard.len() == 2 && heard.iter().all(|line| line.contains("# Build it")), "{heard:?}");
    let took = |at: usize| of(&events, "iteration_ended")[at]["receipt"]["duration_ms"].as_u64().unwrap();
    assert!(took(0) >= 5000 && took(1) < took(0), "the second time it is known: {} {}", took(0), took(1));
}

#[test]
fn a_terminal_that_does_not_help_is_not_tried_again() {
    let world = folder();
    let script = "echo 'this is no terminal for me' >&2; exit 1";
    let (outcome, events) = told(looped(&world, script, &["--max-failures", "3"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(1), vec!["exit_code".to_owned(); 3]));
    assert_eq!(warnings(&events).len(), 1);
    assert_eq!(std::fs::read_to_string(world.home().join("count")).unwrap().trim(), "4");
    let blocking = of(&events, "iteration_ended")[0]["receipt"]["blocking"].as_str().unwrap().to_owned();
    assert!(blocking.contains("no terminal for me"), "{blocking}");
}

/// What an agent does wrong, what that is called, and whether the work is done all the same.
const WRONGS: [(&str, &str); 9] = [
    ("echo 'All is done.'; echo '<promise>COMPLETE</promise>'", "done"),
    (r#"printf '{\n  "result": "<promise>COMPLETE</promise>",\n  "session_id": "s"\n}\n'"#, "done"),
    (r#"say hi; echo '{"type":"assist'; echo noise; result '<promise>COMPLETE</promise>'"#, "done"),
    ("failure 'it broke'", "error_result"),
    ("say hello", "no_result"),
    ("say hello; echo broken >&2; exit 7", "exit_code"),
    ("say hello; kill -9 $$", "signal"),
    ("yes xxxxxxxxxxxxxxxxxxxxxxxx | head -n 200000", "flood"),
    (
        "trap '' TERM HUP; echo $$ > \"$HOME/pids\"; sleep 99 & echo $! >> \"$HOME/pids\"; say hello; wait; sleep 99",
        "silence",
    ),
];

#[test]
fn a_misbehaving_agent_is_survived_to_a_checked_end_on_a_pipe_and_on_a_terminal() {
    let tried = |pty: bool| {
        for (wrong, outcome) in WRONGS {
            let world = folder();
            let script = format!("work; if [ $n = 1 ]; then {wrong}; else say hi; result '{PROMISE}'; fi");
            // A busy machine may be silent for a second or two, in the second iteration, too.
            let idle = if outcome == "silence" { "5s" } else { "1m" };
            let words = ["5", "--idle", idle, "--check", "test -s work.txt", if pty { "--pty" } else { "--pty=false" }];
            let (run, events) = told(looped(&world, &script, &words));
            let expected = if outcome == "done" { vec!["done"] } else { vec![outcome, "done"] };
            assert_eq!(
                (run.code, outcomes(&events)),
                (Some(0), expected.iter().map(ToString::to_string).collect()),
                "{pty} {wrong}"
            );
            assert_eq!(of(&events, "check_finished").last().unwrap()["passed"], true, "{pty} {wrong}");
            let pids = std::fs::read_to_string(world.home().join("pids")).unwrap_or_default();
            assert!(pids.lines().all(testkit::looping::is_gone), "{pty} {wrong}: {pids}");
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| tried(true));
        tried(false);
    });
}

#[test]
fn a_result_and_then_no_end_is_a_result_and_the_agent_is_ended() {
    let lingers = |pty: &str| {
        let world = folder();
        let script = format!("echo $$ > \"$HOME/pid\"; work; result '{PROMISE}'; while :; do sleep 60; done");
        let (outcome, events) = told(looped(&world, &script, &[pty]));
        assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]), "{pty}");
        assert!(testkit::looping::is_gone(&std::fs::read_to_string(world.home().join("pid")).unwrap()));
    };
    // Both wait out the same ten seconds.
    std::thread::scope(|scope| {
        scope.spawn(|| lingers("--pty"));
        lingers("--pty=false");
    });
}

#[test]
fn what_an_agent_draws_on_its_terminal_does_not_reach_the_events() {
    let world = folder();
    let script = format!(
        r"work; printf '\033[?25l\033[2J\033]0;retitled\007'; printf 'loading 10%%\rloading 99%%\r'; say hi
        printf '\033[32m'; result '{PROMISE}'; printf '\033[0m\033[?25h'"
    );
    let (outcome, events) = told(looped(&world, &script, &["--pty"]));
    assert_eq!(outcome.code, Some(0), "{:?}", outcome.lines);
    assert_eq!((warnings(&events), of(&events, "agent_text").len()), (Vec::new(), 1));
    assert!(outcome.lines.iter().all(|line| !line.contains("\\u001b") && !line.contains("retitled")));
}

#[test]
fn a_folders_direnv_is_merged_where_it_is_allowed_and_said_where_it_is_not() {
    let exports = r#"{"FROM_ENVRC": "yes", "GONE": null, "HOME": "/evil", "ANTHROPIC_API_KEY": "theirs"}"#;
    for (direnv, expected, said) in [
        (format!("[ \"$1 $2\" = 'export json' ] && printf '%s' '{exports}'"), "yes ours", None),
        ("exit 0".into(), " ours1", None),
        ("echo 'direnv: error .envrc is blocked' >&2; exit 1".into(), " ours1", Some(".envrc is blocked")),
    ] {
        let world = folder();
        std::fs::write(world.wd().join(".envrc"), "").unwrap();
        let path = installed(&world, "direnv", &direnv);
        let script =
            format!("echo \"$FROM_ENVRC $ANTHROPIC_API_KEY$GONE\" > \"$HOME/env\"; hear; work; result '{PROMISE}'");
        let run = looped(&world, &script, &[]).env("PATH", &path).env("ANTHROPIC_API_KEY", "ours").env("GONE", "1");
        let (outcome, events) = told(run);
        assert_eq!(outcome.code, Some(0), "{direnv} {}", outcome.stderr);
        assert_eq!(std::fs::read_to_string(world.home().join("env")).unwrap().trim_end(), expected, "{direnv}");
        let warned = warnings(&events);
        assert_eq!(warned.len(), usize::from(said.is_some()), "{warned:?}");
        assert!(said.is_none_or(|words| warned[0].contains(words)), "{warned:?}");
    }
}

#[test]
fn a_session_that_goes_on_and_a_summary_work_on_a_terminal_too() {
    let world = folder();
    let script = format!(
        r#"{ON_A_TERMINAL}case "$*" in
          *haiku*) printf '{{"type":"result","is_error":false,"result":"","structured_output":{{"summary":"so far so good"}},"total_cost_usd":0.01}}\n';;
          *so\ far\ so\ good*) work; result '{PROMISE}';;
          *) work; say step; result "step $n";;
        esac"#
    );
    let words = ["6", "--summarise-every", "2", "--session", "continue"];
    let (outcome, events) = told(named_claude(&world, &script, &words));
    assert_eq!((outcome.code, verdict(&events).0), (Some(0), "done".into()), "{:?}", outcome.lines);
    assert_eq!(of(&events, "summarised")[0]["summary"], "so far so good");
    let args = std::fs::read_to_string(world.home().join("args")).unwrap();
    assert!(args.contains("--resume s1"), "{args}");
}
