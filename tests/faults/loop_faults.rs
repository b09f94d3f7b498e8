//! The loop under random schedules: outages, overloads, limits, agents that die, a disk that is full, and SIGKILL to the
//! loop at any moment. It goes on with `ralph resume` and ends done and checked; afterwards nothing runs and no
//! file changes.
#![expect(clippy::disallowed_methods, reason = "tests start the binary under test")]

use crate::dice::Dice;
use crate::knobs;
use serde_json::{Value, json};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use testkit::World;

/// In CI; `RALPH_LOOP_RUNS=2000` for the whole of it.
const RUNS: u64 = 4;
const SEED: u64 = 20_261_116;
/// Most of a schedule is waiting; more at once only make a machine of two cores late.
const AT_ONCE: u64 = 4;
/// The longest schedule waits a dozen times for two seconds, on a slow machine.
const DEADLINE: Duration = Duration::from_mins(3);
/// Nothing of a loop that ended or was killed outlives it by more.
const GONE_WITHIN: Duration = Duration::from_secs(3);
/// After the end no file changes; a child that lives on would write within this time.
const STILL_FOR: Duration = Duration::from_millis(300);

/// What goes wrong with one call of the agent; line by line in `$HOME/faults`.
const FAULTS: [&str; 7] = ["none", "none", "outage", "overload", "limit", "crash", "exit"];

/// The agent also starts a child in a session of its own that goes on writing: such a child must die with its loop.
const AGENT: &str = r#"#!/bin/sh
read -r line
c=$(cat "$HOME/calls" 2>/dev/null || echo 0); c=$((c + 1)); echo $c > "$HOME/calls"
setsid sh -c 'while :; do date >> survivor.txt; sleep 0.02; done' > /dev/null 2>&1 < /dev/null &
failure() { printf '{"type":"result","subtype":"error_during_execution","is_error":true,"result":"%s","session_id":"s1","total_cost_usd":0.001}\n' "$1"; exit 1; }
case $(sed -n "${c}p" "$HOME/faults") in
  outage) failure 'API Error: cannot reach api.test: Connection refused (os error 111)';;
  overload) failure 'API Error: 529 overloaded_error: Overloaded';;
  limit) failure 'API Error: 429 Too Many Requests, retry after 1s';;
  crash) kill -9 $$;;
  exit) exit 7;;
esac
sleep 0.05
echo "$c" >> work.txt
text="step $c"; [ "$(wc -l < work.txt)" -ge "$WANTED" ] && text='<promise>COMPLETE</promise>'
printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","session_id":"s1","total_cost_usd":0.01,"usage":{"input_tokens":10,"output_tokens":5}}\n' "$text"
"#;

#[derive(Debug)]
struct Schedule {
    wanted: usize,
    faults: Vec<&'static str>,
    /// Milliseconds after each start at which the loop is killed.
    kills: Vec<u64>,
    /// What a file may grow to, in blocks of 512 bytes: a disk that is full.
    disk: Option<u64>,
}

impl Schedule {
    fn draw(dice: &mut Dice) -> Self {
        let wanted = 2 + dice.below(5);
        let faults = (0..wanted * 3).map(|_| *dice.pick(&FAULTS)).collect();
        let kills = (0..dice.below(4)).map(|_| dice.below(2_500) as u64).collect();
        let disk = dice.chance(20).then(|| 4 + dice.below(40) as u64);
        Self { wanted, faults, kills, disk }
    }
}

#[test]
fn a_loop_survives_any_schedule() {
    let (seed, runs) = (knobs::number("RALPH_FAULT_SEED", SEED), knobs::number("RALPH_LOOP_RUNS", RUNS));
    println!("{runs} schedules from RALPH_FAULT_SEED={seed}");
    let parallel = knobs::number("RALPH_FAULT_PARALLEL", AT_ONCE);
    let next = std::sync::atomic::AtomicU64::new(0);
    let broken = std::sync::Mutex::new(Vec::new());
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..parallel {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    if at >= runs {
                        return;
                    }
                    let seed = seed + at;
                    let schedule = Schedule::draw(&mut Dice::new(seed));
                    // One that breaks is told with its seed, and the others go on.
                    if std::panic::catch_unwind(|| play(&schedule, seed)).is_err() {
                        println!("RALPH_FAULT_SEED={seed} RALPH_LOOP_RUNS=1 broke: {schedule:?}");
                        broken.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let broken = broken.into_inner().unwrap();
    println!("{runs} schedules, {parallel} at a time, in {:?}: {} broken", started.elapsed(), broken.len());
    assert!(broken.is_empty(), "{} of {runs} schedules broke something; their seeds: {broken:?}", broken.len());
}

fn play(schedule: &Schedule, seed: u64) {
    let world =
        World::new([(".ralph/prompt.md", "# Build it\n"), ("script.json", "[]")], mock::Script::default()).unwrap();
    let trusted = json!({"projects": {world.wd().display().to_string(): {"hasTrustDialogAccepted": true}}});
    std::fs::write(world.home().join(".claude.json"), trusted.to_string()).unwrap();
    std::fs::write(world.home().join("faults"), schedule.faults.join("\n")).unwrap();
    let agent = world.home().join("agent.sh");
    std::fs::write(&agent, AGENT).unwrap();
    std::fs::set_permissions(&agent, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let until = Instant::now() + DEADLINE;
    let mut kills = schedule.kills.iter();
    let code = loop {
        let mut child = start(&world, schedule);
        let killed_at = kills.next().map(|ms| Instant::now() + Duration::from_millis(*ms));
        if let Some(status) = watch(&mut child, killed_at, until, seed) {
            break status.code();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_gone(&world, seed);
        // Between its verdict and its end: there is nothing left to go on with, and 'ralph resume' says so.
        if verdict(&world).is_some() {
            break verdict(&world).and_then(|event| i32::try_from(event["exit_code"].as_i64()?).ok());
        }
    };
    assert_gone(&world, seed);
    assert_still(&world, seed);
    check(&world, schedule, code, seed);
}

fn start(world: &World, schedule: &Schedule) -> Child {
    let recorded = std::fs::read_dir(world.wd().join(".ralph/runs")).is_ok_and(|runs| {
        runs.flatten().any(|run| std::fs::metadata(run.path().join("events.ndjson")).is_ok_and(|file| file.len() > 0))
    });
    let limit = schedule.disk.map_or(String::new(), |blocks| format!("ulimit -f {blocks}; "));
    let resume = if recorded { "resume" } else { "" };
    let check = format!("test $(wc -l < work.txt) -ge {}", schedule.wanted);
    let script = format!(
        "{limit}exec \"$RALPH\" {resume} --rehearse script.json --json --max 60 --max-failures 100 --failure-pause 0 \
         --stuck=false --summarise-every 0 --sandbox off --backend \"$HOME/agent.sh\" --check '{check}'"
    );
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script]).current_dir(world.wd()).env_clear().env("HOME", world.home());
    command.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("RALPH", crate::binary());
    command.env("RALPH_FAULT_HOME", world.home()).env("WANTED", schedule.wanted.to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// How it exited, or nothing where it is time to kill the loop.
fn watch(child: &mut Child, killed_at: Option<Instant>, until: Instant, seed: u64) -> Option<ExitStatus> {
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if killed_at.is_some_and(|at| Instant::now() >= at) {
            return None;
        }
        if Instant::now() > until {
            let _ = child.kill();
            panic!("seed {seed}: the loop hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Everything that the loop started knows its home by its environment.
fn assert_gone(world: &World, seed: u64) {
    let mark = format!("RALPH_FAULT_HOME={}", world.home().display()).into_bytes();
    let until = Instant::now() + GONE_WITHIN;
    loop {
        let entries = std::fs::read_dir("/proc").unwrap().flatten();
        let environments = entries.filter_map(|entry| std::fs::read(entry.path().join("environ")).ok());
        if !environments.into_iter().any(|all| all.split(|byte| *byte == 0).any(|entry| entry == mark)) {
            return;
        }
        assert!(Instant::now() < until, "seed {seed}: something of the loop lives on");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn assert_still(world: &World, seed: u64) {
    let look = || {
        let files = std::fs::read_dir(world.wd()).unwrap().flatten();
        let mut sizes: Vec<_> =
            files.filter_map(|file| Some((file.file_name(), file.metadata().ok()?.len()))).collect();
        sizes.sort();
        sizes
    };
    let before = look();
    std::thread::sleep(STILL_FOR);
    assert_eq!(before, look(), "seed {seed}: a file changed after the end");
}

fn events(world: &World) -> Vec<Value> {
    let runs = std::fs::read_dir(world.wd().join(".ralph/runs")).into_iter().flatten().flatten();
    let text: String = runs.filter_map(|run| std::fs::read_to_string(run.path().join("events.ndjson")).ok()).collect();
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Where the run is over.
fn verdict(world: &World) -> Option<Value> {
    let last =
        events(world).into_iter().rfind(|event| event["type"] == "verdict" || event["type"] == "iteration_started");
    last.filter(|event| event["type"] == "verdict")
}

fn check(world: &World, schedule: &Schedule, code: Option<i32>, seed: u64) {
    let events = events(world);
    if schedule.disk.is_some() {
        // What is not recorded cannot be looked at; but the run has ended by itself, with a code that says how.
        assert!(matches!(code, Some(0..=3)), "seed {seed}: {code:?}");
        return;
    }
    let of = |kind: &'static str| events.iter().filter(move |event| event["type"] == kind);
    let verdict = of("verdict").next_back().cloned().unwrap_or_default();
    assert_eq!((code, &verdict["verdict"]), (Some(0), &json!("done")), "seed {seed}: {verdict} {schedule:?}");
    let counts = |event: &&Value| {
        let kind = &event["receipt"]["outcome"]["kind"];
        *kind != "interrupted" && *kind != "deferred"
    };
    let finished: Vec<u64> =
        of("iteration_ended").filter(counts).filter_map(|event| event["iteration"].as_u64()).collect();
    let last = finished.len() as u64;
    assert_eq!(finished, (1..=last).collect::<Vec<_>>(), "seed {seed}: each once, in order");
    assert_eq!(verdict["iterations"], last, "seed {seed}");
    assert_eq!(of("iteration_started").count(), of("iteration_ended").count(), "seed {seed}: what begins ends, once");
}
