//! Command hooks as real processes.

use super::{Bench, PATIENCE, command, hooks};
use crate::{Decision, HookEvent, HookRun, Hooks};
use serde_json::{Value, json};

#[tokio::test]
async fn a_hook_gets_its_input_its_variables_and_no_terminal() {
    let bench = Bench::new().set("OTEL_X", "1").set("KEPT", "2").set("CLAUDECODE", "old");
    let script = "cat > input; env > env; pwd > pwd; ( : < /dev/tty ) 2>/dev/null && echo tty > tty; exit 0";
    let fields = json!({"source": "startup"});
    let list = hooks("SessionStart", &json!([command(script)]));
    bench.fire(&list, HookEvent::SessionStart, Some("startup"), fields).await;
    let input = bench.read("input");
    let input: Value = serde_json::from_str(&input).unwrap();
    assert_eq!(
        input,
        json!({
            "session_id": "s-1", "transcript_path": "/t/s-1.jsonl", "cwd": bench.project.to_str(),
            "permission_mode": "default", "effort": {"level": "high"}, "hook_event_name": "SessionStart",
            "source": "startup",
        })
    );
    let env = bench.read("env");
    let has = |line: &str| env.lines().any(|other| other == line);
    assert!(has("KEPT=2") && has("CLAUDECODE=1") && has("CLAUDE_CODE_SESSION_ID=s-1") && has("CLAUDE_EFFORT=high"));
    assert!(has(&format!("CLAUDE_PROJECT_DIR={}", bench.project.display())));
    assert!(has(&format!("CLAUDE_ENV_FILE={}", bench.folder.path().join("env").display())));
    assert!(has(&format!("CLAUDE_PID={}", std::process::id())));
    assert!(!env.contains("OTEL_") && !env.contains("CLAUDECODE=old") && !env.contains("CLAUDE_PLUGIN_ROOT"));
    assert_eq!(
        std::fs::canonicalize(bench.read("pwd").trim()).unwrap(),
        std::fs::canonicalize(&bench.project).unwrap()
    );
    assert_eq!(bench.read("tty"), "");
}

#[tokio::test]
async fn a_refusal_reaches_the_verdict_and_the_news() {
    let bench = Bench::new();
    let verdict = bench
        .bash(&hooks("PreToolUse", &json!([command("echo out; echo 'not allowed here' >&2; exit 2")])), "ls")
        .await;
    assert_eq!(verdict.blocked.as_deref(), Some("not allowed here"));
    assert_eq!(verdict.decision, Some(Decision::Deny));
    let news = bench.news.borrow();
    let (hook_id, name, event) = ("h1".to_owned(), "PreToolUse:Bash".to_owned(), HookEvent::PreToolUse);
    let expected = [
        HookRun::Started { hook_id: hook_id.clone(), name: name.clone(), event },
        HookRun::Response {
            hook_id,
            name,
            event,
            stdout: "out\n".into(),
            stderr: "not allowed here\n".into(),
            output: "out\nnot allowed here\n".into(),
            exit_code: Some(2),
            outcome: "error",
        },
    ];
    assert_eq!(*news, expected);
}

#[tokio::test]
async fn matching_hooks_run_at_the_same_time() {
    let bench = Bench::new();
    // Each waits for the other: one after the other they would wait for ever.
    let meet = |mine: &str, other: &str| {
        command(&format!("touch {mine}; until [ -e {other} ]; do sleep 0.01; done; echo met >> {mine}"))
    };
    bench.bash(&hooks("PreToolUse", &json!([meet("a", "b"), meet("b", "a")])), "ls").await;
    assert_eq!((bench.read("a"), bench.read("b")), ("met\n".into(), "met\n".into()));
}

#[tokio::test]
async fn identical_handlers_run_once_and_only_for_their_subject() {
    let bench = Bench::new();
    let count = command("echo x >> count");
    let (list, _) = Hooks::from_settings(
        &json!({"PreToolUse": [
            {"matcher": "Bash", "hooks": [count, count]},
            {"matcher": "*", "hooks": [count]},
            {"matcher": "Read", "hooks": [command("echo wrong >> count")]},
        ]}),
        "test",
    );
    bench.bash(&list, "ls").await;
    assert_eq!(bench.read("count"), "x\n");
}

#[tokio::test]
async fn a_matcher_means_nothing_where_there_is_no_subject() {
    let bench = Bench::new();
    let groups = json!({"Stop": [{"matcher": "Whatever", "hooks": [command("exit 2")]}]});
    let verdict = bench.fire(&Hooks::from_settings(&groups, "test").0, HookEvent::Stop, None, json!({})).await;
    assert!(verdict.blocked.is_some());
}

#[tokio::test]
async fn exec_form_has_no_shell_and_placeholders_are_filled() {
    let bench = Bench::new();
    let handler = json!({
        "type": "command", "command": "tee",
        "args": ["${CLAUDE_PROJECT_DIR}/a b; touch bad", "${CLAUDE_PLUGIN_ROOT}"],
    });
    let root = bench.folder.path().join("root");
    let list = hooks("PreToolUse", &json!([handler])).of_plugin(&root, bench.folder.path());
    bench.bash(&list, "ls").await;
    assert!(bench.read("a b; touch bad").contains("PreToolUse"));
    assert!(std::fs::read_to_string(root).unwrap().contains("PreToolUse"));
    assert_eq!(bench.outcomes(), ["started", "success"]);
}

#[tokio::test]
async fn a_folder_with_shell_code_in_its_name_is_only_a_folder() {
    let mut bench = Bench::new();
    bench.project = bench.folder.path().join("it's $(touch bad) `touch bad`; touch bad");
    std::fs::create_dir(&bench.project).unwrap();
    bench.bash(&hooks("PreToolUse", &json!([command("cat > \"${CLAUDE_PROJECT_DIR}/input\"")])), "ls").await;
    assert!(bench.read("input").contains("PreToolUse"));
    assert!(!bench.project.join("bad").exists());
}

#[tokio::test]
async fn in_a_plain_folder_placeholders_work_within_single_quotes() {
    let bench = Bench::new();
    let script = "printf %s '${CLAUDE_PROJECT_DIR}' > where";
    bench.bash(&hooks("PreToolUse", &json!([command(script)])), "ls").await;
    assert_eq!(bench.read("where"), bench.project.to_str().unwrap());
}

#[tokio::test]
async fn a_late_hook_is_stopped_and_decides_nothing() {
    let bench = Bench::new();
    let slow = json!({"type": "command", "command": "echo '{\"decision\":\"block\"}'; exec sleep 600", "timeout": 0.2});
    let verdict = bench.bash(&hooks("PreToolUse", &json!([slow])), "ls").await;
    assert_eq!((verdict.blocked, verdict.decision, verdict.errors.len()), (None, None, 1));
    assert_eq!(bench.outcomes(), ["started", "cancelled"]);
}

#[tokio::test]
async fn the_end_of_a_session_does_not_wait_for_a_slow_hook() {
    let bench = Bench::new().set("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS", "100");
    let list = hooks("SessionEnd", &json!([command("exec sleep 600"), command("touch done")]));
    bench.fire(&list, HookEvent::SessionEnd, Some("other"), json!({"reason": "other"})).await;
    assert!(bench.outcomes().contains(&"cancelled"));
}

#[tokio::test]
async fn an_interrupted_hook_is_gone_and_reported() {
    let bench = Bench::new();
    let list = hooks("PreToolUse", &json!([command("echo $$ > pid; exec sleep 600")]));
    {
        let mut fired = std::pin::pin!(bench.bash(&list, "ls"));
        while bench.read("pid").is_empty() {
            tokio::select! {
                _ = &mut fired => panic!("the hook ended by itself"),
                () = tokio::task::yield_now() => {}
            }
        }
    }
    assert_eq!(bench.outcomes(), ["started", "cancelled"]);
    let pid = bench.read("pid");
    let gone = async {
        while is_alive(pid.trim()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("the process to be gone");
}

/// A zombie is dead, though nobody has collected it yet.
fn is_alive(pid: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    !status.is_empty() && !status.contains("\nState:\tZ")
}

#[tokio::test]
async fn what_cannot_be_started_is_an_error_and_no_decision() {
    let bench = Bench::new();
    let missing = json!({"type": "command", "command": "/no/such/program", "args": []});
    let verdict = bench.bash(&hooks("PreToolUse", &json!([missing])), "ls").await;
    assert_eq!((verdict.decision, verdict.errors.len()), (None, 1));
    assert!(verdict.errors[0].contains("/no/such/program"), "{:?}", verdict.errors);
}

#[tokio::test]
async fn a_hook_that_reads_nothing_and_says_much_is_fine() {
    let bench = Bench::new();
    let list = hooks("PreToolUse", &json!([command("head -c 6000000 /dev/zero | tr '\\0' x")]));
    let verdict = bench.bash(&list, &"x".repeat(1_000_000)).await;
    assert_eq!(verdict.errors, Vec::<String>::new());
    let Some(HookRun::Response { output, .. }) = bench.news.borrow().last().cloned() else { panic!("no response") };
    assert!(output.len() <= 64 * 1024);
}

#[tokio::test]
async fn long_texts_go_to_a_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    let list = hooks(
        "SessionStart",
        &json!([command("head -c 10001 /dev/zero | tr '\\0' x"), command("head -c 10000 /dev/zero | tr '\\0' y")]),
    );
    let verdict = bench.fire(&list, HookEvent::SessionStart, Some("startup"), json!({})).await;
    let [long, short] = &verdict.contexts[..] else { panic!("{:?}", verdict.contexts.len()) };
    let dir = bench.folder.path().join("spilled");
    let files: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    assert_eq!(std::fs::read_to_string(&files[0]).unwrap(), "x".repeat(10_001));
    assert_eq!(std::fs::metadata(&files[0]).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(long.starts_with("xxx") && long.len() < 3_000 && long.contains(files[0].to_str().unwrap()), "{long}");
    assert_eq!(*short, "y".repeat(10_000));
}
