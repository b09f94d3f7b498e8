//! L: loops. Each test is named after its case.

use serde_json::{Value, json};
use std::path::PathBuf;
use std::time::Duration;
use testkit::looping::{self, PROMISE, folder, heard, is_gone, of, outcomes, told, verdict, with_model};
use testkit::{Run, Step, World};

const INT: i32 = 2;
const KILL: i32 = 9;
const TERM: i32 = 15;
const HUP: i32 = 1;
const TSTP: i32 = 20;
const CONT: i32 = 18;

fn binary() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_ralph"))
}

fn ralph(world: &World, words: &[&str]) -> Run {
    looping::ralph(&binary(), world, words)
}

fn looped(world: &World, script: &str, words: &[&str]) -> Run {
    looping::looped(&binary(), world, script, words)
}

fn backend(world: &World) -> String {
    world.home().join("agent.sh").display().to_string()
}

#[test]
fn l41_completion_on_the_last_iteration_is_success() {
    let world = folder();
    let script = format!("hear; work; if [ $n = 2 ]; then result '{PROMISE}'; else result 'a step'; fi");
    let (outcome, events) = told(looped(&world, &script, &["2"]));
    assert_eq!((outcome.code, verdict(&events)), (Some(0), ("done".into(), 0)));
}

#[test]
fn l42_a_promise_counts_only_where_it_is_made() {
    let block = |kind: &str, block: &str| {
        format!(r#"printf '{{"type":"{kind}","message":{{"id":"x","content":[{block}]}}}}\n'"#)
    };
    let text = |text: &str| block("assistant", &format!(r#"{{"type":"text","text":"{text}"}}"#));
    let delta = |text: &str| {
        let event = format!(r#"{{"type":"content_block_delta","delta":{{"type":"text_delta","text":"{text}"}}}}"#);
        format!(r#"printf '{{"type":"stream_event","event":{event}}}\n'"#)
    };
    let tool = block("user", &format!(r#"{{"type":"tool_result","tool_use_id":"t","content":"{PROMISE}"}}"#));
    let thinking = block("assistant", &format!(r#"{{"type":"thinking","thinking":"{PROMISE}","signature":"s"}}"#));
    let echo = block("user", &format!(r#"{{"type":"text","text":"Say {PROMISE} when done"}}"#));
    let pieces = [delta("<promise>COMP"), delta("LETE</promise>"), text(PROMISE), format!("result '{PROMISE}'")];
    let none = "result 'a step'".to_owned();
    for (place, script, counts) in [
        ("the echo of the prompt", format!("{echo}; {none}"), false),
        ("a tool result", format!("{tool}; {none}"), false),
        ("a thought", format!("{thinking}; {none}"), false),
        ("an earlier message", format!("{}; {none}", text(PROMISE)), false),
        ("passing", format!("result 'I will say {PROMISE} later'"), false),
        ("a quote", format!("result '> {PROMISE}'"), false),
        ("a code block", format!("result 'it says:\\n\\n~~~\\n{PROMISE}\\n~~~'"), false),
        ("a mark", format!("result '\"{PROMISE}\"'").replace('"', "\\\\\""), false),
        ("a sub-agent", sub_agent(), false),
        ("pieces", pieces.join("; "), true),
        ("its place", format!("result 'All done.\\n\\n{PROMISE}'"), true),
        ("emphasis", format!("result '**{PROMISE}**'"), true),
    ] {
        let world = folder();
        std::fs::write(world.wd().join(".ralph/prompt.md"), format!("Say {PROMISE} when done")).unwrap();
        let (outcome, events) = told(looped(&world, &format!("hear; work; {script}"), &["1"]));
        let expected = if counts { (Some(0), "done".to_owned()) } else { (Some(2), "limit".to_owned()) };
        assert_eq!((outcome.code, verdict(&events).0), expected, "{place}: {:#?}", outcome.lines);
    }
}

fn sub_agent() -> String {
    format!(
        r#"printf '{{"type":"assistant","parent_tool_use_id":"t1","message":{{"content":[{{"type":"text","text":"{PROMISE}"}}]}}}}\n'; result ''"#
    )
}

#[test]
fn l43_without_a_promise_and_without_a_maximum_every_other_stop_still_fires() {
    for (words, script, ends) in [
        (&["--duration", "2s"][..], "hear; work; sleep 0.2; result \"step $n\"", ("limit", 2)),
        (&["--max-cost", "0.05"], "hear; work; result \"step $n\"", ("limit", 2)),
        (&["--max-tokens", "100"], "hear; work; result \"step $n\"", ("limit", 2)),
        (&[], "hear; result 'Nothing to do.'", ("stuck", 3)),
    ] {
        let world = folder();
        let (outcome, events) = told(looped(&world, script, &[&["--max", "0"], words].concat()));
        assert_eq!(verdict(&events), (ends.0.to_owned(), ends.1), "{words:?} {}", outcome.stderr);
        let tries = of(&events, "iteration_started").len();
        assert!(tries < 20, "{words:?}: {tries} iterations");
    }
}

#[test]
fn l45_every_way_to_go_wrong_fails_the_iteration_and_the_loop_goes_on() {
    for (script, failure) in [
        ("exit 0", "no_result"),
        ("echo broken >&2; exit 7", "exit_code"),
        ("kill -9 $$", "signal"),
        ("failure 'it broke'; exit 1", "error_result"),
        ("failure 'it broke'", "error_result"),
        ("say hello; sleep 60", "silence"),
        ("head -c 300000000 /dev/zero | tr '\\0' x", "flood"),
    ] {
        let world = folder();
        let script = format!("hear; work; if [ $n = 1 ]; then {script}; else result '{PROMISE}'; fi");
        let idle = if failure == "silence" { "500ms" } else { "30s" };
        let (outcome, events) = told(looped(&world, &script, &["5", "--idle", idle]));
        assert_eq!(outcomes(&events), [failure, "done"], "{script} {}", outcome.stderr);
        assert_eq!((outcome.code, outcome.lingered), (Some(0), false), "{script}");
    }
}

#[test]
fn l45_a_result_and_then_no_end_is_a_result() {
    let world = folder();
    let script = format!("hear; work; result '{PROMISE}'; sleep 100");
    let (outcome, events) = told(looped(&world, &script, &["5"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]));
    assert!(outcome.elapsed < Duration::from_secs(40) && !outcome.lingered, "{:?}", outcome.elapsed);
}

#[test]
fn l45_text_that_is_no_json_and_json_of_a_future_version_are_read() {
    for (script, said) in [
        (format!("echo 'Just words.'; echo '{PROMISE}'"), "Just words."),
        (
            format!(
                r#"echo '{{"type":"hologram","v":9}}'; echo '{{"type":"assistant","message":{{"content":[{{"type":"scent"}},{{"type":"text","text":"hi","mood":1}}]}},"epoch":3}}'
                printf '{{"type":"result","subtype":"sublime","is_error":false,"result":"{PROMISE}","aura":{{}},"total_cost_usd":0.01}}\n'"#
            ),
            "hi",
        ),
    ] {
        let world = folder();
        let (outcome, events) = told(looped(&world, &format!("hear; work; {script}"), &["1"]));
        assert_eq!((outcome.code, verdict(&events).0), (Some(0), "done".into()), "{:#?}", outcome.lines);
        assert!(of(&events, "agent_text")[0]["text"].as_str().unwrap().starts_with(said));
    }
}

#[test]
fn l46_a_limited_iteration_waits_until_it_resets_and_does_not_count() {
    let world = folder();
    let script = format!(
        r#"hear; work
        if [ $n = 1 ]; then
          printf '{{"type":"rate_limit_event","rate_limit_info":{{"status":"rejected","resetsAt":%s}}}}\n' $(($(date +%s) + 2))
          failure "You've hit your limit"; exit 1
        fi
        result '{PROMISE}'"#
    );
    let (outcome, events) = told(looped(&world, &script, &["1"]));
    let expected = (Some(0), vec!["deferred".to_owned(), "done".into()]);
    assert_eq!((outcome.code, outcomes(&events)), expected, "{:?}", outcome.lines);
    let started: Vec<_> = of(&events, "iteration_started")
        .iter()
        .map(|event| (event["iteration"].clone(), event["at"].as_u64()))
        .collect();
    assert_eq!((&started[0].0, &started[1].0), (&json!(1), &json!(1)));
    let until = of(&events, "waiting")[0]["until"].as_u64().unwrap();
    assert!(started[1].1.unwrap() >= until, "it came back too early");
    assert_eq!(of(&events, "verdict")[0]["iterations"], 1);
}

#[test]
fn l46_control_c_works_while_waiting() {
    let world = folder();
    let script = "hear; failure \"You've hit your limit · resets 5pm\"; exit 1";
    let run = looped(&world, script, &[]).wait(json!({"type": "waiting"})).signal(INT);
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, verdict(&events).0), (Some(130), "interrupted".into()));
    assert!(outcome.elapsed < Duration::from_secs(20), "{:?}", outcome.elapsed);
}

const SLOW: &str = "hear; work; echo $$ > \"$HOME/pid\"; sleep 100 & echo $! > \"$HOME/child\"; say started; wait";

fn all_gone(world: &World) -> bool {
    ["pid", "child"].iter().all(|name| is_gone(&std::fs::read_to_string(world.home().join(name)).unwrap()))
}

#[test]
fn l47_an_interrupt_once_finishes_the_iteration() {
    let world = folder();
    let script = "hear; work; say started; sleep 1; result 'a step'";
    let run = looped(&world, script, &[]).wait(json!({"type": "agent_text"})).signal(INT);
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, verdict(&events).0), (Some(130), "interrupted".into()), "{}", outcome.stderr);
    assert_eq!(outcomes(&events), ["progress"]);
}

#[test]
fn l47_twice_stops_now_and_term_and_hangup_end_the_whole_tree() {
    for (signals, code) in [(&[INT, INT][..], 130), (&[TERM], 143), (&[HUP], 143)] {
        let world = folder();
        let mut run = looped(&world, SLOW, &[]).wait(json!({"type": "agent_text"}));
        for signal in signals {
            run = run.signal(*signal).step(Step::Sleep(Duration::from_millis(100)));
        }
        let (outcome, events) = told(run);
        assert_eq!((outcome.code, outcome.lingered), (Some(code), false), "{signals:?} {}", outcome.stderr);
        assert_eq!(outcomes(&events), ["interrupted"]);
        assert!(all_gone(&world), "{signals:?}");
    }
}

#[test]
fn l47_a_stopped_and_continued_loop_goes_on() {
    let world = folder();
    let script = format!("hear; work; say started; sleep 0.3; result '{PROMISE}'");
    // Stopped for longer than an agent may be silent: the silence is ours.
    let run = looped(&world, &script, &["--idle", "4s"])
        .wait(json!({"type": "agent_text"}))
        .signal(TSTP)
        .step(Step::Sleep(Duration::from_secs(6)))
        .signal(CONT);
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]), "{:?}", outcome.lines);
}

#[test]
fn l47_kill_9_leaves_no_agent_alive_and_the_next_start_recovers_the_lock() {
    let world = folder();
    let script = format!(
        "case $n in 1) hear; work; say one; result 'first step';; 2) {SLOW};; *) hear; work; result '{PROMISE}';; esac"
    );
    let run = looped(&world, &script, &[])
        .wait(json!({"type": "iteration_started", "iteration": 2}))
        .wait(json!({"type": "agent_text"}))
        .signal(KILL);
    let outcome = run.finish().unwrap();
    assert_eq!(outcome.signal, Some(KILL));
    assert!(is_gone(&std::fs::read_to_string(world.home().join("pid")).unwrap()), "the agent is gone");
    let (resumed, events) = told(ralph(&world, &["resume", "--json", "--backend", &backend(&world)]));
    assert_eq!((resumed.code, verdict(&events).0), (Some(0), "done".into()), "{}", resumed.stderr);
    assert_eq!(of(&events, "run_started")[0]["resumed"]["iterations"], 1);
    assert_eq!(of(&events, "iteration_started")[0]["iteration"], 2);
    let last = of(&events, "verdict")[0];
    assert_eq!(last["iterations"], 2);
    let spent = last["cost_usd"].as_f64().unwrap();
    assert!(spent > 0.02 && spent < 0.021, "with what was heard of the one that was cut off: {last}");
    let (again, _) = told(ralph(&world, &["resume", "--backend", &backend(&world)]));
    assert!(again.code == Some(1) && again.stderr.contains("is done"), "{}", again.stderr);
}

#[test]
fn l48_a_second_loop_in_the_folder_is_told_who_the_first_is() {
    let world = folder();
    let inner = format!(
        "hear; work; \"$RALPH\" 1 --backend \"$0\" 2> \"$HOME/second\"; echo $? >> \"$HOME/second\"; result '{PROMISE}'"
    );
    let (outcome, _) = told(looped(&world, &inner, &[]).env("RALPH", &binary().display().to_string()));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let second = std::fs::read_to_string(world.home().join("second")).unwrap();
    assert!(second.contains("another ralph is at work") && second.contains("process "), "{second}");
    assert!(second.ends_with("1\n"), "{second}");
}

#[test]
fn l48_a_stale_lock_whose_number_lives_again_is_recovered() {
    let world = folder();
    // This very process is alive, and no loop.
    let owner = format!("process {}, run 20200101-000000", std::process::id());
    std::fs::write(world.wd().join(".ralph/lock"), owner).unwrap();
    let (outcome, _) = told(looped(&world, &format!("hear; work; result '{PROMISE}'"), &[]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn l49_three_corrections_on_the_same_pipe_and_then_the_iteration_failed() {
    let world = folder();
    let script = "while hear; do [ -n \"$line\" ] || exit 0; result 'none'; done";
    let (outcome, events) = told(looped(&world, script, &["--structured", "--max-failures", "1"]));
    assert_eq!((outcome.code, outcomes(&events)), (Some(1), vec!["unstructured".to_owned()]));
    assert_eq!(heard(&world).iter().filter(|line| line.contains("StructuredOutput tool with")).count(), 3);
    assert_eq!(looping::called(&world).len(), 1, "all on one pipe");
}

#[test]
fn l49_only_done_is_done() {
    let mebibyte = "x".repeat(1024 * 1024);
    for (summary, ends) in [
        ("\"DONE\"", "done"),
        ("\" DONE\\n\"", "done"),
        ("\"done\"", "progress"),
        ("\"done.\"", "progress"),
        ("\"NOT DONE\"", "progress"),
        ("\"DONE with the first half\"", "progress"),
        ("null", "unstructured"),
        ("7", "unstructured"),
        ("[\"DONE\"]", "unstructured"),
        ("mebibyte", "progress"),
    ] {
        let world = folder();
        let text = if summary == "mebibyte" { format!("\"{mebibyte}\"") } else { summary.to_owned() };
        let line = json!({"type": "result", "is_error": false, "result": "x", "total_cost_usd": 0.01,
            "structured_output": {"summary": serde_json::from_str::<Value>(&text).unwrap()}});
        std::fs::write(world.home().join("line"), format!("{line}\n")).unwrap();
        let script = "while read -r line; do cat \"$HOME/line\"; done; work";
        let (outcome, events) = told(looped(&world, script, &["1", "--structured"]));
        let shown = summary.chars().take(40).collect::<String>();
        assert_eq!(outcomes(&events), [ends], "{shown} {}", outcome.stderr);
        let receipt = of(&events, "iteration_ended")[0]["receipt"]["summary"].as_str().unwrap().len();
        assert!(receipt < 8 * 1024, "{shown}: a receipt of {receipt} bytes");
    }
}

#[test]
fn l51_strange_costs_never_lower_or_break_the_sum() {
    let result = |cost: &str| format!(r#"printf '{{"type":"result","is_error":false,"result":"step '$n'"{cost}}}\n'"#);
    for (costs, sum) in [
        (vec![""], 0.0),
        (vec![",\"total_cost_usd\":\"NaN\""], 0.0),
        (vec![",\"total_cost_usd\":-5"], 0.0),
        (vec![",\"total_cost_usd\":1e999"], 0.0),
        (vec![",\"total_cost_usd\":0.5", ",\"total_cost_usd\":0.25"], 1.0),
    ] {
        let world = folder();
        let script: String = costs.iter().map(|cost| format!("{}; ", result(cost))).collect();
        // Without a limit in USD: a cost that is not known would end the run at once (tests/loop/overnight.rs).
        let words = ["2", "--stuck=false"];
        let (outcome, events) = told(looped(&world, &format!("hear; work; {script}"), &words));
        assert_eq!((outcome.code, outcomes(&events)), (Some(2), vec!["progress".to_owned(); 2]), "{costs:?}");
        let spent = of(&events, "verdict")[0]["cost_usd"].as_f64().unwrap();
        assert!((spent - sum).abs() < 1e-9, "{costs:?}: {spent}");
        let evidence = of(&events, "iteration_ended")[0]["receipt"]["evidence"].to_string();
        assert!(evidence.contains("lower bound"), "{costs:?}: {evidence}");
    }
}

#[test]
fn l51_a_budget_is_overshot_by_one_call_at_most() {
    let dear = json!({"content": [{"type": "tool_use", "name": "Bash", "input": {"command": "date >> out.txt"}}],
        "usage": {"input_tokens": 1_000_000, "output_tokens": 1}});
    let world = with_model(json!([dear]));
    let run = ralph(&world, &["--json", "--backend", "builtin", "--max", "0", "--max-cost", "4"]);
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, verdict(&events).0), (Some(2), "limit".into()), "{} {:?}", outcome.stderr, outcome.lines);
    let calls = world.mock().requests().len();
    let spent = of(&events, "verdict")[0]["cost_usd"].as_f64().unwrap();
    let each = spent / calls as f64;
    assert!(spent >= 4.0 && spent - each < 4.0, "{calls} calls, ${spent}");
}

#[test]
fn l52_a_replay_says_what_the_run_said_and_a_torn_one_says_it_up_to_the_tear() {
    let world = folder();
    let script = format!(
        r#"hear; work; say "hello"; case $n in
          1) exit 3;;
          2) failure 'API Error: 429 Too Many Requests, retry after 0s'; exit 1;;
          3) echo 'not json'; result "a step";;
          4) result "{PROMISE}";;
          *) result 'Help!\n<blocked>Which port?</blocked>';;
        esac"#
    );
    let (live, _) = told(looped(&world, &script, &["--check", "test $(wc -l < work.txt) -gt 9"]));
    assert_eq!(live.code, Some(3), "{}", live.stderr);
    let untimed = |lines: &[String]| -> Vec<Value> {
        let parse = |line: &String| {
            let mut event: Value = serde_json::from_str(line).unwrap();
            event.as_object_mut().unwrap().remove("at");
            event
        };
        lines.iter().map(parse).collect()
    };
    let (replayed, _) = told(ralph(&world, &["--replay", "--json"]));
    let whole = untimed(&replayed.lines);
    assert_eq!(whole, untimed(&live.lines));
    let runs = std::fs::read_dir(world.wd().join(".ralph/runs")).unwrap();
    let recording = runs.flatten().next().unwrap().path().join("events.ndjson");
    let bytes = std::fs::read(recording).unwrap();
    let torn = world.wd().join("torn.ndjson");
    for part in 1..12 {
        std::fs::write(&torn, &bytes[..bytes.len() * part / 12]).unwrap();
        let (half, _) = told(ralph(&world, &["--replay", "torn.ndjson", "--json"]));
        let said = untimed(&half.lines);
        assert!(half.code == Some(0) && whole.starts_with(&said), "{part}/12: {:?}", half.lines.last());
        assert!(!said.is_empty() && said.len() < whole.len());
    }
}
