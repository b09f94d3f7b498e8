//! `ralph init`: the files of a loop, never overwriting, and the folder trusted.

use crate::environment::Environment;
use crate::{resolve, say};
use runner::Folder;
use wire::ExitCode;

pub fn run(environment: &Environment) -> ExitCode {
    let made = match runner::init(&Folder::new(&environment.cwd)) {
        Ok(made) => made,
        Err(error) => {
            say::err(&format!("error: .ralph cannot be set up: {error}"));
            return ExitCode::Failure;
        }
    };
    for file in &made {
        let name = file.file.strip_prefix(&environment.cwd).unwrap_or(&file.file);
        let what = if file.is_new { "made" } else { "kept" };
        say::out(&format!("{what} {}\n", name.display()));
    }
    if let Err(error) = settings::trust(&resolve::places(environment)) {
        say::err(&format!("error: {error}"));
        return ExitCode::Failure;
    }
    say::out("This folder is trusted now. Edit .ralph/prompt.md and .ralph/todo.md, then start 'ralph'.\n");
    ExitCode::Success
}
