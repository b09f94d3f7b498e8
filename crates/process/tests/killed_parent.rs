//! Whatever way a process that watches over its children dies, what they started is gone within a second.
//!
//! Without the test harness: this program plays both parents. The inner one starts commands that do not want to end,
//! and is killed at different moments; the outer one looks for survivors, and for files that are still written.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]
#![expect(clippy::print_stdout, reason = "this test is its own program")]

use ralph_process::table::Row;
use ralph_process::{Child, Output, Spec, Stdin};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const INNER: &str = "--play-the-inner-parent";
/// A second in looks of ten milliseconds. On a busy machine a look takes longer, like everything that is looked at.
const LOOKS: u32 = 100;
const LOOK: Duration = Duration::from_millis(10);
/// For a slow machine to get that far.
const PATIENCE: Duration = Duration::from_secs(20);

/// Each leaves something running that a plain kill of its group does not reach. `MARK` is in every command line.
/// They are killed at any moment.
const SCRIPTS: [&str; 6] = [
    // In the command's own session.
    "sleep MARK & wait",
    // Detached.
    "(setsid sleep MARK &) ; exit 0",
    // Stopped.
    "(setsid sh -c 'kill -STOP $$; sleep MARK' MARK &) ; exit 0",
    // Deaf.
    "(setsid sh -c 'trap \"\" TERM INT HUP; sleep MARK; sleep MARK' &) ; exit 0",
    // Still running.
    "setsid sleep MARK",
    // Forking on and on.
    "f() { echo $1 > beat; [ $1 -gt 0 ] && (setsid sh ./chain $(($1 - 1)) MARK >/dev/null 2>&1 &) ; }; f 3000",
];

/// These take our environment away, too. They are known by their parents alone, so the watcher must have seen how those
/// ended.
const UNMARKED: [&str; 2] = [
    // Detached twice.
    "(env -i setsid sh -c '(setsid sleep MARK &)' &) ; sleep 0.2; exit 0",
    // Detached again when the command is over.
    "(env -i setsid sh -c 'sleep 0.4; (setsid sleep MARK &)' &) ; exit 0",
];

#[expect(clippy::disallowed_methods, reason = "this test is its own program")]
fn main() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, folder, mark, which] = &words[..]
        && first == INNER
    {
        let scripts: &[&str] = if which == "unmarked" { &UNMARKED } else { &SCRIPTS };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(inner(Path::new(folder), mark, scripts));
    }
    // Orphans of the inner parent come to us, not to the machine's first process, which may not collect them.
    ralph_process::adopt_orphans();
    for (round, wait) in [300, 20, 90, 600].into_iter().enumerate() {
        outer(round, &Moment::After(Duration::from_millis(wait)));
    }
    for round in 4..6 {
        outer(round, &Moment::Adopted);
    }
}

/// When the inner parent is killed.
enum Moment {
    After(Duration),
    /// When it has adopted every one of the unmarked, and the watcher has nothing to do.
    Adopted,
}

fn spec(script: &str, cwd: &Path) -> Spec {
    Spec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: cwd.to_owned(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        stdin: Stdin::Null,
        output: Output::Merged(std::fs::File::options().append(true).open("/dev/null").unwrap()),
        arg0: None,
    }
}

async fn inner(folder: &Path, mark: &str, scripts: &[&str]) {
    ralph_process::adopt_orphans();
    ralph_process::watch_over();
    // The one command that is not ended with us.
    let env = vec![("PATH".into(), folder.join("bin").into())];
    let git = ralph_process::Git::find(&env).unwrap();
    let at = folder.to_owned();
    tokio::spawn(async move { git.run_to_its_end(&at, &[], PATIENCE).await });
    while !folder.join("begun").exists() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let start = |script: &&str| Child::spawn(spec(&script.replace("MARK", mark), folder)).unwrap();
    let mut children: Vec<Child> = scripts.iter().map(start).collect();
    std::fs::write(folder.join("started"), "").unwrap();
    // Some end by themselves, and leave others behind.
    let mut ends: Vec<_> = children.iter_mut().map(|child| Box::pin(child.wait())).collect();
    std::future::poll_fn(|context| {
        ends.retain_mut(|end| end.as_mut().poll(context).is_pending());
        std::task::Poll::<()>::Pending
    })
    .await;
}

#[expect(clippy::disallowed_methods, reason = "the process that is killed is started as anybody would")]
fn outer(round: usize, moment: &Moment) {
    let folder = tempfile::tempdir().unwrap();
    let chain = "echo $1 > beat; [ $1 -gt 0 ] && (setsid sh ./chain $(($1 - 1)) $2 >/dev/null 2>&1 &) ; exit 0";
    std::fs::write(folder.path().join("chain"), chain).unwrap();
    let (bin, go) = (folder.path().join("bin"), folder.path().join("go"));
    std::fs::create_dir(&bin).unwrap();
    // Without the second condition it would go on for ever when this test fails.
    let git = "#!/bin/sh\nPATH=/usr/bin:/bin\n: > begun\nwhile [ ! -e go ] && [ -e begun ]; do sleep 0.01; done\n: > finished\n";
    std::fs::write(bin.join("git"), git).unwrap();
    std::fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mark = format!("{}.{round}", 100_000 + std::process::id());
    let program = std::env::current_exe().unwrap();
    let which = if matches!(moment, Moment::Adopted) { "unmarked" } else { "marked" };
    let words = [INNER, folder.path().to_str().unwrap(), &mark, which];
    let mut inner = Command::new(program).args(words).spawn().unwrap();
    wait_for("the start of all", || folder.path().join("started").exists());
    match moment {
        Moment::After(wait) => std::thread::sleep(*wait),
        Moment::Adopted => {
            wait_for("the adoption of all", || are_adopted(&mark, inner.id()) && is_watcher_idle(inner.id()));
        }
    }
    assert!(!survivors(&mark).is_empty(), "there is something to end");
    inner.kill().unwrap();
    inner.wait().unwrap();
    let killed = Instant::now();
    // One look at the processes proves nothing: a process that starts another may be looked at too early and too late.
    // So everything is looked at once more when the time is over.
    let looks_left = (0..LOOKS).rev().find(|_| {
        std::thread::sleep(LOOK);
        survivors(&mark).is_empty()
    });
    let first_seen_gone = killed.elapsed();
    std::thread::sleep(LOOK * looks_left.unwrap_or(0));
    let beat = || std::fs::read_to_string(folder.path().join("beat")).unwrap_or_default();
    let last = beat();
    let left = survivors(&mark);
    assert!(left.is_empty(), "round {round}: still there: {left:?}");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(beat(), last, "round {round}: something still writes");
    let left = survivors(&mark);
    assert!(left.is_empty(), "round {round}: {left:?}");
    // What was begun in somebody's repository comes to its end all the same.
    std::fs::write(go, "").unwrap();
    wait_for("the end of git", || folder.path().join("finished").exists());
    println!("round {round}: all gone after {first_seen_gone:?}");
}

fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let patience = Instant::now() + PATIENCE;
    while !is_there() {
        assert!(Instant::now() < patience, "never seen: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether everything that the unmarked leave behind is there, and is a child of this process.
fn are_adopted(mark: &str, parent: u32) -> bool {
    let is_sleeper = |row: &&Row| {
        let line = std::fs::read(format!("/proc/{}/cmdline", row.pid)).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").trim() == format!("sleep {mark}")
    };
    children(parent).iter().filter(is_sleeper).count() == UNMARKED.len()
}

/// The watcher waits for something to happen: it has seen everything that happened before.
fn is_watcher_idle(parent: u32) -> bool {
    let stats = children(parent).into_iter().map(|row| std::fs::read_to_string(format!("/proc/{}/stat", row.pid)));
    stats.flatten().any(|stat| stat.contains("(ralph-watch) S "))
}

fn children(parent: u32) -> Vec<Row> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let rows = entries.filter_map(|entry| ralph_process::table::row(entry.file_name().to_str()?.parse().ok()?));
    rows.filter(|row| row.parent.unsigned_abs() == parent).collect()
}

/// Command lines with the mark, of processes that have not ended; not the inner parent's own.
fn survivors(mark: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = entries.filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        (line.contains(mark) && !line.contains(INNER)).then_some(line)
    });
    lines.collect()
}
