//! How the repository stands, in the first request: read disarmed, quickly, or not at all.

use super::{Seen, claude, plain, settings, with, write};
use serde_json::json;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;
use testkit::World;

const HEAD: &str = "# Git when this session began";

/// The deadline of users is short; a test's machine is busy.
const PATIENT: (&str, &str) = ("RALPH_TEST_GIT_DEADLINE_MS", "20000");

fn git(world: &World, args: &[&str]) {
    let mut words = vec!["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"];
    words.extend(args);
    let words: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let script = format!("git {}", words.join(" "));
    let done = world.run(std::path::Path::new("/bin/sh")).args(["-c", &script]).finish().unwrap();
    assert_eq!(done.code, Some(0), "{script}: {}", done.stderr);
}

#[test]
fn branch_status_and_last_commits_are_told() {
    let world = plain();
    write(&world.wd().join("dirty.txt"), "x");
    write(&world.wd().join("b.txt"), "x");
    git(&world, &["checkout", "-q", "-b", "topic"]);
    git(&world, &["add", "b.txt"]);
    git(&world, &["commit", "-q", "-m", "a second one"]);
    let seen = with(&world, &[PATIENT], &[]);
    let system = seen.system();
    for part in [HEAD, "Branch: topic", "?? dirty.txt", "a second one", "start"] {
        assert!(system.contains(part), "{part}: {system}");
    }
    assert_eq!(seen.outcome.stderr, "");
}

#[test]
fn a_session_sends_the_same_state_with_every_request() {
    let turns = json!([
        {"content": [{"type": "tool_use", "name": "Write", "input": {"file_path": "$WD/new.txt", "content": "x"}}]},
        {"content": [{"type": "text", "text": "done"}]},
    ]);
    let world = crate::common::world(turns);
    let seen = with(&world, &[PATIENT], &["--permission-mode", "acceptEdits"]);
    let systems: Vec<String> = seen.requests.iter().map(|request| request.body["system"].to_string()).collect();
    assert_eq!(systems.len(), 2);
    assert_eq!(systems[0], systems[1], "a byte that moves is a cache miss");
    assert!(!systems[0].contains("new.txt"));
}

#[test]
fn nothing_is_told_where_nobody_wants_it_or_there_is_nothing() {
    let world = plain();
    for (env, more) in [
        (&[("CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS", "1")][..], &[][..]),
        (&[], &["--bare"][..]),
        (&[], &["--system-prompt", "Mine."]),
        (&[("PATH", "/nonexistent")], &[]),
    ] {
        let seen = with(&world, env, more);
        assert!(!seen.system().contains(HEAD), "{env:?} {more:?}: {}", seen.told());
        assert_eq!(seen.outcome.code, Some(0), "{}", seen.told());
    }
    settings(&world, &json!({"includeGitInstructions": false}));
    assert!(!with(&world, &[], &[]).system().contains(HEAD));
    settings(&world, &json!({}));
    std::fs::remove_dir_all(world.wd().join(".git")).unwrap();
    assert!(!with(&world, &[], &[]).system().contains(HEAD), "no repository");
}

/// Everything in a repository that git may start by itself.
#[test]
fn adversary_nothing_that_the_repository_names_runs() {
    let world = plain();
    let mark = world.home().join("ran");
    let evil = world.wd().join("evil.sh");
    write(&evil, &format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", mark.display()));
    std::fs::set_permissions(&evil, std::fs::Permissions::from_mode(0o755)).unwrap();
    write(&world.wd().join("a.txt"), "a\n");
    write(&world.wd().join(".gitattributes"), "* filter=evil diff=evil merge=evil\n");
    git(&world, &["add", "-A"]);
    git(&world, &["commit", "-q", "-m", "armed"]);
    let program = evil.display().to_string();
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "gpg.program",
        "pager.log",
        "pager.status",
        "alias.status",
        "alias.log",
        "log.showSignature",
    ] {
        let value = match key {
            "log.showSignature" => "true".to_owned(),
            key if key.starts_with("alias.") => format!("!{program}"),
            _ => program.clone(),
        };
        git(&world, &["config", key, &value]);
    }
    for hook in ["post-index-change", "fsmonitor-watchman", "post-checkout", "reference-transaction"] {
        let file = world.wd().join(".git/hooks").join(hook);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::copy(&evil, &file).unwrap();
    }
    let _ = std::fs::remove_file(&mark);
    // Changed behind git's back, so that its content has to be looked at.
    write(&world.wd().join("a.txt"), "b\n");
    let seen = with(&world, &[PATIENT], &[]);
    assert!(seen.system().contains(" M a.txt"), "git was asked: {}", seen.system());
    assert!(!mark.exists(), "something ran: {}", std::fs::read_to_string(&mark).unwrap_or_default());
    assert_eq!(seen.outcome.code, Some(0), "{}", seen.told());
}

#[test]
fn a_git_that_hangs_costs_no_more_than_its_deadline() {
    let world = plain();
    let bin = world.home().join("bin");
    write(&bin.join("git"), "#!/bin/sh\nsleep 60\n");
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let seen = Seen::of(&world, claude(&world).args(super::STREAM).env("PATH", &path));
    assert_eq!(seen.outcome.code, Some(0), "{}", seen.told());
    assert!(!seen.system().contains(HEAD));
    assert!(seen.outcome.elapsed < Duration::from_secs(10), "{:?}", seen.outcome.elapsed);
    assert!(!seen.outcome.lingered, "git outlived the run");
}

#[test]
fn many_changed_files_are_bounded() {
    let world = plain();
    for number in 0..300 {
        write(&world.wd().join(format!("f{number}.txt")), "x");
    }
    let system = with(&world, &[PATIENT], &[]).system();
    assert!(system.contains(HEAD) && system.contains("and 250 more"), "{system}");
}
