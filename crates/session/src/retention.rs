//! Old conversations are removed: transcripts that nobody has written to for a while, with what lies beside them.
//!
//! The work is bounded, and goes on at the next call where it was not finished. Links are not followed, and files that
//! are no sessions stay, as does what was learnt about projects (`memory`).

use crate::store::is_session_id;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// How long a call may take: a client waits for the end of the process.
pub const RETENTION_BUDGET: Duration = Duration::from_millis(100);

/// Looking once a day is enough.
const BETWEEN: Duration = Duration::from_hours(24);

/// Its time of change says when everything was last looked at.
const MARK: &str = ".ralph-last-cleanup";

const DAY: Duration = Duration::from_hours(24);

/// Removes the conversations below `config_dir` that are older than this many days, and answers how many. `keep` is the
/// session of the caller.
pub fn remove_old(config_dir: &Path, days: u64, keep: &str, budget: Duration) -> usize {
    let now = SystemTime::now();
    let mark = config_dir.join(MARK);
    let is_recent = mark
        .metadata()
        .and_then(|about| about.modified())
        .is_ok_and(|looked| now.duration_since(looked).is_ok_and(|since| since < BETWEEN));
    let cutoff = u32::try_from(days).ok().and_then(|days| now.checked_sub(DAY * days));
    let Some(cutoff) = cutoff.filter(|_| days > 0 && !is_recent) else { return 0 };
    let mut sweep = Sweep { cutoff, keep, ends: Instant::now() + budget, removed: 0 };
    let is_done = sweep.projects(config_dir);
    if is_done {
        // A mark that cannot be written costs another look.
        let _ = std::fs::write(&mark, b"");
    }
    sweep.removed
}

struct Sweep<'a> {
    cutoff: SystemTime,
    keep: &'a str,
    ends: Instant,
    removed: usize,
}

impl Sweep<'_> {
    /// Whether everything was looked at.
    fn projects(&mut self, config_dir: &Path) -> bool {
        for folder in entries(&config_dir.join("projects")).filter(|path| is_real_folder(path)) {
            for path in entries(&folder) {
                if Instant::now() >= self.ends {
                    return false;
                }
                if let Some(id) = self.old_session(&path) {
                    self.remove(config_dir, &path, &id);
                }
            }
            // Fails where anything is left in it.
            let _ = std::fs::remove_dir(&folder);
        }
        true
    }

    /// The id of a transcript that is old enough.
    fn old_session(&self, path: &Path) -> Option<String> {
        let id = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
        let about = path.symlink_metadata().ok().filter(std::fs::Metadata::is_file)?;
        let is_old = about.modified().is_ok_and(|written| written < self.cutoff);
        (is_session_id(id) && id != self.keep && is_old).then(|| id.to_owned())
    }

    /// The transcript goes last, so that what is left after a failure is found again.
    fn remove(&mut self, config_dir: &Path, transcript: &Path, id: &str) {
        let beside = transcript.with_extension("");
        let history = config_dir.join("file-history").join(id);
        for folder in [beside, history].into_iter().filter(|path| is_real_folder(path)) {
            if std::fs::remove_dir_all(folder).is_err() {
                return;
            }
        }
        let _ = std::fs::remove_file(config_dir.join("debug").join(format!("{id}.txt")));
        self.removed += usize::from(std::fs::remove_file(transcript).is_ok());
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn is_real_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_dir())
}

#[cfg(test)]
#[path = "retention_tests.rs"]
mod tests;
