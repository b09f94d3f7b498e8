//! `--worktree [name]`: the session works in a checkout of its own, which stays when the session ends.

use crate::failure::Failure;
use agent::Existing;
use arguments::Arguments;
use resolve::{Environment, runtime};

/// Of a random name: enough that two sessions do not meet.
const RANDOM_LENGTH: usize = 8;

/// The environment as seen from the worktree.
pub fn enter(typed: &Arguments, environment: &Environment) -> Result<Environment, Failure> {
    let name = match typed.worktree.value.as_deref() {
        Some(name) => name.to_owned(),
        None => uuid::Uuid::new_v4().simple().to_string().chars().take(RANDOM_LENGTH).collect(),
    };
    if !arguments::is_worktree_name(&name) {
        return Err(Failure::agent(format!(
            "Error: --worktree '{name}' is no name for a worktree; use letters, digits, dots and dashes. Pull requests are not supported."
        )));
    }
    let runtime = runtime()?;
    let places = resolve::places(environment);
    let made = runtime.block_on(agent::check_out(&environment.vars, &places, &name, Existing::Use));
    made.map(|made| environment.in_folder(&made.cwd))
        .map_err(|why| Failure::agent(format!("Error: --worktree {name}: {why}")))
}
