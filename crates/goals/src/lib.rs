//! Many goals: a queue in a database, workers that loop on them in clones of their own, and landing.
//!
//! [`machine`] decides what becomes of a goal; [`Store`] keeps goals in SQLite or PostgreSQL; the rest works on them.
//! The loop itself is another `ralph`, known only by its `--json`.
//! Deliberately absent: the command line, screens, settings and trust (`ralph`), and the loop (`runner`).

mod error;
mod goal;
pub mod import;
mod landing;
pub mod machine;
mod notify;
mod postgres;
mod prompt;
mod repository;
mod schema;
mod sql;
mod sqlite;
mod store;
mod work;

pub use error::GoalError;
pub use goal::{Amount, Cap, Fence, Goal, GoalId, GoalState, Land, Moment, NewGoal, Reviewer, Spec};
pub use notify::Target;
pub use repository::{Repository, is_branch_name, is_local};
pub use store::{
    Attachment, Beat, Budget, Checkpoint, Comment, Edit, Filter, Intent, LogLine, Place, Store, WorkerName,
};
pub use work::{ReviewCommand, WorkEnd, WorkOptions, work};

#[cfg(test)]
mod conformance;
