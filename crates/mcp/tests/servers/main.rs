//! Whole servers, driven the way the agent does it: processes, web servers, and the client's own.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, in its helpers too")]

mod asking;
mod kit;
mod login;
mod remote;
mod sdk;
mod stdio;
mod web;
