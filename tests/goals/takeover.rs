//! Workers that die, stand still, or are told to end.

use crate::world::Goals;
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// One iteration, one that hangs until somebody takes over, one that is done.
const THREE: &str = r#"
hear
case $n in
  1) echo first > first.txt; structured '"the first step"';;
  2) echo $$ > "$HOME/second"; sleep 60;;
  *) echo third > third.txt; structured '"DONE"';;
esac
"#;

fn second_is_at_work(goals: &Goals) {
    goals.wait_for("the second iteration", || goals.world.home().join("second").is_file());
    goals.wait_for("the first checkpoint", || goals.show(1)["iteration"] == 1);
}

fn went_on(goals: &Goals) {
    let goal = goals.show(1);
    assert_eq!((&goal["state"], goal["attempts"].as_i64()), (&"done".into(), Some(0)), "{goal:#}");
    for name in ["first.txt", "third.txt"] {
        assert!(goals.file_at("ralph/goal-1", name).is_some(), "{name} is missing");
    }
    let log = goals.ok(&["goal", "log", "1", "--json"]);
    assert!(log.contains("\"resumed\""), "the run was resumed, not begun anew");
    assert_eq!(goal["iteration"], 2, "it went on at the next iteration");
    assert_eq!(goals.leftovers(), [] as [String; 0]);
}

#[test]
fn a_dead_workers_goal_goes_on_within_a_lease_at_its_last_finished_iteration() {
    let goals = Goals::with_agent(THREE);
    goals.add("three steps", &[]);
    let mut worker = goals.worker(&["--lease", "2s"]);
    second_is_at_work(&goals);
    let agent = std::fs::read_to_string(goals.world.home().join("second")).unwrap();
    worker.kill();
    let died = Instant::now();
    let mut second = goals.worker(&["--lease", "2s", "--drain"]);
    goals.wait_for("the takeover", || goals.show(1)["fence"].as_i64().unwrap() > 1);
    assert!(died.elapsed() < Duration::from_secs(5), "{:?}", died.elapsed());
    goals.wait_for("the end", || goals.state_of(1) == "done");
    assert!(testkit::looping::is_gone(agent.trim()), "the dead worker's agent is gone");
    assert!(second.0.wait().unwrap().success());
    went_on(&goals);
}

#[test]
fn a_worker_that_stood_still_past_its_lease_stops_when_it_goes_on() {
    let goals = Goals::with_agent(THREE);
    goals.add("three steps", &[]);
    let mut zombie = goals.worker(&["--lease", "1s"]);
    second_is_at_work(&goals);
    zombie.stand_still();
    goals.drain(&["--lease", "1s"]);
    let landed = goals.git(&["rev-parse", "ralph/goal-1"]);
    zombie.signal(Signal::CONT);
    let agent = std::fs::read_to_string(goals.world.home().join("second")).unwrap();
    assert!(testkit::looping::is_gone(agent.trim()), "the late worker ended its agent");
    std::thread::sleep(Duration::from_millis(500));
    assert!(!zombie.ended(), "it goes on with other goals");
    zombie.kill();
    assert_eq!(goals.git(&["rev-parse", "ralph/goal-1"]), landed);
    went_on(&goals);
}

#[test]
fn a_worker_that_is_told_to_end_gives_its_goal_back() {
    let goals = Goals::with_agent(THREE);
    goals.add("three steps", &[]);
    let mut worker = goals.worker(&[]);
    second_is_at_work(&goals);
    worker.signal(Signal::TERM);
    goals.wait_for("its end", || goals.show(1)["owner"].is_null());
    let exit = worker.0.wait().unwrap();
    assert_eq!(exit.code(), Some(143));
    assert_eq!(goals.state_of(1), "queued");
    goals.drain(&[]);
    went_on(&goals);
}

#[test]
fn cancelling_stops_the_agent_and_frees_everything() {
    let goals = Goals::with_agent(THREE);
    goals.add("three steps", &[]);
    let worker = goals.worker(&["--lease", "2s"]);
    second_is_at_work(&goals);
    goals.ok(&["goal", "cancel", "1"]);
    goals.wait_for("the end of it", || goals.state_of(1) == "cancelled");
    let agent = std::fs::read_to_string(goals.world.home().join("second")).unwrap();
    assert!(testkit::looping::is_gone(agent.trim()));
    drop(worker);
    goals.ok(&["goal", "retry", "1"]);
    goals.drain(&[]);
    assert_eq!(goals.state_of(1), "done");
}

#[test]
fn a_full_disk_loses_nothing() {
    let goals = Goals::new();
    for number in 1..=3 {
        goals.add(&format!("write f{number}.txt"), &["--land", "push"]);
    }
    // Nothing fits; the store fits but not its log; a little fits.
    for blocks in [1, 20, 200] {
        let mut worker = goals.starved_worker(blocks, &["--lease", "1s", "--slots", "2"]);
        std::thread::sleep(Duration::from_secs(2));
        worker.signal(Signal::TERM);
        let until = Instant::now() + Duration::from_secs(15);
        while !worker.ended() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(worker.ended(), "a worker on a full disk ends when it is told to");
    }
    for goal in goals.all() {
        if matches!(goal["state"].as_str(), Some("failed" | "waiting" | "blocked")) {
            goals.ok(&["goal", "retry", &goal["id"].to_string()]);
        }
    }
    // A landing that met the full disk is tried again after its pause.
    goals.wait_for("every goal", || {
        let mut worker = goals.worker(&["--lease", "1s", "--slots", "2"]);
        std::thread::sleep(Duration::from_secs(3));
        worker.kill();
        goals.all().iter().all(|goal| goal["state"] == "done")
    });
    goals.drain(&["--lease", "1s"]);
    for id in 1..=3 {
        assert_eq!(goals.landed_commits("main", id), 1);
        assert!(goals.file_at("main", &format!("f{id}.txt")).is_some());
    }
    goals.git(&["fsck", "--connectivity-only"]);
    assert_eq!(goals.leftovers(), [] as [String; 0]);
}

/// Both number their goals from 1. What one keeps in the repository is nothing of the other's.
#[test]
fn two_stores_that_share_a_repository_do_not_meet() {
    let mut goals = Goals::with_agent(THREE);
    let (one, other) = (goals.world.home().join("one.db"), goals.world.home().join("other.db"));
    goals.store = Some(one.display().to_string());
    goals.add("three steps", &["--land", "push"]);
    let mut worker = goals.worker(&["--lease", "1s"]);
    second_is_at_work(&goals);
    worker.kill();
    // The other store's goal 1 is done, and its refs are taken away.
    goals.store = Some(other.display().to_string());
    goals.add("one step", &["--land", "push"]);
    goals.drain(&["--lease", "1s"]);
    assert_eq!(goals.state_of(1), "done", "{:#}", goals.show(1));
    goals.store = Some(one.display().to_string());
    goals.drain(&["--lease", "1s"]);
    let goal = goals.show(1);
    assert_eq!((&goal["state"], goal["attempts"].as_i64()), (&"done".into(), Some(0)), "{goal:#}");
    assert!(goals.file_at("main", "first.txt").is_some(), "the first iteration's work is lost");
    assert_eq!(goals.leftovers(), [] as [String; 0]);
}
