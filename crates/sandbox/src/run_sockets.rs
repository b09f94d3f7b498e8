//! Sockets of runs. A client of one steers the loop, so processes of a loop must not see them.
//!
//! They are looked for whenever a command is started, because a run has its socket only while it works.

use crate::rules::Rules;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// In the folder of a run: the socket, or a file with its path where that would be too long.
const SOCKET: &str = "socket";
const POINTER: &str = "socket.path";

/// A path in such a file; those of sockets are about a hundred bytes long.
const PATH_MAX: u64 = 4096;

/// Runs of a folder that are looked at, the newest by name first; a hundred are kept, and one is at work.
const RUNS_MAX: usize = 1024;

/// Sockets that exist now.
pub(crate) fn find(rules: &Rules) -> Vec<PathBuf> {
    rules.runs.iter().flat_map(|folder| newest(folder)).flat_map(|run| of_run(&run)).collect()
}

fn newest(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut runs: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    runs.sort_unstable_by(|one, other| other.cmp(one));
    runs.truncate(RUNS_MAX);
    runs
}

fn of_run(run: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let pointed = pointed(&run.join(POINTER));
    [Some(run.join(SOCKET)), pointed].into_iter().flatten().filter(|path| is_socket(path))
}

fn pointed(pointer: &Path) -> Option<PathBuf> {
    let is_file = pointer.symlink_metadata().ok()?.is_file();
    let mut text = String::new();
    File::open(pointer).ok().filter(|_| is_file)?.take(PATH_MAX).read_to_string(&mut text).ok()?;
    Some(PathBuf::from(text.trim())).filter(|path| path.is_absolute())
}

fn is_socket(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|data| data.file_type().is_socket())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn sockets_of_runs_are_found_where_they_are() {
        let dir = tempfile::tempdir().unwrap();
        let runs = dir.path().join(".ralph/runs");
        for run in ["a", "b", "c", "d"] {
            std::fs::create_dir_all(runs.join(run)).unwrap();
        }
        let _near = UnixListener::bind(runs.join("a/socket")).unwrap();
        let _far = UnixListener::bind(dir.path().join("s")).unwrap();
        std::fs::write(runs.join("b/socket.path"), dir.path().join("s").display().to_string()).unwrap();
        std::fs::write(runs.join("c/socket"), "no socket").unwrap();
        std::fs::write(runs.join("d/socket.path"), "relative").unwrap();
        let rules = Rules { runs: vec![runs.clone(), dir.path().join("missing")], ..Rules::default() };
        assert_eq!(find(&rules), [dir.path().join("s"), runs.join("a/socket")]);
    }
}
