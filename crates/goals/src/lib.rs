//! Many goals: a queue in a database, workers that loop on them in clones of their own, and landing.
//!
//! [`machine`] decides what becomes of a goal; [`Store`] keeps goals in SQLite or PostgreSQL; the rest works on them.
//! The loop itself is another `ralph`, known only by its `--json`.
//! Deliberately absent: screens, settings and trust (`ralph`), and the loop (`runner`).

mod goal;
pub mod command_line;
pub mod machine;
mod error;
pub mod import;
mod notify;
mod calls;
mod git_folder;
mod repository;
mod checkout;
mod sql;
mod postgres;
mod schema;
mod sqlite;
mod store;
mod replay;
mod landing;
pub mod make;
pub mod goal_text;
mod prompt;
mod work;

pub use calls::Calls;
pub use error::{Exhausted, GoalError, ImportError};
pub use goal::{Amount, Cap, Fence, Goal, GoalId, GoalState, LandingMode, Moment, NewGoal, Reviewer, Spec};
pub use notify::{NotifyError, Target};
pub use repository::{Repository, is_branch_name, is_local};
pub use store::{
    Attachment, Budget, Checkpoint, Comment, Edit, Filter, Intent, LeaseRenewal, LogLine, Place, Store, WorkerName,
};
pub use work::{ReviewCommand, WorkEnd, WorkOptions, work};

#[cfg(test)]
mod conformance;
