//! A loop that is killed again and again, at any moment, goes on: no iteration is lost and none done twice.
#![expect(clippy::disallowed_methods, reason = "tests start the binary under test")]

use crate::dice::Dice;
use crate::knobs;
use serde_json::{Value, json};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::World;

/// In CI; `RALPH_KILLS=100` for the whole of it.
const KILLS: u64 = 12;
const SEED: u64 = 20_261_115;

/// What a loop does between two kills: less than its start, or several iterations.
const LIVES_MS: usize = 700;
const ITERATIONS: u64 = 15;

/// Nothing of a killed loop outlives it by more.
const GONE_WITHIN: Duration = Duration::from_secs(3);

/// Says what it does, takes its time, and says that it is done with this step.
const AGENT: &str = r#"#!/bin/sh
read -r line
n=$(cat "$HOME/count" 2>/dev/null || echo 0); n=$((n + 1)); echo $n > "$HOME/count"
say() { printf '{"type":"assistant","message":{"id":"m%s","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":10,"output_tokens":5}},"parent_tool_use_id":null,"session_id":"s1"}\n' "$n" "$1"; }
say begun; sleep 0.05
echo "$n" >> work.txt
say worked; sleep 0.02
printf '{"type":"result","subtype":"success","is_error":false,"result":"step %s","session_id":"s1","total_cost_usd":0.01,"usage":{"input_tokens":10,"output_tokens":5}}\n' "$n"
"#;

#[test]
fn a_loop_killed_at_any_moment_goes_on() {
    let seed = knobs::number("RALPH_FAULT_SEED", SEED);
    let mut left = knobs::number("RALPH_KILLS", KILLS);
    let mut dice = Dice::new(seed);
    println!("{left} kills from RALPH_FAULT_SEED={seed}");
    while left > 0 {
        left -= live_through(&mut dice, left);
    }
}

/// One run from its start to its verdict, killed at most `most` times. Returns how often.
fn live_through(dice: &mut Dice, most: u64) -> u64 {
    let world = World::new([(".ralph/prompt.md", "# Build it\n")], mock::Script::default()).unwrap();
    let trusted = json!({"projects": {world.wd().display().to_string(): {"hasTrustDialogAccepted": true}}});
    std::fs::write(world.home().join(".claude.json"), trusted.to_string()).unwrap();
    let agent = world.home().join("agent.sh");
    std::fs::write(&agent, AGENT).unwrap();
    std::fs::set_permissions(&agent, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut kills = 0;
    loop {
        let mut child = start(&world, &agent);
        let moment = Instant::now() + Duration::from_millis(dice.below(LIVES_MS) as u64);
        let ended = if kills < most { wait_until(&mut child, moment) } else { Some(child.wait().unwrap()) };
        if let Some(status) = ended {
            assert_eq!(status.code(), Some(2), "the limit of iterations ends it: {:?}", recording(&world));
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        assert_gone(&world);
    }
    check(&recording(&world), kills);
    kills
}

/// Starts the loop, or goes on with it where there is something to go on with.
fn start(world: &World, agent: &Path) -> Child {
    testkit::reset_ignored_signals();
    let mut command = Command::new(crate::binary());
    command.arg0("ralph");
    if !recordings(world).is_empty() {
        command.arg("resume");
    }
    command
        .args(["--max", &ITERATIONS.to_string(), "--json", "--failure-pause", "0", "--stuck=false"])
        .args(["--summarise-every", "0", "--backend"])
        .arg(agent)
        .current_dir(world.wd())
        .env_clear()
        .env("HOME", world.home())
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("RALPH_FAULT_HOME", world.home())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.spawn().unwrap()
}

fn wait_until(child: &mut Child, moment: Instant) -> Option<std::process::ExitStatus> {
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if Instant::now() >= moment {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn recordings(world: &World) -> Vec<PathBuf> {
    let runs = std::fs::read_dir(world.wd().join(".ralph/runs")).into_iter().flatten().flatten();
    runs.map(|run| run.path().join("events.ndjson")).filter(|file| file.is_file()).collect()
}

fn recording(world: &World) -> Vec<Value> {
    let files = recordings(world);
    assert_eq!(files.len(), 1, "one run from first to last: {files:?}");
    let text = std::fs::read_to_string(&files[0]).unwrap();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Agents and whatever they run know their home by their environment.
fn assert_gone(world: &World) {
    let mark = format!("RALPH_FAULT_HOME={}", world.home().display()).into_bytes();
    let until = Instant::now() + GONE_WITHIN;
    loop {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let environments = entries.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
        if !environments.into_iter().any(|all| all.split(|byte| *byte == 0).any(|entry| entry == mark)) {
            return;
        }
        assert!(Instant::now() < until, "something of a killed loop lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn check(events: &[Value], kills: u64) {
    let of = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
    let counts = |event: &&Value| event["receipt"]["outcome"]["kind"] != "interrupted";
    let finished: Vec<u64> =
        of("iteration_ended").filter(counts).filter_map(|event| event["iteration"].as_u64()).collect();
    assert_eq!(finished, (1..=ITERATIONS).collect::<Vec<_>>(), "each once, in order ({kills} kills)");
    let results = of("agent").filter(|event| event["line"]["type"] == "result").count() as u64;
    assert_eq!(results, ITERATIONS, "an agent that gave its result is not sent again ({kills} kills)");
    assert_eq!(of("iteration_started").count(), of("iteration_ended").count(), "what begins ends, once");
    // A kill between the verdict and the exit leaves it to be said again, and it must be the same.
    let verdict = of("verdict").next_back().unwrap();
    assert!(of("verdict").all(|event| event["iterations"] == ITERATIONS && event["verdict"] == "limit"), "{verdict}");
    let paid = |event: &Value| event["receipt"]["cost_usd"].as_f64().unwrap();
    let cost: f64 = of("iteration_ended").filter(counts).map(paid).sum();
    assert!((cost - 0.01 * results as f64).abs() < 1e-6, "every result is paid once: {cost} for {results}");
    // What was cut off counts for what was heard of it.
    let (all, said) = (of("iteration_ended").map(paid).sum::<f64>(), verdict["cost_usd"].as_f64().unwrap());
    assert!((all - said).abs() < 1e-6 && all - cost < 0.001 * kills as f64 + 1e-6, "{all} was paid, {said} is said");
}
