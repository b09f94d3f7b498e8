use super::*;
use std::fs::{File, create_dir_all, write};

const OLD: &str = "00000000-0000-4000-8000-000000000001";
const NEW: &str = "00000000-0000-4000-8000-000000000002";
const OWN: &str = "00000000-0000-4000-8000-000000000003";

fn age(path: &Path, days: u32) {
    File::open(path).unwrap().set_modified(SystemTime::now() - DAY * days).unwrap();
}

fn put(root: &Path, name: &str, days: u32) -> PathBuf {
    let path = root.join(name);
    create_dir_all(path.parent().unwrap()).unwrap();
    write(&path, "{}").unwrap();
    age(&path, days);
    path
}

fn sweep(root: &Path, days: u64) -> usize {
    remove_old(root, days, OWN, Duration::from_secs(10))
}

#[test]
fn old_conversations_go_with_what_belongs_to_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let gone = [
        put(root, &format!("projects/-a/{OLD}.jsonl"), 40),
        put(root, &format!("projects/-a/{OLD}/subagents/agent-x.jsonl"), 40),
        put(root, &format!("file-history/{OLD}/x"), 40),
        put(root, &format!("debug/{OLD}.txt"), 40),
    ];
    let stays = [
        put(root, &format!("projects/-b/{NEW}.jsonl"), 29),
        put(root, &format!("projects/-b/{NEW}/x"), 40),
        put(root, &format!("projects/-b/{OWN}.jsonl"), 40),
        put(root, "projects/-b/memory/MEMORY.md", 400),
        put(root, "projects/-b/notes.jsonl", 400),
        put(root, "projects/-b/other.txt", 400),
        put(root, "settings.json", 400),
    ];
    assert_eq!(sweep(root, 0), 0, "no number of days is no wish");
    assert_eq!(sweep(root, u64::MAX), 0);
    assert_eq!(sweep(root, 30), 1);
    assert!(gone.iter().all(|path| !path.exists()), "{gone:?}");
    assert!(stays.iter().all(|path| path.exists()));
    assert!(!root.join("projects/-a").exists(), "an empty folder goes, too");

    let later = put(root, &format!("projects/-c/{OLD}.jsonl"), 40);
    assert_eq!(sweep(root, 30), 0, "once a day");
    age(&root.join(MARK), 2);
    assert_eq!((sweep(root, 30), later.exists()), (1, false));
}

#[test]
fn links_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let precious = put(root, &format!("precious/{OLD}.jsonl"), 400);
    create_dir_all(root.join("config/projects/-a")).unwrap();
    std::os::unix::fs::symlink(root.join("precious"), root.join("config/projects/-link")).unwrap();
    std::os::unix::fs::symlink(&precious, root.join(format!("config/projects/-a/{OLD}.jsonl"))).unwrap();
    assert_eq!(sweep(&root.join("config"), 1), 0);
    assert!(precious.exists());
}

#[test]
fn work_without_time_is_left_for_later() {
    let folder = tempfile::tempdir().unwrap();
    let old = put(folder.path(), &format!("projects/-a/{OLD}.jsonl"), 40);
    assert_eq!(remove_old(folder.path(), 30, OWN, Duration::ZERO), 0);
    assert!(old.exists() && !folder.path().join(MARK).exists());
    assert_eq!(sweep(folder.path(), 30), 1);
}
