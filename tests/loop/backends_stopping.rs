//! Stopping agents on terminals, standing still, and locks that others left behind.

use crate::world::{PROMISE, agent, folder, looped, outcomes, told, verdict};
use serde_json::json;
use std::time::Duration;
use testkit::Step;
use testkit::looping::is_gone;

const HUP: i32 = 1;
const INT: i32 = 2;
const KILL: i32 = 9;
const TERM: i32 = 15;
const CONT: i32 = 18;
const TSTP: i32 = 20;

/// Deaf to a hang-up, with a child that is too.
const SLOW: &str =
    "trap '' HUP; work; echo $$ > \"$HOME/pid\"; sleep 100 & echo $! > \"$HOME/child\"; say started; wait";

fn pid(world: &testkit::World, name: &str) -> String {
    std::fs::read_to_string(world.home().join(name)).unwrap()
}

#[test]
fn adversary_47_signals_end_the_tree_of_an_agent_on_a_terminal() {
    for (signals, code) in [(&[INT, INT][..], 130), (&[TERM], 143), (&[HUP], 143)] {
        let world = folder();
        let mut run = looped(&world, SLOW, &["--pty"]).wait(json!({"type": "agent_text"}));
        for signal in signals {
            run = run.signal(*signal).step(Step::Sleep(Duration::from_millis(100)));
        }
        let (outcome, events) = told(run);
        assert_eq!((outcome.code, outcome.lingered), (Some(code), false), "{signals:?} {}", outcome.stderr);
        assert_eq!(outcomes(&events), ["interrupted"]);
        assert!(is_gone(&pid(&world, "pid")) && is_gone(&pid(&world, "child")), "{signals:?}");
    }
}

#[test]
fn adversary_47_kill_9_leaves_no_agent_alive_on_a_terminal() {
    let world = folder();
    let run = looped(&world, SLOW, &["--pty"]).wait(json!({"type": "agent_text"})).signal(KILL);
    assert_eq!(run.finish().unwrap().signal, Some(KILL));
    assert!(is_gone(&pid(&world, "pid")), "the agent is gone, though it ignores a hang-up");
}

#[test]
fn adversary_47_kill_9_hangs_up_on_the_children_of_an_agent_on_a_terminal() {
    let world = folder();
    let script = SLOW.trim_start_matches("trap '' HUP; ");
    let run = looped(&world, script, &["--pty"]).wait(json!({"type": "agent_text"})).signal(KILL);
    assert_eq!(run.finish().unwrap().signal, Some(KILL));
    assert!(is_gone(&pid(&world, "pid")) && is_gone(&pid(&world, "child")));
}

#[test]
fn adversary_47_a_loop_that_was_told_to_outlive_its_terminal_does() {
    let world = folder();
    let backend = agent(&world, &format!("hear; work; say started; sleep 0.5; result '{PROMISE}'"));
    let script =
        format!("trap '' HUP; exec '{}' --json --backend '{}'", crate::common::binary().display(), backend.display());
    let run = world.run(std::path::Path::new("/bin/sh")).named("sh").args(["-c", &script]);
    let (outcome, events) = told(run.wait(json!({"type": "agent_text"})).signal(HUP));
    assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]), "{}", outcome.stderr);
}

/// The loop stands still for longer than an agent may be silent; the agent stands still with it, and neither
/// is blamed for it. Both times are longer than a busy machine is silent by itself.
#[test]
fn adversary_47_stopped_and_continued_the_agent_stands_still_too() {
    let stopped = |pty: &str| {
        let world = folder();
        let script = format!(
            "work; for i in 1 2 3 4 5 6 7 8 9 10 11 12; do date +%s%N >> \"$HOME/ticks\"; say tick; sleep 0.1; done; \
             result '{PROMISE}'"
        );
        let run = looped(&world, &script, &["--idle", "4s", pty])
            .wait(json!({"type": "agent_text"}))
            .signal(TSTP)
            .step(Step::Sleep(Duration::from_secs(6)))
            .signal(CONT);
        let (outcome, events) = told(run);
        assert_eq!((outcome.code, outcomes(&events)), (Some(0), vec!["done".to_owned()]), "{pty} {}", outcome.stderr);
        let text = std::fs::read_to_string(world.home().join("ticks")).unwrap();
        let ticks: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        let longest = ticks.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(ticks.len() == 12 && longest > 5_000_000_000, "{pty}: {ticks:?}");
    };
    // Both wait out the same six seconds.
    std::thread::scope(|scope| {
        scope.spawn(|| stopped("--pty"));
        stopped("--pty=false");
    });
}

#[test]
fn adversary_48_a_lock_that_names_a_process_which_is_now_another_is_free() {
    let world = folder();
    let alive = std::process::id();
    std::fs::write(world.wd().join(".ralph/lock"), format!("process {alive}, run 20200101-000000")).unwrap();
    let (outcome, events) = told(looped(&world, &format!("hear; work; result '{PROMISE}'"), &[]));
    assert_eq!((outcome.code, verdict(&events).0), (Some(0), "done".into()), "{}", outcome.stderr);
}
