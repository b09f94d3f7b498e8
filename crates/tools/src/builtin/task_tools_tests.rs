use super::*;
use crate::Content;
use crate::tasks::{Ending, NewTask};

fn begin(tasks: &Tasks, output: &std::path::Path) -> crate::tasks::Running {
    let new = NewTask {
        id: "b1".into(),
        kind: "local_bash",
        description: "build".into(),
        command: Some("make".into()),
        tool_use_id: "toolu_1".into(),
        output_file: output.into(),
        is_awaited: false,
    };
    tasks.begin(new).unwrap()
}

fn asked(block: bool, timeout: f64) -> OutputInput {
    OutputInput { task_id: "b1".into(), block: Some(block), timeout: Some(timeout) }
}

fn text(outcome: &ToolOutcome) -> &str {
    match &outcome.content {
        Content::Text(text) => text,
        Content::Blocks(_) => panic!("no text"),
    }
}

#[tokio::test]
async fn output_says_how_far_the_task_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out");
    std::fs::write(&file, "one\ntwo\n").unwrap();
    let tasks = Tasks::default();
    let running = begin(&tasks, &file);
    for (block, retrieval) in [(false, "not_ready"), (true, "timeout")] {
        let outcome = output_of(&asked(block, 10.0), &tasks, 1000).await;
        assert_eq!(outcome.structured["retrieval_status"], json!(retrieval));
        assert!(text(&outcome).ends_with("running\n\none\ntwo"), "{}", text(&outcome));
    }
    running.finish(Ending { status: Status::Failed, exit_code: Some(2), summary: String::new() });
    let outcome = output_of(&asked(true, 10.0), &tasks, 3).await;
    assert_eq!(outcome.structured["retrieval_status"], json!("success"));
    let task = json!({"task_id":"b1","task_type":"local_bash","status":"failed","description":"build","output":"two","exitCode":2});
    assert_eq!(outcome.structured["task"], task);
    assert!(text(&outcome).contains("exit code 2") && text(&outcome).contains("Only the end"), "{}", text(&outcome));
}

#[tokio::test]
async fn unknown_and_ended_tasks_are_errors_that_help() {
    let tasks = Tasks::default();
    assert!(text(&stop_one("nope", &tasks).await).contains("No background task is running"));
    let running = begin(&tasks, std::path::Path::new("/nowhere"));
    let outcome = stop_one("nope", &tasks).await;
    assert!(outcome.is_error() && text(&outcome).contains("Running: b1"), "{}", text(&outcome));
    running.finish(Ending { status: Status::Completed, exit_code: Some(0), summary: String::new() });
    assert!(text(&stop_one("b1", &tasks).await).contains("it has completed"));
}

#[tokio::test]
async fn stopping_answers_with_what_was_stopped() {
    let tasks = Tasks::default();
    let running = begin(&tasks, std::path::Path::new("/nowhere"));
    let runner = tokio::spawn(async move { running.stop_requested().await });
    let outcome = stop_one("b1", &tasks).await;
    runner.await.unwrap();
    let message = "Stopped task b1 (build)";
    let structured = json!({"message": message, "task_id": "b1", "task_type": "local_bash", "command": "make"});
    assert_eq!(outcome, ToolOutcome::text(message, structured));
}

#[test]
fn old_names_and_fields_still_work() {
    for (name, input, now, fields) in [
        ("BashOutput", json!({"bash_id":"x","filter":"e"}), "TaskOutput", json!({"task_id":"x","block":false})),
        (
            "AgentOutputTool",
            json!({"agentId":"x","block":true,"wait_up_to":2}),
            "TaskOutput",
            json!({"task_id":"x","block":true,"timeout":2000.0}),
        ),
        ("KillShell", json!({"shell_id":"x"}), "TaskStop", json!({"task_id":"x"})),
        ("KillBash", json!({"shell_id":"x"}), "TaskStop", json!({"task_id":"x"})),
    ] {
        let tool = crate::find(name).unwrap();
        assert_eq!(tool.spec().name, now, "{name}");
        assert_eq!(tool.validate(name, &input), Ok(fields), "{name}");
    }
}
