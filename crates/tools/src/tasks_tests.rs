use super::*;

fn new(id: &str) -> NewTask {
    NewTask {
        id: id.into(),
        kind: "local_bash",
        description: "d".into(),
        command: None,
        tool_use_id: "toolu".into(),
        output_file: "/o".into(),
        is_awaited: false,
    }
}

fn ending(status: Status) -> Ending {
    Ending { status, exit_code: Some(0), summary: "s".into() }
}

#[tokio::test]
async fn news_come_in_order_and_once() {
    let tasks = Tasks::default();
    let (a, b) = (tasks.begin(new("a")).unwrap(), tasks.begin(new("b")).unwrap());
    b.finish(ending(Status::Completed));
    drop(a);
    let mut seen = Vec::new();
    while let Some(event) = tasks.try_next_event() {
        seen.push(match event {
            TaskEvent::Started(task) => format!("{} started", task.id),
            TaskEvent::Said { task, text } => format!("{} says {text}", task.id),
            TaskEvent::Finished { task, .. } => format!("{} {}", task.id, task.status.as_str()),
        });
    }
    assert_eq!(seen, ["a started", "b started", "b completed", "a stopped"]);
    assert_eq!(tasks.running_count(), 0);
}

#[tokio::test]
async fn waiting_for_news_is_woken_by_them() {
    let tasks = Tasks::default();
    let waiting = tokio::spawn({
        let tasks = tasks.clone();
        async move { tasks.next_event().await }
    });
    tokio::task::yield_now().await;
    let _running = tasks.begin(new("a")).unwrap();
    assert!(matches!(waiting.await.unwrap(), TaskEvent::Started(task) if task.id == "a"));
}

#[tokio::test]
async fn stopping_is_a_wish_that_its_runner_hears() {
    let tasks = Tasks::default();
    let running = tasks.begin(new("a")).unwrap();
    let runner = tokio::spawn(async move {
        running.stop_requested().await;
        running.finish(ending(Status::Stopped));
    });
    let info = tasks.stop("a", Duration::from_secs(10)).await.unwrap();
    assert_eq!(info.status, Status::Stopped);
    runner.await.unwrap();
    let again = tasks.stop("a", Duration::ZERO).await;
    assert_eq!(again, Err(TaskError::NotRunning { id: "a".into(), status: Status::Stopped }));
    assert_eq!(tasks.stop("z", Duration::ZERO).await, Err(TaskError::Unknown("z".into())));
}

#[tokio::test]
async fn waiting_ends_with_the_task_or_the_limit() {
    let tasks = Tasks::default();
    let running = tasks.begin(new("a")).unwrap();
    assert_eq!(tasks.wait("a", Duration::from_millis(1)).await.unwrap().status, Status::Running);
    let waiting = tokio::spawn({
        let tasks = tasks.clone();
        async move { tasks.wait("a", Duration::from_secs(10)).await }
    });
    tokio::task::yield_now().await;
    running.finish(ending(Status::Failed));
    assert_eq!(waiting.await.unwrap().unwrap().status, Status::Failed);
}

#[test]
fn the_number_of_tasks_is_bounded() {
    let tasks = Tasks::default();
    let running: Vec<Running> = (0..MOST_RUNNING).map(|i| tasks.begin(new(&i.to_string())).unwrap()).collect();
    assert!(matches!(tasks.begin(new("one more")), Err(TaskError::TooMany)));
    drop(running);
    for i in 0..2 * MOST_KEPT {
        tasks.begin(new(&format!("later {i}"))).unwrap().finish(ending(Status::Completed));
        while tasks.try_next_event().is_some() {}
    }
    assert!(tasks.list().len() <= MOST_KEPT + MOST_RUNNING);
    assert!(tasks.get(&format!("later {}", 2 * MOST_KEPT - 1)).is_ok());
}

#[tokio::test]
async fn all_can_be_stopped_at_once() {
    let tasks = Tasks::default();
    for id in ["a", "b", "c"] {
        let running = tasks.begin(new(id)).unwrap();
        tokio::spawn(async move {
            running.stop_requested().await;
            running.finish(ending(Status::Stopped));
        });
    }
    tasks.stop_all(Duration::from_secs(10)).await;
    assert_eq!(tasks.running_count(), 0);
}
