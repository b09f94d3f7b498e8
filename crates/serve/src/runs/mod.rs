//! `/v1/runs…`: the runs of the served folders, now and before.
//!
//! A run is what its folder holds: `events.ndjson` is read as far as it goes, and followed while it grows. What a run is
//! told goes through its socket. A run is started as a process that does not belong to this server, so the server's end,
//! however it comes, costs no run and no event.

mod control;
mod diff;
mod events;
mod fold;
mod http;
mod start;

pub use control::{answer, pause, resume, steer, stop};
pub use diff::diff;
pub use events::{all_events, events};
pub use http::{costs, iteration, list, one, report, search};
pub use start::start;

use crate::files::ServedFolders;
use crate::problem::Problem;
use fold::RunFold;
use runner::{Folder, Lock};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The newest of a folder that lists show; `keep_runs` is 100 by default.
const RUNS_MAX: usize = 200;
/// Many readers share one look at the folders.
const FRESH: Duration = Duration::from_millis(700);

/// The index of the runs, so that no recording is read twice.
#[derive(Debug)]
pub struct RunIndex {
    folders: Vec<Folder>,
    price: cycle::Price,
    folds: Mutex<HashMap<(usize, String), RunFold>>,
    listed: Mutex<Option<(Instant, Arc<Vec<Value>>)>>,
}

/// A run that was found.
#[derive(Debug, Clone)]
pub struct Found {
    pub at: usize,
    pub folder: Folder,
    pub id: String,
}

impl Found {
    /// Who is at work on it: the lock's own words.
    pub fn owner(&self) -> Option<String> {
        owner_of(&self.folder, &self.id)
    }
}

fn owner_of(folder: &Folder, id: &str) -> Option<String> {
    Lock::holder(folder).filter(|owner| runner::live_run(owner) == Some(id))
}

impl RunIndex {
    pub fn new(folders: &ServedFolders, price: cycle::Price) -> Self {
        let folders = folders.roots().iter().map(Folder::new).collect();
        Self { folders, price, folds: Mutex::default(), listed: Mutex::default() }
    }

    pub fn price(&self) -> cycle::Price {
        self.price
    }

    /// A run by its whole id.
    pub fn find(&self, id: &str) -> Result<Found, Problem> {
        let unknown = || Problem::not_found(format!("there is no run {id}"));
        // A name of a folder and nothing else.
        if id.is_empty() || id.starts_with('.') || id.contains(['/', '\0']) {
            return Err(unknown());
        }
        let found = self.folders.iter().enumerate().find(|(_, folder)| folder.events(id).is_file());
        found.map(|(at, folder)| Found { at, folder: folder.clone(), id: id.to_owned() }).ok_or_else(unknown)
    }

    /// What the recording says by now. Reads files: not for the main thread.
    pub fn read<T>(&self, found: &Found, look: impl FnOnce(&RunFold) -> T) -> Result<T, Problem> {
        let mut folds = self.folds.lock().unwrap_or_else(PoisonError::into_inner);
        let fold = folds.entry((found.at, found.id.clone())).or_default();
        let file = found.folder.events(&found.id);
        fold.read_on(&file)
            .map_err(|error| Problem::internal(format!("{} cannot be read: {error}", file.display())))?;
        Ok(look(fold))
    }

    /// All runs, the newest of each folder first. Reads files: not for the main thread.
    pub fn all(&self) -> Arc<Vec<Value>> {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, all)) = listed.as_ref().filter(|(at, _)| at.elapsed() < FRESH) {
            return all.clone();
        }
        let all = Arc::new(self.look());
        *listed = Some((Instant::now(), all.clone()));
        all
    }

    /// What was listed may have changed: a person has just done something.
    pub fn look_again(&self) {
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn look(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for (at, folder) in self.folders.iter().enumerate() {
            let owner = Lock::holder(folder);
            for id in runner::list(folder).into_iter().take(RUNS_MAX) {
                let owner = owner.as_deref().filter(|owner| runner::live_run(owner) == Some(id.as_str()));
                let found = Found { at, folder: folder.clone(), id };
                // One that was deleted meanwhile is none.
                all.extend(self.read(&found, |fold| fold.summary(&found, owner)));
            }
        }
        all
    }
}

/// Reading recordings takes a while; other requests go on.
pub async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Problem::internal("the recording cannot be read"))
}
