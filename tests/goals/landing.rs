//! Landing: conflicts, checks, people's trees, remote repositories, and landers that die.

use crate::world::{Goals, git};
use serde_json::Value;
use std::cell::RefCell;

/// Steps of a landing at which a lander can die.
const STEPS: [&str; 6] = ["claimed", "rebased", "checked", "intended", "moved", "forgotten"];

fn dies_and_is_finished(goals: &Goals, id: i64, step: &str, target: &str) {
    let worker = RefCell::new(goals.worker_with(&["--lease", "1s"], "RALPH_TEST_DIE_AT", step));
    goals.wait_for(&format!("the lander's death at '{step}'"), || {
        worker.borrow_mut().ended() || goals.state_of(id) == "done"
    });
    assert_ne!(goals.state_of(id), "done", "{step}");
    goals.git(&["fsck", "--connectivity-only"]);
    goals.drain(&["--lease", "1s"]);
    let goal = goals.show(id);
    assert_eq!(goal["state"], "done", "{step}: {goal:#}");
    assert_eq!(goals.landed_commits(target, id), 1, "{step}");
    assert!(goals.file_at(target, &format!("f{id}.txt")).is_some(), "{step}");
    assert_eq!(goals.leftovers(), [] as [String; 0], "{step}");
}

#[test]
fn a_lander_that_dies_at_any_step_is_finished_by_the_next() {
    let goals = Goals::new();
    for (number, step) in STEPS.iter().chain(&["branch-moved"]).enumerate() {
        let id = goals.add(&format!("write f{}.txt", number + 1), &["--land", "push", "--check", "true"]);
        dies_and_is_finished(&goals, id, step, "main");
        assert_eq!(goals.git(&["status", "--porcelain"]), "", "{step}: the tree follows the branch");
    }
}

#[test]
fn a_lander_that_dies_leaves_a_whole_branch_for_a_person() {
    let goals = Goals::new();
    for (number, step) in STEPS.iter().enumerate() {
        let id = goals.add(&format!("write f{}.txt", number + 1), &[]);
        dies_and_is_finished(&goals, id, step, &format!("ralph/goal-{id}"));
    }
}

#[test]
fn a_worker_that_dies_after_its_loop_is_finished_by_the_next() {
    let goals = Goals::new();
    for (number, step) in ["checkpointed", "worked"].iter().enumerate() {
        let id = goals.add(&format!("write f{}.txt", number + 1), &["--land", "push"]);
        dies_and_is_finished(&goals, id, step, "main");
    }
}

/// Left by a git that somebody killed. Only a person knows that it is not in use.
#[test]
fn a_lock_in_the_repository_is_named_and_the_goal_lands_when_it_is_gone() {
    let goals = Goals::new();
    let id = goals.add("write f1.txt", &["--land", "push"]);
    let lock = goals.repo().join(".git/refs/heads/main.lock");
    std::fs::write(&lock, "").unwrap();
    let worker = RefCell::new(goals.worker(&["--lease", "1s"]));
    goals.wait_for("the reason", || goals.show(id)["error"].as_str().is_some_and(|why| why.contains("main.lock")));
    let goal = goals.show(id);
    assert!(!goal["error"].as_str().unwrap().contains("moved"), "{goal:#}");
    std::fs::remove_file(&lock).unwrap();
    goals.wait_for("the landing", || goals.state_of(id) == "done" || worker.borrow_mut().ended());
    assert_eq!(goals.state_of(id), "done", "{:#}", goals.show(id));
    assert_eq!(goals.landed_commits("main", id), 1);
    worker.borrow_mut().kill();
}

/// Mirrors are ours alone: what a killed git leaves there is ours to remove.
#[test]
fn a_lock_in_a_mirror_is_removed() {
    let goals = Goals::new();
    goals.add("write f1.txt", &["--land", "push"]);
    goals.drain(&[]);
    let mirrors: Vec<_> =
        std::fs::read_dir(goals.state().join("mirrors")).unwrap().map(|at| at.unwrap().path()).collect();
    let mirror = mirrors.iter().find(|at| at.extension().is_some_and(|ending| ending == "git")).unwrap();
    std::fs::write(mirror.join("refs/heads/main.lock"), "").unwrap();
    let id = goals.add("write f2.txt", &["--land", "push"]);
    goals.drain(&[]);
    assert_eq!(goals.state_of(id), "done", "{:#}", goals.show(id));
}

#[test]
fn the_second_of_two_that_conflict_sees_why_and_lands_or_fails_with_the_reason() {
    let script = r#"
hear
case $line in
  *conflicts*) git rebase main >/dev/null 2>&1 || { echo both > shared.txt; git add shared.txt; GIT_EDITOR=true git -c user.name=a -c user.email=a@b rebase --continue >/dev/null 2>&1; }; structured '"DONE"';;
  *) name=$(printf '%s' "$line" | grep -o 'say [a-z]*' | head -1 | cut -d' ' -f2); echo "$name" > shared.txt; sleep 1; structured '"DONE"';;
esac
"#;
    let goals = Goals::with_agent(script);
    goals.add("say one", &["--land", "push"]);
    goals.add("say two", &["--land", "push"]);
    goals.drain(&["--slots", "2"]);
    let states: Vec<Value> = goals.all();
    assert!(states.iter().all(|goal| goal["state"] == "done"), "{states:#?}");
    let retried = states.iter().filter(|goal| goal["attempts"] == 1).count();
    assert_eq!(retried, 1, "one of the two was rebased: {states:#?}");
    assert_eq!(goals.file_at("main", "shared.txt").as_deref(), Some("both\n"));

    // An agent that does the same again fails with the reason, after its attempts.
    let stubborn = Goals::with_agent(
        "hear\nname=$(printf '%s' \"$line\" | grep -o 'say [a-z]*' | head -1 | cut -d' ' -f2)\necho \"$name\" > shared.txt; sleep 1; structured '\"DONE\"'",
    );
    stubborn.add("say one", &["--land", "push"]);
    stubborn.add("say two", &["--land", "push", "--attempts", "2"]);
    stubborn.drain(&["--slots", "2"]);
    let failed: Vec<Value> = stubborn.all().into_iter().filter(|goal| goal["state"] == "failed").collect();
    assert!(failed.len() <= 1, "{failed:#?}");
    for goal in &failed {
        assert!(goal["error"].as_str().unwrap().contains("shared.txt"), "{goal:#}");
    }
}

#[test]
fn checks_run_on_the_rebased_work_and_the_branchs_own_check_counts() {
    // The agent replaces the check; the branch's is run all the same.
    let goals = Goals::with_agent(
        "hear\nmkdir -p .ralph; echo 'exit 0' > .ralph/check; git add -f .ralph/check; git -c user.name=a -c user.email=a@b commit -qm cheat\necho bad > f1.txt\nstructured '\"DONE\"'",
    );
    std::fs::write(goals.repo().join(".ralph/check"), "echo the real check; test ! -e f1.txt\n").unwrap();
    goals.git(&["add", "-f", ".ralph/check"]);
    goals.git(&["commit", "-qm", "check"]);
    let main = goals.git(&["rev-parse", "main"]);
    let id = goals.add("cheat", &["--land", "push", "--attempts", "1", "--max-iterations", "1"]);
    goals.drain(&[]);
    assert_eq!(goals.state_of(id), "failed", "{:#}", goals.show(id));
    assert_eq!(goals.git(&["rev-parse", "main"]), main);
}

#[test]
fn a_check_that_does_not_exist_is_a_persons_to_mend() {
    let goals = Goals::new();
    std::fs::write(goals.repo().join(".ralph/check"), "true\n").unwrap();
    let id =
        goals.add("write f1.txt", &["--check", "no-such-program-here", "--max-iterations", "1", "--attempts", "1"]);
    goals.drain(&[]);
    let goal = goals.show(id);
    assert_eq!(goal["state"], "failed", "{goal:#}");
}

#[test]
fn a_persons_uncommitted_work_is_left_alone() {
    let goals = Goals::new();
    std::fs::write(goals.repo().join(".ralph/prompt.md"), "mine\n").unwrap();
    let main = goals.git(&["rev-parse", "main"]);
    let id = goals.add("write f1.txt", &["--land", "push"]);
    let mut worker = goals.worker(&[]);
    goals.wait_for("the landing to be put off", || {
        goals.show(id)["error"].as_str().is_some_and(|why| why.contains("uncommitted"))
    });
    assert_eq!(goals.git(&["rev-parse", "main"]), main);
    assert_eq!(std::fs::read_to_string(goals.repo().join(".ralph/prompt.md")).unwrap(), "mine\n");
    worker.kill();
}

#[test]
fn a_repository_by_address_gets_branches_and_pushes() {
    let goals = Goals::new();
    let bare = goals.world.home().join("bare.git");
    git(goals.world.wd(), &["clone", "-q", "--bare", ".", &bare.display().to_string()]);
    let address = format!("file://{}", bare.display());
    let here = ["--repo", &address, "--base", "main", "--trust"];
    let one = goals.add("write f1.txt", &[&here[..], &["--land", "push", "--squash"]].concat());
    let two = goals.add("write f2.txt", &here);
    goals.drain(&["--slots", "2"]);
    assert_eq!((goals.state_of(one), goals.state_of(two)), ("done".into(), "done".into()), "{:#?}", goals.all());
    assert_eq!(git(&bare, &["show", "main:f1.txt"]), "content of f1.txt");
    assert_eq!(git(&bare, &["show", "ralph/goal-2:f2.txt"]), "content of f2.txt");
    assert_eq!(git(&bare, &["for-each-ref", "--format=%(refname)", "refs/ralph/"]), "", "nothing is left there");
    assert!(goals.ok(&["goal", "diff", "1"]).contains("+content of f1.txt"));
    assert!(goals.ok(&["goal", "diff", "2"]).contains("+content of f2.txt"));
}

#[test]
fn a_branch_that_is_gone_fails_with_the_reason() {
    let goals = Goals::new();
    goals.git(&["branch", "next"]);
    let id = goals.add("write f1.txt", &["--base", "next"]);
    goals.git(&["branch", "-D", "next"]);
    goals.drain(&[]);
    let goal = goals.show(id);
    assert!(goal["state"] == "failed" && goal["error"].as_str().unwrap().contains("has no branch 'next'"), "{goal:#}");
}

#[test]
fn a_repository_that_takes_no_refs_of_ours_has_its_work_kept_in_the_store() {
    let goals = Goals::with_agent(
        "hear\nif [ $n = 1 ]; then echo one > f1.txt; structured '\"more\"'; else echo two > f2.txt; structured '\"DONE\"'; fi",
    );
    let bare = goals.world.home().join("bare.git");
    git(goals.world.wd(), &["clone", "-q", "--bare", ".", &bare.display().to_string()]);
    git(&bare, &["config", "transfer.hideRefs", "refs/ralph"]);
    let address = format!("file://{}", bare.display());
    let id = goals.add("two steps", &["--repo", &address, "--base", "main", "--trust", "--land", "push"]);
    // The first worker dies with its first checkpoint in the store.
    let worker = RefCell::new(goals.worker_with(&["--lease", "1s"], "RALPH_TEST_DIE_AT", "checkpointed"));
    goals.wait_for("the worker's death", || worker.borrow_mut().ended());
    goals.drain(&["--lease", "1s"]);
    assert_eq!(goals.state_of(id), "done", "{:#}", goals.show(id));
    assert_eq!(git(&bare, &["show", "main:f1.txt"]), "one");
    assert_eq!(git(&bare, &["show", "main:f2.txt"]), "two");
}

#[test]
fn a_pull_request_is_opened_once_with_words_as_arguments() {
    use std::os::unix::fs::PermissionsExt as _;
    let goals = Goals::new();
    let (bare, bin) = (goals.world.home().join("bare.git"), goals.world.home().join("bin"));
    git(goals.world.wd(), &["clone", "-q", "--bare", ".", &bare.display().to_string()]);
    goals.git(&["remote", "add", "origin", &bare.display().to_string()]);
    std::fs::create_dir(&bin).unwrap();
    let gh = "#!/bin/sh\n[ \"$2\" = view ] && exit 1\nfor word in \"$@\"; do echo \"<$word>\" >> \"$HOME/gh\"; done\n";
    std::fs::write(bin.join("gh"), gh).unwrap();
    std::fs::set_permissions(bin.join("gh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    goals.add("write f1.txt $(touch evil) \"quoted", &["--land", "pr"]);
    let mut command = goals.command(&["work", "--drain"]);
    let path = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, path)| path).unwrap().to_owned();
    command.env("PATH", format!("{}:{}", bin.display(), path.display()));
    assert!(command.output().unwrap().status.success());
    let said = std::fs::read_to_string(goals.world.home().join("gh")).unwrap();
    assert!(
        said.contains("<create>") && said.contains("<--head=ralph/goal-1>") && said.contains("$(touch evil)"),
        "{said}"
    );
    assert_eq!(git(&bare, &["show", "ralph/goal-1:f1.txt"]), "content of f1.txt");
    assert!(!goals.repo().join("evil").exists());
}

/// Another store, or a person, may have a branch of the same name: its work is never replaced.
#[test]
fn a_branch_with_somebody_elses_work_is_left_alone() {
    let goals = Goals::new();
    goals.git(&["branch", "ralph/goal-1"]);
    goals.git(&["switch", "--quiet", "ralph/goal-1"]);
    std::fs::write(goals.repo().join("theirs.txt"), "theirs\n").unwrap();
    goals.git(&["add", "theirs.txt"]);
    goals.git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "theirs"]);
    let theirs = goals.git(&["rev-parse", "HEAD"]);
    goals.git(&["switch", "--quiet", "main"]);
    let id = goals.add("write f1.txt", &[]);
    goals.drain(&[]);
    let goal = goals.show(id);
    assert_eq!(goal["state"], "failed", "{goal:#}");
    assert!(
        goal["error"].as_str().unwrap().contains("'ralph/goal-1' exists and has work that is not this goal's"),
        "{goal:#}"
    );
    assert_eq!(goals.git(&["rev-parse", "ralph/goal-1"]), theirs);
    goals.git(&["branch", "--move", "ralph/goal-1", "theirs"]);
    goals.ok(&["goal", "retry", "1"]);
    goals.drain(&[]);
    assert_eq!(goals.state_of(id), "done");
    assert_eq!(goals.landed_commits("ralph/goal-1", id), 1);
}
