//! What was typed, the environment and the settings become what a session is started with: [`options::Options`].
//!
//! [`Environment`] is the only place that reads arguments, environment and home. Commands that start no session ask for
//! parts of the same ([`credentials_only`], [`judging`], [`places`]), so that they say what a run would do.
//!
//! Deliberately absent: what is written on stdout and stderr, exit codes, and the session itself.
//!
//! Modules stand in the order of their use, lower ones first.

mod environment;
mod refusal;
mod runtime;

mod child_env;
mod cloud_world;
mod host_managed;
mod local_rules;
pub mod plugin_fetch;
mod restricted;

mod configuration;
mod connection;
mod declared_plugins;

mod access;
mod confined;
mod folder;
mod server_logins;
mod outside;
mod permissions;
mod sessions;

mod asking;
mod policies;
mod tooling;

mod run_options;

mod for_commands;

pub use access::{client as api, described as described_provider};
pub use cloud_world::Machine;
pub use configuration::places;
pub use confined::Foreign;
pub use connection::CONTRACT_VERSION;
pub use environment::{Environment, EnvironmentError, asks_only_version, hangup_is_ignored, stdin_kind, temp_dir};
pub use for_commands::{
    CommandServers, command_servers, confined_checks, credentials_only, endpoint_problem, held, judging,
    loaded_settings, profile, sandbox_is_policy, user_setting, with_settings,
};
pub use permissions::Judging;
pub use refusal::Refusal;
pub use run_options::{Resolved, formats, options};
pub use runtime::{RuntimeError, runtime};
