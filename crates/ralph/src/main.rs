//! The binary: who was called, with what, and how it ends. Called as `claude`, or as `ralph agent`,
//! it is the agent; called as `ralph` it is everything else. No logic worth a unit test lives here.

mod say;
mod failure;
mod commands;

use failure::{Ended, Failure};
use resolve::Environment;
use std::path::Path;

fn main() -> std::process::ExitCode {
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
    // Whoever asks for the version waits for nothing else.
    if !environment.words.iter().any(|word| word == "--version") {
        let config_dir = resolve::places(&environment).config_dir;
        sandbox::remove_left(&environment.cwd, environment.home.as_deref(), &config_dir);
    }
    let words = std::mem::take(&mut environment.words);
    let called_as = Path::new(&environment.program).file_stem().map(|name| name.to_string_lossy().into_owned());
    match (called_as.as_deref(), words.split_first()) {
        (Some("claude"), _) => commands::agent::run(words, environment),
        (_, Some((first, rest))) if first == "agent" => commands::agent::run(rest.to_vec(), environment),
        _ => commands::ralph(&words, &environment),
    }
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
