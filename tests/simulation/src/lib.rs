//! A seeded random world around `turn`: models, tools, hooks, clients and sub-agents that do whatever they like, in any order,
//! in virtual time. After every step the rules of a conversation are checked.
//!
//! A schedule is drawn from a seed ([`run`]). One that breaks a rule is made as short as it goes ([`shrink`]) and told as a
//! list of what happened.

pub mod choices;

mod agent;
mod answers;
mod checker;
mod model;
mod outside;
mod request;
mod shrink;
mod transcript;
mod world;

pub use shrink::shrink;
pub use transcript::Scratch;
pub use world::{Broken, run, run_tape};
