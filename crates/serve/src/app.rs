//! The state that all requests share: configuration, bounds, running work.

use crate::acp::AcpServers;
use crate::files::ServedFolders;
use crate::goals::GoalsHandle;
use crate::guard::GuardConfig;
use crate::problem::Problem;
use crate::processes::Processes;
use crate::runs::RunIndex;
use process::Env;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

/// What a server is started with.
#[derive(Debug)]
pub struct Options {
    /// Real paths. The first is where relative paths start.
    pub folders: Vec<PathBuf>,
    pub guard: GuardConfig,
    /// This program: runs, goals and agents are children of its kind.
    pub exe: PathBuf,
    pub env: Env,
    pub version: &'static str,
    /// Where goals are kept; `None` where there is no home folder.
    pub goals: Option<goals::Place>,
    pub price: cycle::Price,
    /// One sandbox for each folder; `None` without `--allow-exec`.
    pub exec: Option<Vec<Arc<sandbox::Sandbox>>>,
    /// Streams at the same time.
    pub streams: usize,
}

#[derive(Debug)]
pub struct App {
    pub guard: GuardConfig,
    pub folders: ServedFolders,
    pub exe: PathBuf,
    pub env: Env,
    pub version: &'static str,
    pub goals: GoalsHandle,
    pub runs: RunIndex,
    pub acp: AcpServers,
    pub processes: Option<Processes>,
    streams: Arc<Semaphore>,
    /// Becomes true when the server ends.
    pub closing: watch::Receiver<bool>,
}

impl App {
    pub fn new(options: Options, closing: watch::Receiver<bool>) -> Arc<Self> {
        let folders = ServedFolders::new(options.folders);
        Arc::new(Self {
            processes: options.exec.map(Processes::new),
            guard: options.guard,
            exe: options.exe,
            env: options.env,
            version: options.version,
            goals: GoalsHandle::new(options.goals),
            runs: RunIndex::new(&folders, options.price),
            acp: AcpServers::default(),
            streams: Arc::new(Semaphore::new(options.streams)),
            folders,
            closing,
        })
    }

    /// For what would make a later run start programs of a client's choice.
    pub fn need_exec(&self, what: &str) -> Result<(), Problem> {
        let refused = || Problem::denied(format!("{what} needs a server with '--allow-exec'"));
        self.processes.as_ref().map(|_| ()).ok_or_else(refused)
    }

    /// A place for one more stream.
    pub fn stream_place(&self) -> Result<OwnedSemaphorePermit, Problem> {
        self.streams.clone().try_acquire_owned().map_err(|_| {
            Problem::unavailable(
                "too many streams are open; close one and try again, or start the server with more '--streams'",
            )
        })
    }
}
