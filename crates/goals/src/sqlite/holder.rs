//! Who keeps the others from writing: a worker that is stopped in the middle of a write holds its lock until it goes on.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What to say of it in an error. Only Linux tells who it is.
pub(super) fn describe(file: &Path) -> String {
    let mut text = String::from("somebody else has been writing to it for too long");
    for (place, pid) in writers(file).into_iter().enumerate() {
        text.push_str(if place == 0 { ": " } else { ", " });
        let stopped = if is_stopped(pid) { " (stopped)" } else { "" };
        let _ = write!(text, "process {pid}{stopped}");
    }
    text
}

/// The lock for writing is in the file beside it that all processes share.
fn writers(file: &Path) -> Vec<u32> {
    let mut shared = file.as_os_str().to_owned();
    shared.push("-shm");
    let Ok(data) = PathBuf::from(shared).metadata() else { return Vec::new() };
    let locks = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    writers_in(&locks, data.ino())
}

/// Lines are `1: POSIX ADVISORY WRITE 4242 fe:00:131 120 120`, with the file's number in the sixth field.
fn writers_in(locks: &str, file: u64) -> Vec<u32> {
    let mut pids: Vec<u32> = locks.lines().filter_map(|line| writer(line, file)).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

fn writer(line: &str, file: u64) -> Option<u32> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [_, _, _, "WRITE", pid, place, ..] = fields[..] else { return None };
    (place.rsplit(':').next()?.parse() == Ok(file)).then(|| pid.parse().ok())?
}

fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_of_a_file_are_found() {
        let locks = "1: POSIX  ADVISORY  WRITE 42 fe:00:131 120 120\n\
                     1: -> POSIX  ADVISORY  WRITE 43 fe:00:131 120 120\n\
                     2: POSIX  ADVISORY  READ 44 fe:00:131 123 123\n\
                     3: FLOCK  ADVISORY  WRITE 45 fe:00:1310 0 EOF\n\
                     4: POSIX  ADVISORY  WRITE 41 fe:00:131 121 121\n\
                     torn\n";
        assert_eq!(writers_in(locks, 131), [41, 42]);
        assert_eq!(writers_in(locks, 132), [] as [u32; 0]);
    }
}
