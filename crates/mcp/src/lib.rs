//! Tools from outside: MCP servers over stdio, streamable HTTP, legacy SSE and in the client's own
//! process, all behind one [`Servers`].
//!
//! The protocol is the official SDK's (`rmcp`), and no other crate sees it; the transports' bounds are
//! ours, so that a server that crashes, hangs or floods ends nothing but its own call. Processes are
//! started through `proc`.
//!
//! Deliberately absent: finding configurations, permissions, logging in to a server (one that wants it is
//! `needs-auth`), and answering a server that wants to use our model. One that wants to question our user is
//! answered by whoever can ask ([`Elicit`]), and declined where nobody can.

mod ask;
mod config;
mod connect;
mod content;
mod deps;
mod elicit;
mod events;
mod expand;
mod handler;
mod helper;
mod hide;
mod http;
mod live;
mod message;
mod names;
mod notes;
mod prompt;
mod resources;
mod schema;
mod sdk;
mod server_tool;
mod servers;
mod spill;
mod sse;
mod stdio;
mod table;
mod text;
mod tool;
mod web;

pub use config::{Inherits, Problem, ServerConfig, Transport, parse};
pub use content::Called;
pub use deps::{Deps, HttpSetup};
pub use elicit::Elicit;
pub use prompt::Prompt;
pub use resources::{LIST_RESOURCES, ListResources, READ_RESOURCE, ReadResource};
pub use sdk::SdkLink;
pub use server_tool::{ServerTool, outcome};
pub use servers::{DYNAMIC, Servers, SetResult};
pub use table::Status;
pub use tool::McpTool;
