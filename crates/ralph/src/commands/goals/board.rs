//! `ralph board`.

use crate::environment::Environment;
use wire::ExitCode;

pub fn run(_words: &[String], _environment: &Environment) -> ExitCode {
    ExitCode::Failure
}
