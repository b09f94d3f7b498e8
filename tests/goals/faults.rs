//! Random schedules of everything that can happen to workers, and what must hold afterwards.
//!
//! `RALPH_GOALS_SCHEDULES=200` and `RALPH_GOALS_SEED=N` look further, `--nocapture` shows how far; docs/fleet.md has the
//! figures.

use crate::world::{Goals, Worker};
use goals::{Place, Store};
use rustix::process::Signal;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use testkit::postgres::Postgres;

const GOALS: usize = 6;
const LEASE: [&str; 2] = ["--lease", "1s"];

/// A small random number generator: the same seed, the same schedule.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

#[expect(clippy::disallowed_methods, reason = "how far to look is the caller's to say")]
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn server() -> Option<&'static Postgres> {
    static SERVER: OnceLock<Result<Postgres, String>> = OnceLock::new();
    match SERVER.get_or_init(Postgres::start) {
        Ok(server) => Some(server),
        Err(why) => {
            use std::io::Write as _;
            // Past the harness, which would swallow it.
            let _ = writeln!(std::io::stderr(), "LEFT OUT: goals on PostgreSQL: {why}");
            None
        }
    }
}

/// Two iterations, so that there is something to go on with.
const AGENT: &str = r#"
hear
name=$(printf '%s' "$line" | grep -o 'write [a-z0-9.-]*' | head -1 | cut -d' ' -f2)
if [ -e "$name" ]; then echo again >> "$name"; structured '"DONE"'; else echo once > "$name"; sleep 0.2; structured '"more"'; fi
"#;

fn schedule(seed: u64, server: Option<&Postgres>) {
    let mut dice = Dice(seed);
    let mut goals = Goals::with_agent(AGENT);
    let name = format!("s{seed}");
    goals.store = server.map(|server| server.database(&name).unwrap());
    goals.ok(&["goal", "budget", "all", "100"]);
    for number in 0..GOALS {
        goals.add(
            &format!("write f{}.txt", number + 1),
            &["--land", "push", "--iteration-cost", "0.5", "--attempts", "9"],
        );
    }
    let work = || goals.worker(&[&["--slots", "2"][..], &LEASE].concat());
    let mut workers: Vec<Worker> = (0..2).map(|_| work()).collect();
    let until = Instant::now() + Duration::from_mins(1);
    let mut was_full = false;
    for _ in 0..4 + dice.roll(4) {
        std::thread::sleep(Duration::from_millis(200 + dice.roll(800)));
        let at = dice.roll(workers.len() as u64) as usize;
        match dice.roll(5) {
            0 | 1 => {
                workers[at].kill();
                workers[at] = work();
            }
            2 => {
                workers[at].signal(Signal::STOP);
                std::thread::sleep(Duration::from_millis(500 + dice.roll(1_500)));
                workers[at].signal(Signal::CONT);
            }
            // The disk is full for one of them.
            3 => {
                workers[at].kill();
                was_full = true;
                let blocks = u32::try_from(8 + dice.roll(200)).unwrap();
                workers[at] = goals.starved_worker(blocks, &[&["--slots", "2"][..], &LEASE].concat());
                std::thread::sleep(Duration::from_millis(500 + dice.roll(1_000)));
                workers[at].kill();
                workers[at] = work();
            }
            // The server is away: for a moment, or longer than a lease.
            _ => {
                if let Some(server) = server {
                    server.tell("stop");
                    std::thread::sleep(Duration::from_millis(dice.roll(2) * 1_500));
                    server.tell("start");
                }
            }
        }
        if Instant::now() > until || goals.all().iter().all(|goal| goal["state"] == "done") {
            break;
        }
    }
    goals.wait_for(&format!("schedule {seed}"), || {
        if was_full {
            try_again(&goals);
        }
        let is_over = |state: &str| state == "done" || !was_full && matches!(state, "failed" | "blocked");
        goals.all().iter().all(|goal| goal["state"].as_str().is_some_and(is_over))
    });
    for worker in &workers {
        worker.signal(Signal::TERM);
    }
    for worker in &mut workers {
        let _ = worker.0.wait();
    }
    goals.drain(&LEASE);
    hold(&goals, seed);
}

/// What a person does when there is room on the disk again.
fn try_again(goals: &Goals) {
    for goal in goals.all() {
        if matches!(goal["state"].as_str(), Some("failed" | "waiting" | "blocked")) {
            // It may have gone on by itself meanwhile.
            goals.run(&["goal", "retry", &goal["id"].to_string()]);
        }
    }
}

fn hold(goals: &Goals, seed: u64) {
    for goal in goals.all() {
        let id = goal["id"].as_i64().unwrap();
        assert_eq!(goal["state"], "done", "schedule {seed}: {goal:#}");
        assert!(goals.file_at("main", &format!("f{id}.txt")).is_some(), "schedule {seed}: goal {id} is lost");
        let changes = goals.git(&["log", "--format=%H", "--diff-filter=A", "main", "--", &format!("f{id}.txt")]);
        assert_eq!(changes.lines().count(), 1, "schedule {seed}: goal {id} landed more than once");
    }
    assert_eq!(goals.leftovers(), [] as [String; 0], "schedule {seed}");
    assert_eq!(goals.git(&["status", "--porcelain"]), "", "schedule {seed}");
    let place = Place::new(goals.store.as_deref(), &goals.state());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let wrong = runtime.block_on(async { Store::open(&place).await.unwrap().violations().await.unwrap() });
    assert_eq!(wrong, [] as [String; 0], "schedule {seed}");
    let home = goals.world.home().display().to_string();
    assert_eq!(processes_of(&home), [] as [String; 0], "schedule {seed}: processes are left");
}

/// Processes whose environment names this world's home.
fn processes_of(home: &str) -> Vec<String> {
    let marker = format!("HOME={home}");
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(environ) = std::fs::read(entry.path().join("environ")) else { continue };
        if environ.split(|byte| *byte == 0).any(|variable| variable == marker.as_bytes()) {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

#[test]
fn whatever_happens_to_workers_nothing_is_lost_or_done_twice() {
    let (schedules, first) = (number("RALPH_GOALS_SCHEDULES", 10), number("RALPH_GOALS_SEED", 1));
    for seed in first..first + schedules {
        // Every second one on PostgreSQL.
        let begun = Instant::now();
        schedule(seed, if seed % 2 == 0 { server() } else { None });
        println!("schedule {seed}: nothing is lost or done twice, {:.1} s", begun.elapsed().as_secs_f64());
    }
}

/// Figures: `cargo test --release -p ralph --test goals -- --ignored --nocapture two_hundred`; `RALPH_GOALS_COUNT` for
/// fewer, `RALPH_GOALS_ENGINE` (`sqlite`, `postgres`) for one engine.
#[test]
#[ignore = "a measurement, in the release profile"]
fn two_hundred_goals_land_each_once_within_a_minute() {
    let many = number("RALPH_GOALS_COUNT", 200);
    let alone = loop_alone(many as i64 / 2);
    println!("the loop alone: {alone:?} of CPU");
    for server in chosen_engines() {
        let engine = server.map_or("SQLite", |_| "PostgreSQL");
        let mut goals = Goals::new();
        goals.store = server.map(|server| server.database("many").unwrap());
        for number in 0..many {
            goals.add(&format!("write f{}.txt", number + 1), &["--land", "push"]);
        }
        let worked = goals.timed(&["work", "--drain", "--slots", "8"]);
        assert!(worked.exit.success(), "{engine}: {:#?}", worked.lines);
        assert!(goals.all().iter().all(|goal| goal["state"] == "done"));
        for id in 1..=many {
            assert_eq!(goals.landed_commits("main", id as i64), 1);
        }
        // Everything that the worker started counts, so what the loop itself and its agent take is taken off.
        let each = worked.cpu / u32::try_from(many).unwrap();
        let overhead = each.saturating_sub(alone);
        println!(
            "{many} goals, 8 slots, {engine}: {:?}; a goal takes {each:?} of CPU, {overhead:?} beside its loop",
            worked.wall
        );
    }
}

/// One or both, so that a second measurement does not meet what the first has left to the disk.
#[expect(clippy::disallowed_methods, reason = "which engine to measure is the caller's to say")]
fn chosen_engines() -> Vec<Option<&'static Postgres>> {
    match std::env::var("RALPH_GOALS_ENGINE").as_deref() {
        Ok("sqlite") => vec![None],
        Ok("postgres") => vec![server()],
        _ => vec![None, server()],
    }
}

/// What the loop takes for such a goal without a worker, its agent and its git included: in a repository of the size that
/// goals meet on average, and with as many loops at once.
fn loop_alone(files: i64) -> Duration {
    const AT_ONCE: u32 = 8;
    const TIMES: u32 = 4;
    let rounds = move || {
        let goals = Goals::new();
        for number in 0..files {
            std::fs::write(goals.repo().join(format!("f{number}.txt")), format!("content of f{number}.txt\n")).unwrap();
        }
        goals.git(&["add", "-A"]);
        goals.git(&["commit", "--quiet", "--allow-empty", "-m", "files"]);
        let file = goals.world.home().join("goal.md");
        let mut all = Duration::ZERO;
        for number in 0..TIMES {
            std::fs::write(&file, format!("write g{number}.txt\n")).unwrap();
            let (file, agent) = (file.display().to_string(), goals.agent());
            let words = ["--json", "--commit", "--notify=", "--goal", &file, "--backend", &agent];
            let done = goals.timed(&words);
            assert!(done.exit.success(), "{:#?}", done.lines);
            all += done.cpu;
        }
        all
    };
    let threads: Vec<_> = (0..AT_ONCE).map(|_| std::thread::spawn(rounds)).collect();
    let all: Duration = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    all / (TIMES * AT_ONCE)
}
