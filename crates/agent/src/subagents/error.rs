//! Why an agent is not started, and what it fails with.

use crate::checkouts::CheckoutError;
use tools::TaskError;

#[derive(Debug, thiserror::Error)]
pub enum SubagentError {
    #[error("Agents may nest {0} deep and this is the deepest. Do the task yourself.")]
    TooDeep(u32),
    #[error("{0} agents are at work already, which is the limit. Wait for them or do the task yourself.")]
    TooMany(usize),
    #[error(transparent)]
    Tasks(#[from] TaskError),
    #[error("No file for the agent's answer could be made: {0}")]
    AnswerFile(std::io::Error),
    #[error("The agent was not started: it wants a worktree of its own, but {0}.")]
    Checkout(#[from] CheckoutError),
    #[error("The agent was not started: the WorktreeCreate hook failed: {0}.")]
    WorktreeHook(String),
    #[error("The agent was not started: the WorktreeCreate hook named no folder.")]
    NoWorktree,
    /// The agent's last words.
    #[error("{0}")]
    Failed(String),
}
