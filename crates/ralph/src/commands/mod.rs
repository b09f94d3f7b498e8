//! The commands of the binary, one file each.

pub mod agent;
mod auth;
mod demo;
mod doctor;
mod doctor_sandbox;
mod explain;
mod goals;
mod help;
mod link;
mod loop_ask;
mod loop_flags;
mod loop_init;
mod loop_notify;
mod loop_prices;
mod loop_rehearse;
mod loop_replay;
mod loop_resume;
mod loop_run;
mod loop_runs;
mod loop_screen;
mod loop_signals;
mod mcp;
mod mock;
mod mock_record;
mod plugin;
mod plugin_fetch;
mod trust;

use crate::environment::Environment;
use crate::say;
use wire::ExitCode;

/// `ralph …`: everything but the agent.
pub fn ralph(words: &[String], environment: &Environment) -> ExitCode {
    let Some((first, rest)) = words.split_first() else {
        return loop_run::run(words, environment);
    };
    if asks_for_help(first, rest) {
        say::out(&help::ralph());
        return ExitCode::Success;
    }
    if let Some(word) = rest.first().filter(|_| ALONE.contains(&first.as_str())) {
        say::err(&format!("error: 'ralph {first}' takes no arguments, and '{word}' is one."));
        return ExitCode::Failure;
    }
    match first.as_str() {
        "-v" | "-V" | "--version" | "version" => {
            say::out(concat!("ralph ", env!("CARGO_PKG_VERSION"), "\n"));
            ExitCode::Success
        }
        "-h" | "--help" | "help" => {
            say::out(&help::ralph());
            ExitCode::Success
        }
        "auth" => auth::run(rest, environment, None),
        "doctor" => doctor::command(rest, environment),
        "explain" => explain::run(rest, environment),
        "mcp" => mcp::run(rest, environment),
        "plugin" | "plugins" => plugin::run(rest, environment),
        "link" => link::run(rest, environment),
        "trust" => trust::run(environment),
        "mock" => mock::run(rest, environment),
        "demo" => demo::run(environment),
        "goal" | "goals" => goals::goal(rest, environment),
        "work" => goals::work(rest, environment),
        "board" => goals::board(rest, environment),
        "init" => loop_init::run(environment),
        "resume" => loop_run::resume(rest, environment),
        "runs" => loop_runs::list(rest, environment),
        "show" => loop_runs::show(rest, environment),
        "answer" => loop_runs::answer(rest, environment),
        _ if loop_flags::is_ours(first) => loop_run::run(words, environment),
        other => {
            let names = [
                "agent", "answer", "auth", "board", "demo", "doctor", "explain", "goal", "help", "init", "link", "mcp",
                "mock", "plugin", "resume", "runs", "show", "trust", "version", "work",
            ];
            let hint = crate::argv::nearest(other, names.into_iter())
                .map(|name| format!(" Did you mean '{name}'?"))
                .unwrap_or_default();
            say::err(&format!("error: unknown command '{other}'.{hint} 'ralph help' lists the commands."));
            ExitCode::Failure
        }
    }
}

/// Commands that are the whole line: a word that would be ignored is a mistake.
const ALONE: [&str; 3] = ["init", "demo", "trust"];

/// `ralph init --help` must not set up anything.
fn asks_for_help(command: &str, rest: &[String]) -> bool {
    let simple = ALONE.contains(&command) || matches!(command, "runs" | "show" | "answer");
    simple && matches!(rest.first().map(String::as_str), Some("-h" | "--help"))
}
