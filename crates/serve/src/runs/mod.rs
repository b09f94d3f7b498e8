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
mod numbered;
mod start;
mod tail;
mod window;

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
    listed: Mutex<Option<(Instant, Arc<Vec<ListedRun>>)>>,
    tails: tail::Tails,
}

/// A run in the list, as a value and as the text that streams of the list send.
#[derive(Debug)]
pub struct ListedRun {
    pub id: String,
    pub run: Value,
    pub text: Arc<str>,
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
        Self { folders, price, folds: Mutex::default(), listed: Mutex::default(), tails: tail::Tails::default() }
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
    pub fn all(&self) -> Arc<Vec<ListedRun>> {
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = still_fresh(listed.as_ref()) {
            return all;
        }
        let all = Arc::new(self.look());
        *listed = Some((Instant::now(), all.clone()));
        all
    }

    /// The list, where somebody has just made one. Reads no file and waits for nobody.
    pub fn fresh(&self) -> Option<Arc<Vec<ListedRun>>> {
        still_fresh(self.listed.try_lock().ok()?.as_ref())
    }

    /// A stream of a run's events, from one on.
    pub fn tail_reader(&self, found: &Found, from: numbered::Position, derived: bool) -> tail::TailReader {
        self.tails.reader(found, self.price, from, derived)
    }

    /// What was listed may have changed: a person has just done something.
    pub fn look_again(&self) {
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn look(&self) -> Vec<ListedRun> {
        let mut all = Vec::new();
        for (at, folder) in self.folders.iter().enumerate() {
            let owner = Lock::holder(folder);
            for id in runner::list(folder).into_iter().take(RUNS_MAX) {
                let owner = owner.as_deref().filter(|owner| runner::live_run(owner) == Some(id.as_str()));
                let found = Found { at, folder: folder.clone(), id };
                // One that was deleted meanwhile is none.
                let Ok(run) = self.read(&found, |fold| fold.summary(&found, owner)) else { continue };
                all.push(ListedRun { text: run.to_string().into(), id: found.id, run });
            }
        }
        all
    }
}

fn still_fresh(listed: Option<&(Instant, Arc<Vec<ListedRun>>)>) -> Option<Arc<Vec<ListedRun>>> {
    listed.filter(|(at, _)| at.elapsed() < FRESH).map(|(_, all)| all.clone())
}

/// Reading recordings takes a while; other requests go on.
pub async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Problem> {
    tokio::task::spawn_blocking(work).await.map_err(|_| Problem::internal("the recording cannot be read"))
}
