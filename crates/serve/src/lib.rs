//! `ralph serve`: runs, goals and agents over HTTP, with a page.
//!
//! [`guard`] decides who may send a request; [`routes`] lists the requests, and is the source of `/openapi.json`; other modules answer.
//! Runs belong to nobody here: they are read from their folders, told things through their sockets, and started as processes of
//! their own. Deliberately absent: TLS (a proxy's job), accounts (two tokens are all), and any state on disk but the tokens.

pub mod command_line;
mod guard;
mod write_timeout;
mod listen;
mod problem;
mod page;
mod request;
mod tar;
mod time;
mod files;
mod app;
mod tokens;
mod greeting;
mod agents;
mod children;
mod goals;
mod sse;
mod acp;
mod login;
mod fs;
mod config;
mod processes;
mod skills;
mod runs;
mod openapi;
mod routes;

pub use app::Options;
pub use greeting::{greeting, guard_config};
pub use guard::{Access, GuardConfig, GuardDecision, Refused, RequestHead, Tokens, guard};
pub use listen::Listener;
pub use tokens::{TokenError, load_tokens};

/// Streams at the same time, unless somebody wants more.
pub const STREAMS: usize = 64;

/// Serves until `stop` completes. Processes and agents that clients started end with it; runs go on.
pub async fn serve(listener: Listener, options: Options, stop: impl Future<Output = ()>) {
    let streams = options.streams;
    listen::allow_descriptors(streams);
    let (closing, closed) = tokio::sync::watch::channel(false);
    let app = app::App::new(options, closed);
    listen::accept(listener, routes::router(app), streams, &closing, stop).await;
}
