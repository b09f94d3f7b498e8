//! Starting a run that outlives whoever started it: the same program, without a terminal, in a session of its own.

use crate::answers::live_run;
use crate::files::detached_log;
use crate::folder::Folder;
use crate::lock::Lock;
use crate::run_socket::Client;
use process::{Env, Output, SpawnError, Spec, Stdin};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::time::sleep;

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

/// Why it does not work.
#[derive(Debug, thiserror::Error)]
pub enum DetachError {
    #[error(".ralph/detached.log cannot be written: {0}")]
    Log(std::io::Error),
    #[error(transparent)]
    Start(#[from] SpawnError),
    /// The last words of the run, which are a whole line.
    #[error("{0}")]
    Complaint(String),
    #[error("the run ended at once (code {0}); 'ralph runs' may tell more")]
    Ended(i32),
    #[error("the run has not begun after {} s; it is process {pid}", STARTS_WITHIN.as_secs())]
    Late { pid: u32 },
}

/// Starts the run and waits until it can be reached. `args` are those of the loop.
pub async fn detach(exe: PathBuf, args: Vec<String>, folder: &Folder, env: Env) -> Result<Started, DetachError> {
    let (log, file) = detached_log(folder).map_err(DetachError::Log)?;
    let spec = Spec {
        program: exe.into(),
        args: args.into_iter().map(Into::into).collect(),
        cwd: folder.root().to_owned(),
        env,
        stdin: Stdin::Null,
        output: Output::Merged(file),
        arg0: Some("ralph".into()),
    };
    let mut child = process::start_detached(spec)?;
    let until = Instant::now() + STARTS_WITHIN;
    while Instant::now() < until {
        if let Some(run) = at_work(folder, child.pid()).await {
            return Ok(Started { run, pid: child.pid() });
        }
        if let Some(exit) = child.exit() {
            return Err(complaint(&log).map_or(DetachError::Ended(exit.shell_code()), DetachError::Complaint));
        }
        sleep(LOOK_AGAIN).await;
    }
    Err(DetachError::Late { pid: child.pid() })
}

/// The run of that process, once it answers.
async fn at_work(folder: &Folder, pid: u32) -> Option<String> {
    let owner = Lock::holder(folder).filter(|owner| owner.starts_with(&format!("process {pid},")))?;
    let run = live_run(&owner)?.to_owned();
    let by = Client::connect(folder, &run).await.ok()?.hello().pid;
    (by == pid).then_some(run)
}

fn complaint(log: &Path) -> Option<String> {
    let mut text = String::new();
    std::fs::File::open(log).and_then(|file| file.take(COMPLAINT_MAX).read_to_string(&mut text)).ok()?;
    Some(cycle::clean::line(text.trim()).into_owned()).filter(|line| !line.is_empty())
}
