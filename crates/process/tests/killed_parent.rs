//! Whatever way a process that watches over its children dies, what they started is gone within a second.
//!
//! Without the test harness: this program plays both parents. The inner one starts commands that do not want to end,
//! and is killed at different moments; the outer one looks for survivors, and for files that are still written.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]
#![expect(clippy::print_stdout, reason = "this test is its own program")]

use ralph_process::{Child, Output, Spec, Stdin};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const INNER: &str = "--play-the-inner-parent";
const GONE_WITHIN: Duration = Duration::from_secs(1);
/// For a slow machine to get that far.
const PATIENCE: Duration = Duration::from_secs(20);

/// Each leaves something running that a plain kill of its group does not reach. `MARK` is in every command line.
const SCRIPTS: [(&str, &str); 7] = [
    ("in the command's own session", "sleep MARK & wait"),
    ("detached", "(setsid sleep MARK &) ; exit 0"),
    ("detached twice, without our environment", "(env -i setsid sh -c '(setsid sleep MARK &)' &) ; sleep 0.2; exit 0"),
    ("stopped", "(setsid sh -c 'kill -STOP $$; sleep MARK' MARK &) ; exit 0"),
    ("deaf", "(setsid sh -c 'trap \"\" TERM INT HUP; sleep MARK; sleep MARK' &) ; exit 0"),
    ("the command still runs", "setsid sleep MARK"),
    (
        "forking on and on",
        "f() { echo $1 > beat; [ $1 -gt 0 ] && (setsid sh ./chain $(($1 - 1)) MARK >/dev/null 2>&1 &) ; }; f 3000",
    ),
];

#[expect(clippy::disallowed_methods, reason = "this test is its own program")]
fn main() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [first, folder, mark] = &words[..]
        && first == INNER
    {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        return runtime.block_on(inner(Path::new(folder), mark));
    }
    // Orphans of the inner parent come to us, not to the machine's first process, which may not collect them.
    ralph_process::adopt_orphans();
    for (round, wait) in [300, 20, 90, 600].into_iter().enumerate() {
        outer(round, Duration::from_millis(wait));
    }
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

async fn inner(folder: &Path, mark: &str) {
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
    let mut children = Vec::new();
    for (_, script) in SCRIPTS {
        children.push(Child::spawn(spec(&script.replace("MARK", mark), folder)).unwrap());
    }
    std::fs::write(folder.join("started"), "").unwrap();
    // All but the first and the sixth end by themselves.
    for (at, mut child) in children.into_iter().enumerate() {
        if at != 0 && at != 5 {
            child.wait().await;
        } else {
            std::mem::forget(child);
        }
    }
    std::future::pending::<()>().await;
}

#[expect(clippy::disallowed_methods, reason = "the process that is killed is started as anybody would")]
fn outer(round: usize, wait: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let chain = "echo $1 > beat; [ $1 -gt 0 ] && (setsid sh ./chain $(($1 - 1)) $2 >/dev/null 2>&1 &) ; exit 0";
    std::fs::write(folder.path().join("chain"), chain).unwrap();
    let (bin, go) = (folder.path().join("bin"), folder.path().join("go"));
    std::fs::create_dir(&bin).unwrap();
    let git = "#!/bin/sh\nPATH=/usr/bin:/bin\n: > begun\nwhile [ ! -e go ]; do sleep 0.01; done\n: > finished\n";
    std::fs::write(bin.join("git"), git).unwrap();
    std::fs::set_permissions(bin.join("git"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mark = format!("{}.{round}", 100_000 + std::process::id());
    let program = std::env::current_exe().unwrap();
    let mut inner = Command::new(program).args([INNER, folder.path().to_str().unwrap(), &mark]).spawn().unwrap();
    wait_for(&folder.path().join("started"));
    std::thread::sleep(wait);
    assert!(!survivors(&mark).is_empty(), "there is something to end");
    inner.kill().unwrap();
    inner.wait().unwrap();
    let killed = Instant::now();
    // One look at the processes proves nothing: a process that starts another may be looked at too early and too late.
    // So everything is looked at once more when the time is over.
    while !survivors(&mark).is_empty() && killed.elapsed() < GONE_WITHIN {
        std::thread::sleep(Duration::from_millis(10));
    }
    let first_seen_gone = killed.elapsed();
    std::thread::sleep(GONE_WITHIN.saturating_sub(first_seen_gone));
    let beat = || std::fs::read_to_string(folder.path().join("beat")).unwrap_or_default();
    let last = beat();
    assert!(survivors(&mark).is_empty(), "round {round}: still there: {:?}", survivors(&mark));
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(beat(), last, "round {round}: something still writes");
    assert!(survivors(&mark).is_empty(), "round {round}: {:?}", survivors(&mark));
    // What was begun in somebody's repository comes to its end all the same.
    std::fs::write(go, "").unwrap();
    wait_for(&folder.path().join("finished"));
    println!("round {round}: all gone after {first_seen_gone:?}");
}

fn wait_for(path: &Path) {
    let patience = Instant::now() + PATIENCE;
    while !path.exists() {
        assert!(Instant::now() < patience, "never there: {}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
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
