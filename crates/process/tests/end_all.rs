//! Adversary 31: a child that forks twice, makes its own session, ignores SIGTERM, holds stdout open
//! or has 200 children is gone after the end of the run (claude-code#25629, #76306).
//!
//! One test in its own program: `end_all` ends everything below the process, other tests included.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use ralph_process::{Child, Output, Spec, Stdin};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

const GRACE: Duration = Duration::from_millis(200);
/// Where nothing is to be waited for, a wait would be this long: nothing that a busy machine does by itself.
const LONG_GRACE: Duration = Duration::from_secs(20);
const WITHIN: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(20);

/// Each writes its processes' numbers to `$PIDS`, one a line, and the last line is `ready`.
const SCRIPTS: [(&str, &str); 6] = [
    ("a plain background job", "sleep 600 & echo $! >> $PIDS; echo ready >> $PIDS; wait"),
    (
        "forks twice and makes its own session",
        "(setsid sh -c 'echo $$ >> $PIDS; echo ready >> $PIDS; exec sleep 600' &) ; exit 0",
    ),
    ("ignores SIGTERM", "trap '' TERM; echo $$ >> $PIDS; echo ready >> $PIDS; while :; do sleep 600; done"),
    (
        "escapes, ignores SIGTERM and holds stdout",
        "(setsid sh -c 'trap \"\" TERM HUP; echo $$ >> $PIDS; echo ready >> $PIDS; while :; do sleep 600; done' &)",
    ),
    ("is stopped", "sh -c 'echo $$ >> $PIDS; echo ready >> $PIDS; kill -STOP $$; sleep 600'"),
    (
        "has 200 children",
        "i=0; while [ $i -lt 200 ]; do sleep 600 & echo $! >> $PIDS; i=$((i+1)); done; echo ready >> $PIDS; wait",
    ),
];

#[tokio::test]
async fn adversary_31_nothing_survives_the_end() {
    ralph_process::adopt_orphans();
    let started = Instant::now();
    ralph_process::end_all(LONG_GRACE).await;
    assert!(started.elapsed() < LONG_GRACE / 2, "with no children there is nothing to wait for");

    adopted_zombies_do_not_pile_up().await;
    what_a_child_left_behind_ends_and_nothing_else().await;
    for (what, script) in SCRIPTS {
        survives_nobody(what, script).await;
    }
    // From here on there is a watcher, which is a child of ours as well.
    ralph_process::watch_over();
    for (what, script) in SCRIPTS {
        survives_nobody(what, script).await;
    }
    a_watcher_alone_is_nothing_to_wait_for().await;
}

async fn survives_nobody(what: &str, script: &str) {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    let mut child = Child::spawn(shell(script, &pids)).unwrap();
    until(what, || read(&pids).ends_with("ready\n")).await;
    let family: Vec<String> = read(&pids).lines().filter(|line| *line != "ready").map(str::to_owned).collect();
    assert!(family.iter().all(|pid| alive(pid)), "{what}: all run before the end");

    let started = Instant::now();
    ralph_process::end_all(GRACE).await;
    assert!(started.elapsed() < WITHIN, "{what}: took {:?}", started.elapsed());
    let survivors: Vec<&String> = family.iter().filter(|pid| alive(pid)).collect();
    assert!(survivors.is_empty(), "{what}: {survivors:?}");
    // Nobody is left for process 1 to collect, and the owner still learns how its process ended.
    assert_eq!(children(), Vec::<String>::new(), "{what}: ended, but not collected");
    let exit = child.wait().await;
    assert!(exit.code.is_some() != exit.signal.is_some(), "{what}: {exit:?}");
}

/// The watcher ends with the last look: it is no process to be asked and waited for.
async fn a_watcher_alone_is_nothing_to_wait_for() {
    let folder = tempfile::tempdir().unwrap();
    Child::spawn(shell("true", &folder.path().join("pids"))).unwrap().wait().await;
    assert_eq!(children().len(), 1, "the watcher runs");
    let started = Instant::now();
    ralph_process::end_all(LONG_GRACE).await;
    assert!(started.elapsed() < LONG_GRACE / 2, "took {:?}", started.elapsed());
    assert_eq!(children(), Vec::<String>::new(), "the watcher is gone");
}

fn children() -> Vec<String> {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap().path());
    let lists = threads.map(|thread| read(&thread.join("children")));
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// claude-code#20117: a long session left zombies behind. Each child here leaves an orphan that ends;
/// starting the next child collects it.
async fn adopted_zombies_do_not_pile_up() {
    let folder = tempfile::tempdir().unwrap();
    let pids = folder.path().join("pids");
    for _ in 0..20 {
        Child::spawn(shell("(setsid sh -c 'echo $$ >> $PIDS' &)", &pids)).unwrap().wait().await;
    }
    until("all orphans have run", || read(&pids).lines().count() == 20).await;
    let orphans = read(&pids);
    let deadline = Instant::now() + PATIENCE;
    while orphans.lines().any(|pid| Path::new(&format!("/proc/{pid}")).exists()) {
        assert!(Instant::now() < deadline, "orphans are left: {orphans}");
        Child::spawn(shell("true", &pids)).unwrap().wait().await;
    }
}

/// The end of one agent must not end the check or the helper that runs beside it.
async fn what_a_child_left_behind_ends_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let kept = folder.path().join("kept");
    let mut owned = Child::spawn(shell("sleep 600 & echo $! >> $PIDS; echo $$ >> $PIDS; wait", &kept)).unwrap();
    until("the owned child", || read(&kept).lines().count() == 2).await;
    for (what, script) in [
        ("a session of its own", "setsid sh -c 'echo $$ >> $PIDS; sleep 600' & sleep 0.1"),
        (
            "ignores SIGTERM",
            "(setsid sh -c 'trap \"\" TERM; sleep 600 & echo $$ $! >> $PIDS; wait; sleep 600' &) ; exit 0",
        ),
    ] {
        let pids = folder.path().join(what);
        Child::spawn(shell(script, &pids)).unwrap().wait().await;
        until(what, || read(&pids).ends_with('\n')).await;
        let left: Vec<String> = read(&pids).split_whitespace().map(str::to_owned).collect();
        assert!(left.iter().all(|pid| alive(pid)), "{what}: all run before");
        let started = Instant::now();
        ralph_process::end_orphans().await;
        assert!(started.elapsed() < WITHIN, "{what}: took {:?}", started.elapsed());
        assert!(!left.iter().any(|pid| alive(pid)), "{what}: {left:?}");
        assert!(read(&kept).lines().all(alive), "{what}: the owned child and its own run on");
    }
    ralph_process::end_all(GRACE).await;
    owned.wait().await;
}

fn alive(pid: &str) -> bool {
    let stat = read(Path::new(&format!("/proc/{pid}/stat")));
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

fn shell(script: &str, pids: &Path) -> Spec {
    let output = File::options().append(true).create(true).open(pids.with_extension("out")).unwrap();
    Spec {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("PIDS".into(), pids.into())],
        stdin: Stdin::Null,
        output: Output::Merged(output),
        arg0: None,
    }
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

async fn until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "not ready: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
