//! What people do with goals: comments, files, questions, budgets, reviews, lists of others, calls.

use crate::world::Goals;
use serde_json::Value;

#[test]
fn comments_and_files_reach_the_agent() {
    let goals = Goals::with_agent("hear\ncp .ralph/attached/note.txt seen.txt\nstructured '\"DONE\"'");
    std::fs::write(goals.repo().join("../note.txt"), "attached words").unwrap();
    goals.add("look at it", &["--attach", "../note.txt", "--draft"]);
    goals.ok(&["goal", "comment", "1", "mind the gap"]);
    assert_eq!(goals.state_of(1), "draft");
    goals.ok(&["goal", "queue", "1"]);
    goals.drain(&[]);
    let heard = testkit::looping::heard(&goals.world).join("\n");
    assert!(heard.contains("mind the gap") && heard.contains("attached words"), "{heard}");
    assert_eq!(goals.file_at("ralph/goal-1", "seen.txt").as_deref(), Some("attached words"));
    assert!(goals.file_at("ralph/goal-1", ".ralph/attached/note.txt").is_none(), "not part of the work");
}

#[test]
fn a_question_waits_for_its_answer() {
    let script = "hear\ncase $line in *blue*) echo blue > colour.txt; structured '\"DONE\"';; *) printf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"<blocked>which colour?</blocked>\",\"structured_output\":{\"summary\":\"asking\"},\"total_cost_usd\":0.01}\\n';; esac";
    let goals = Goals::with_agent(script);
    let id = goals.add("paint it", &[]);
    goals.drain(&[]);
    let goal = goals.show(id);
    assert_eq!(goal["state"], "blocked", "{goal:#}");
    assert!(goal["question"].as_str().unwrap().contains("which colour?"), "{goal:#}");
    assert!(goals.refused(&["goal", "answer", "1"]).contains("usage"));
    goals.ok(&["goal", "answer", "1", "blue"]);
    goals.drain(&[]);
    assert_eq!(goals.state_of(id), "done");
    assert!(goals.refused(&["goal", "answer", "1", "red"]).contains("a goal that is done cannot be answered"));
}

#[test]
fn budgets_hold_and_say_which_is_used_up() {
    // An iteration of the fake agent costs a cent.
    let goals =
        Goals::with_agent("hear\nwork\nif [ $n -lt 5 ]; then structured '\"more\"'; else structured '\"DONE\"'; fi");
    goals.ok(&["goal", "budget", "all", "0.04"]);
    let id = goals.add("five steps", &["--iteration-cost", "0.02"]);
    goals.drain(&[]);
    let goal = goals.show(id);
    assert_eq!(goal["state"], "blocked", "{goal:#}");
    assert!(goal["question"].as_str().unwrap().contains("The budget 'all'"), "{goal:#}");
    assert_eq!(goal["spent"]["micro_usd"], 30_000, "{goal:#}");
    let budget: Value = serde_json::from_str(&goals.ok(&["goal", "budget", "--json"])).unwrap();
    assert_eq!((&budget["spent"]["micro_usd"], &budget["reserved"]["micro_usd"]), (&30_000.into(), &0.into()));
    goals.ok(&["goal", "budget", "all", "1"]);
    goals.ok(&["goal", "retry", "1"]);
    goals.drain(&[]);
    assert_eq!(goals.state_of(id), "done", "{:#}", goals.show(id));
}

#[test]
fn a_usage_limit_frees_the_slot() {
    let script = r#"
hear
case $line in
  *limited*) printf '{"type":"result","subtype":"success","is_error":true,"result":"Claude AI usage limit reached|%s","session_id":"s1","total_cost_usd":0}\n' $(($(date +%s) + 3600));;
  *) echo x > other.txt; structured '"DONE"';;
esac
"#;
    let goals = Goals::with_agent(script);
    let limited = goals.add("limited", &["--priority", "5"]);
    let other = goals.add("other", &[]);
    let worker = goals.worker(&["--slots", "1"]);
    goals.wait_for("the other one", || goals.state_of(other) == "done");
    let goal = goals.show(limited);
    assert_eq!(goal["state"], "waiting", "{goal:#}");
    assert!(goal["run_at"].as_i64().unwrap() > goal["updated"].as_i64().unwrap() + 3_000_000, "{goal:#}");
    drop(worker);
}

#[test]
fn a_reviewer_sends_work_back_and_lets_better_work_pass() {
    let script = r#"
hear
case $line in
  *"Review a change"*)
    line="$line$(cat)"
    case $line in
      *"+good"*) printf '{"type":"result","subtype":"success","is_error":false,"result":"x","structured_output":{"approve":true,"findings":[]},"total_cost_usd":0.01}\n';;
      *) printf '{"type":"result","subtype":"success","is_error":false,"result":"x","structured_output":{"approve":false,"findings":[{"file":"work.txt","line":1,"text":"it says bad"}]},"total_cost_usd":0.01}\n';;
    esac;;
  *"it says bad"*) echo good > work.txt; structured '"DONE"';;
  *) echo bad > work.txt; structured '"DONE"';;
esac
"#;
    let goals = Goals::with_agent(script);
    let review = format!("--review={}", goals.agent());
    let id = goals.add("do well", &[&review]);
    goals.drain(&[]);
    let goal = goals.show(id);
    assert_eq!((&goal["state"], goal["rounds"].as_i64()), (&"done".into(), Some(1)), "{goal:#}");
    assert_eq!(goals.file_at("ralph/goal-1", "work.txt").as_deref(), Some("good\n"));
    assert!(goals.landed_commits("ralph/goal-1", id) >= 1);
}

#[test]
fn lists_are_imported_once() {
    let goals = Goals::new();
    std::fs::write(goals.repo().join("../plan.md"), "# Plan\n- [ ] write a.txt\n- [x] old\n- [ ] write b.txt\n")
        .unwrap();
    let agent = goals.agent();
    let words = ["goal", "import", "../plan.md", "--backend", &agent, "--json"];
    let made: Value = serde_json::from_str(&goals.ok(&words)).unwrap();
    assert_eq!(made["goals"].as_array().unwrap().len(), 2);
    assert_eq!(serde_json::from_str::<Value>(&goals.ok(&words)).unwrap(), made, "a second time makes nothing");
    goals.drain(&["--slots", "2"]);
    assert!(goals.all().iter().all(|goal| goal["state"] == "done"));
}

#[test]
fn somebody_is_called_with_the_event_as_data() {
    let goals = Goals::new();
    goals.add("write a.txt $(touch evil)", &[]);
    let file = goals.world.home().join("called");
    goals.drain(&["--notify", &format!("cat >> {}", file.display())]);
    let event: Value = serde_json::from_str(std::fs::read_to_string(file).unwrap().trim()).unwrap();
    assert_eq!((&event["event"], &event["goal"]), (&"landed".into(), &1.into()), "{event:#}");
    assert!(!goals.repo().join("evil").exists() && !goals.state().join("evil").exists());
}
