//! Git calls of ours that run what the repository's configuration says.

use crate::kit::{binary, finish, say, script, stream};
use serde_json::{Value, json};
use std::path::Path;
use testkit::{Run, World};

/// Everything in a repository that makes git run a program, pointing at one that leaves a trace.
const TRAPS: &str = r#"
trap="$PWD/trap.sh"
printf '#!/bin/sh\ntouch "%s/sprung-$(basename "$0")"\ncat 2>/dev/null\n' "$HOME" > trap.sh
chmod +x trap.sh
for key in core.fsmonitor core.pager core.editor core.sshCommand core.askPass core.gitProxy core.alternateRefsCommand \
    diff.external filter.f.clean filter.f.smudge filter.f.process diff.d.textconv diff.d.command merge.m.driver \
    gpg.program gpg.ssh.program credential.helper sequence.editor uploadpack.packObjectsHook gc.recentObjectsHook \
    hook.h.command trailer.t.command pager.status pager.log pager.diff interactive.diffFilter init.templateDir; do
    git config "$key" "$trap"
done
git config filter.f.required true
git config hook.h.event pre-commit
git config log.showSignature true
git config commit.gpgSign true
git config gc.auto 1
git config status.submoduleSummary true
git config user.email '$(touch $HOME/sprung-email)'
git config user.name '`touch $HOME/sprung-name`'
git config alias.status '!touch $HOME/sprung-alias'
printf '[filter "g"]\n\tclean = %s\n' "$trap" > included
git config include.path "$PWD/included"
mkdir -p hooks .git/hooks
for hook in pre-commit post-commit commit-msg prepare-commit-msg post-index-change post-checkout reference-transaction \
    pre-auto-gc fsmonitor-watchman pre-push post-merge; do
    cp trap.sh "hooks/$hook"; cp trap.sh ".git/hooks/$hook"
done
git config core.hooksPath "$PWD/hooks"
printf '* filter=f diff=d\na.txt filter=g\n' > .gitattributes
"#;

fn trapped(turns: Value) -> World {
    let world = World::new([("a.txt", "a\n"), (".ralph/prompt.md", "# Go\n")], script(turns)).unwrap();
    let state = json!({"projects": {world.wd().display().to_string(): {"hasTrustDialogAccepted": true}}});
    std::fs::write(world.home().join(".claude.json"), state.to_string()).unwrap();
    let set = Run::new(Path::new("/bin/sh"), world.wd()).named("sh").args(["-c", TRAPS]);
    let set = set.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &world.home().to_string_lossy());
    let outcome = finish(set);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    std::fs::write(world.wd().join("a.txt"), "changed\n").unwrap();
    // Setting the traps may have sprung one.
    for name in sprung(&world) {
        std::fs::remove_file(world.home().join(name)).unwrap();
    }
    world
}

fn sprung(world: &World) -> Vec<String> {
    let names = std::fs::read_dir(world.home()).unwrap().flatten();
    names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("sprung"))
        .collect()
}

#[test]
fn g25_the_traps_work() {
    let world = trapped(json!([]));
    let git =
        Run::new(Path::new("/bin/sh"), world.wd()).named("sh").args(["-c", "git status; git diff; git add -A; true"]);
    finish(git.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &world.home().to_string_lossy()));
    assert!(!sprung(&world).is_empty(), "the traps of this test are no traps");
}

#[test]
fn g25_an_agent_that_starts_in_a_repository_runs_nothing_of_it() {
    let world = trapped(json!([say("done")]));
    let outcome = finish(stream(&world).close());
    assert_eq!(outcome.result().unwrap()["result"], "done", "{}", outcome.stderr);
    assert_eq!(sprung(&world), [] as [String; 0]);
}

#[test]
fn g25_a_loop_that_looks_and_commits_runs_nothing_of_it() {
    let edit = |text: &str| json!({"content": [{"type": "tool_use", "name": "Write", "input": {"file_path": "$WD/new.txt", "content": text}}]});
    let world = trapped(json!([edit("1"), say("not yet"), edit("2"), say("not yet")]));
    std::os::unix::fs::symlink(binary(), world.home().join("claude")).unwrap();
    let backend = format!("--backend={}", world.home().join("claude").display());
    let run = world.run(&binary()).named("ralph").args([
        "--json",
        &backend,
        "--max-iterations=2",
        "--commit",
        "--failure-pause",
        "0",
    ]);
    let outcome = finish(run.close());
    assert_eq!(outcome.code, Some(2), "{}\n{:?}", outcome.stderr, outcome.lines.last());
    assert_eq!(sprung(&world), [] as [String; 0], "{}", outcome.stderr);
    let log = Run::new(Path::new("/bin/sh"), world.wd())
        .named("sh")
        .args(["-c", "git -c core.fsmonitor=false log --no-show-signature --format=%s | cat"]);
    let log = finish(log.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &world.home().to_string_lossy()));
    assert!(log.lines.len() >= 2, "nothing was committed: {:?}", log.lines);
}
