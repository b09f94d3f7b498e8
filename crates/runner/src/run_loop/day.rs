//! The day's account of a person: what all runs of the day used, in all folders, so that limits of the day hold
//! over runs, also over those that run at the same time.

use cycle::Spent;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Serialize, Deserialize)]
struct Day {
    day: i64,
    spent: Spent,
}

/// Another run holds the account only while it adds a number.
const PATIENCE: Duration = Duration::from_secs(2);
const ASK_AGAIN: Duration = Duration::from_millis(10);

/// What was used that day; nothing where no file says so.
pub(super) fn read(file: &Path, day: i64) -> Spent {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let today = serde_json::from_str::<Day>(&text).ok().filter(|known| known.day == day);
    today.map(|known| known.spent).unwrap_or_default()
}

/// Adds what a run used. The sum of all runs comes back.
pub(super) fn add(file: &Path, day: i64, more: Spent) -> io::Result<Spent> {
    let folder = file.parent().ok_or_else(|| io::Error::other("no folder"))?;
    crate::files::private_dir(folder)?;
    let lock = crate::files::shared(&file.with_extension("lock"))?;
    let until = Instant::now() + PATIENCE;
    while let Err(error) = flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        if error != rustix::io::Errno::WOULDBLOCK || Instant::now() > until {
            return Err(error.into());
        }
        std::thread::sleep(ASK_AGAIN);
    }
    let spent = read(file, day).plus(more);
    let text = serde_json::to_string(&Day { day, spent })?;
    crate::files::replace(file, text.as_bytes())?;
    Ok(spent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_add_up_and_yesterday_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("ralph/day.json");
        let spent = |usd| Spent { usd, ..Spent::default() };
        assert_eq!(read(&file, 5), Spent::default());
        assert_eq!(add(&file, 5, spent(2.0)).unwrap(), spent(2.0));
        assert_eq!(add(&file, 5, spent(0.5)).unwrap(), spent(2.5), "another run");
        assert_eq!(read(&file, 5), spent(2.5));
        assert_eq!(read(&file, 6), Spent::default());
        std::fs::write(&file, "broken").unwrap();
        assert_eq!(add(&file, 5, spent(1.0)).unwrap(), spent(1.0));
    }
}
