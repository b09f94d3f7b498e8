//! `ralph trust`: this folder's settings may grant things.

use crate::failure::{Ended, Failure};
use crate::say;
use resolve::Environment;
use wire::ExitCode;

pub fn run(environment: &Environment) -> Ended {
    let trusted = settings::trust(&resolve::places(environment));
    let folder = trusted.map_err(|error| Failure::agent(format!("Error: {error}")))?;
    let counts = "Its allow rules, permission mode and extra folders now count.";
    say::out(&format!("Trusted: {}\n{counts}\n", folder.display()));
    Ok(ExitCode::Success)
}
