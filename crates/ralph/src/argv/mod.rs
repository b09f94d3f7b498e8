//! What was typed. Flags and positionals of the agent face, exactly as the clients of `claude` spell
//! them; what they mean is decided in [`crate::resolve`].
//!
//! A parser of our own, because clients depend on the reference's rules in every corner: lists that
//! swallow what follows, optional values, empty values, stray empty positionals, one-line errors.

mod flags;
mod nearest;
mod parse;

pub use flags::{Arity, FLAGS, Flag, Standing};
pub use nearest::nearest;
pub use parse::{Typed, parse};
