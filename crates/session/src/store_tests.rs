use super::*;
use std::fs;
use std::time::Duration;

const ONE: &str = "11111111-2222-4333-8444-555555555555";
const TWO: &str = "22222222-2222-4333-8444-555555555555";

#[test]
fn slugs_are_what_other_programs_compute() {
    for (path, name) in [
        ("/home/me/my project.rs", "-home-me-my-project-rs"),
        ("/", "-"),
        ("/w/é", "-w--"),
        ("/w/e\u{301}", "-w--"),
        ("/w/😀", "-w---"),
        ("/A_b-c9", "-A-b-c9"),
    ] {
        assert_eq!(slug(Path::new(path)), name, "{path}");
    }
}

#[test]
fn long_slugs_are_cut_and_hashed_over_the_whole_path() {
    let long = format!("/{}", "a".repeat(250));
    let name = slug(Path::new(&long));
    let (kept, hash) = name.split_at(200);
    assert_eq!(kept, format!("-{}", "a".repeat(199)));
    // By hand: JavaScript's `h = (h << 5) - h + code | 0` over the path, absolute, in base 36.
    let mut expected = 0_i64;
    for byte in long.bytes() {
        expected = i64::from((expected * 31 + i64::from(byte)) as i32);
    }
    assert_eq!(hash, format!("-{}", base36(expected.unsigned_abs() as u32)));
    assert_ne!(name, slug(Path::new(&format!("{long}b"))));
    assert_eq!((base36(0), base36(35), base36(36)), ("0".into(), "z".into(), "10".into()));
}

fn store(config: &Path) -> Store {
    Store::new(config, Path::new("/w"), None)
}

fn write(path: &Path, text: &str, age: u64) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
}

const PROMPT: &str = "{\"type\":\"user\",\"uuid\":\"u\",\"message\":{\"role\":\"user\",\"content\":\"hi\"}}\n";

#[test]
fn names_never_leave_the_projects_folder() {
    let config = tempfile::tempdir().unwrap();
    let projects = config.path().join("projects");
    for name in ["..", ".", "", "/etc", "a/b", "a/", "../x"] {
        assert_eq!(Store::new(config.path(), Path::new("/w"), Some(name)).project, projects.join("-w"), "{name:?}");
    }
    assert_eq!(Store::new(config.path(), Path::new("/w"), Some("fixed")).project, projects.join("fixed"));
    let store = store(config.path());
    for id in ["../../etc/passwd", "/etc/passwd", "a\0b", ".."] {
        for path in [store.path(id), store.side_dir(id), store.agent_path(ONE, id)] {
            assert!(path.starts_with(&projects) && !path.components().any(|part| part == Component::ParentDir));
        }
        assert_eq!(store.find(id), None);
    }
}

#[test]
fn a_session_is_found_here_first_and_then_anywhere() {
    let config = tempfile::tempdir().unwrap();
    let here = store(config.path());
    let there = Store::new(config.path(), Path::new("/other"), None);
    assert_eq!(here.find(ONE), None);
    write(&there.path(ONE), PROMPT, 0);
    assert_eq!(here.find(ONE), Some(there.path(ONE)));
    write(&here.path(ONE), PROMPT, 50);
    assert_eq!(here.find(ONE), Some(here.path(ONE)));
    write(&here.path(TWO), "", 0);
    assert_eq!(here.find(TWO), None, "an empty file is no session");
    assert_eq!(here.find(&ONE.replace('-', "")), None, "only the usual form of a UUID");
}

#[test]
fn a_session_is_found_by_its_last_title() {
    let config = tempfile::tempdir().unwrap();
    let store = store(config.path());
    let title =
        |name: &str| format!("{{\"type\":\"custom-title\",\"customTitle\":\"{name}\",\"sessionId\":\"{ONE}\"}}\n");
    let filler = format!("{{\"type\":\"x\",\"pad\":\"{}\"}}\n", "y".repeat(200_000));
    let decoy = "{\"type\":\"user\",\"message\":{\"customTitle\":\"decoy\"}}\n";
    write(&store.path(ONE), &format!("{}{filler}{decoy}{PROMPT}", title("my work")), 0);
    assert_eq!(store.find("my work"), Some(store.path(ONE)));
    write(&store.path(ONE), &format!("{}{filler}{}", title("my work"), title("renamed")), 0);
    for (name, found) in [("renamed", true), ("my work", false), ("decoy", false), ("my", false), ("", false)] {
        assert_eq!(store.find(name).is_some(), found, "{name:?}");
    }
}

#[test]
fn the_newest_is_a_conversation_of_this_project() {
    let config = tempfile::tempdir().unwrap();
    let store = store(config.path());
    assert_eq!(store.newest(), None);
    write(&store.path(ONE), PROMPT, 100);
    write(&store.path(TWO), &PROMPT.replace("{\"type\"", "{\"isSidechain\":true,\"type\""), 0);
    write(&store.path("33333333-2222-4333-8444-555555555555"), "{\"type\":\"tag\",\"tag\":\"x\"}\n", 1);
    write(&store.path("44444444-2222-4333-8444-555555555555"), "", 2);
    write(&store.path("not-an-id"), PROMPT, 3);
    write(&Store::new(config.path(), Path::new("/other"), None).path(TWO), PROMPT, 0);
    assert_eq!(store.newest(), Some((ONE.into(), store.path(ONE))));
    write(&store.path(TWO), PROMPT, 10);
    assert_eq!(store.newest(), Some((TWO.into(), store.path(TWO))));
}
