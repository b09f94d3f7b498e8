//! What a shell command would run: every simple command in it, however deeply it is wrapped.
//!
//! The parser is `brush-parser`; around it stand a guard against inputs that make it slow or make it
//! disagree with a real shell, and a walk that opens every substitution. What is not understood is
//! [`Unparsable`], never skipped. Deliberately absent: opinions about which commands are harmless.

mod guard;
mod place;
mod walk;
mod word;

use std::thread;

pub use place::{Place, Step};
pub use word::{Certainty, Word};

/// The parser recurses deeply in debug builds; [`guard`] keeps nesting far below what this can hold.
const PARSER_STACK: usize = 32 * 1024 * 1024;

/// Should the parser panic after all, the panic is contained and the command counts as unparsable; a
/// panic hook may stay silent about a thread of this name.
pub const PARSER_THREAD: &str = "shell-parser";

#[derive(Debug, Clone, Default)]
pub struct Script {
    pub commands: Vec<SimpleCommand>,
    /// Something in it can run code that was not seen: a function definition, evaluated data.
    pub opaque: bool,
}

#[derive(Debug, Clone, Default)]
pub struct SimpleCommand {
    /// The words as written, one space between them; no assignments, no redirections.
    pub text: String,
    pub words: Vec<Word>,
    pub assignments: Vec<Assignment>,
    pub redirects: Vec<Redirect>,
    /// Where it runs, as far as `cd` in the same script tells.
    pub place: Place,
    /// Which program runs is not known before it does.
    pub opaque: bool,
}

#[derive(Debug, Clone)]
pub struct Assignment {
    pub name: String,
    /// As written, for rules that name it.
    pub raw: String,
}

#[derive(Debug, Clone)]
pub struct Redirect {
    pub target: Word,
    pub write: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unparsable {
    #[error("the command is longer than {} bytes", guard::MAX_BYTES)]
    TooLong,
    #[error("the command has more than {} words and signs", guard::MAX_TOKENS)]
    TooMany,
    #[error("the command nests too deeply to be analysed")]
    TooDeep,
    #[error("the command holds the control character {0:?}")]
    Control(char),
    #[error("the command uses a form that shells read differently")]
    Ambiguous,
    #[error("the command is not understood as shell: {0}")]
    Syntax(String),
}

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
