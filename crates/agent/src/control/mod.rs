//! The control protocol: requests that travel beside the messages, in both directions, at any moment.
//!
//! [`Link`] is our way to ask the client (permissions, hooks, its MCP servers); [`handle`] answers what
//! the client asks us. Deliberately absent: the order of lines on stdin, which `front::desk` keeps.

mod files;
mod flags;
mod initialize;
mod link;
mod plugins;
mod reload;
mod requests;
mod roots;
mod switch;
mod usage;

pub use flags::{CHANGEABLE, apply as apply_settings};
pub use link::{Link, LinkError};
pub use requests::{change_mode, handle};
pub use switch::switch_model;
pub use usage::CHARS_PER_TOKEN;

use crate::shared::Shared;
use serde_json::json;

/// Titles are shown in lists.
const TITLE_CHARS: usize = 200;

/// A title for the session; it is written with the next line of the transcript. What was made of it.
pub fn name_session(shared: &Shared, title: &str) -> Option<String> {
    let title: String = title.trim().chars().filter(|c| !c.is_control()).take(TITLE_CHARS).collect();
    if title.is_empty() {
        return None;
    }
    let line = json!({"type": "custom-title", "customTitle": title, "sessionId": shared.emitter.session_id()});
    shared.live.notes.borrow_mut().push(line);
    Some(title)
}
