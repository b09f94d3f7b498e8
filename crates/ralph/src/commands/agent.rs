//! The agent face: `claude …`.

use super::{agent_commands, agent_telemetry, agent_worktree};
use crate::failure::{Ended, Failure};
use crate::say;
use agent::{InputFormat, OutputFormat};
use arguments::{Arguments, FirstWord, help};
use resolve::{Environment, Refusal, runtime};
use std::path::PathBuf;
use wire::ExitCode;

pub fn run(mut words: Vec<String>, mut environment: Environment) -> Ended {
    let command = match arguments::first_word(&words) {
        FirstWord::Command { at } => Some(words.split_off(at)),
        FirstWord::Misspelled { word, near } => return agent_commands::misspelled(&word, near),
        FirstWord::Other => None,
    };
    let typed = arguments::parse(words)?;
    if typed.version {
        say::out(&super::version(true));
        return Ok(ExitCode::Success);
    }
    if typed.help {
        say::out(&help::agent());
        return Ok(ExitCode::Success);
    }
    if let Some(command) = command {
        return agent_commands::run(&command, &typed, &environment);
    }
    if typed.worktree.is_given {
        // Mistakes on the command line make no worktree.
        if let Err(refusal) = resolve::formats(&typed) {
            return refused(&typed, refusal);
        }
        environment = agent_worktree::enter(&typed, &environment)?;
    }
    let mut resolved = match resolve::options(&typed, &mut environment) {
        Ok(resolved) => resolved,
        Err(refusal) => return refused(&typed, refusal),
    };
    if let Some(message) = typed.rewind_files.as_deref() {
        return rewind(message, &resolved.options);
    }
    if is_interactive(&typed, &resolved.options, &environment) {
        let why = Failure::agent("Error: this agent has no interactive mode");
        return Err(why.hint("Give a prompt with -p, or pipe one in."));
    }
    for warning in &resolved.warnings {
        say::err(warning);
    }
    process::adopt_orphans();
    process::watch_over();
    let sandbox = resolved.options.tools.shell.sandbox.clone();
    process::harden();
    let runtime = runtime()?;
    let retention = Retention::of(&resolved.options);
    let export = agent_telemetry::open(&typed, &mut resolved.options, &environment);
    let exit = runtime.block_on(agent_telemetry::around(export, stdio::run(resolved.options)));
    // A thread may still sit in a read of stdin; nothing waits for it.
    runtime.shutdown_background();
    if let Some(retention) = retention.filter(|_| exit == ExitCode::Success) {
        retention.apply();
    }
    if let Some(sandbox) = sandbox {
        sandbox.close();
    }
    Ok(exit)
}

/// `cleanupPeriodDays` of the user or the administrator; a folder has no say about the conversations of others.
struct Retention {
    config_dir: PathBuf,
    days: u64,
    session: String,
}

impl Retention {
    fn of(options: &agent::Options) -> Option<Self> {
        let days = options.settings.personal["cleanupPeriodDays"].as_u64().filter(|days| *days > 0)?;
        let config_dir = options.places.config_dir.clone();
        options.session.persist.then(|| Self { config_dir, days, session: options.session.id.clone() })
    }

    fn apply(&self) {
        session::remove_old(&self.config_dir, self.days, &self.session, session::RETENTION_BUDGET);
    }
}

/// `--rewind-files`, which ends the process: no prompt is read and no model is asked.
fn rewind(message: &str, options: &agent::Options) -> Ended {
    if !matches!(options.session.plan, agent::SessionPlan::Resume { .. }) {
        let why = "Error: --rewind-files needs --resume with the id of a session, and no --fork-session.";
        return Err(Failure::agent(why));
    }
    match agent::rewind_files(options, message) {
        Ok(answer) if options.output == OutputFormat::Text => {
            let files = answer["filesChanged"].as_array().map(Vec::as_slice).unwrap_or_default();
            let lines = files.iter().filter_map(|file| file.as_str()).map(|file| format!("Restored: {file}\n"));
            say::out(&lines.collect::<String>());
            say::out(&format!("{} files restored.\n", files.len()));
            Ok(ExitCode::Success)
        }
        Ok(answer) => {
            say::out(&format!("{answer}\n"));
            Ok(ExitCode::Success)
        }
        Err(problem) => Err(Failure::agent(format!("Error: {problem}"))),
    }
}

fn refused(typed: &Arguments, refusal: Refusal) -> Ended {
    let (input, output) = resolve::formats(typed).unwrap_or((InputFormat::Text, OutputFormat::Text));
    match runtime() {
        Ok(runtime) if refusal.as_result => Ok(runtime.block_on(stdio::failed_start(input, output, refusal.text))),
        _ => Err(refusal.into()),
    }
}

/// Nobody gave a prompt and a person sits at both ends.
fn is_interactive(typed: &Arguments, options: &agent::Options, environment: &Environment) -> bool {
    options.stdin == agent::StdinKind::Terminal
        && environment.stdout_is_terminal
        && options.prompt.is_none()
        && !typed.print
        && options.input == InputFormat::Text
        && options.preparation != Some(agent::Preparation::InitOnly)
}
