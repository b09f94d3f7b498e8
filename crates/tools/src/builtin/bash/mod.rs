//! Bash: a command in the user's shell, each in its own process.
//!
//! The working folder is carried from call to call as long as it stays inside the workspace; variables
//! are not. Deliberately absent: whether the command may run.

mod command;
mod result;

use self::command::may_outlive_timeout;
use self::result::{Finished, ended_by_us, finished, in_background};
use crate::ToolOutcome;
use crate::bounded::first_chars;
use crate::context::ToolContext;
use crate::schema::parse;
use crate::shell::Shell;
use crate::shell::output::{Excerpt, FAILURE_CHARS};
use crate::shell::running::{Command, End};
use crate::shell::user_shell::NoNames;
use crate::tasks::{Ending, NewTask, Running, Status, Tasks};
use crate::tool::{Invocation, Tool, ToolFuture, ToolSpec, boxed};
use crate::workspace::Workspace;
use policy::names;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

static SPEC: ToolSpec = ToolSpec::alone(
    &names::BASH,
    "Runs a command in the user's shell and returns its output, stdout and stderr together.\n\
        The working folder carries over to the next call, variables and functions do not. Quote paths with spaces. \
        There is no terminal and no input: pass flags instead of answering questions.\n\
        For files prefer Read, Edit, Write, Glob and Grep over cat, sed, echo, find and grep.\n\
        Join steps that need each other with &&; calls that do not can go in one message side by side.\n\
        For servers, watchers and long builds set run_in_background; you are told when they end, so do not sleep and poll.",
    r#"{"type":"object","properties":{"command":{"type":"string","description":"The command line"},"timeout":{"type":"number","description":"Milliseconds until the command is moved to the background or ended; 120000 if left out, 600000 at most"},"description":{"type":"string","description":"What the command does, in five to ten words"},"run_in_background":{"type":"boolean","description":"Start it and go on at once"},"dangerouslyDisableSandbox":{"type":"boolean","description":"Run outside the sandbox, if there is one; needs permission"}},"required":["command"],"additionalProperties":false}"#,
);

/// Characters of a command that stand for it where no description was given.
const LONGEST_DESCRIPTION: usize = 200;

#[derive(Deserialize)]
struct Input {
    command: String,
    timeout: Option<f64>,
    description: Option<String>,
    #[serde(default)]
    run_in_background: bool,
}

pub(crate) struct Bash;

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn run<'a>(&'a self, call: Invocation<'a>, context: &'a ToolContext) -> ToolFuture<'a> {
        boxed(run(call, context))
    }
}

async fn run(call: Invocation<'_>, context: &ToolContext) -> Result<ToolOutcome, ToolOutcome> {
    let input: Input = parse(SPEC.entry.name, call.input)?;
    let outside = context.shell.leaves(call.input).map(|_| context.shell.unconfined());
    let shell = outside.as_ref().unwrap_or(&context.shell);
    let judged = call.run.unwrap_or(&input.command);
    // What nobody and no rule allowed runs as it was judged: without names that somebody has given a meaning.
    let is_plain = call.run.is_some_and(policy::runs_plain_programs);
    let names = match &shell.user {
        Some(user) if !is_plain => Names::of(user.names(shell).await),
        _ => Names::default(),
    };
    let job = Job { input: &input, text: judged, names, tool_use_id: call.tool_use_id };
    Ok(run_in(&job, shell, &context.tasks, &context.workspace).await)
}

/// The user's own functions and aliases, or why they are missing.
#[derive(Default)]
struct Names {
    text: Option<Arc<str>>,
    /// Told once a session.
    missing: Option<String>,
}

impl Names {
    fn of((taken, is_first): (Result<Arc<str>, NoNames>, bool)) -> Self {
        match taken {
            Ok(text) => Self { text: Some(text), missing: None },
            Err(NoNames::Absent) => Self::default(),
            Err(why) => Self { text: None, missing: is_first.then(|| why.to_string()) },
        }
    }
}

/// One command to run.
struct Job<'a> {
    input: &'a Input,
    /// What the shell is given; clients and the model are told of the command as it was written.
    text: &'a str,
    names: Names,
    tool_use_id: &'a str,
}

async fn run_in(job: &Job<'_>, shell: &Shell, tasks: &Tasks, workspace: &Workspace) -> ToolOutcome {
    let Job { input, text, names, tool_use_id } = job;
    let cwd = start_folder(shell, workspace);
    let asked = input.run_in_background && shell.background_allowed;
    if asked && let Err(full) = tasks.room() {
        return ToolOutcome::error(format!("Command was not started: {full}."));
    }
    let mut command = match Command::start(shell, &cwd, text, names.text.as_deref(), !asked) {
        Ok(command) => command,
        Err(error) => return ToolOutcome::error(format!("Command was not started: {error}.")),
    };
    if asked {
        return match move_to_background(command, input, tool_use_id, tasks, None) {
            Ok(outcome) => outcome,
            Err(_killed) => ToolOutcome::error("Command was ended: too many background tasks are running."),
        };
    }
    let limit = shell.limit(input.timeout);
    let end = match wait(&mut command, limit, shell, tasks, tool_use_id).await {
        Some(end) => end,
        None => match move_to_background(command, input, tool_use_id, tasks, None) {
            Ok(outcome) => return outcome,
            Err(back) => {
                command = *back;
                command.finish_within(Some(limit)).await
            }
        },
    };
    match end {
        End::Exited(exit) => {
            let moved = carry_cwd_over(&command, &cwd, shell, workspace);
            let notice: Vec<&str> = moved.iter().chain(&names.missing).map(String::as_str).collect();
            let notice = (!notice.is_empty()).then(|| notice.join("\n"));
            report(command, &input.command, exit.shell_code(), notice.as_deref(), shell.max_output)
        }
        End::TimedOut => {
            if shell.background_allowed && may_outlive_timeout(&input.command) && tasks.room().is_ok() {
                match move_to_background(command, input, tool_use_id, tasks, Some(limit)) {
                    Ok(outcome) => return outcome,
                    Err(back) => command = *back,
                }
            }
            let code = command.stop().await.shell_code();
            let (output, kept_at) = take_output(command, shell.max_output, FAILURE_CHARS);
            ended_by_us(code, &result::timed_out(limit), &output, kept_at.as_deref())
        }
        End::Flooded(exit) => {
            let (output, kept_at) = take_output(command, shell.max_output, FAILURE_CHARS);
            ended_by_us(exit.shell_code(), &result::flooded(), &output, kept_at.as_deref())
        }
    }
}

/// The end of a command, unless somebody wants it to go on by itself before that.
async fn wait(command: &mut Command, limit: Duration, shell: &Shell, tasks: &Tasks, id: &str) -> Option<End> {
    if !shell.background_allowed {
        return Some(command.finish_within(Some(limit)).await);
    }
    let awaited = tasks.awaited(id);
    tokio::select! {
        biased;
        end = command.finish_within(Some(limit)) => Some(end),
        () = awaited.left_alone() => None,
    }
}

/// The folder the last command ended in; the project's, when that one is gone.
fn start_folder(shell: &Shell, workspace: &Workspace) -> PathBuf {
    let cwd = workspace.cwd();
    if cwd.is_dir() && !shell.maintain_project_dir {
        return cwd;
    }
    workspace.set_cwd(workspace.project().to_path_buf());
    workspace.cwd()
}

/// Carries the folder over if it is ours to work in, else goes back and says so.
fn carry_cwd_over(command: &Command, started_in: &Path, shell: &Shell, workspace: &Workspace) -> Option<String> {
    let ended_in = command.ended_in()?;
    if started_in.canonicalize().is_ok_and(|real| real == ended_in) {
        return None;
    }
    if !shell.maintain_project_dir && workspace.contains(&ended_in) {
        workspace.set_cwd(ended_in);
        return None;
    }
    let project = workspace.project();
    workspace.set_cwd(project.to_path_buf());
    Some(format!("Shell cwd was reset to {}", project.display()))
}

fn report(command: Command, text: &str, code: i32, notice: Option<&str>, max_output: usize) -> ToolOutcome {
    let most = if code == 0 { max_output } else { max_output.min(FAILURE_CHARS) };
    let (output, kept_at) = take_output(command, max_output, most);
    finished(&Finished { command: text, code, output: &output, kept_at: kept_at.as_deref(), notice })
}

/// What there is to show, and the file's path if there is more than `shown` characters of it will be.
fn take_output(mut command: Command, max_output: usize, shown: usize) -> (Excerpt, Option<PathBuf>) {
    let output = command.output.read(max_output);
    if output.whole && output.text.chars().nth(shown).is_none() {
        return (output, None);
    }
    command.output.keep();
    command.output.cut();
    let path = command.output.path().to_path_buf();
    (output, Some(path))
}

/// Makes a task of a running command. Gives the command back if there is no room for it.
fn move_to_background(
    mut command: Command,
    input: &Input,
    tool_use_id: &str,
    tasks: &Tasks,
    outlived: Option<Duration>,
) -> Result<ToolOutcome, Box<Command>> {
    let (id, path) = (command.output.id(), command.output.path().to_path_buf());
    let described = input.description.as_deref().unwrap_or(&input.command);
    let new = NewTask {
        id: id.clone(),
        kind: "local_bash",
        description: first_chars(described, LONGEST_DESCRIPTION).to_owned(),
        command: Some(input.command.clone()),
        tool_use_id: tool_use_id.to_owned(),
        output_file: path.clone(),
        is_awaited: false,
    };
    let description = new.description.clone();
    let Ok(running) = tasks.begin(new) else { return Err(Box::new(command)) };
    command.output.keep();
    tokio::spawn(wait_in_background(command, running, description));
    Ok(in_background(&input.command, &id, &path, outlived))
}

async fn wait_in_background(mut command: Command, running: Running, description: String) {
    let end = tokio::select! {
        end = command.finish_within(None) => Some(end),
        () = running.stop_requested() => None,
    };
    let (status, code, how) = match end {
        Some(End::Exited(exit)) if exit.success() => (Status::Completed, Some(0), "finished (exit code 0)".to_owned()),
        Some(End::Exited(exit)) => {
            let code = exit.shell_code();
            (Status::Failed, Some(code), format!("failed with exit code {code}"))
        }
        Some(End::Flooded(_) | End::TimedOut) => (Status::Failed, None, "was ended: it wrote too much".to_owned()),
        None => (Status::Stopped, Some(command.stop().await.shell_code()), "was stopped".to_owned()),
    };
    command.output.cut();
    running.finish(Ending { status, exit_code: code, summary: format!("Background command \"{description}\" {how}") });
}

#[cfg(test)]
#[path = "bash_tests.rs"]
mod tests;
