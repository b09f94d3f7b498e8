use super::*;

#[tokio::test]
async fn a_wakeup_comes_once_and_holds_the_process_until_then() {
    let schedule = Schedule::new(Duration::from_millis(5));
    let input = json!({"delaySeconds": 0, "prompt": "go on"});
    let told = schedule.run("ScheduleWakeup", &input);
    assert_eq!((&told.structured["wasClamped"], schedule.has_wakeup()), (&json!(true), true));
    assert_eq!(schedule.next().await, "go on");
    assert!(!schedule.has_wakeup());
    schedule.run("ScheduleWakeup", &json!({"delaySeconds": 1e9, "prompt": "late"}));
    let again = schedule.run("ScheduleWakeup", &json!({"delaySeconds": 3000, "prompt": "later"}));
    assert_eq!(again.structured["clampedDelaySeconds"], 3000);
    assert_eq!(schedule.waiting.borrow().len(), 1, "one at a time");
    schedule.run("ScheduleWakeup", &json!({"stop": true}));
    assert!(!schedule.has_wakeup());
}

#[test]
fn jobs_are_listed_come_again_and_are_deleted() {
    let schedule = Schedule::new(Duration::from_mins(1));
    let made = schedule.run("CronCreate", &json!({"cron": "*/5 * * * *", "prompt": "look"}));
    assert_eq!((&made.structured["id"], &made.structured["recurring"]), (&json!("cron1"), &json!(true)));
    assert!(!schedule.has_wakeup(), "a job does not hold the process");
    let due = schedule.waiting.borrow()[0].due;
    assert_eq!(schedule.take_due(due).as_deref(), Some("look"));
    assert!(schedule.waiting.borrow()[0].due > due);
    schedule.run("CronCreate", &json!({"cron": "0 0 1 1 *", "prompt": "once", "recurring": false}));
    let due = schedule.waiting.borrow()[1].due;
    schedule.waiting.borrow_mut()[0].due = Timestamp::MAX;
    assert_eq!(schedule.take_due(due).as_deref(), Some("once"));
    let listed = schedule.run("CronList", &json!({}));
    assert_eq!(listed.structured["jobs"].as_array().map(Vec::len), Some(1));
    assert!(!schedule.run("CronDelete", &json!({"id": "cron1"})).is_error());
    for (name, input) in [
        ("CronDelete", json!({"id": "cron1"})),
        ("CronCreate", json!({"cron": "nonsense", "prompt": "x"})),
        ("CronCreate", json!({"cron": "0 0 31 2 *", "prompt": "x"})),
    ] {
        assert!(schedule.run(name, &input).is_error(), "{input}");
    }
}

#[test]
fn jobs_are_over_after_seven_days_and_come_one_last_time() {
    let schedule = Schedule::new(Duration::from_mins(1));
    schedule.run("CronCreate", &json!({"cron": "*/5 * * * *", "prompt": "look"}));
    let late = Timestamp::now() + LONGEST_JOB;
    assert_eq!(schedule.take_due(late).as_deref(), Some("look"));
    assert!(schedule.waiting.borrow().is_empty());
}

#[test]
fn a_resumed_session_has_the_jobs_that_still_come() {
    let (now, day) = (Timestamp::now().as_millisecond(), 24 * 3_600_000);
    let entry = |id: &str, recurring: bool, created: i64, due: i64| json!({"id": id, "cron": "*/5 * * * *", "prompt": id, "recurring": recurring, "createdAt": created, "nextFireAt": due});
    let schedule = Schedule::new(Duration::from_mins(1));
    schedule.restore(&json!({"jobs": [
        entry("cron7", true, now - day, now - 1000),
        entry("cron2", true, now - 8 * day, now + 1000),
        entry("cron3", false, now - day, now - 1000),
        entry("cron4", false, now - 30 * day, now + day),
        entry("cron18446744073709551615", true, now - day, now),
        {"id": "cron5"},
        "nonsense",
    ]}));
    let ids: Vec<String> = schedule.jobs().into_iter().map(|job| job.id).collect();
    assert_eq!(ids, ["cron7", "cron4", "cron18446744073709551615"]);
    assert!(schedule.waiting.borrow()[0].due.as_millisecond() > now, "what was missed is not made up for");
    assert_eq!(schedule.state(), None, "the transcript has them already");
    let made = schedule.run("CronCreate", &json!({"cron": "*/5 * * * *", "prompt": "new"}));
    assert_eq!(made.structured["id"], "cron8");
    let state = schedule.state().expect("changed");
    let again = Schedule::new(Duration::from_mins(1));
    again.restore(&state);
    assert_eq!(again.jobs().len(), 4);
    assert_eq!(schedule.state(), None);
}
