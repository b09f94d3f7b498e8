//! The binary: who was called, with what, and how it ends. Called as `claude`, or as `ralph agent`,
//! it is the agent; called as `ralph` it is everything else. No logic worth a unit test lives here.

mod say;
mod failure;
mod collector;
mod commands;

use failure::{Ended, Failure};
use resolve::Environment;
use std::ffi::OsStr;
use std::path::Path;

fn main() -> std::process::ExitCode {
    // Clients and scripts ask for the version at every start, so nothing else is done for it.
    if let Some(program) = resolve::asks_only_version() {
        say::out(&commands::version(is_agent(&program)));
        return std::process::ExitCode::SUCCESS;
    }
    quiet_panics();
    process::outlive_file_limits();
    let read = Environment::read();
    process::hide_credentials();
    let ended = read.map_err(Failure::failed).and_then(run);
    let exit = ended.unwrap_or_else(|failure| {
        say::err(&failure.line());
        failure.kind.exit()
    });
    std::process::ExitCode::from(exit.code())
}

fn run(mut environment: Environment) -> Ended {
    // An answer about the version waits for nothing else.
    if !environment.words.iter().any(|word| word == "--version") {
        let config_dir = resolve::places(&environment).config_dir;
        sandbox::remove_left(&environment.cwd, environment.home.as_deref(), &config_dir);
    }
    let words = std::mem::take(&mut environment.words);
    match words.split_first() {
        _ if is_agent(&environment.program) => commands::agent::run(words, environment),
        Some((first, rest)) if first == "agent" => commands::agent::run(rest.to_vec(), environment),
        _ => commands::ralph(&words, &environment),
    }
}

/// Whether the program was called by the agent's name.
fn is_agent(program: &OsStr) -> bool {
    Path::new(program).file_stem().is_some_and(|name| name == "claude")
}

/// A panic is one line for people; the turn it happened in still ends with its result.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|info| {
        // Decoders of strange files run on workers; their panics become tool errors.
        if std::thread::current().name() != Some("main") {
            return;
        }
        let place = info.location().map(|at| format!(" at {}:{}", at.file(), at.line())).unwrap_or_default();
        say::err(&format!("ralph: internal error{place}. Please report this line."));
    }));
}
