//! The commands of the binary, one file each.

mod acp;
mod acp_bridge;
pub mod agent;
mod agent_commands;
mod agent_telemetry;
mod agent_worktree;
mod auth;
mod demo;
mod doctor;
mod doctor_endpoint;
mod explain;
mod goals;
mod link;
mod loop_ask;
mod loop_attach;
mod loop_detach;
mod loop_fallback;
mod loop_init;
mod loop_prices;
mod loop_reach;
mod loop_rehearse;
mod loop_replay;
mod loop_report;
mod loop_resume;
mod loop_review;
mod loop_run;
mod loop_runs;
mod loop_screen;
mod loop_signals;
mod loop_telemetry;
mod mcp;
mod mcp_health;
mod mcp_login;
mod mcp_serve;
mod mock;
mod mock_record;
mod plugin;
mod purge;
mod serve;
mod trust;

use crate::failure::{Ended, Failure};
use crate::say;
use arguments::{COMMANDS, Command, completions, help, loop_flags, manual};
use resolve::{CONTRACT_VERSION, Environment};
use wire::ExitCode;

/// `ralph …`: everything but the agent.
pub fn ralph(words: &[String], environment: &Environment) -> Ended {
    let Some((first, rest)) = words.split_first() else {
        return loop_run::run(words, environment);
    };
    if let Some(command) = asked_about(first, rest) {
        return explain_command(command, environment);
    }
    if let Some(word) = rest.first().filter(|_| ALONE.contains(&first.as_str())) {
        return Err(Failure::usage(format!("'ralph {first}' takes no arguments, and '{word}' is one.")));
    }
    match first.as_str() {
        "-v" | "-V" | "--version" | "version" => {
            say::out(&version(false));
            Ok(ExitCode::Success)
        }
        "help" if !rest.is_empty() => Err(unknown(&rest[0])),
        "-h" | "--help" | "help" => {
            say::out(&help::ralph());
            Ok(ExitCode::Success)
        }
        "completions" => complete(rest),
        "man" => man(rest),
        "acp" => acp::run(rest, environment),
        acp_bridge::NAME => acp_bridge::run(rest, environment),
        "auth" => auth::run(rest, environment, None),
        "doctor" => doctor::command(rest, environment),
        "explain" => explain::run(rest, environment),
        "mcp" => mcp::run(rest, &arguments::Arguments::default(), environment),
        "plugin" | "plugins" => plugin::run(rest, environment),
        "link" => link::run(rest, environment),
        "trust" => trust::run(environment),
        "mock" => mock::run(rest, environment),
        "demo" => demo::run(environment),
        "goal" | "goals" => goals::goal(rest, environment),
        "work" => goals::work(rest, environment),
        "board" => goals::board(rest, environment),
        "serve" => serve::run(rest, environment),
        "init" => loop_init::run(environment),
        "resume" => loop_run::resume(rest, environment),
        "runs" => loop_runs::list(rest, environment),
        "show" => loop_runs::show(rest, environment),
        "answer" => loop_runs::answer(rest, environment),
        "attach" => loop_attach::run(rest, environment),
        "report" => loop_report::run(rest, environment),
        "steer" => loop_reach::steer(rest, environment),
        "pause" => loop_reach::pause(rest, environment),
        "unpause" => loop_reach::unpause(rest, environment),
        "stop" => loop_reach::stop(rest, environment),
        _ if loop_flags::is_ours(first) => loop_run::run(words, environment),
        other => Err(unknown(other)),
    }
}

/// What `--version` prints.
pub fn version(is_agent: bool) -> String {
    if is_agent {
        format!("{CONTRACT_VERSION} (Claude Code)\n")
    } else {
        concat!("ralph ", env!("CARGO_PKG_VERSION"), "\n").to_owned()
    }
}

fn unknown(command: &str) -> Failure {
    let near = arguments::nearest(command, COMMANDS.iter().map(|command| command.name));
    let near = near.map(|name| format!("Did you mean '{name}'? ")).unwrap_or_default();
    Failure::usage(format!("unknown command '{command}'")).hint(format!("{near}'ralph help' lists the commands."))
}

fn man(words: &[String]) -> Ended {
    match words {
        [] => say::out(&manual::roff_page()),
        [flag] if flag == "--markdown" => say::out(&manual::markdown()),
        _ => return Err(Failure::form("usage: ralph man [--markdown]")),
    }
    Ok(ExitCode::Success)
}

fn complete(words: &[String]) -> Ended {
    let script = match words {
        [shell] => completions::script(shell),
        _ => None,
    };
    say::out(&script.ok_or_else(|| Failure::form("usage: ralph completions bash|zsh|fish"))?);
    Ok(ExitCode::Success)
}

/// Commands that are the whole line: a word that would be ignored is a mistake.
const ALONE: [&str; 3] = ["init", "demo", "trust"];

/// The command that `ralph help COMMAND` and `ralph COMMAND --help` are about.
fn asked_about(first: &str, rest: &[String]) -> Option<&'static Command> {
    let second = rest.first().map(String::as_str)?;
    match (first, second) {
        (name, "-h" | "--help") | ("help", name) => Command::find(name),
        _ => None,
    }
}

fn explain_command(command: &'static Command, environment: &Environment) -> Ended {
    if command.name == "agent" {
        return agent::run(vec!["--help".to_owned()], environment.clone());
    }
    say::out(&help::command(command));
    Ok(ExitCode::Success)
}
