//! `ralph --replay [FILE]`: a recording as lines, at once.

use super::loop_run::Stdout;
use crate::environment::Environment;
use crate::say;
use runner::{Folder, JsonSink, PlainSink, Sink};
use std::path::Path;
use wire::ExitCode;

pub fn run(file: Option<&Path>, json: bool, environment: &Environment) -> ExitCode {
    let folder = Folder::new(&environment.cwd);
    let file = match file {
        Some(file) => environment.cwd.join(file),
        None => match runner::find(&folder, None) {
            Ok(id) => folder.events(&id),
            // Where another loop left its log.
            Err(_) => folder.ralph().join("events.log"),
        },
    };
    let mut sink: Box<dyn Sink> = if json { Box::new(JsonSink::new(Stdout)) } else { Box::new(PlainSink::new(Stdout)) };
    match runner::replay(&file, |event| sink.event(event)) {
        Ok(()) => ExitCode::Success,
        Err(error) => {
            say::err(&format!("error: {error}"));
            ExitCode::Failure
        }
    }
}
