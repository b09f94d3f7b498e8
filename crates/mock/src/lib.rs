//! A scripted Messages API on loopback: rehearse a run without spending a token, and our own test server.
//!
//! A [`Script`] is data (`script`), what a request gets is decided purely (`playbook`, `sse`, `expect`),
//! and only `http` and `server` touch a socket. Deliberately absent: TLS, authentication, and any
//! opinion on what an agent should send beyond a turn's own `expect`.

mod expect;
mod http;
mod playbook;
mod record;
mod script;
mod server;
mod sse;

pub use record::Recorded;
pub use script::{Script, ScriptError, Turn};
pub use server::{Mock, Server, serve};
