//! What the machine and the folder say: settings layers, trust, credentials, memory files, skills,
//! commands, agents, output styles and local plugins. Everything comes back as a value that knows where it came from.
//!
//! Deliberately absent: running anything (helpers, hooks, `` !`cmd` `` lines), judging a call, reading the
//! environment. Nothing is read before it is asked for; a missing file costs one system call.

mod agents;
mod archive;
mod copying;
mod credential_files;
mod credentials;
mod documents;
mod error;
mod expand;
mod files;
mod folder_env;
mod frontmatter;
mod globs;
mod installed;
mod json;
mod layers;
mod manifest;
mod markdown;
mod marketplace;
mod mcp_store;
mod memory;
mod oauth;
mod objects;
mod permission_store;
mod places;
mod plugins;
mod reach;
mod repository;
mod screen;
mod settings;
mod skill_choice;
mod skills;
mod sources;
mod styles;
mod text;
mod trust;
mod unpack;

pub use agents::{AgentDef, agents, agents_from_json};
pub use credentials::{Chosen, Considered, CredentialInputs, Found, Resolution, Secret, credentials};
pub use error::ConfigError;
pub use expand::{Segment, expand, split_arguments};
pub use installed::{
    Fetching, Installed, Scope, add_marketplace, enabled_plugins, install, installed, known_marketplaces,
    market_folder, may_use, remove_marketplace, switch, uninstall,
};
pub use json::value as parse_json;
pub use layers::{FlagSettings, Loaded, load};
pub use marketplace::{Marketplace, Offer, Source, marketplace};
pub use mcp_store::{StoredServer, add_server, remove_server, reset_project_choices, stored_servers};
pub use memory::{Cause, Memory, MemoryFile, MemoryOptions, memory, memory_index};
pub use oauth::{OAuth, OAuthLock, store_oauth};
pub use permission_store::{restrictions, store_permission_update};
pub use places::Places;
pub use plugins::{Plugin, PluginDir, PluginFolders, PluginProblem, Plugins, plugins};
pub use settings::{Permissions, Settings, line_of};
pub use skill_choice::override_skills;
pub use skills::{Skill, SkillKind, find_skill, load_skill, skills, skills_below};
pub use sources::{SourceKind, Sourced, Sources};
pub use styles::{OutputStyle, output_styles};
pub use trust::{Trust, inherit_trust, is_trusted, trust, trust_state};
pub use unpack::{ARCHIVE_MAX, unpack_plugin};

#[cfg(test)]
mod testbed;

#[cfg(test)]
mod any_value_tests;
