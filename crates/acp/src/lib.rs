//! The Agent Client Protocol (version 1), on both sides, as pure translators between it and the agent's stream-json.
//!
//! [`Server`] makes our agent an ACP agent: a client's JSON-RPC goes in, lines for one agent process per session come
//! out, and the other way round. [`Bridge`] makes an ACP agent look like `claude` on a pipe, so that the loop can run
//! it. Both are state machines: `step(input)` returns outputs, and the caller carries them out.
//!
//! Deliberately absent: I/O, processes, clocks, files and random ids (ids come from outside), and the client's `fs` and
//! `terminal` methods, which our agent does not need.

mod rpc;
mod frames;
mod bridge;
mod preset;
mod server;

pub use bridge::{Bridge, BridgeInput, BridgeOptions, BridgeOutput, Decision};
pub use frames::{Frame, Frames};
pub use preset::{CommandError, PREFIX, PRESETS, Preset, preset, split_words, unconfined};
pub use rpc::{LINE_MAX, to_line};
pub use server::{
    Capabilities, ChildKey, DeleteError, Launch, MODES, PastSession, Server, ServerInput, ServerOptions, ServerOutput,
    StartError, Timer,
};
