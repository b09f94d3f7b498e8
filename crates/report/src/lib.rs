//! A run as a report for people: one HTML file that needs nothing else, or Markdown for a pull request.
//!
//! A [`Report`] is a fold over the run's events; [`html`] and [`markdown`] show one with its [`Extras`], and are pure. Whatever an agent
//! wrote is text: escaped, cleaned of what reverses or hides, and cut to a bound. Deliberately absent: reading files, asking git,
//! and scripts.

mod diff;
mod model;
mod style;
mod text;
mod chart;
mod html;
mod markdown;

pub use diff::{DiffFile, DiffLine, parse as parse_diff};
pub use html::html;
pub use markdown::markdown;
pub use model::{Asked, Iteration, Report};

/// What is not in the events.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// The prompt, the todo list: a name and the text as it is now.
    pub sources: Vec<(String, String)>,
    /// As git prints it; `None` where it is not known.
    pub diff: Option<String>,
    /// Times are shown with this offset from UTC, in milliseconds.
    pub zone_offset_ms: i64,
}
