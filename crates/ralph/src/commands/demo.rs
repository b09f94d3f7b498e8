//! `ralph demo`: the agent mends a failing test, offline, in a scratch repository, with its real tools.
//! Only the model is played, by the mock.

use super::runtime;
use crate::environment::{Environment, temp_dir};
use crate::say;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;
use wire::ExitCode;

/// The whole demo takes well under a second; a machine that needs more has a problem to show.
const DEADLINE: Duration = Duration::from_mins(1);
const OUTPUT_MAX: usize = 4 * 1024 * 1024;
const GRACE: Duration = Duration::from_secs(1);

const SUM: &str = include_str!("demo/sum.sh");
const TEST: &str = include_str!("demo/test.sh");
const SCRIPT: &str = include_str!("demo/script.json");
const PROMPT: &str = "The test fails. Find out why, mend it, and show that it passes.";

pub fn run(environment: &Environment) -> ExitCode {
    match runtime().map(|runtime| runtime.block_on(demo(environment))) {
        Ok(Ok(())) => ExitCode::Success,
        Ok(Err(problem)) => {
            say::err(&format!("error: the demo failed: {problem}"));
            ExitCode::Failure
        }
        Err(exit) => exit,
    }
}

async fn demo(environment: &Environment) -> Result<(), String> {
    let folder = scratch()?;
    say::out(&format!("A scratch project with a failing test, in {}\n\n", folder.display()));
    repository(&folder, environment).await;
    let before = command(&folder, environment, "/bin/sh", &["test.sh"]).await?;
    say::out(&format!("$ sh test.sh\n{}exit {}\n\n", lossy(&before.stdout), code(&before)));
    if before.exit.code == Some(0) {
        return Err("the test should fail before the agent has worked".into());
    }

    let script = mock::Script::from_json(SCRIPT)
        .map_err(|error| error.to_string())?
        .substitute("$WD", &folder.display().to_string());
    let mock = mock::Mock::start(script).map_err(|error| format!("no loopback server: {error}"))?;
    say::out(&format!("$ claude -p {PROMPT:?} --permission-mode acceptEdits --allowedTools 'Bash(sh test.sh)'\n"));
    let agent = agent(&folder, environment, &mock.url()).await?;
    for line in lossy(&agent.stdout).lines() {
        if let Ok(event) = serde_json::from_str::<Value>(line) {
            show(&event, &folder);
        }
    }
    if agent.exit.code != Some(0) {
        return Err(format!("the agent ended with exit {}: {}", code(&agent), lossy(&agent.stderr)));
    }

    let after = command(&folder, environment, "/bin/sh", &["test.sh"]).await?;
    say::out(&format!("\n$ sh test.sh\n{}exit {}\n", lossy(&after.stdout), code(&after)));
    if after.exit.code != Some(0) {
        return Err("the test still fails".into());
    }
    say::out(&format!("\nMended and checked. The project stays in {}\n", folder.display()));
    Ok(())
}

/// A new folder under the temporary folder, ours alone.
fn scratch() -> Result<PathBuf, String> {
    use std::os::unix::fs::DirBuilderExt as _;
    let folder = temp_dir().join(format!("ralph-demo-{}", uuid::Uuid::new_v4().simple()));
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    let folder = std::fs::canonicalize(&folder).map_err(|error| error.to_string())?;
    for (name, text) in [("sum.sh", SUM), ("test.sh", TEST)] {
        std::fs::write(folder.join(name), text).map_err(|error| format!("{name} cannot be written: {error}"))?;
    }
    Ok(folder)
}

/// A repository where git is installed; the demo needs none.
async fn repository(folder: &Path, environment: &Environment) {
    let git =
        "git init -q . && git add . && git -c user.name=demo -c user.email=demo@localhost commit -qm 'a failing test'";
    let _ = command(folder, environment, "/bin/sh", &["-c", git]).await;
}

async fn command(
    folder: &Path,
    environment: &Environment,
    program: &str,
    args: &[&str],
) -> Result<proc::Captured, String> {
    start(folder, program.into(), args.iter().map(Into::into).collect(), plain_env(folder, environment)).await
}

async fn agent(folder: &Path, environment: &Environment, url: &str) -> Result<proc::Captured, String> {
    let flags = "--output-format stream-json --verbose --permission-mode acceptEdits --allowedTools";
    let mut args: Vec<std::ffi::OsString> = vec!["agent".into(), "-p".into(), PROMPT.into()];
    args.extend(flags.split_whitespace().map(Into::into));
    args.push("Bash(sh test.sh)".into());
    let mut env = plain_env(folder, environment);
    env.push(("ANTHROPIC_BASE_URL".into(), url.into()));
    env.push(("ANTHROPIC_API_KEY".into(), "sk-ant-demo".into()));
    start(folder, environment.exe.clone().into(), args, env).await
}

/// Nothing of the user's: no credentials, no settings, no home.
fn plain_env(folder: &Path, environment: &Environment) -> proc::Env {
    let home = folder.join(".home");
    vec![
        ("PATH".into(), environment.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin").into()),
        ("HOME".into(), home.into()),
    ]
}

async fn start(
    folder: &Path,
    program: std::ffi::OsString,
    args: Vec<std::ffi::OsString>,
    env: proc::Env,
) -> Result<proc::Captured, String> {
    let spec = proc::Spec {
        program,
        args,
        cwd: folder.to_owned(),
        env,
        stdin: proc::Stdin::Null,
        output: proc::Output::Pipes,
        arg0: None,
    };
    let limits = proc::Limits { deadline: DEADLINE, max_output: OUTPUT_MAX, grace: GRACE };
    let done = proc::capture(spec, limits).await.map_err(|error| error.to_string())?;
    if done.timed_out { Err(format!("no end after {} s", DEADLINE.as_secs())) } else { Ok(done) }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn code(done: &proc::Captured) -> String {
    done.exit.code.map_or_else(|| "by a signal".into(), |code| code.to_string())
}

/// One event as a line a person can follow.
fn show(event: &Value, folder: &Path) {
    let here = format!("{}/", folder.display());
    let block = &event["message"]["content"][0];
    let line = match (event["type"].as_str(), block["type"].as_str()) {
        (Some("assistant"), Some("text")) => block["text"].as_str().unwrap_or_default().to_owned(),
        (Some("assistant"), Some("tool_use")) => {
            let input = &block["input"];
            let what = input["command"].as_str().or(input["file_path"].as_str()).unwrap_or_default();
            format!("● {:<5} {}", block["name"].as_str().unwrap_or_default(), what.replace(&here, ""))
        }
        (Some("user"), Some("tool_result")) => indented(&event["tool_use_result"], block),
        (Some("result"), _) => format!("  done in {} ms, {} turns", event["duration_ms"], event["num_turns"]),
        _ => return,
    };
    say::out(&format!("{line}\n"));
}

/// Lines of a result worth showing; the rest is in the transcript.
const SHOWN_LINES: usize = 8;

fn indented(structured: &Value, block: &Value) -> String {
    let patch = structured["structuredPatch"][0]["lines"].as_array();
    let text = match patch {
        Some(lines) => lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
        None => block["content"].as_str().unwrap_or_default().to_owned(),
    };
    text.lines().take(SHOWN_LINES).map(|line| format!("    {line}")).collect::<Vec<_>>().join("\n")
}
