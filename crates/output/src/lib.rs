//! What leaves a session: events for the client in the format that was asked for, questions to the client, entries of the
//! transcript, and lines on stderr. Secrets are hidden on the way.
//!
//! Deliberately absent: what is sent and when (`turn` and `agent` decide), and stdout itself (a front end brings a [`Writer`]).
//!
//! Modules stand in the order of their use, lower ones first.

pub mod clock;
mod ids;
mod secrets;
mod stderr;
mod writer;

mod output;

mod client_asker;
mod states;
mod transcripts;

pub use client_asker::{ClientAsker, ClientError};
pub use ids::Ids;
pub use output::Output;
pub use secrets::Secrets;
pub use states::{State, States};
pub use stderr::{PIPE_BUF, warn};
pub use transcripts::{Earlier, ResumeError, Transcripts, earlier, session_store};
pub use writer::Writer;
