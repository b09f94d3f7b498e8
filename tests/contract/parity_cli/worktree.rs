//! `-w`, `--worktree [name]`.

use super::{claude, finish, here, plain, refused, run};
use crate::common::{self, bash, say};
use serde_json::json;

#[test]
fn the_session_works_in_a_checkout_of_its_own() {
    let world = common::world(json!([bash("pwd; git branch --show-current; touch made"), say("done")]));
    let words = ["-p", "go", "-w", "wt1", "--allowedTools", "Bash", "--output-format", "stream-json", "--verbose"];
    let outcome = finish(claude(&world).args(words));
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    let root = world.wd().join(".claude/worktrees/wt1");
    let init = outcome.events().into_iter().find(|event| event["subtype"] == "init").expect("init");
    assert_eq!(init["cwd"], json!(root));
    let seen = common::tool_results(&outcome).join("\n");
    assert!(seen.contains(&root.display().to_string()) && seen.contains("worktree-wt1"), "{seen}");
    assert!(root.join("made").exists() && world.read("made").is_none());
    let status = finish(world.run(std::path::Path::new("/bin/sh")).args(["-c", "git status --porcelain"]));
    assert_eq!(status.lines, [] as [&str; 0], "the folder of worktrees is no change of the project");

    // The same name again is the same checkout.
    let again = run(&world, &["-p", "go", "--worktree=wt1"]);
    assert_eq!((again.code, &*again.stderr), (Some(0), ""));
    assert!(root.join("made").exists());
}

#[test]
fn without_a_name_it_gets_one() {
    let world = plain();
    for _ in 0..2 {
        assert_eq!(run(&world, &["-p", "hi", "-w"]).code, Some(0));
    }
    let folder = world.wd().join(".claude/worktrees");
    let made = folder.read_dir().expect("worktrees").flatten().filter(|entry| entry.path().is_dir()).count();
    assert_eq!(made, 2);
}

#[test]
fn what_can_be_no_worktree_is_refused_and_leads_nowhere() {
    let world = plain();
    let words = |name: &str| claude(&world).args(["-p", "hi", &format!("--worktree={name}")]);
    for name in ["../x", "a/b", "#7", "https://example.test/pull/7", ".git"] {
        refused(&world, words(name), "is no name for a worktree");
    }
    here(&world, ".claude/worktrees/planted/file", "x");
    refused(&world, words("planted"), "exists and is no worktree");
    let outside = world.home().join("outside");
    std::fs::create_dir_all(&outside).expect("a folder");
    std::os::unix::fs::symlink(&outside, world.wd().join(".claude/worktrees/link")).expect("a link");
    refused(&world, words("link"), "exists and is no worktree");
    std::fs::remove_dir_all(world.wd().join(".claude")).expect("removed");
    std::os::unix::fs::symlink(&outside, world.wd().join(".claude")).expect("a link");
    refused(&world, words("x"), "a symbolic link is in the place");
    assert!(!outside.join("worktrees/x").exists(), "nothing is checked out elsewhere");
    std::fs::remove_file(world.wd().join(".claude")).expect("removed");
    std::fs::remove_dir_all(world.wd().join(".git")).expect("removed");
    let made = finish(world.run(std::path::Path::new("/bin/sh")).args(["-c", "git init -q ."]));
    assert_eq!(made.code, Some(0));
    refused(&world, words("x"), "has no commit yet");
    assert!(!world.wd().join(".claude").exists(), "nothing is left behind");
    std::fs::remove_dir_all(world.wd().join(".git")).expect("removed");
    refused(&world, words("x"), "is not in a git repository");
}
