//! The simple commands inside a shell command, however deeply they are wrapped.
//!
//! The parser is `brush-parser`; around it stand a guard against inputs that make it slow or make it
//! disagree with a real shell, and a walk that opens every substitution. What is not understood is
//! [`Unparsable`], never skipped. Deliberately absent: opinions about which commands are harmless.

mod guard;
mod place;
mod script;
mod walk;
mod word;

use std::thread;

pub use guard::Unparsable;
pub use place::{Place, Step};
pub use script::{Assignment, Redirect, Script, SimpleCommand};
pub use word::{Certainty, Word};

/// The parser recurses deeply in debug builds; [`guard`] keeps nesting far below what this can hold.
const PARSER_STACK: usize = 32 * 1024 * 1024;

/// Should the parser panic after all, the panic is contained and the command counts as unparsable; a
/// panic hook may stay silent about a thread of this name.
pub const PARSER_THREAD: &str = "shell-parser";

/// Finds every simple command. Total: whatever the text, it returns within milliseconds.
pub fn analyse(command: &str) -> Result<Script, Unparsable> {
    guard::text(command)?;
    let parsed = thread::scope(|scope| {
        let worker = thread::Builder::new()
            .name(PARSER_THREAD.to_owned())
            .stack_size(PARSER_STACK)
            .spawn_scoped(scope, || walk::script(command));
        worker.ok()?.join().ok()
    });
    parsed.unwrap_or_else(|| Err(Unparsable::Syntax("the parser gave up".to_owned())))
}
