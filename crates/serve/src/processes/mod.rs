//! Processes that clients start: only with `--allow-exec`, each in the sandbox of its served folder, all ended with the
//! server. Their output is kept in memory within bounds and numbered, so that a reader can come back to it.

mod http;
mod running;
mod terminal;

pub use http::{input, kill, list, logs, one, put_config, read_config, remove, resize, run, start, stop};
pub use running::Process;
pub use terminal::terminal;

use crate::problem::Problem;
use sandbox::Sandbox;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Ended processes whose output is still there; the oldest are forgotten.
const ENDED_KEPT: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProcessConfig {
    pub max_concurrent_processes: usize,
    pub default_run_timeout_ms: u64,
    pub max_run_timeout_ms: u64,
    pub max_output_bytes: usize,
    pub max_log_bytes_per_process: usize,
    pub max_input_bytes_per_request: usize,
}

/// What sandbox-agent's server starts with.
const DEFAULTS: ProcessConfig = ProcessConfig {
    max_concurrent_processes: 64,
    default_run_timeout_ms: 30_000,
    max_run_timeout_ms: 300_000,
    max_output_bytes: 1024 * 1024,
    max_log_bytes_per_process: 10 * 1024 * 1024,
    max_input_bytes_per_request: 64 * 1024,
};

/// A client may change the limits, but not beyond these.
const HIGHEST: ProcessConfig = ProcessConfig {
    max_concurrent_processes: 256,
    default_run_timeout_ms: 3_600_000,
    max_run_timeout_ms: 3_600_000,
    max_output_bytes: 16 * 1024 * 1024,
    max_log_bytes_per_process: 64 * 1024 * 1024,
    max_input_bytes_per_request: 1024 * 1024,
};

impl ProcessConfig {
    fn bounded(self) -> Self {
        Self {
            max_concurrent_processes: self.max_concurrent_processes.min(HIGHEST.max_concurrent_processes),
            default_run_timeout_ms: self.default_run_timeout_ms.min(HIGHEST.default_run_timeout_ms),
            max_run_timeout_ms: self.max_run_timeout_ms.min(HIGHEST.max_run_timeout_ms),
            max_output_bytes: self.max_output_bytes.min(HIGHEST.max_output_bytes),
            max_log_bytes_per_process: self.max_log_bytes_per_process.min(HIGHEST.max_log_bytes_per_process),
            max_input_bytes_per_request: self.max_input_bytes_per_request.min(HIGHEST.max_input_bytes_per_request),
        }
    }
}

#[derive(Debug)]
pub struct Processes {
    /// In the order of the served folders.
    sandboxes: Vec<Arc<Sandbox>>,
    state: Mutex<ProcessTable>,
}

#[derive(Debug)]
struct ProcessTable {
    config: ProcessConfig,
    next: u64,
    all: BTreeMap<u64, Arc<Process>>,
}

impl Processes {
    pub fn new(sandboxes: Vec<Arc<Sandbox>>) -> Self {
        Self { sandboxes, state: Mutex::new(ProcessTable { config: DEFAULTS, next: 1, all: BTreeMap::new() }) }
    }

    /// The sandbox of the served folder with this number.
    pub fn sandbox(&self, at: usize) -> Result<Arc<Sandbox>, Problem> {
        self.sandboxes.get(at).cloned().ok_or_else(|| Problem::internal("there is no sandbox for that folder"))
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ProcessTable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn config(&self) -> ProcessConfig {
        self.state().config
    }

    /// A number for a new process, where there is a place for it.
    fn reserve(&self) -> Result<u64, Problem> {
        let mut state = self.state();
        let running = state.all.values().filter(|process| process.is_running()).count();
        if running >= state.config.max_concurrent_processes {
            return Err(Problem::unavailable(format!("{running} processes are running; stop one first")));
        }
        let ended: Vec<u64> =
            state.all.iter().filter(|(_, process)| !process.is_running()).map(|(id, _)| *id).collect();
        for id in ended.iter().take(ended.len().saturating_sub(ENDED_KEPT)) {
            state.all.remove(id);
        }
        state.next += 1;
        Ok(state.next - 1)
    }

    fn add(&self, number: u64, process: Arc<Process>) {
        self.state().all.insert(number, process);
    }

    fn all(&self) -> Vec<Arc<Process>> {
        self.state().all.values().cloned().collect()
    }

    fn find(&self, id: &str) -> Result<Arc<Process>, Problem> {
        let found = self.state().all.values().find(|process| process.id == id).cloned();
        found.ok_or_else(|| Problem::not_found(format!("there is no process {id}")))
    }

    fn forget(&self, id: &str) {
        self.state().all.retain(|_, process| process.id != id);
    }
}
