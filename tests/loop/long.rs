//! A night of it: memory stays flat, and the recording is read in no time.

use crate::world::{agent, folder, of, ralph, told};
use std::time::{Duration, Instant};

/// As many as the promise says; `RALPH_TEST_ITERATIONS` asks for more.
const ITERATIONS: u32 = 1000;
/// What may come on top between the early look and the last one: the allocator's doing.
const GROWTH_KIB: u64 = 4 * 1024;
/// A build without optimisation is several times slower than what people install, and reads it in this time all
/// the same. The figure of an installed build: `cargo test --release -p ralph --test loop a_thousand -- --nocapture`.
const REPLAY: Duration = Duration::from_secs(2);

#[test]
#[expect(clippy::disallowed_methods, reason = "a knob for longer runs")]
fn a_thousand_iterations_stay_flat_in_memory_and_replay_in_two_seconds() {
    let asked = std::env::var("RALPH_TEST_ITERATIONS").ok().and_then(|count| count.parse().ok());
    let iterations: u32 = asked.unwrap_or(ITERATIONS);
    let world = folder();
    // A repository costs several processes an iteration; here it is the loop itself that is looked at.
    std::fs::remove_dir_all(world.wd().join(".git")).unwrap();
    // Each agent that is due notes how much memory the loop has, which is its parent.
    let script = format!(
        r#"#!/bin/sh
        read -r line
        case "$*" in *haiku*)
          echo '{{"type":"result","is_error":false,"result":"the story so far","total_cost_usd":0.01}}'; exit 0;;
        esac
        i=0; [ -f "$HOME/iteration" ] && read -r i < "$HOME/iteration"
        i=$((i + 1)); echo $i > "$HOME/iteration"
        if [ $i = {early} ] || [ $i = {iterations} ]; then
          while read -r name size _; do [ "$name" = VmRSS: ] && echo "$size" >> "$HOME/rss"; done < /proc/$PPID/status
        fi
        echo '{{"type":"assistant","message":{{"id":"m","content":[{{"type":"text","text":"working on it, as ever"}}],"usage":{{"input_tokens":10}}}}}}'
        echo '{{"type":"result","is_error":false,"result":"step '$i'","session_id":"s","total_cost_usd":0.01}}'"#,
        early = iterations / 5,
    );
    // Without the usual beginning, which starts programs of its own.
    let agent = agent(&world, "");
    std::fs::write(&agent, script.trim_start()).unwrap();
    let (count, backend) = (iterations.to_string(), agent.display().to_string());
    let words = [&*count, "--json", "--backend", &backend, "--summarise-every", "100"];
    let started = Instant::now();
    let run = ralph(&world, &words).deadline(Duration::from_mins(10));
    let (outcome, events) = told(run);
    let took = started.elapsed();
    assert_eq!(outcome.code, Some(2), "{} {:?}", outcome.stderr, outcome.lines.last());
    assert_eq!(of(&events, "iteration_ended").len(), iterations as usize);
    assert_eq!(of(&events, "summarised").len(), (iterations as usize - 1) / 100);
    let rss = std::fs::read_to_string(world.home().join("rss")).unwrap();
    let rss: Vec<u64> = rss.lines().map(|line| line.parse().unwrap()).collect();
    let [early, late] = rss[..] else { panic!("{rss:?}") };
    assert!(late <= early + GROWTH_KIB, "{early} KiB grew to {late} KiB");
    let (replayed, _) = told(ralph(&world, &["--replay", "--no-tui"]));
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    assert!(replayed.lines.len() > iterations as usize);
    println!("{iterations} iterations in {took:?}: {early} KiB, then {late} KiB; replayed in {:?}", replayed.elapsed);
    assert!(replayed.elapsed < REPLAY * iterations.div_ceil(ITERATIONS), "{:?}", replayed.elapsed);
}
