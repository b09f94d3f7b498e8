//! What a folder brings: memory files, skills, commands, agents, output styles, plugins and marketplaces. Every value
//! knows where it came from.
//!
//! Deliberately absent: running anything (hooks, `` !`cmd` `` lines), judging a call, reading the environment, and the
//! question whether a folder is trusted (`settings`).

mod archive;
mod error;
mod document_error;
mod copying;
mod expand;
mod frontmatter;
mod git_state;
mod globs;
mod markdown;
mod reach;
mod documents;
mod agents;
mod memory;
mod styles;
mod unpack;
mod plugins;
mod manifest;
mod marketplace;
mod installed;
mod declared;
mod skills;
mod skill_choice;
mod wishes;

pub use agents::{AgentDef, agents, agents_from_json};
pub use archive::ArchiveError;
pub use declared::{Declared, declared_plugins, seeded_plugin};
pub use document_error::{DocumentError, FieldError};
pub use error::ProjectError;
pub use expand::{Segment, expand, split_arguments};
pub use git_state::{LOG as GIT_LOG, STATUS as GIT_STATUS, describe as describe_git};
pub use installed::{
    Fetching, Installed, add_marketplace, enabled_plugins, install, install_declared, installed, known_marketplaces,
    market_folder, may_use, remove_marketplace, switch, uninstall,
};
pub use marketplace::{Marketplace, Offer, Source, marketplace};
pub use memory::{Cause, Memory, MemoryFile, MemoryOptions, memory, memory_index};
pub use plugins::{Plugin, PluginDir, PluginFolders, PluginProblem, Plugins, plugins};
pub use skill_choice::override_skills;
pub use skills::{Skill, SkillKind, find_skill, load_skill, skills, skills_below};
pub use styles::{OutputStyle, output_styles};
pub use unpack::{ARCHIVE_MAX, unpack_plugin};
pub use wishes::{Attribution, language};

#[cfg(test)]
use settings::Places;

#[cfg(test)]
#[path = "../../settings/src/testbed.rs"]
mod testbed;

#[cfg(test)]
mod any_value_tests;
