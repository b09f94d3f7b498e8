//! What the runtime has of each conversation (the main one and the sub-agents'): its machine and tools, the rules that judge
//! its calls, and the hooks that are fired for it.
//!
//! Deliberately absent: what is decided about a conversation (`turn`), and who executes its effects (`agent`).
//!
//! Modules stand in the order of their use, lower ones first.

mod conversation;
mod main_machine;
pub mod values;

mod hook_payload;
pub mod rules;

mod hook_runner;

pub mod frontmatter_hooks;
mod memory;
mod settings_files;

mod permission_updates;

pub use conversation::{Beginning, Conversation, HOOK_AGENT, Inner, Inside};
pub use hook_payload::{AGENT_TASK, Switch, model_switch};
pub use hook_runner::{Advisers, Between, HookParts, HookRunner};
pub use main_machine::MainMachine;
pub use memory::{Memories, Reader};
pub use permission_updates::Updates;
pub use settings_files::SettingsFiles;
