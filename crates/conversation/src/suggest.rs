//! Files and folders whose names fit what somebody is typing.
//!
//! What git ignores and what a rule denies to read is not suggested. Bounded in number and time: somebody is typing.

use std::path::Path;
use std::time::{Duration, Instant};
use tools::Denied;

/// Suggestions at once.
const MOST: usize = 15;
/// Entries that are looked at; who types more letters finds the others.
const LOOKED_AT: usize = 100_000;
const PATIENCE: Duration = Duration::from_secs(2);
/// A longer text is no name.
const QUERY_MAX: usize = 1_000;

/// Paths below `folder`, the best first; folders end in `/`. Without a query, what is in the folder itself. Blocks the thread.
pub fn suggest_files(folder: &Path, query: &str, denied: &Denied) -> Vec<String> {
    let query: String = query.trim_start_matches("./").chars().take(QUERY_MAX).collect();
    let until = Instant::now() + PATIENCE;
    let mut walk = tools::walk(folder, folder);
    walk.threads(1).max_depth(query.is_empty().then_some(1));
    let mut found: Vec<(u32, usize, String)> = Vec::new();
    let entries = walk.build().flatten().filter(|entry| entry.depth() > 0).take(LOOKED_AT);
    for entry in entries.take_while(|_| Instant::now() < until) {
        let Some(mut name) = entry.path().strip_prefix(folder).ok().and_then(Path::to_str).map(str::to_owned) else {
            continue;
        };
        if entry.file_type().is_some_and(|kind| kind.is_dir()) {
            name.push('/');
        }
        if let Some(rank) = rank(&query, &name).filter(|_| !denied(entry.path())) {
            found.push((rank, name.len(), name));
        }
    }
    found.sort();
    found.into_iter().take(MOST).map(|(_, _, name)| name).collect()
}

/// How well a path fits; smaller is better. `None` where it does not.
fn rank(query: &str, path: &str) -> Option<u32> {
    let (query, path) = (query.to_lowercase(), path.to_lowercase());
    let plain = path.trim_end_matches('/');
    let name = plain.rsplit('/').next().unwrap_or(plain);
    let mut letters = path.chars();
    Some(match () {
        () if query.is_empty() || name == query || path == query => 0,
        () if name.starts_with(&query) => 1,
        () if path.starts_with(&query) => 2,
        () if name.contains(&query) => 3,
        () if path.contains(&query) => 4,
        () if query.chars().all(|letter| letters.any(|other| other == letter)) => 5,
        () => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn names_that_fit_better_come_first() {
        for (query, path, expected) in [
            ("", "a.txt", Some(0)),
            ("main.rs", "src/main.rs", Some(0)),
            ("MAIN", "src/main.rs", Some(1)),
            ("src/", "src/main.rs", Some(2)),
            ("ain", "src/main.rs", Some(3)),
            ("c/ma", "src/main.rs", Some(4)),
            ("smrs", "src/main.rs", Some(5)),
            ("xyz", "src/main.rs", None),
            ("src", "src/", Some(0)),
        ] {
            assert_eq!(rank(query, path), expected, "{query} in {path}");
        }
    }

    #[test]
    fn ignored_and_denied_files_are_not_suggested() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("src/deep")).unwrap();
        std::fs::create_dir(root.join(".git")).unwrap();
        for (name, text) in
            [("src/app.rs", ""), ("src/deep/apple.txt", ""), ("app.log", ""), ("app.key", ""), (".gitignore", "*.log")]
        {
            std::fs::write(root.join(name), text).unwrap();
        }
        let denied: Denied = Arc::new(|path: &Path| path.extension().is_some_and(|kind| kind == "key"));
        assert_eq!(suggest_files(root, "app", &denied), ["src/app.rs", "src/deep/apple.txt"]);
        assert_eq!(suggest_files(root, "", &denied), ["src/", ".gitignore"]);
        assert_eq!(suggest_files(root, "nothing like it", &denied), Vec::<String>::new());
    }
}
