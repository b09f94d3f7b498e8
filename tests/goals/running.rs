//! From a goal to a branch.

use crate::world::Goals;

#[test]
fn a_goal_becomes_a_branch_for_a_person() {
    let goals = Goals::new();
    let main = goals.git(&["rev-parse", "main"]);
    let id = goals.add("please write hello.txt", &[]);
    assert_eq!(goals.state_of(id), "queued");
    goals.drain(&[]);
    let goal = goals.show(id);
    assert_eq!(goal["state"], "done", "{goal:#}");
    assert_eq!(goals.file_at("ralph/goal-1", "hello.txt").as_deref(), Some("content of hello.txt\n"));
    assert_eq!(goals.git(&["rev-parse", "main"]), main, "the branch is a person's");
    assert_eq!(goals.landed_commits("ralph/goal-1", id), 1);
    assert_eq!(goals.leftovers(), [] as [String; 0]);
    assert!(goal["spent"]["micro_usd"].as_i64().unwrap() > 0, "{goal:#}");
    assert!(goals.ok(&["goal", "diff", "1"]).contains("+content of hello.txt"));
    let log = goals.ok(&["goal", "log", "1"]);
    assert!(log.contains("goal 1: landing") && log.contains("goal 1: done"), "{log}");
}

#[test]
fn a_goal_that_changes_nothing_is_done_without_landing() {
    let goals = Goals::new();
    let id = goals.add("nothing to do", &[]);
    goals.drain(&[]);
    let goal = goals.show(id);
    assert_eq!((goal["state"].as_str(), goal["landed"].is_null()), (Some("done"), true), "{goal:#}");
    assert_eq!(goals.leftovers(), [] as [String; 0]);
}

#[test]
fn many_goals_land_each_once_on_the_checked_out_branch() {
    let goals = Goals::new();
    for number in 0..6 {
        goals.add(&format!("write f{number}.txt"), &["--land", "push"]);
    }
    goals.drain(&["--slots", "4"]);
    for id in 1..=6 {
        assert_eq!(goals.state_of(id), "done", "{:#}", goals.show(id));
        assert_eq!(goals.landed_commits("main", id), 1);
        assert!(goals.repo().join(format!("f{}.txt", id - 1)).is_file(), "the tree follows the branch");
    }
    assert_eq!(goals.git(&["status", "--porcelain"]), "");
    assert_eq!(goals.leftovers(), [] as [String; 0]);
}

#[test]
fn what_a_goal_needs_lands_first() {
    let goals = Goals::new();
    let first = goals.add("write a.txt", &["--land", "push"]);
    let second = goals.add("write b.txt", &["--land", "push", "--after", &first.to_string(), "--priority", "9"]);
    goals.drain(&["--slots", "2"]);
    assert_eq!((goals.state_of(first), goals.state_of(second)), ("done".into(), "done".into()));
    let order = goals.git(&["log", "--reverse", "--format=%(trailers:key=Ralph-Goal,valueonly)", "main"]);
    assert_eq!(order.split_whitespace().collect::<Vec<_>>(), ["1", "2"]);
}

#[test]
fn the_agent_sees_neither_the_store_nor_other_clones() {
    // Without `sandbox = "off"`: the loop confines an agent that is not ours. Names can be listed, contents not read.
    let goals = Goals::with_agent(
        r#"
hear
cat "$RALPH_STATE/goals.db" > stolen.txt 2>/dev/null
for file in "$RALPH_STATE"/clones/*/*/*/goal.md "$RALPH_STATE"/clones/*/*/other/secret.txt; do cat "$file" >> stolen.txt 2>/dev/null; done
for file in "$RALPH_STATE/goals.db" "$RALPH_STATE"/clones/*/*/other/secret.txt "$RALPH_STATE"/mirrors/*/HEAD; do echo evil >> "$file" && echo "$file" >> written.txt; done 2>/dev/null
echo "store=$RALPH_STORE" > seen.txt
git log --oneline >> seen.txt 2>&1
structured '"DONE"'
"#,
    );
    std::fs::write(goals.repo().join(".ralph/config.toml"), "sandbox = \"workspace\"\n").unwrap();
    goals.git(&["commit", "-qam", "confine"]);
    goals.add("nothing", &["--draft"]);
    let repos = goals.state().join("clones");
    goals.add("look around", &[]);
    // Another clone, of a worker that is alive as far as its folder's name says.
    for store in ["x/y/other", "x/y"] {
        std::fs::create_dir_all(repos.join(store)).unwrap();
    }
    std::fs::write(repos.join("x/y/other/secret.txt"), "secret of another clone").unwrap();
    goals.drain(&[]);
    let goal = goals.show(2);
    let seen = goals.file_at("ralph/goal-2", "seen.txt").unwrap_or_else(|| panic!("{goal:#}"));
    assert!(seen.contains("store=\n") && seen.contains("confine"), "its own history is there: {seen}");
    assert_eq!(goals.file_at("ralph/goal-2", "stolen.txt").as_deref(), Some(""));
    assert_eq!(goals.file_at("ralph/goal-2", "written.txt"), None);
}
