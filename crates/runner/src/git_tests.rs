//! Against a real git in scratch repositories.

use super::*;
use crate::helper::capture;

const OUTPUT_MAX: usize = 64 * 1024;

fn env() -> Env {
    vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()), ("HOME".into(), "/nonexistent".into())]
}

async fn sh(folder: &Path, script: &str) {
    let mut env = env();
    for (name, value) in [
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "test"),
        ("GIT_AUTHOR_EMAIL", "test@localhost"),
        ("GIT_COMMITTER_NAME", "test"),
        ("GIT_COMMITTER_EMAIL", "test@localhost"),
    ] {
        env.push((name.into(), value.into()));
    }
    let done = capture("/bin/sh".as_ref(), &["-ec", script], folder, env, DEADLINE, OUTPUT_MAX).await.unwrap();
    assert!(done.exit.success(), "{script}: {}", String::from_utf8_lossy(&done.stderr));
}

fn block<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

#[test]
fn changes_are_commits_edits_and_new_files_but_not_our_own() {
    block(async {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        sh(folder, "git init -q . && echo a > a && echo b > b && git add . && git commit -qm start").await;
        let git = Git::open(folder, &env(), None).await.unwrap();
        let before = git.snapshot().await.unwrap();
        sh(folder, "mkdir .ralph && echo x > .ralph/log").await;
        assert_eq!(git.snapshot().await.unwrap(), before);
        assert!(!git.changes(&before).await.any());
        sh(folder, "echo more >> a && git commit -qam 'one step' && rm b && printf '1\\n2\\n' > new").await;
        let changes = git.changes(&before).await;
        let files: Vec<_> = changes.files.iter().map(|file| (file.path.as_str(), file.added, file.removed)).collect();
        assert_eq!(files, [("a", 1, 0), ("b", 0, 1), ("new", 2, 0)]);
        assert!(changes.commits[0].ends_with("one step") && changes.commits.len() == 1);
        let after = git.snapshot().await.unwrap();
        assert_ne!(after, before);
        sh(folder, "echo 3 >> new").await;
        let touched = git.changes(&after).await.files;
        let touched: Vec<_> = touched.iter().map(|file| (file.path.as_str(), file.added, file.removed)).collect();
        assert_eq!(touched, [("new", 1, 0)], "what lay about before is not counted again");
        git.commit("iteration 1").await.unwrap();
        assert_eq!(git.changes(&after).await.commits.len(), 1);
        git.commit("nothing to do").await.unwrap();
    });
}

#[test]
fn a_repository_without_commits_and_a_folder_without_a_repository_are_fine() {
    block(async {
        let dir = tempfile::tempdir().unwrap();
        assert!(Git::open(dir.path(), &env(), None).await.is_none());
        sh(dir.path(), "git init -q . && echo a > a").await;
        let git = Git::open(dir.path(), &env(), None).await.unwrap();
        let before = git.snapshot().await.unwrap();
        sh(dir.path(), "echo b > b").await;
        assert_eq!(git.changes(&before).await.files.len(), 1);
    });
}

#[test]
fn adversary_25_nothing_the_repository_says_is_run() {
    block(async {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        sh(folder, "git init -q . && echo a > a && git add . && git commit -qm start").await;
        let trap = folder.join("trap.sh");
        std::fs::write(&trap, "#!/bin/sh\ntouch \"$(dirname \"$0\")/sprung\"\ncat\n").unwrap();
        let t = trap.display();
        sh(
            folder,
            &format!(
                "chmod +x trap.sh; for k in core.fsmonitor core.pager diff.external filter.f.clean filter.f.smudge \
                 filter.f.process diff.d.textconv diff.d.command gpg.program core.sshCommand core.editor; do \
                 git config $k {t}; done; git config core.hooksPath {0}/hooks; git config log.showSignature true; \
                 git config commit.gpgsign true; git config filter.f.required true; \
                 printf '[filter \"g\"]\\nclean = {t}\\n' > inc; git config include.path {0}/inc; \
                 mkdir hooks; for h in pre-commit post-commit post-index-change commit-msg; do cp trap.sh hooks/$h; done; \
                 sed -i 's|$(dirname \"$0\")|{0}|' hooks/*; \
                 echo '* filter=f diff=d' > .gitattributes; echo 'a filter=g' >> .gitattributes; echo more >> a",
                folder.display()
            ),
        )
        .await;
        let _ = std::fs::remove_file(folder.join("sprung"));
        let git = Git::open(folder, &env(), None).await.unwrap();
        let before = git.snapshot().await.unwrap();
        git.changes(&before).await;
        git.commit("x").await.unwrap();
        assert!(!folder.join("sprung").exists(), "something ran");
    });
}

/// Between two looks at the repository an agent has worked in it.
#[test]
fn adversary_25_what_is_added_later_is_not_run_either() {
    block(async {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        sh(folder, "git init -q . && echo a > a && git add . && git commit -qm start").await;
        let git = Git::open(folder, &env(), None).await.unwrap();
        let before = git.snapshot().await.unwrap();
        let trap = format!("touch {}/sprung; cat", folder.display());
        sh(
            folder,
            &format!(
                "git config filter.late.clean '{trap}'; git config filter.late.required true; git config gc.auto 1; \
                 git config gc.recentObjectsHook '{trap}'; git config hook.late.command '{trap}'; \
                 git config hook.late.event pre-commit; git config diff.late.textconv '{trap}'; \
                 echo '* filter=late diff=late' > .gitattributes; echo b > a"
            ),
        )
        .await;
        let _ = std::fs::remove_file(folder.join("sprung"));
        assert_ne!(git.snapshot().await.unwrap().tree, before.tree);
        assert!(git.changes(&before).await.files.iter().any(|file| file.path == "a"));
        git.commit("x").await.unwrap();
        assert!(!folder.join("sprung").exists(), "something ran");
    });
}

#[test]
fn a_folder_within_a_repository_sees_its_own_files_change() {
    block(async {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("sub");
        sh(
            dir.path(),
            "git init -q . && mkdir sub && echo a > sub/a && echo top > top && git add . && git commit -qm x",
        )
        .await;
        let git = Git::open(&folder, &env(), None).await.unwrap();
        sh(dir.path(), "echo one >> sub/a && echo one > sub/new && echo elsewhere >> top").await;
        let before = git.snapshot().await.unwrap();
        sh(dir.path(), "echo two >> sub/a && echo two >> sub/new").await;
        let after = git.snapshot().await.unwrap();
        assert_ne!(after.tree, before.tree, "files that were changed before and again are a change");
        let changes = git.changes(&before).await;
        let files: Vec<_> = changes.files.iter().map(|file| (file.path.as_str(), file.added, file.removed)).collect();
        assert_eq!(files, [("a", 1, 0), ("new", 1, 0)]);
        sh(dir.path(), "git checkout -q sub/a && rm sub/new").await;
        let changes = git.changes(&after).await;
        let files: Vec<_> = changes.files.iter().map(|file| (file.path.as_str(), file.added, file.removed)).collect();
        assert_eq!(files, [("a", 0, 2), ("new", 0, 2)], "what is put back or removed is a change too");
    });
}

/// The agent makes a repository in the repository, with a filter: `git add -A` would run it, outside of every box.
#[test]
fn a_nested_repository_runs_nothing_and_is_seen() {
    block(async {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path();
        sh(folder, "git init -q . && echo a > a && git add . && git commit -qm start").await;
        let git = Git::open(folder, &env(), None).await.unwrap();
        let before = git.snapshot().await.unwrap();
        let trap = format!("{}/trap.sh", folder.display());
        let nest = format!(
            "printf '#!/bin/sh\\ntouch {0}/sprung\\ncat\\n' > trap.sh; chmod +x trap.sh; git init -q sub; cd sub; echo x > x; \
             git add x; git commit -qm x; git config filter.f.clean {trap}; git config core.fsmonitor {trap}; \
             echo '* filter=f' > .gitattributes; echo y > x",
            folder.display()
        );
        sh(folder, &nest).await;
        let _ = std::fs::remove_file(folder.join("sprung"));
        let changes = git.changes(&before).await;
        assert_eq!(git.nested(&changes), ["sub/"], "{changes:?}");
        git.commit("one").await.unwrap();
        let committed = git.snapshot().await.unwrap();
        sh(folder, "cd sub && git -c filter.f.clean=cat -c core.fsmonitor=false commit -qam z && echo q > x").await;
        let _ = std::fs::remove_file(folder.join("sprung"));
        let changes = git.changes(&committed).await;
        assert_eq!(git.nested(&changes), ["sub"], "a gitlink that moved: {changes:?}");
        git.commit("two").await.unwrap();
        git.snapshot().await.unwrap();
        assert!(!folder.join("sprung").exists(), "the nested repository's filter ran");
        sh(folder, "git log --oneline | grep -c . | grep -qx 3 && git ls-files -s sub | grep -q ^160000").await;
    });
}
