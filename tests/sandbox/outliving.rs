//! What tries to outlive its box: processes that detach, fork without end, stop themselves, or ignore signals. When the
//! box is closed they are gone, before the places of protected files are given back.

use crate::world::World;
use std::path::Path;
use std::time::{Duration, Instant};

/// Forks, detaches and exits, again and again, and writes a protected file as soon as that can be written. Ends by
/// itself: the count is its bound where nothing holds it.
const CHAIN: &str = r#"
n=$1
echo x 2>/dev/null > .mcp.json
echo $n >> beat
[ "$n" -gt 0 ] && (setsid sh ./chain.sh $((n - 1)) >/dev/null 2>&1 </dev/null &)
exit 0
"#;

/// Longer than the chain needs from one process to the next, on a busy machine.
const A_WHILE: Duration = Duration::from_millis(700);

/// Whether any process has this text in its command line.
fn is_running(text: &str) -> bool {
    let commands = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&line).into_owned())
    });
    commands.into_iter().any(|command| command.contains(text))
}

fn wait_for(path: &Path) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !path.exists() {
        assert!(Instant::now() < patience, "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_process_that_forks_detaches_and_exits_in_a_loop() {
    let world = World::new();
    std::fs::write(world.at("work/chain.sh"), CHAIN).unwrap();
    let sandbox = world.sandbox();
    world.inside(&sandbox, "sh ./chain.sh 5000");
    wait_for(&world.at("work/beat"));
    let before = world.text("work/beat");
    std::thread::sleep(A_WHILE);
    assert_ne!(world.text("work/beat"), before, "the chain goes on as long as the box is there");
    sandbox.close();
    let last = world.text("work/beat");
    std::thread::sleep(A_WHILE);
    assert_eq!(world.text("work/beat"), last, "the chain outlived its box");
    assert!(!world.at("work/.mcp.json").exists(), "a protected file was made after the box");
}

#[test]
fn processes_that_stop_themselves_or_ignore_signals() {
    let world = World::new();
    let sandbox = world.sandbox();
    let mark = format!("{}", 700_000 + std::process::id() % 100_000);
    let script = format!(
        "(setsid sh -c 'trap \"\" TERM INT HUP; sleep {mark}.1; sleep {mark}.1' >/dev/null 2>&1 </dev/null &)
         (setsid sh -c 'kill -STOP $$; sleep {mark}.2' >/dev/null 2>&1 </dev/null &)
         (setsid setsid sleep {mark}.3 >/dev/null 2>&1 </dev/null &)
         sleep 0.3"
    );
    assert!(world.inside(&sandbox, &script).ok);
    assert!(is_running(&mark), "what a command leaves running goes on as long as the box is there");
    let started = Instant::now();
    drop(sandbox);
    assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    assert!(!is_running(&mark), "something outlived its box");
}

/// A server that one command starts can be used by the next, and is seen by it.
#[test]
fn commands_of_a_box_see_each_other_and_nobody_else() {
    let world = World::new();
    let sandbox = world.sandbox();
    assert!(world.inside(&sandbox, "sleep 600 >/dev/null 2>&1 & echo $! > pid").ok);
    let said = world.inside(&sandbox, "kill -0 $(cat pid) && ls -d /proc/[0-9]* | wc -l && kill $(cat pid)");
    assert!(said.ok, "{}", said.text);
    let seen: usize = said.text.trim().parse().unwrap();
    assert!(seen < 10, "the machine's processes are seen: {}", said.text);
}

/// A box is entered by every command: what that costs, beside a command without one.
#[test]
fn entering_takes_milliseconds() {
    let world = World::new();
    let sandbox = world.sandbox();
    let time = |run: &dyn Fn()| {
        let once = || {
            let started = Instant::now();
            run();
            started.elapsed()
        };
        (0..20).map(|_| once()).min().unwrap()
    };
    let free = time(&|| assert!(world.free("true").ok));
    let inside = time(&|| assert!(world.inside(&sandbox, "true").ok));
    println!("free {free:?}, inside {inside:?}");
    // A machine that does much else at the same time needs several times of what is usual.
    assert!(inside < free * 4 + Duration::from_millis(80), "free {free:?}, inside {inside:?}");
}
