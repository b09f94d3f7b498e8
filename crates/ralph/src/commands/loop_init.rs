//! `ralph init`: the files of a loop, never overwriting, and the folder trusted.

use crate::failure::{Ended, Failure};
use crate::say;
use resolve::Environment;
use runner::Folder;
use wire::ExitCode;

pub fn run(environment: &Environment) -> Ended {
    let made = runner::init(&Folder::new(&environment.cwd));
    let made = made.map_err(|error| Failure::failed(format!(".ralph cannot be set up: {error}")))?;
    for file in &made {
        let name = file.file.strip_prefix(&environment.cwd).unwrap_or(&file.file);
        let what = if file.is_new { "made" } else { "kept" };
        say::out(&format!("{what} {}\n", name.display()));
    }
    settings::trust(&resolve::places(environment))?;
    say::out("This folder is trusted now. Edit .ralph/prompt.md and .ralph/todo.md, then start 'ralph'.\n");
    Ok(ExitCode::Success)
}
