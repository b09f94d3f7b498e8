//! Complaint 17 (claude-code#76185, #83280, #18859): memory grows with what commands print.
//!
//! In its own program, so that the peak measured is that of one call.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

use policy::Targets;
use ralph_tools::{
    Content, Invocation, ReadLog, Shell, Tasks, Todos, ToolContext, ToolLimits, Web, Workspace, find, find_shell, run,
};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

const PRINTED: u64 = 100_000_000;

/// What a call may need besides the program itself; a tenth of what is printed.
const ALLOWED_KIB: u64 = 10_000;

fn ctx(folder: &Path) -> ToolContext {
    let path = "/usr/local/bin:/usr/bin:/bin";
    let env = vec![("PATH".into(), path.into())];
    ToolContext {
        workspace: Arc::new(Workspace::new(folder.to_path_buf(), Vec::new(), None)),
        reads: ReadLog::default(),
        todos: Todos::default(),
        limits: ToolLimits::default(),
        must_read_first: false,
        denied: Arc::new(|_| false),
        shell: Shell::new(find_shell(None, path.as_ref()), env, folder.join("spill"), folder.to_path_buf()),
        tasks: Tasks::default(),
        web: Web::new(
            Arc::new(|| Err(ralph_tools::WebError(String::new()))),
            Arc::new(|_| Box::pin(async { Err(ralph_tools::WebError(String::new())) })),
        ),
    }
}

fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

#[tokio::test]
async fn complaint_17_a_hundred_megabytes_of_output_use_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let ctx = ctx(&folder.path().canonicalize().unwrap());
    let input = json!({"command": format!("head -c {PRINTED} /dev/zero | tr '\\0' x")});
    let before = peak_kib();
    let targets = Targets::default();
    let call = Invocation { tool_use_id: "t", input: &input, targets: &targets, run: None };
    let outcome = run(find("Bash").unwrap(), call, &ctx).await;
    assert!(peak_kib() - before < ALLOWED_KIB, "{} KiB", peak_kib() - before);

    assert_eq!(outcome.structured["persistedOutputSize"], json!(PRINTED));
    let kept = outcome.structured["persistedOutputPath"].as_str().unwrap();
    assert_eq!(std::fs::metadata(kept).unwrap().len(), 64 * 1024 * 1024);
    let Content::Text(text) = outcome.content else { panic!("no text") };
    assert!(text.len() < 10_000 && text.contains(kept), "{}", text.len());
}
