//! `ralph --detach …`: the one way to start a run that outlives whoever started it.
//!
//! What can be refused is refused here, in front of the person. Then the same program starts the run; this one says the
//! run's id when the run answers on its socket.

use crate::failure::{Ended, Failure};
use crate::say;
use arguments::loop_flags;
use resolve::{Environment, runtime};
use runner::{DetachError, Folder, Started};
use serde_json::json;
use wire::ExitCode;

/// `words` are those of the loop, `resume` a run to go on with.
pub fn run(words: &[String], resume: Option<&str>, json: bool, environment: &Environment) -> Ended {
    let kept = words.iter().filter(|word| !loop_flags::is_about_showing(word)).cloned();
    let head = resume.into_iter().flat_map(|run| ["resume".to_owned(), run.to_owned()]);
    let args = head.chain(kept).chain(["--no-tui".to_owned()]).collect();
    let (folder, env) = (Folder::new(&environment.cwd), environment.vars.clone());
    let started = runtime()?.block_on(runner::detach(environment.exe.clone(), args, &folder, env));
    let Started { run, pid } = started.map_err(|error| match error {
        // A whole line, as the run wrote it.
        DetachError::Complaint(line) => Failure::agent(line),
        other => Failure::failed(other),
    })?;
    if json {
        let folder = environment.cwd.display().to_string();
        say::out(&format!("{}\n", json!({"run": run, "pid": pid, "folder": folder})));
    } else {
        say::out(&format!(
            "run {run} works on its own (process {pid})\n  look at it:  ralph attach {run}\n  end it:      ralph stop {run} [--now]\n"
        ));
    }
    Ok(ExitCode::Success)
}
