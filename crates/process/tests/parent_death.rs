//! A killed agent takes its commands with it (claude-agent-sdk-typescript#142: orphans on parent death).
//!
//! Without the test harness, because the death signal belongs to the thread that started the child
//! and only the main thread lives as long as the process. This program plays the two parents:
//! the outer one starts itself as the inner one, which starts a long command and is then killed.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use ralph_process::{Child, Output, Spec, Stdin};
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

const INNER: &str = "--play-the-inner-parent";
const PATIENCE: Duration = Duration::from_secs(10);

fn main() {
    #[expect(clippy::disallowed_methods, reason = "this test is its own program")]
    let mut args = std::env::args().skip(1);
    let inner = args.next().filter(|arg| arg == INNER).and_then(|_| args.next());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match inner {
        Some(note) => runtime.block_on(inner_parent(Path::new(&note))),
        None => runtime.block_on(outer_parent()),
    }
}

fn spec(program: impl Into<OsString>, args: &[&str]) -> Spec {
    Spec {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        cwd: "/".into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        stdin: Stdin::Null,
        output: Output::Merged(std::fs::File::options().append(true).open("/dev/null").unwrap()),
        arg0: None,
    }
}

async fn inner_parent(note: &Path) {
    let mut command = Child::spawn(spec("sleep", &["600"])).unwrap();
    let draft = note.with_extension("draft");
    std::fs::write(&draft, command.pid().to_string()).unwrap();
    std::fs::rename(&draft, note).unwrap();
    command.wait().await;
}

async fn outer_parent() {
    if !cfg!(target_os = "linux") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("pid");
    let program = std::env::current_exe().unwrap();
    let mut inner = Child::spawn(spec(program, &[INNER, note.to_str().unwrap()])).unwrap();
    until("the inner parent starts its command", || note.exists()).await;
    let command = std::fs::read_to_string(&note).unwrap();
    assert!(alive(&command), "the command runs before its parent is killed");

    let pid = rustix::process::Pid::from_raw(inner.pid().try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    assert_eq!(inner.wait().await.signal, Some(9));
    until("the command dies with its parent", || !alive(&command)).await;
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
