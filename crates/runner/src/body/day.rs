//! What all runs of a day used, so that limits of the day hold over runs.

use crate::Folder;
use cycle::Spent;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Day {
    day: i64,
    spent: Spent,
}

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

fn day_of(now: u64, offset_ms: i64) -> i64 {
    i64::try_from(now).unwrap_or(i64::MAX).saturating_add(offset_ms).div_euclid(DAY_MS)
}

/// What was used today; nothing where no file says so.
pub(super) fn read(folder: &Folder, now: u64, offset_ms: i64) -> Spent {
    let text = std::fs::read_to_string(folder.day()).unwrap_or_default();
    let today = serde_json::from_str::<Day>(&text).ok().filter(|day| day.day == day_of(now, offset_ms));
    today.map(|day| day.spent).unwrap_or_default()
}

pub(super) fn write(folder: &Folder, now: u64, offset_ms: i64, spent: Spent) -> std::io::Result<()> {
    let text = serde_json::to_string(&Day { day: day_of(now, offset_ms), spent })?;
    crate::files::replace(&folder.day(), text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yesterday_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        std::fs::create_dir(folder.ralph()).unwrap();
        let spent = Spent { usd: 2.0, ..Spent::default() };
        let noon = 43_200_000;
        write(&folder, noon, 0, spent).unwrap();
        assert_eq!(read(&folder, noon + 1, 0), spent);
        assert_eq!(read(&folder, noon + 86_400_000, 0), Spent::default());
        std::fs::write(folder.day(), "broken").unwrap();
        assert_eq!(read(&folder, noon, 0), Spent::default());
    }
}
