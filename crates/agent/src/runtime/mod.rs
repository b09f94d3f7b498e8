//! The rim around `turn`: what runs a machine, and the values of other crates in its words.
//!
//! [`Driver`] executes the effects of one machine in order and hands it what comes of them; an [`Executor`] knows how each is
//! done. Deliberately absent: decisions, which are all in `turn`.

mod driver;
mod values;

pub use driver::{Driver, Executor};
pub use values::{append, call_result, hook_answer, model_answer, model_failure};
