//! A thousand readers of one run, with the bound raised. Not part of the usual suite: docs/faults.md says how it is run.

use super::http::Events;
use super::world::Server;
use serde_json::json;
use std::io::Write as _;
use std::time::{Duration, Instant};

const READERS: usize = 1_000;
/// Of the agent's messages.
const MESSAGES: usize = 200;
/// Of memory for each reader; a stream has a short queue and its buffers.
const KIB_EACH: u64 = 256;

fn raise_own_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("more descriptors");
}

fn memory_kib(pid: u32, key: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find(|line| line.starts_with(key)).expect("the line");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

/// Of the process so far, in seconds: user and system time.
fn processor_seconds(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a process");
    let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
    let ticks: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().expect("a number")).sum();
    ticks as f64 / 100.0
}

#[test]
#[ignore = "takes minutes of two cores; docs/faults.md"]
fn a_thousand_readers_get_every_event_once() {
    let script = format!(
        "hear; i=0; while [ $i -lt {MESSAGES} ]; do say \"message $i\"; i=$((i+1)); sleep 0.05; done; work; result 'one more'"
    );
    // Started with the usual limit of this machine: the server must raise its own.
    let server = Server::with_agent(&script, &["--allow-exec", "--streams", "1100"]);
    raise_own_limit();
    let before = memory_kib(server.pid(), "VmRSS:");
    let id = server.start_run(&json!({"iterations": 1}));
    let path = format!("/v1/runs/{id}/events");
    let started = Instant::now();
    let seen: Vec<Vec<u64>> = std::thread::scope(|scope| {
        let reader = || {
            let mut events: Events = server.events(&path, &[]);
            assert_eq!(events.status, 200);
            let all = events.until(|sent| sent.event == "end");
            all.iter().filter(|sent| sent.event != "end").map(|sent| sent.id.parse().expect("a number")).collect()
        };
        let builder = || std::thread::Builder::new().stack_size(256 * 1024);
        let readers: Vec<_> = (0..READERS).map(|_| builder().spawn_scoped(scope, reader).expect("a thread")).collect();
        readers.into_iter().map(|reader| reader.join().expect("a reader")).collect()
    });
    let took = started.elapsed();
    let (most, processor) = (memory_kib(server.pid(), "VmHWM:"), processor_seconds(server.pid()));
    let mut out = std::io::stderr();
    let _ = writeln!(
        out,
        "{READERS} readers, {} events each, {:.1} s, {processor:.1} s of one processor; memory before {} MiB, at most {} MiB",
        seen[0].len(),
        took.as_secs_f64(),
        before / 1024,
        most / 1024
    );
    assert!(seen[0].len() > MESSAGES, "{}", seen[0].len());
    assert!(seen[0].windows(2).all(|pair| pair[1] == pair[0] + 1), "in order and without gaps");
    assert!(seen.iter().all(|one| *one == seen[0]), "everybody saw the same");
    assert!(most - before < READERS as u64 * KIB_EACH, "{before} KiB became {most} KiB");
    assert!(took < Duration::from_mins(5), "{took:?}");
    // All places are free again.
    assert_eq!(server.events("/v1/events", &[]).status, 200);
}
