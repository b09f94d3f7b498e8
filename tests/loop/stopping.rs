//! Stop means stop, and what was stopped can go on.

use crate::world::{PROMISE, folder, looped, of, outcomes, ralph, told, verdict};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

const INT: i32 = 2;
const KILL: i32 = 9;
const TERM: i32 = 15;
const HUP: i32 = 1;

/// Waits for a process to be gone; there is nothing to be told by.
pub fn is_gone(pid: &str) -> bool {
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        if stat.is_empty() || stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

const SLOW: &str = "hear; work; echo $$ > \"$HOME/pid\"; sleep 100 & echo $! > \"$HOME/child\"; say started; wait";

#[test]
fn adversary_47_ctrl_c_once_finishes_the_iteration() {
    let world = folder();
    let script = "hear; work; say started; sleep 1; result 'a step'";
    let run = looped(&world, script, &[]).wait(json!({"type": "agent_text"})).signal(INT);
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, verdict(&events).0), (Some(130), "interrupted".into()), "{}", outcome.stderr);
    assert_eq!(outcomes(&events), ["progress"]);
}

#[test]
fn adversary_47_twice_stops_now_and_term_and_hup_end_the_tree() {
    for (signals, code) in [(&[INT, INT][..], 130), (&[TERM], 143), (&[HUP], 143)] {
        let world = folder();
        let mut run = looped(&world, SLOW, &[]).wait(json!({"type": "agent_text"}));
        for signal in signals {
            run = run.signal(*signal).step(testkit::Step::Sleep(Duration::from_millis(100)));
        }
        let (outcome, events) = told(run);
        assert_eq!((outcome.code, outcome.lingered), (Some(code), false), "{signals:?} {}", outcome.stderr);
        assert_eq!(outcomes(&events), ["interrupted"]);
        for name in ["pid", "child"] {
            assert!(is_gone(&std::fs::read_to_string(world.home().join(name)).unwrap()), "{signals:?} {name}");
        }
    }
}

#[test]
fn adversary_46_ctrl_c_works_while_waiting() {
    let world = folder();
    let script = "hear; failure \"You've hit your limit · resets 5pm\"; exit 1";
    let run = looped(&world, script, &[]).wait(json!({"type": "waiting"})).signal(INT);
    let (outcome, events) = told(run);
    assert_eq!((outcome.code, verdict(&events).0), (Some(130), "interrupted".into()));
}

#[test]
fn adversary_47_kill_9_leaves_no_agent_alive_and_the_run_can_go_on() {
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
    let backend = world.home().join("agent.sh").display().to_string();
    let (resumed, events) = told(ralph(&world, &["resume", "--json", "--backend", &backend]));
    assert_eq!((resumed.code, verdict(&events).0), (Some(0), "done".into()), "{}", resumed.stderr);
    let started = of(&events, "run_started");
    assert_eq!(started[0]["resumed"]["iterations"], 1);
    assert_eq!(of(&events, "iteration_started")[0]["iteration"], 2);
    let verdict = of(&events, "verdict")[0].clone();
    assert_eq!(verdict["iterations"], 2);
    assert!((verdict["cost_usd"].as_f64().unwrap() - 0.02).abs() < 1e-6, "{verdict}");
    let (again, _) = told(ralph(&world, &["resume", "--backend", &backend]));
    assert!(again.code == Some(1) && again.stderr.contains("is done"), "{}", again.stderr);
}

#[test]
fn adversary_48_two_ralphs_in_one_folder() {
    let world = folder();
    let inner = format!(
        "hear; work; \"$RALPH\" 1 --backend \"$0\" 2> \"$HOME/second\"; echo $? >> \"$HOME/second\"; result '{PROMISE}'"
    );
    let binary = crate::common::binary().display().to_string();
    let (outcome, _) = told(looped(&world, &inner, &[]).env("RALPH", &binary));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let second = std::fs::read_to_string(world.home().join("second")).unwrap();
    assert!(second.contains("another ralph is at work") && second.contains("process "), "{second}");
    assert!(second.ends_with("1\n"), "{second}");
    assert!(Path::new(&binary).exists());
}
