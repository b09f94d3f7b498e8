//! `ralph --detach …`: the one way to start a run that outlives whoever started it.
//!
//! What can be refused is refused here, in front of the person. Then the same program starts the run, without a terminal, in a session
//! of its own; this one says the run's id when the run answers on its socket.

use crate::environment::Environment;
use crate::failure::{Ended, Failure};
use crate::runtime::runtime;
use crate::say;
use arguments::loop_flags;
use process::{Output, Spec, Stdin};
use runner::reach::Client;
use runner::{Folder, Lock};
use serde_json::json;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, Instant};
use wire::ExitCode;

/// A run is at work in well under a second; git in a huge repository takes longer.
const STARTS_WITHIN: Duration = Duration::from_mins(1);
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// Of what it complained about.
const COMPLAINT_MAX: u64 = 4096;

/// A run that works on its own.
pub struct Started {
    pub run: String,
    pub pid: u32,
}

/// `words` are those of the loop, `resume` a run to go on with.
pub fn run(words: &[String], resume: Option<&str>, json: bool, environment: &Environment) -> Ended {
    match start(words, resume, environment)? {
        Started { run, pid } if json => {
            let folder = environment.cwd.display().to_string();
            say::out(&format!("{}\n", json!({"run": run, "pid": pid, "folder": folder})));
        }
        Started { run, pid } => {
            say::out(&format!(
                "run {run} works on its own (process {pid})\n  look at it:  ralph attach {run}\n  end it:      ralph stop {run} [--now]\n"
            ));
        }
    }
    Ok(ExitCode::Success)
}

/// Starts the run and waits until it can be reached.
pub fn start(words: &[String], resume: Option<&str>, environment: &Environment) -> Result<Started, Failure> {
    let folder = Folder::new(&environment.cwd);
    let (log, file) = runner::detached_log(&folder)
        .map_err(|error| Failure::failed(format!(".ralph/detached.log cannot be written: {error}")))?;
    let kept = words.iter().filter(|word| !loop_flags::is_about_showing(word)).cloned();
    let head = resume.into_iter().flat_map(|run| ["resume".to_owned(), run.to_owned()]);
    let args = head.chain(kept).chain(["--no-tui".to_owned()]).map(Into::into).collect();
    let spec = Spec {
        program: environment.exe.clone().into(),
        args,
        cwd: environment.cwd.clone(),
        env: environment.vars.clone(),
        stdin: Stdin::Null,
        output: Output::Merged(file),
        arg0: Some("ralph".into()),
    };
    let mut child = process::start_detached(spec).map_err(Failure::failed)?;
    let until = Instant::now() + STARTS_WITHIN;
    while Instant::now() < until {
        if let Some(run) = at_work(&folder, child.pid()) {
            return Ok(Started { run, pid: child.pid() });
        }
        if let Some(exit) = child.exit() {
            return Err(complaint(&log, exit.shell_code()));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
    Err(Failure::failed(format!(
        "the run has not begun after {} s; it is process {}",
        STARTS_WITHIN.as_secs(),
        child.pid()
    )))
}

/// The run of that process, once it answers.
fn at_work(folder: &Folder, pid: u32) -> Option<String> {
    let owner = Lock::holder(folder).filter(|owner| owner.starts_with(&format!("process {pid},")))?;
    let run = runner::live_run(&owner)?.to_owned();
    let greeted = async { Client::connect(folder, &run).await.map(|client| client.hello().pid) };
    let greeted = runtime().ok()?.block_on(greeted);
    greeted.is_ok_and(|by| by == pid).then_some(run)
}

/// In the words of the run, which are a whole line.
fn complaint(log: &Path, code: i32) -> Failure {
    let mut text = String::new();
    let read = std::fs::File::open(log).and_then(|file| file.take(COMPLAINT_MAX).read_to_string(&mut text));
    let line = cycle::clean::line(text.trim()).into_owned();
    match read {
        Ok(1..) if !line.is_empty() => Failure::agent(line),
        _ => Failure::failed(format!("the run ended at once (code {code}); 'ralph runs' may tell more")),
    }
}
