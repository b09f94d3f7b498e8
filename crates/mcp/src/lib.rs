//! Tools from outside: MCP servers over stdio, streamable HTTP, legacy SSE and in the client's own
//! process, all behind one [`Servers`].
//!
//! The protocol is the official SDK's (`rmcp`), and no other crate sees it; the transports' bounds are
//! ours, so that a server that crashes, hangs or floods ends nothing but its own call. Processes are
//! started through `process`.
//!
//! Deliberately absent: finding configurations, permissions, where logins are kept ([`LoginStore`]), and answering a server that
//! wants to use our model. One that wants to question our user is
//! answered by whoever can ask ([`Elicit`]), and declined where nobody can.

// Modules stand in the order of their use, lower ones first. Pure values:
mod events;
mod expand;
mod message;
mod names;
mod schema;
mod server;
mod text;

mod config;
mod notes;
mod spill;
mod tool;
mod waits;

mod content;
mod hide;
mod prompt;

// One server:
mod any_transport;
mod ask;
mod elicit;
mod sdk;
mod web;

mod oauth;

mod deps;
mod helper;
mod error;
mod handler;

mod http;
mod sse;
mod stdio;

mod connect;

// All servers:
mod table;

mod live;

mod servers;

mod logins;
mod resources;
mod server_tool;

mod session_servers;

pub use config::{Inherits, Problem, ServerConfig, Transport, parse};
pub use content::Called;
pub use deps::{Deps, HttpSetup};
pub use elicit::Elicit;
pub use error::ServerError;
pub use oauth::{
    LoginError, LoginLock, LoginOptions, LoginStore, PendingLogin, Revocation, ServerLogin, login_key, revoke,
};
pub use prompt::Prompt;
pub use resources::{LIST_RESOURCES, ListResources, READ_RESOURCE, ReadResource};
pub use sdk::{HostError, SdkLink};
pub use server::{ServerFace, ServerInput, call_answer};
pub use server_tool::{ServerTool, outcome};
pub use servers::{DYNAMIC, Servers, SetResult};
pub use session_servers::{
    AgentServers, ConfiguredServers, FindElicit, SessionCall, SessionHandles, SessionServers, is_servers_tool,
};
pub use table::Status;
pub use tool::McpTool;
pub use waits::StartWaits;
