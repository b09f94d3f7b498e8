//! `ralph link`: a `claude` on the PATH, and never over somebody else's.

use super::{Run, World, binary, finish, plain, ralph, run};
use std::path::Path;

fn link(world: &World, words: &[&str], path: &str) -> Run {
    ralph(world, &[&["link"], words].concat()).env("PATH", path)
}

/// What the link leads to.
fn target(link: &Path) -> std::path::PathBuf {
    std::fs::read_link(link).unwrap()
}

#[test]
fn it_makes_the_link_once_and_says_what_is_missing() {
    let world = plain();
    let folder = world.home().join(".local/bin");
    let made = finish(link(&world, &[], "/usr/bin:/bin"));
    let claude = folder.join("claude");
    assert_eq!((made.code, &*made.stderr), (Some(0), ""));
    assert_eq!(
        made.lines,
        [
            format!("{} -> {}", claude.display(), binary().display()),
            format!("{} is not on your PATH yet.", folder.display()),
        ]
    );
    assert_eq!(target(&claude), binary());
    let again = finish(link(&world, &[], "/usr/bin:/bin"));
    assert_eq!(again.code, Some(0));
    assert_eq!(again.lines[0], format!("{} is already a link to this binary.", claude.display()));
    let works = finish(world.run(&claude).args(["--version"]));
    assert_eq!(works.lines, ["2.1.325 (Claude Code)"]);
}

#[test]
fn the_hint_knows_the_path() {
    let world = plain();
    let [ours, other] = ["ours", "other"].map(|name| world.home().join(name));
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("claude"), "").unwrap();
    let (ours_text, other_text) = (ours.display().to_string(), other.display().to_string());
    for (path, hint) in [
        (format!("{ours_text}:/usr/bin"), None),
        (format!("{ours_text}:{other_text}"), None),
        (
            format!("{other_text}:{ours_text}"),
            Some(format!("Another claude comes first on your PATH: {other_text}/claude. Ours is {ours_text}/claude.")),
        ),
        (other_text.clone(), Some(format!("{ours_text} is not on your PATH yet."))),
    ] {
        let _ = std::fs::remove_file(ours.join("claude"));
        let outcome = finish(link(&world, &[&ours_text], &path));
        assert_eq!(outcome.code, Some(0), "{path}");
        assert_eq!(outcome.lines.get(1), hint.as_ref(), "{path}");
        // Somebody who asks again still has the same question.
        let again = finish(link(&world, &[&ours_text], &path));
        assert_eq!(again.lines.get(1), hint.as_ref(), "{path}, again");
    }
}

#[test]
fn the_folder_may_be_relative() {
    let world = plain();
    let outcome = run(&world, &["link", "tools/bin"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(target(&world.wd().join("tools/bin/claude")), binary());
}

#[test]
fn nothing_is_ever_overwritten() {
    type Make = fn(&Path);
    let rows: [(&str, Make); 4] = [
        ("a file", |path| std::fs::write(path, "theirs").unwrap()),
        ("a folder", |path| std::fs::create_dir(path).unwrap()),
        ("another link", |path| std::os::unix::fs::symlink("/bin/sh", path).unwrap()),
        ("a dangling link", |path| std::os::unix::fs::symlink("/nowhere/claude", path).unwrap()),
    ];
    for (what, make) in rows {
        let world = plain();
        let folder = world.home().join(".local/bin");
        std::fs::create_dir_all(&folder).unwrap();
        let claude = folder.join("claude");
        make(&claude);
        let before = (std::fs::read_link(&claude).ok(), std::fs::read_to_string(&claude).ok());
        let outcome = run(&world, &["link"]);
        assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0), "{what}");
        let line = format!(
            "Error: {} exists and is not ours; it stays as it is. Choose another folder: ralph link FOLDER",
            claude.display()
        );
        assert_eq!(outcome.stderr, line, "{what}");
        assert_eq!((std::fs::read_link(&claude).ok(), std::fs::read_to_string(&claude).ok()), before, "{what}");
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let world = plain();
    std::fs::write(world.wd().join("file"), "").unwrap();
    let outcome = run(&world, &["link", "file/bin"]);
    assert_eq!(outcome.code, Some(1));
    let start = format!("Error: {}/file/bin/claude cannot be made: ", world.wd().display());
    assert!(outcome.stderr.starts_with(&start), "{}", outcome.stderr);
}

#[test]
fn options_are_not_folders() {
    let world = plain();
    let help = run(&world, &["link", "--help"]);
    assert!(help.code == Some(0) && help.lines[0] == "Usage: ralph link [FOLDER]", "{:?}", help.lines);
    for words in [&["link", "--force"][..], &["link", "a", "b"]] {
        let outcome = run(&world, words);
        assert_eq!(outcome.code, Some(1), "{words:?}: {:?}", outcome.lines);
        assert!(outcome.stderr.contains("usage: ralph link [FOLDER]"), "{words:?}: {}", outcome.stderr);
    }
    assert_eq!(world.wd().read_dir().unwrap().count(), 1, "only .git");
}
