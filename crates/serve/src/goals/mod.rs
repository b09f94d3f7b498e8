//! `/v1/goals…`: the queue of goals, where there is one.
//!
//! The store's futures stay on the thread that made them, so it has a thread of its own that is asked by messages. A goal is
//! made by `ralph goal add`, which checks the repository, its branch and whether it is trusted.

mod http;
mod store;

pub use http::{add, answer, cancel, comment, edit, list, log, one, queue, retry};
pub use store::GoalsHandle;
