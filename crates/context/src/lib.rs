//! What a request to the model has beside the messages of its conversation: the system prompt, instruction files that are
//! known, and the tools with their descriptions. The texts that are ours stand in [`texts`].
//!
//! Deliberately absent: messages (`turn`), sending (`model`), and calls of tools (`agent`).
//!
//! Modules stand in the order of their use, lower ones first.

pub mod bundled;
pub mod builtin_commands;
mod known_memory;
mod references;
pub mod style;
pub mod texts;
mod tool_resources;

pub mod conversation_tools;
mod toolset;

pub mod prompt;
mod size;

pub use known_memory::{Known, News};
pub use references::known_references;
pub use size::{overhead, system_chars, tools_chars};
pub use tool_resources::ToolResources;
pub use toolset::{Tool, Toolset};
