//! A repository's configuration names programs for every occasion; none of them runs when we call git.
#![expect(clippy::disallowed_methods, reason = "tests make repositories with the caller's git")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use ralph_process::{Env, Git};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const DEADLINE: Duration = Duration::from_secs(30);

fn env() -> Env {
    vec![("PATH".into(), std::env::var_os("PATH").unwrap_or_default()), ("HOME".into(), "/nonexistent".into())]
}

fn plain_git(folder: &Path, args: &[&str]) {
    let status = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@localhost"])
        .args(args)
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{args:?}");
}

/// A repository in which everything that can name a program names one that leaves a mark.
fn armed(folder: &Path) {
    plain_git(folder, &["init", "-q", "-b", "main"]);
    std::fs::write(folder.join("a.txt"), "a\n").unwrap();
    std::fs::write(folder.join(".gitattributes"), "*.txt filter=evil diff=evil\n").unwrap();
    plain_git(folder, &["add", "-A"]);
    plain_git(folder, &["commit", "-q", "-m", "start"]);
    let mark = format!("touch {}/mark; cat", folder.display());
    for key in [
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "gpg.program",
        "uploadpack.packObjectsHook",
        "credential.helper",
        "core.askPass",
    ] {
        plain_git(folder, &["config", key, &mark]);
    }
    plain_git(folder, &["config", "filter.evil.required", "true"]);
    plain_git(folder, &["config", "log.showSignature", "true"]);
    let hook = folder.join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    std::fs::write(&hook, format!("#!/bin/sh\n{mark}\n")).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn adversary_25_nothing_that_a_repository_names_runs() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let repository = root.join("repository");
    std::fs::create_dir(&repository).unwrap();
    armed(&repository);
    let (tree, clone) = (root.join("tree"), root.join("clone"));
    run(async {
        let git = Git::find(&env()).expect("tests need git").without_filters(&repository, DEADLINE).await;
        for args in [
            &["status", "--porcelain"][..],
            &["diff", "--no-ext-diff", "--no-textconv", "HEAD"],
            &["log", "-1"],
            &["worktree", "add", "--detach", tree.to_str().unwrap(), "HEAD"],
        ] {
            let words: Vec<&OsStr> = args.iter().map(OsStr::new).collect();
            git.run(&repository, &words, DEADLINE).await.unwrap_or_else(|why| panic!("{args:?}: {why}"));
        }
        let words = ["clone", "-q", "--", repository.to_str().unwrap(), clone.to_str().unwrap()];
        git.run(&root, &words.map(OsStr::new), DEADLINE).await.unwrap();
    });
    assert_eq!(std::fs::read_to_string(tree.join("a.txt")).unwrap(), "a\n");
    assert!(clone.join("a.txt").is_file());
    assert!(!repository.join("mark").exists(), "something ran");
}

#[test]
fn a_failure_is_told_in_gits_own_words() {
    let folder = tempfile::tempdir().unwrap();
    let git = Git::find(&env()).expect("tests need git");
    let failed = run(git.run(folder.path(), &["rev-parse", "HEAD"].map(OsStr::new), DEADLINE)).unwrap_err().to_string();
    assert!(failed.contains("not a git repository"), "{failed}");
    assert!(Git::find(&vec![("PATH".into(), "relative:/nonexistent".into())]).is_none());
}
