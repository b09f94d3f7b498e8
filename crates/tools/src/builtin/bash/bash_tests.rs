use super::*;
use crate::shell::script::find_shell;
use crate::tasks::{TaskEvent, TaskInfo};
use crate::{Content, ErrorFlag};
use serde_json::{Value, json};
use std::time::Instant;

const PATIENCE: Duration = Duration::from_secs(20);

struct Bench {
    folder: tempfile::TempDir,
    shell: Shell,
    tasks: Tasks,
    workspace: Workspace,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().canonicalize().unwrap().join("project");
        std::fs::create_dir_all(project.join("src")).unwrap();
        let path = "/usr/local/bin:/usr/bin:/bin";
        let shell = Shell::new(
            find_shell(None, path.as_ref()),
            vec![("PATH".into(), path.into()), ("CLAUDECODE".into(), "1".into())],
            folder.path().join("spill"),
            folder.path().to_path_buf(),
        );
        let workspace = Workspace::new(project, Vec::new(), None);
        Self { folder, shell, tasks: Tasks::default(), workspace }
    }

    fn project(&self) -> PathBuf {
        self.workspace.project().to_path_buf()
    }

    async fn call(&self, input: Value) -> ToolOutcome {
        let input = parse::<Input>("Bash", &input).unwrap();
        let job = Job { input: &input, text: &input.command, names: Names::default(), tool_use_id: "toolu_1" };
        run_in(&job, &self.shell, &self.tasks, &self.workspace).await
    }

    async fn run(&self, command: &str) -> ToolOutcome {
        self.call(json!({"command": command})).await
    }

    async fn text(&self, command: &str) -> String {
        text(&self.run(command).await)
    }

    async fn finished(&self) -> (TaskInfo, String) {
        loop {
            let event = tokio::time::timeout(PATIENCE, self.tasks.next_event()).await.expect("no news of the task");
            if let TaskEvent::Finished { task, summary } = event {
                return (task, summary);
            }
        }
    }

    fn spilled(&self) -> usize {
        std::fs::read_dir(self.folder.path().join("spill")).map_or(0, Iterator::count)
    }
}

fn text(outcome: &ToolOutcome) -> String {
    match &outcome.content {
        Content::Text(text) => text.clone(),
        Content::Blocks(_) => panic!("no text"),
    }
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

fn alive(pid: &str) -> bool {
    let stat = read(format!("/proc/{}/stat", pid.trim()));
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

async fn until(what: &str, done: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !done() {
        assert!(Instant::now() < deadline, "still not true: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn the_captured_conversation() {
    let bench = Bench::new();
    let failed = bench.run("echo out; echo err >&2; exit 3").await;
    assert_eq!(failed, ToolOutcome::error("Exit code 3\nout\nerr"));
    let nothing = bench.run("true").await;
    assert_eq!((text(&nothing).as_str(), nothing.flag), ("(Bash completed with no output)", ErrorFlag::No));
    let src = bench.project().join("src").display().to_string();
    assert_eq!(bench.text("cd src && pwd").await, src);
    assert_eq!(bench.text("pwd").await, src);
    assert_eq!(bench.text("export FOO=1; echo $FOO").await, "1");
    assert_eq!(bench.text("echo ${FOO:-unset}").await, "unset");
    assert_eq!(bench.spilled(), 0, "small results leave no files");
}

#[tokio::test]
async fn the_folder_is_kept_however_a_command_ends() {
    for command in [
        "cd src; exit 0",
        "cd src; exit 7",
        "cd src; false",
        "set -e; cd src; false; cd /",
        "cd src; set -u; echo $nope",
    ] {
        let bench = Bench::new();
        bench.run(command).await;
        assert_eq!(bench.workspace.cwd(), bench.project().join("src"), "{command}");
    }
    for command in ["(cd src)", "cd src; exec true", "cd src; kill -9 $$", "cd src &", "cd 'src"] {
        let bench = Bench::new();
        bench.run(command).await;
        assert_eq!(bench.workspace.cwd(), bench.project(), "{command}");
    }
}

#[tokio::test]
async fn leaving_the_workspace_is_undone_and_said() {
    let bench = Bench::new();
    bench.run("cd src").await;
    let notice = format!("Shell cwd was reset to {}", bench.project().display());
    let outcome = bench.run("cd / && echo away").await;
    assert_eq!(text(&outcome), format!("away\n{notice}"));
    assert_eq!((&outcome.structured["stdout"], &outcome.structured["stderr"]), (&json!("away"), &json!(notice)));
    assert_eq!(bench.workspace.cwd(), bench.project());
    assert_eq!(bench.text("cd /; exit 4").await, format!("Exit code 4\n{notice}"));

    // A link inside that leads outside is outside.
    std::os::unix::fs::symlink("/", bench.project().join("link")).unwrap();
    assert_eq!(bench.text("cd link").await, notice);
}

#[tokio::test]
async fn a_folder_that_is_gone_is_no_dead_end() {
    let bench = Bench::new();
    bench.run("mkdir deep && cd deep && rmdir ../deep").await;
    assert_eq!(bench.text("pwd").await, bench.project().display().to_string());
}

#[tokio::test]
async fn the_project_folder_can_be_pinned() {
    let mut bench = Bench::new();
    bench.shell.maintain_project_dir = true;
    bench.run("cd src").await;
    assert_eq!(bench.text("pwd").await, bench.project().display().to_string());
}

#[tokio::test]
async fn issue_8049_stdin_is_closed() {
    let bench = Bench::new();
    assert_eq!(bench.text("cat; read x || echo end").await, "end");
}

#[tokio::test]
async fn issue_76306_a_job_that_holds_stdout_does_not_hold_the_call() {
    let bench = Bench::new();
    let started = Instant::now();
    let said = bench.text("sleep 600 & echo $!").await;
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert!(alive(&said), "what a finished command left running goes on");
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(said.parse().unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
}

#[tokio::test]
async fn odd_outputs_come_back_as_text() {
    let bench = Bench::new();
    assert_eq!(bench.text(r"printf 'a\377b\n\n'").await, "a\u{fffd}b");
    assert_eq!(bench.text(r"printf '\033[31mred\033[0m'").await, "\u{1b}[31mred\u{1b}[0m");
    let denied = bench.run("grep nothing /dev/null").await;
    assert_eq!(
        (denied.flag, &denied.structured["returnCodeInterpretation"]),
        (ErrorFlag::No, &json!("Nothing matched"))
    );
    assert_eq!(bench.text("kill -9 $$").await, "Exit code 137");
}

#[tokio::test]
async fn long_outputs_stay_in_a_file() {
    let bench = Bench::new();
    let outcome = bench.run("seq 1 20000").await;
    let path = outcome.structured["persistedOutputPath"].as_str().unwrap().to_owned();
    assert_eq!(outcome.structured["persistedOutputSize"], json!(108_894));
    assert!(text(&outcome).contains(&path) && text(&outcome).len() < 6000, "{}", text(&outcome).len());
    assert!(read(&path).ends_with("19999\n20000\n"));
    let failed = text(&bench.run("seq 1 20000; exit 2").await);
    assert!(failed.starts_with("Exit code 2\n1\n") && failed.contains("20000") && failed.len() < 12_000);
    let unbroken = text(&bench.run("seq 1 4000; exit 2").await);
    assert!(unbroken.contains("characters truncated] ...") && unbroken.len() < 10_200, "{}", unbroken.len());
}

#[tokio::test]
async fn commands_longer_than_an_argument_run() {
    let bench = Bench::new();
    let command = format!("cat > big.txt <<'EOF'\n{}\nEOF\nwc -c < big.txt; cd src", "x".repeat(300_000));
    assert_eq!(bench.text(&command).await.trim(), "300001");
    assert_eq!(bench.workspace.cwd(), bench.project().join("src"));
    assert_eq!(bench.spilled(), 0);
}

#[tokio::test]
async fn environment_file_and_prefix() {
    let mut bench = Bench::new();
    let env_file = bench.folder.path().join("it's env");
    std::fs::write(&env_file, "export FROM_FILE=yes\n").unwrap();
    bench.shell.env_file = Some(env_file);
    assert_eq!(
        bench.text("echo $FROM_FILE $CLAUDECODE ${HOME:-none} $PWD").await,
        format!("yes 1 none {}", bench.project().display())
    );
    let logger = bench.folder.path().join("logger");
    std::fs::write(&logger, "#!/bin/sh\necho logged\nexec sh -c \"$1\"\n").unwrap();
    bench.shell.prefix = Some(format!("sh {}", logger.display()));
    assert_eq!(bench.text("echo 'a  b'; cd src").await, "logged\na  b");
    assert_eq!(bench.workspace.cwd(), bench.project().join("src"));
}

#[tokio::test]
async fn a_shell_that_is_not_there_is_an_error_result() {
    let mut bench = Bench::new();
    bench.shell.program = "/no/such/shell".into();
    let outcome = bench.run("true").await;
    assert!(outcome.is_error() && text(&outcome).contains("/no/such/shell"), "{}", text(&outcome));
}

#[tokio::test]
async fn a_command_in_the_background_is_a_task() {
    let bench = Bench::new();
    let outcome =
        bench.call(json!({"command": "sleep 0.3; echo bg", "run_in_background": true, "description": "say bg"})).await;
    let id = outcome.structured["backgroundTaskId"].as_str().unwrap().to_owned();
    assert_eq!((&outcome.structured["stdout"], outcome.flag), (&json!(""), ErrorFlag::No));
    assert!(text(&outcome).contains(&id));
    assert!(
        matches!(bench.tasks.try_next_event(), Some(TaskEvent::Started(task)) if task.id == id && task.tool_use_id == "toolu_1")
    );
    let (task, summary) = bench.finished().await;
    assert_eq!((task.id, task.status, task.exit_code), (id, Status::Completed, Some(0)));
    assert_eq!(read(&task.output_file), "bg\n");
    assert!(summary.contains("say bg"), "{summary}");

    bench.call(json!({"command": "exit 9", "run_in_background": true})).await;
    let (task, _) = bench.finished().await;
    assert_eq!((task.status, task.exit_code), (Status::Failed, Some(9)));
}

#[tokio::test]
async fn a_command_that_is_waited_for_is_left_alone_when_asked() {
    let bench = Bench::new();
    assert!(!bench.tasks.leave_alone(None), "nothing is waited for");
    let asking = async {
        assert!(!bench.tasks.leave_alone(Some("toolu_2")));
        while !bench.tasks.leave_alone(Some("toolu_1")) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let command = "while [ ! -e gate ]; do sleep 0.02; done; echo through";
    let (outcome, ()) = tokio::join!(bench.run(command), asking);
    assert!(outcome.structured["backgroundTaskId"].is_string() && !outcome.is_error(), "{}", text(&outcome));
    std::fs::write(bench.project().join("gate"), "").unwrap();
    let (task, _) = bench.finished().await;
    assert_eq!((task.status, read(&task.output_file).as_str()), (Status::Completed, "through\n"));
    assert!(!bench.tasks.leave_alone(None), "it is not waited for any more");
}

#[tokio::test]
async fn at_its_timeout_a_command_moves_to_the_background() {
    let bench = Bench::new();
    let command = "echo on; while [ ! -e gate ]; do sleep 0.02; done; echo off; cd src";
    let outcome = bench.call(json!({"command": command, "timeout": 300})).await;
    assert!(text(&outcome).contains("300ms timeout and was moved to the background"), "{}", text(&outcome));
    assert_eq!(outcome.structured["timedOutAfterMs"], json!(300));
    std::fs::write(bench.project().join("gate"), "").unwrap();
    let (task, _) = bench.finished().await;
    assert_eq!(read(&task.output_file), "on\noff\n");
    assert_eq!(bench.workspace.cwd(), bench.project(), "a background command moves nobody");
}

#[tokio::test]
async fn sleepers_and_all_when_forbidden_end_at_their_timeout() {
    let mut bench = Bench::new();
    let outcome = bench.call(json!({"command": "sleep 600", "timeout": 50})).await;
    assert!(outcome.is_error());
    assert_eq!(text(&outcome), "Exit code 143\nCommand did not complete within its 50ms timeout and was ended.");
    bench.shell.background_allowed = false;
    let outcome =
        bench.call(json!({"command": "echo $$; exec sleep 600", "timeout": 300, "run_in_background": true})).await;
    let said = text(&outcome);
    assert!(outcome.is_error() && !alive(said.lines().last().unwrap()), "{said}");
    assert_eq!(bench.tasks.list(), []);
}

#[test]
fn timeouts_are_clamped() {
    let shell = Bench::new().shell;
    for (asked, seconds) in [
        (None, 120.0),
        (Some(5000.0), 5.0),
        (Some(9e9), 600.0),
        (Some(0.0), 120.0),
        (Some(-1.0), 120.0),
        (Some(f64::NAN), 120.0),
    ] {
        assert_eq!(shell.limit(asked), Duration::from_secs_f64(seconds), "{asked:?}");
    }
    let patient = Shell { default_timeout: Duration::from_mins(15), ..shell };
    assert_eq!(patient.limit(None), Duration::from_mins(15));
}

#[tokio::test]
async fn stopping_a_task_ends_all_it_started() {
    let bench = Bench::new();
    let command = "trap '' TERM; setsid sh -c 'echo $$; sleep 600' & wait; sleep 600";
    bench.call(json!({"command": command, "run_in_background": true})).await;
    let task = bench.tasks.list().remove(0);
    until("the task has said its child's number", || read(&task.output_file).ends_with('\n')).await;
    let pid = read(&task.output_file);
    let stopped = bench.tasks.stop(&task.id, PATIENCE).await.unwrap();
    assert_eq!(stopped.status, Status::Stopped);
    until("the child is gone", || !alive(&pid)).await;
}

#[tokio::test]
async fn an_interrupt_kills_the_command() {
    let bench = Bench::new();
    let pid_file = bench.project().join("pid");
    {
        let call = bench.run("sh -c 'echo $$ > pid; sleep 600'; true");
        tokio::select! {
            _ = call => panic!("ended by itself"),
            () = until("the command runs", || read(&pid_file).ends_with('\n')) => {}
        }
    }
    until("the command is gone", || !alive(&read(&pid_file))).await;
    assert_eq!(bench.spilled(), 0);
}
