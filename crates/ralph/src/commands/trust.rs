//! `ralph trust`: this folder's settings may grant things.

use crate::environment::Environment;
use crate::{resolve, say};
use wire::ExitCode;

pub fn run(environment: &Environment) -> ExitCode {
    match settings::trust(&resolve::places(environment)) {
        Ok(folder) => {
            say::out(&format!(
                "Trusted: {}\nIts allow rules, permission mode and extra folders now count.\n",
                folder.display()
            ));
            ExitCode::Success
        }
        Err(error) => {
            say::err(&format!("Error: {error}"));
            ExitCode::Failure
        }
    }
}
