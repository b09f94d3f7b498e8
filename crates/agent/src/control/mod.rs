//! The control protocol: requests that travel beside the messages, in both directions, at any moment.
//!
//! [`Link`] is our way to ask the client (permissions, hooks, its MCP servers); [`handle`] answers what
//! the client asks us. Deliberately absent: the order of lines on stdin, which `front::desk` keeps.

mod initialize;
mod link;
mod plugins;
mod requests;
mod roots;
mod switch;
mod usage;

pub use link::{Link, LinkError};
pub use requests::{change_mode, handle};
pub use switch::switch_model;
