//! What the machine and the user say: layers of settings, trust, screening, credentials, places, and the files that
//! commands change. Every value knows where it came from.
//!
//! Deliberately absent: running anything (helpers, hooks), judging a call, reading the environment, and what a folder
//! brings (`project`). Nothing is read before it is asked for; a missing file costs one system call.

mod error;
pub mod files;
mod folder_env;
mod json;
mod objects;
mod places;
mod credential_files;
mod permission_store;
mod repository;
mod scope;
mod mcp_store;
mod screen;
mod sources;
mod surfaces;
mod own_file;
mod outline;
pub mod text;
mod trust;
mod user_id;
mod layers;
mod settings;
mod credentials;
mod oauth;
mod server_logins;
pub mod policies;

pub use credentials::{Chosen, Considered, CredentialInputs, Found, Resolution, Secret, credentials};
pub use error::SettingsError;
pub use json::value as parse_json;
pub use layers::{FlagSettings, IsUntracked, Loaded, load, load_with_own_rules};
pub use mcp_store::{StoredServer, add_server, remove_server, reset_project_choices, stored_servers};
pub use oauth::{OAuth, OAuthLock, store_oauth};
pub use outline::{canonical, outline};
pub use permission_store::{restrictions, store_permission_update};
pub use places::Places;
pub use scope::Scope;
pub use server_logins::{ServerLoginLock, server_login};
pub use settings::{Permissions, Settings, line_of};
pub use sources::{SourceKind, Sourced, Sources};
pub use surfaces::{Surface, is_on, is_plugin_only};
pub use trust::{
    Trust, forget_projects, forget_trust, inherit_trust, is_trusted, recorded_projects, trust, trust_state,
};
pub use user_id::user_id;

#[cfg(test)]
mod testbed;
