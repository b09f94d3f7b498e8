//! What the runtime has of each conversation (the main one and the sub-agents'): its machine and tools, the rules that judge
//! its calls, and the hooks that are fired for it.
//!
//! Deliberately absent: what is decided about a conversation (`turn`), and who executes its effects (`agent`).
//!
//! Modules stand in the order of their use, lower ones first.

mod access;
mod conversation;
mod cron;
mod known_agents;
mod main_machine;
mod schedule;
mod subagent_stats;
pub mod values;

mod hook_notes;
mod hook_payload;
mod task_news;
pub mod rules;

mod hook_runner;

pub mod frontmatter_hooks;
mod memory;
mod unattended;
mod settings_files;

mod context_usage;
mod scheduled_prompt;
mod model_switcher;
mod mentions;
mod permission_updates;
mod suggest;
mod workspace_diff;

mod flag_settings;

pub use access::Access;
pub use context_usage::context_usage;
pub use conversation::{Beginning, Conversation, HOOK_AGENT, Inner, Inside};
pub use flag_settings::{CHANGEABLE, FlagSettings, FlagSettingsError};
pub use hook_payload::AGENT_TASK;
pub use hook_runner::{Advisers, Between, HookParts, HookRunner};
pub use known_agents::{Active, KnownAgent, KnownAgents};
pub use main_machine::MainMachine;
pub use memory::{Memories, Reader};
pub use mentions::Mentions;
pub use model_switcher::{ModelSwitcher, SwitchError};
pub use permission_updates::Updates;
pub use schedule::Schedule;
pub use scheduled_prompt::scheduled_input;
pub use settings_files::SettingsFiles;
pub use subagent_stats::SubagentStats;
pub use suggest::suggest_files;
pub use task_news::{Agents, TaskNews};
pub use unattended::{Allowed, UnattendedCall};
pub use workspace_diff::workspace_diff;
