//! The moments of a session and a turn at which hooks are asked or told.
//!
//! Each function knows one moment: what its hooks are told and what their verdict does. Those of a single tool
//! call stand with the call (`permit`, `after`), those of instruction files with the files.

mod ending;
mod model;
mod others;
mod prompt;
mod session;
mod settings;
mod surroundings;
mod tasks;

pub use ending::{batch_done, turn_ends, turn_fails};
pub use model::{Switch, may_switch, switched};
pub use others::{question_answered, question_comes, worktree_done, worktree_wanted};
pub use prompt::{prompt_comes, prompt_expands};
pub use session::{compacted, may_compact, session_ends, session_starts, setup, start_source, subagent_starts};
pub use settings::{SettingsSeen, look_at_settings, remember_settings};
pub use surroundings::{cwd_changed, denied, directory_added, file_changed, notify};
pub use tasks::{TaskMoment, task};
