//! Children one by one. Nothing here ends more than the child it started: the tests share a process.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod common;

use common::PATIENCE;
use ralph_process::{CaptureLimits, Captured, Child, Exit, Output, Spec, Stdin, capture, killed_are_gone};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

const LIMITS: CaptureLimits =
    CaptureLimits { deadline: Duration::from_secs(20), max_output: 1024 * 1024, grace: Duration::from_millis(100) };

fn shell(script: &str) -> Spec {
    common::shell(script, ("GIVEN", "yes"))
}

fn into_file(script: &str, path: &Path) -> Spec {
    let file = File::options().append(true).create(true).open(path).unwrap();
    Spec { output: Output::Merged(file), ..shell(script) }
}

async fn run(script: &str) -> Captured {
    capture(shell(script), LIMITS).await.unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap().trim_end()
}

#[tokio::test]
async fn exits_and_signals_are_told_apart() {
    for (script, code, signal, shown) in [
        ("exit 0", Some(0), None, 0),
        ("exit 3", Some(3), None, 3),
        ("kill -9 $$", None, Some(9), 137),
        ("kill -TERM $$", None, Some(15), 143),
    ] {
        let exit = run(script).await.exit;
        assert_eq!(exit, Exit { code, signal }, "{script}");
        assert_eq!(exit.shell_code(), shown, "{script}");
    }
}

#[tokio::test]
async fn the_environment_is_exactly_what_was_given() {
    let captured = run("env | grep -v -E '^(PWD|SHLVL|_|OLDPWD)=' | sort").await;
    assert_eq!(text(&captured.stdout), "GIVEN=yes\nPATH=/usr/bin:/bin");
}

#[tokio::test]
async fn stdin_is_empty_or_what_was_given() {
    assert_eq!(run("cat; echo end").await.stdout, b"end\n");
    let big = vec![b'x'; 300 * 1024];
    let spec = Spec { stdin: Stdin::Bytes(big.clone()), ..shell("cat | wc -c") };
    assert_eq!(text(&capture(spec, LIMITS).await.unwrap().stdout), big.len().to_string());
    let ignoring = Spec { stdin: Stdin::Bytes(big), ..shell("exit 7") };
    assert_eq!(capture(ignoring, LIMITS).await.unwrap().exit.code, Some(7));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_has_its_own_session_and_no_leaked_descriptors() {
    let folder = tempfile::tempdir().unwrap();
    let leak = File::create(folder.path().join("leak")).unwrap();
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    // Fields 1, 5, 6 and 7 of its own stat: pid, group, session, terminal.
    let captured = run("set -- $(cat /proc/$$/stat); echo $1 $5 $6 $7; ls -l /proc/$$/fd | grep -c leak").await;
    let lines: Vec<&str> = text(&captured.stdout).lines().collect();
    let fields: Vec<&str> = lines[0].split(' ').collect();
    assert_eq!((fields[1], fields[2], fields[3]), (fields[0], fields[0], "0"));
    assert_eq!(lines[1], "0");
}

#[tokio::test]
async fn a_grandchild_that_holds_the_pipe_does_not_hold_us() {
    let started = Instant::now();
    let captured = run("sleep 30 & echo said").await;
    assert_eq!(captured.stdout, b"said\n");
    assert_eq!(captured.exit.code, Some(0));
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test]
async fn output_is_cut_and_the_writer_never_blocks() {
    let limits = CaptureLimits { max_output: 1000, ..LIMITS };
    let captured = capture(shell("head -c 5000000 /dev/zero; echo e >&2"), limits).await.unwrap();
    assert_eq!((captured.stdout.len(), captured.truncated), (1000, true));
    assert_eq!((captured.stderr.as_slice(), captured.exit.code), (b"e\n".as_slice(), Some(0)));
}

#[tokio::test]
async fn the_deadline_ends_even_what_ignores_sigterm() {
    let limits = CaptureLimits { deadline: Duration::from_millis(300), ..LIMITS };
    let captured = capture(shell("trap '' TERM; echo on; while :; do sleep 600; done"), limits).await.unwrap();
    assert!(captured.timed_out);
    assert_eq!(captured.exit.signal, Some(9));
    assert_eq!(captured.stdout, b"on\n");
}

#[tokio::test]
async fn waiting_can_be_cancelled_and_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let gate = folder.path().join("gate");
    let script = format!("while [ ! -e {} ]; do sleep 0.02; done; exit 5", gate.display());
    let mut child = Child::spawn(into_file(&script, &folder.path().join("out"))).unwrap();
    for _ in 0..3 {
        assert!(tokio::time::timeout(Duration::from_millis(20), child.wait()).await.is_err());
    }
    File::create(gate).unwrap();
    assert_eq!(child.wait().await.code, Some(5));
    assert_eq!(child.wait().await.code, Some(5));
    assert_eq!(child.stop(Duration::ZERO).await.code, Some(5));
}

#[tokio::test]
async fn both_streams_reach_the_file_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut child = Child::spawn(into_file("echo a; echo b >&2; echo c", &out)).unwrap();
    child.wait().await;
    assert_eq!(std::fs::read_to_string(out).unwrap(), "a\nb\nc\n");
}

/// Starts a leader with a job in its own process group, both deaf to SIGTERM.
async fn stubborn_family(folder: &Path) -> (Child, Vec<String>) {
    let out = folder.join("out");
    let script = "trap '' TERM; setsid sh -c 'echo $$; sleep 600' & echo $$; wait; sleep 600";
    let child = Child::spawn(into_file(script, &out)).unwrap();
    until("both numbers are written", || std::fs::read_to_string(&out).unwrap().lines().count() == 2).await;
    let family = std::fs::read_to_string(&out).unwrap().lines().map(str::to_owned).collect();
    (child, family)
}

#[tokio::test]
async fn dropping_a_child_kills_its_family() {
    let folder = tempfile::tempdir().unwrap();
    let (child, family) = stubborn_family(folder.path()).await;
    drop(child);
    killed_are_gone().await;
    assert_eq!(family.iter().filter(|pid| alive(pid)).count(), 0);
}

#[tokio::test]
async fn calls_cut_off_at_once_each_wait_for_all_of_theirs() {
    let folder = tempfile::tempdir().unwrap();
    let cut_off = |name: &str| {
        let folder = folder.path().join(name);
        async move {
            std::fs::create_dir(&folder).unwrap();
            let (child, family) = stubborn_family(&folder).await;
            drop(child);
            killed_are_gone().await;
            family.into_iter().filter(|pid| alive(pid)).count()
        }
    };
    assert_eq!(tokio::join!(cut_off("a"), cut_off("b"), cut_off("c")), (0, 0, 0));
}

#[tokio::test]
async fn stopping_asks_then_kills() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, family) = stubborn_family(folder.path()).await;
    let exit = child.stop(Duration::from_millis(100)).await;
    assert_eq!(exit.signal, Some(9));
    assert_eq!(family.iter().filter(|pid| alive(pid)).count(), 0);

    let out = folder.path().join("polite");
    let mut polite =
        Child::spawn(into_file("trap 'echo bye; exit 4' TERM; echo on; while :; do sleep 0.05; done", &out)).unwrap();
    until("the trap is set", || std::fs::read_to_string(&out).unwrap() == "on\n").await;
    assert_eq!(polite.stop(Duration::from_secs(10)).await.code, Some(4));
    assert!(std::fs::read_to_string(&out).unwrap().ends_with("bye\n"));
}

#[tokio::test]
async fn a_failed_start_says_what_and_where_and_what_to_do() {
    let missing = Spec { program: "no-such-program-here".into(), ..shell("") };
    let error = capture(missing, LIMITS).await.unwrap_err().to_string();
    assert!(error.contains("no-such-program-here in /") && error.contains("full path"), "{error}");
    let nowhere = Spec { cwd: "/no/such/folder".into(), ..shell("") };
    let error = capture(nowhere, LIMITS).await.unwrap_err().to_string();
    assert!(error.contains("/no/such/folder") && error.contains("does not exist"), "{error}");
}

fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

async fn until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "still not true: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
