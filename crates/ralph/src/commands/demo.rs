//! `ralph demo`: a loop mends a failing test, offline, in a scratch repository, with the real agent and its
//! real tools. Only the model is played, by the mock, and it makes a mistake that the check finds.

use super::loop_run::{self, Show};
use crate::failure::{Ended, Failure};
use crate::say;
use resolve::{Environment, runtime, temp_dir};
use runner::{Auth, Folder, Job, SandboxMode, Settings};
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::ExitCode;

/// Making a repository takes milliseconds; a machine that needs more has a problem to show.
const DEADLINE: Duration = Duration::from_mins(1);
const OUTPUT_MAX: usize = 64 * 1024;
const GRACE: Duration = Duration::from_secs(1);

const SUM: &str = include_str!("demo/sum.sh");
const TEST: &str = include_str!("demo/test.sh");
const SCRIPT: &str = include_str!("demo/script.json");
const PROMPT: &str = "The test fails. Find out why and mend it.\n\nWhen it passes, end your last message with this \
    line:\n\n<promise>COMPLETE</promise>\n";
const CHECK: &str = "sh test.sh";
/// It takes three; a fourth would be a fault of ours.
const ITERATIONS: u32 = 5;
/// On a screen the model takes its time, so that somebody can follow: before an answer, and between the
/// pieces that it comes in.
const THINKS_MS: u64 = 500;
const PIECE_BYTES: usize = 48;
const PIECE_MS: u64 = 10;

pub fn run(environment: &Environment) -> Ended {
    let ended = runtime()?.block_on(demo(environment));
    ended.map_err(|failure| Failure::failed(format!("the demo failed: {}", failure.reason())))
}

async fn demo(environment: &Environment) -> Ended {
    let folder = scratch()?;
    say::out(&format!("A scratch project with a failing test, in {}\n", folder.display()));
    say::out(&format!("$ ralph {ITERATIONS} --check '{CHECK}'\n\n"));
    repository(&folder, environment).await;
    let mut script =
        mock::Script::from_json(SCRIPT).map_err(Failure::failed)?.substitute("$WD", &folder.display().to_string());
    let show = Show::choose(false, false, environment);
    if show == Show::Screen {
        script.turns.iter_mut().for_each(take_time);
    }
    let mock = mock::Mock::start(script).map_err(|error| Failure::failed(format!("no loopback server: {error}")))?;
    let mut job = job(&folder, environment, &mock.url())?;
    job.attended = show == Show::Screen;
    job.settings.live = show == Show::Screen;
    let exit = Box::pin(loop_run::drive(job, show, false, Vec::new())).await?;
    if exit == ExitCode::Success {
        say::out(&format!("\nThe project stays in {0}\nReplay it: cd {0} && ralph --replay\n", folder.display()));
    }
    Ok(exit)
}

fn take_time(turn: &mut mock::ScriptedAnswer) {
    turn.delay_ms = THINKS_MS;
    turn.chunk_bytes = Some(PIECE_BYTES);
    turn.chunk_delay_ms = PIECE_MS;
}

fn job(folder: &Path, environment: &Environment, url: &str) -> Result<Job, runner::BackendError> {
    let mut env = plain_env(folder, environment);
    env.push(("ANTHROPIC_BASE_URL".into(), url.into()));
    env.push(("ANTHROPIC_API_KEY".into(), "sk-ant-demo".into()));
    // The demo is to show the loop on any machine; with a sandbox where there can be one.
    let sandbox = if sandbox::is_available() { SandboxMode::Workspace } else { SandboxMode::Off };
    Ok(Job {
        folder: Folder::new(folder),
        settings: Settings { max: ITERATIONS, check: vec![CHECK.into()], sandbox, stay: true, ..Settings::default() },
        backend: runner::choose("builtin", &environment.exe, folder, "".as_ref())?,
        auth: Auth::Ambient,
        rules: None,
        confined: None,
        beads_socket: None,
        reviewer: None,
        warnings: Vec::new(),
        env,
        zone: jiff::tz::TimeZone::system(),
        account: None,
        work: None,
        resume: None,
        attended: false,
        flags: serde_json::Map::new(),
        price: super::loop_prices::usd,
        fallback: Vec::new(),
        trace: None,
        rehearsal: None,
    })
}

/// A new folder under the temporary folder, ours alone.
fn scratch() -> Result<PathBuf, Failure> {
    use std::os::unix::fs::DirBuilderExt as _;
    let folder = temp_dir().join(format!("ralph-demo-{}", uuid::Uuid::new_v4().simple()));
    let make = |folder: &Path| std::fs::DirBuilder::new().mode(0o700).create(folder);
    make(&folder).map_err(|error| Failure::failed(format!("{} cannot be made: {error}", folder.display())))?;
    let folder = std::fs::canonicalize(&folder).map_err(Failure::failed)?;
    make(&folder.join(".ralph")).map_err(Failure::failed)?;
    for (name, text) in [("sum.sh", SUM), ("test.sh", TEST), (".ralph/prompt.md", PROMPT), (".gitignore", ".home\n")] {
        let written = std::fs::write(folder.join(name), text);
        written.map_err(|error| Failure::failed(format!("{name} cannot be written: {error}")))?;
    }
    Ok(folder)
}

/// A repository where git is installed; the demo needs none.
async fn repository(folder: &Path, environment: &Environment) {
    let git =
        "git init -q . && git add . && git -c user.name=demo -c user.email=demo@localhost commit -qm 'a failing test'";
    let spec = process::Spec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), git.into()],
        cwd: folder.to_owned(),
        env: plain_env(folder, environment),
        stdin: process::Stdin::Null,
        output: process::Output::Pipes,
        arg0: None,
    };
    let limits = process::CaptureLimits { deadline: DEADLINE, max_output: OUTPUT_MAX, grace: GRACE };
    let _ = process::capture(spec, limits).await;
}

/// Nothing of the user's: no credentials, no settings, no home.
fn plain_env(folder: &Path, environment: &Environment) -> process::Env {
    vec![
        ("PATH".into(), environment.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin").into()),
        ("HOME".into(), folder.join(".home").into()),
    ]
}
