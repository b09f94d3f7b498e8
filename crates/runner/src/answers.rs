//! A person's answer on its way to a run that waits for one: `ralph answer` in another terminal leaves it in
//! the run's folder, and the run takes it.
//!
//! The run's socket is the usual way ([`crate::run_socket`]); the file works where a socket cannot be, and for older versions. What lies there
//! before a question is asked is no answer to it, and is thrown away.

use crate::{Folder, LockError, RunsError, files, runs};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A person does not notice less.
const LOOK: Duration = Duration::from_millis(200);
/// A run that waits looks several times in this time; one that does not take it is not waiting.
const TAKEN_WITHIN: Duration = Duration::from_secs(5);
/// Longer than anybody types; what is beyond it is cut.
const ANSWER_MAX: u64 = 64 * 1024;

fn place(folder: &Folder, id: &str) -> PathBuf {
    folder.run(id).join("answer")
}

/// Throws away what was said before it was asked.
pub(crate) fn forget(folder: &Folder, id: &str) {
    // None there is the usual case.
    let _ = std::fs::remove_file(place(folder, id));
}

/// Waits for an answer. May be cancelled and called again.
pub(crate) async fn next(folder: &Folder, id: &str) -> String {
    let place = place(folder, id);
    loop {
        tokio::time::sleep(LOOK).await;
        if let Some(text) = take(&place) {
            return text;
        }
    }
}

fn take(place: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    files::existing(place).ok()?.take(ANSWER_MAX).read_to_end(&mut bytes).ok()?;
    std::fs::remove_file(place).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The run that holds the folder's lock, as its holder wrote it.
pub fn live_run(owner: &str) -> Option<&str> {
    owner.rsplit_once("run ").map(|(_, id)| id.trim()).filter(|id| !id.is_empty())
}

/// Answers the run that is at work in this folder, and waits until it has taken the answer. Says what was asked. `offer` hands
/// the answer over through the run's socket and says whether it did; where there is none, the file does it.
pub fn answer_live<E: std::error::Error>(
    folder: &Folder,
    owner: &str,
    wished: Option<&str>,
    text: &str,
    offer: impl FnOnce(&str) -> Result<bool, E>,
) -> Result<String, RunsError> {
    let confined = || RunsError::Busy(LockError::Held { owner: owner.to_owned() }.to_string());
    let id = live_run(owner).ok_or_else(confined)?;
    if wished.is_some_and(|wished| !id.starts_with(wished)) {
        return Err(confined());
    }
    let info = runs::load(folder, id)?;
    let question = info.memory.question.filter(|_| info.memory.verdict.is_none());
    let question = question.ok_or_else(|| RunsError::NoQuestion(id.into()))?;
    if offer(id).map_err(|error| RunsError::Busy(error.to_string()))? {
        return Ok(question.text);
    }
    deliver(&place(folder, id), text).map_err(|source| RunsError::Io { file: place(folder, id), source })?;
    let until = Instant::now() + TAKEN_WITHIN;
    while place(folder, id).exists() {
        if Instant::now() > until {
            forget(folder, id);
            return Err(RunsError::NotTaken(id.into()));
        }
        std::thread::sleep(LOOK / 4);
    }
    Ok(question.text)
}

/// Whole or not at all, and never over another one.
fn deliver(place: &Path, text: &str) -> std::io::Result<()> {
    let folder = place.parent().ok_or_else(|| std::io::Error::other("no folder"))?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.persist_noclobber(place).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_taken_once_and_links_are_none() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("answer");
        assert_eq!(take(&place), None);
        deliver(&place, " Port 8080\n").unwrap();
        assert!(deliver(&place, "another").is_err(), "one at a time");
        assert_eq!(take(&place).as_deref(), Some("Port 8080"));
        assert_eq!(take(&place), None);
        std::fs::write(dir.path().join("secret"), "secret").unwrap();
        std::os::unix::fs::symlink(dir.path().join("secret"), &place).unwrap();
        assert_eq!(take(&place), None);
    }

    #[test]
    fn the_lock_names_the_run() {
        assert_eq!(live_run("process 12, run 20260101-120000-2"), Some("20260101-120000-2"));
        assert_eq!(live_run("'ralph answer'"), None);
    }
}
