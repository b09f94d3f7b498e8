//! What a session is started with ([`Options`], resolved once by the binary) and what a client may change of it while the
//! session runs ([`Choices`]).
//!
//! Deliberately absent: argv, the environment and settings files (the binary reads them), and everything that acts.
//!
//! Modules stand in the order of their use, lower ones first.

mod schema;
mod tool_search;

mod options;

mod choices;
pub mod failpoint;
mod limits;

pub use choices::{Choices, initial_prompt, missing_agent, session_agent};
pub use limits::{compact_at, limits};
pub use options::{
    Access, Asking, AutoCompact, BuiltinAgents, Caching, Elsewhere, InputFormat, Limits, Linger, Options, OutputFormat,
    OutsideSetup, Permissions, Preparation, Prompter, Prompting, Session, SessionPlan, Setup, StateEvents, StdinKind,
    ToolChoice, ToolSetup,
};
pub use schema::{Schema, SchemaError};
pub use tool_search::ToolSearch;
