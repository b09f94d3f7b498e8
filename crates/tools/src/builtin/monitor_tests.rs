use super::*;
use crate::tasks::TaskEvent;
use crate::testing::Bench;

async fn events(bench: &Bench) -> Vec<TaskEvent> {
    let mut seen = Vec::new();
    loop {
        let event = bench.ctx.tasks.next_event().await;
        let is_end = matches!(event, TaskEvent::Finished { .. });
        seen.push(event);
        if is_end {
            return seen;
        }
    }
}

#[tokio::test]
async fn lines_are_told_as_they_come_and_the_end_is_told_too() {
    let bench = Bench::new(&[]);
    let input = json!({"command": "echo one; sleep 0.6; echo two; printf three", "description": "a count"});
    let outcome = bench.call("Monitor", input).await;
    assert_eq!((&outcome.structured["timeoutMs"], &outcome.structured["persistent"]), (&json!(300_000), &json!(false)));
    let seen = events(&bench).await;
    let said: Vec<&str> = seen
        .iter()
        .filter_map(|event| match event {
            TaskEvent::Said { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said.first(), Some(&"one"), "{seen:?}");
    assert_eq!(said.concat().replace('\n', ""), "onetwothree", "{seen:?}");
    let Some(TaskEvent::Finished { task, .. }) = seen.last() else { panic!("{seen:?}") };
    assert_eq!(task.status, Status::Completed);
}

#[tokio::test]
async fn a_monitor_ends_after_its_time_and_when_it_is_stopped() {
    let bench = Bench::new(&[]);
    let input = json!({"command": "sleep 100", "description": "nothing", "timeout_ms": 300});
    bench.call("Monitor", input).await;
    let seen = events(&bench).await;
    assert!(
        matches!(seen.last(), Some(TaskEvent::Finished { summary, .. }) if summary.contains("after its time")),
        "{seen:?}"
    );
    let input = json!({"command": "sleep 100", "description": "nothing", "persistent": true});
    let outcome = bench.call("Monitor", input).await;
    let id = outcome.structured["taskId"].as_str().unwrap().to_owned();
    bench.ctx.tasks.stop(&id, Duration::from_secs(5)).await.unwrap();
    assert_eq!(bench.ctx.tasks.running_count(), 0);
}

#[tokio::test]
async fn what_cannot_be_watched_is_refused() {
    let bench = Bench::new(&[]);
    for input in
        [json!({"description": "x"}), json!({"command": " ", "description": "x"}), json!({"ws": {"url": "ws://x"}})]
    {
        assert!(bench.call("Monitor", input.clone()).await.is_error(), "{input}");
    }
    assert_eq!(limit(Some(1e12)), LONGEST_TIMEOUT);
    assert_eq!(limit(Some(f64::NAN)), DEFAULT_TIMEOUT);
}
