//! A scripted model API on loopback, in the formats of all providers: rehearse a run without spending a token, and our own test server.
//!
//! A [`Script`] is data (`script`), what a request gets is decided purely (`playbook`, `sse`, `expect`),
//! and only `http` and `server` touch a socket. A [`Relay`] stands before a real API and writes down what
//! goes by (`relay`, `tape`), without secrets (`redact`), in a form that is a script again (`heard`).
//! Deliberately absent: TLS towards agents, authentication, and any opinion on what an agent should send
//! beyond a turn's own `expect`.

mod request_key;
mod redact;
mod record;
mod reply;
mod http;
mod routes;
mod script;
mod expect;
mod recording;
mod sse;
mod gemini;
mod formats;
mod answer_parser;
mod script_player;
mod recording_writer;
mod relay;
mod server;

pub use record::Recorded;
pub use recording::Exchange;
pub use recording_writer::{RecordingWriter, private_file};
pub use redact::Redactor;
pub use relay::Relay;
pub use script::{Script, ScriptError, ScriptedAnswer};
pub use server::{Mock, Server, serve};
