//! The deletion of old recordings, so that nightly runs do not fill the disk.
//!
//! Looked at when a run starts. The newest recording and the one that is resumed always stay.

use crate::{Folder, Settings, runs};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// A recording on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Recording {
    age: Duration,
    bytes: u64,
}

/// How much is kept. Zero is no such limit.
#[derive(Debug, Clone, Copy)]
struct RetentionLimits {
    runs: usize,
    days: u64,
    bytes: u64,
}

const DAY: Duration = Duration::from_hours(24);

/// Which of these go; newest first. The first stays, whatever its size.
fn expired(recordings: &[Recording], keep: RetentionLimits) -> Vec<usize> {
    let mut sum = 0u64;
    let mut gone = Vec::new();
    for (at, one) in recordings.iter().enumerate() {
        sum = sum.saturating_add(one.bytes);
        let too_many = keep.runs > 0 && at >= keep.runs;
        let too_old = keep.days > 0 && one.age.as_secs() > keep.days.saturating_mul(DAY.as_secs());
        let too_large = keep.bytes > 0 && sum > keep.bytes;
        if at > 0 && (too_many || too_old || too_large) {
            sum -= one.bytes;
            gone.push(at);
        }
    }
    gone
}

/// Deletes old recordings of a folder, with their logs. What cannot be deleted stays, and is tried again next time.
pub(crate) fn prune(folder: &Folder, settings: &Settings, current: Option<&str>) {
    let keep = RetentionLimits {
        runs: settings.keep_runs as usize,
        days: settings.keep_days.into(),
        bytes: settings.keep_size,
    };
    let ids: Vec<String> = runs::list(folder).into_iter().filter(|id| Some(id.as_str()) != current).collect();
    let recordings: Vec<Recording> = ids.iter().map(|id| measure(&folder.run(id))).collect();
    let gone: BTreeSet<usize> = expired(&recordings, keep).into_iter().collect();
    for at in &gone {
        let _ = std::fs::remove_dir_all(folder.run(&ids[*at]));
    }
    let kept = ids.iter().enumerate().filter(|(at, _)| !gone.contains(at)).map(|(_, id)| id.as_str());
    // Logs are named by the time at which a process began: none that is older than all runs has a reader.
    if let Some(oldest) = kept.chain(current).min().filter(|_| !gone.is_empty()) {
        drop_logs(&folder.ralph(), oldest);
    }
}

fn drop_logs(ralph: &Path, oldest: &str) {
    for entry in std::fs::read_dir(ralph).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let stamp = name.strip_prefix("run_").or_else(|| name.strip_prefix("iter_"));
        if stamp.and_then(|stamp| stamp.strip_suffix(".log")).is_some_and(|stamp| stamp < oldest) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

fn measure(run: &Path) -> Recording {
    let files = std::fs::read_dir(run).into_iter().flatten().flatten();
    let known: Vec<std::fs::Metadata> = files.filter_map(|file| file.metadata().ok()).collect();
    let newest = known.iter().filter_map(|file| file.modified().ok()).max().unwrap_or(SystemTime::UNIX_EPOCH);
    let age = SystemTime::now().duration_since(newest).unwrap_or_default();
    Recording { age, bytes: known.iter().map(std::fs::Metadata::len).sum() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_too_old_and_too_large_ones_go_and_the_newest_stays() {
        let day = |days: u64, bytes| Recording { age: DAY * u32::try_from(days).unwrap(), bytes };
        let list = [day(0, 10), day(1, 10), day(40, 10), day(90, 10)];
        let keep = |runs, days, bytes| RetentionLimits { runs, days, bytes };
        for (keep, gone) in [
            (keep(0, 0, 0), vec![]),
            (keep(2, 0, 0), vec![2, 3]),
            (keep(0, 30, 0), vec![2, 3]),
            (keep(0, 0, 25), vec![2, 3]),
            (keep(0, 0, 5), vec![1, 2, 3]),
            (keep(3, 50, 100), vec![3]),
        ] {
            assert_eq!(expired(&list, keep), gone, "{keep:?}");
        }
        let large_one_between = [day(0, 1), day(1, 100), day(2, 1)];
        assert_eq!(expired(&large_one_between, keep(0, 0, 10)), [1], "a small one behind it stays");
    }

    #[test]
    fn recordings_and_their_logs_are_deleted_and_the_resumed_one_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::new(dir.path());
        let ids = ["20260101-000000", "20260102-000000", "20260103-000000"];
        for id in ids {
            std::fs::create_dir_all(folder.run(id)).unwrap();
            std::fs::write(folder.events(id), "x").unwrap();
            std::fs::write(folder.ralph().join(format!("run_{id}.log")), "x").unwrap();
            std::fs::write(folder.ralph().join(format!("iter_{id}_1.log")), "x").unwrap();
        }
        std::fs::write(folder.prompt(), "mine").unwrap();
        let settings = Settings { keep_runs: 1, ..Settings::default() };
        prune(&folder, &settings, Some(ids[1]));
        assert_eq!(runs::list(&folder), [ids[2], ids[1]]);
        let logs = |id: &str| folder.ralph().join(format!("run_{id}.log")).exists();
        assert_eq!(ids.map(logs), [false, true, true]);
        assert!(folder.prompt().exists() && !folder.ralph().join(format!("iter_{}_1.log", ids[0])).exists());
    }
}
