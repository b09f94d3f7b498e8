//! The conversation as a pure state machine: `step(&mut Turn, Input, Now) -> Vec<Effect>`.
//!
//! A *turn* begins with a prompt, a notification or a task, and ends with exactly one result. [`Turn`] is the
//! machine of one agent (the main conversation or a sub-agent); it goes through turns one after another and keeps
//! the messages between them. Everything that is decided about a conversation is decided here: what is asked, what
//! may run, what is reported, when to stop.
//!
//! The runtime owns sockets, children, files and clocks. It executes effects and returns what came of them as inputs:
//!
//! - Effects are executed in the order of the list, all of them before the next `step` of the same machine.
//! - An effect with a [`Ticket`] is answered by exactly one input with the same ticket: its own answer, or
//!   [`Input::Stopped`]. [`Effect::AskModel`] is the only one with more: `AnswerStarted` and `BlockFinished` come before
//!   the one input that ends it.
//! - [`Effect::Cancel`] wants that work stopped. The runtime answers [`Input::Stopped`] once the work is gone, unless the
//!   work's own answer is on its way already.
//! - An answer to a ticket that nobody waits for is ignored, so late answers do no harm.
//! - Everything that a client or an administrator changes arrives as [`Input::Changed`] between two steps.
//!
//! Deliberately absent: tokio, I/O, a clock (`Now` is a parameter), cells, the rules themselves (`policy`), and partial
//! messages, retries of HTTP and signs of life of a tool. Those carry no decision, so the runtime passes them on
//! without a step.
//!
//! # A tool call
//!
//! Every call takes one path, also a shell line of a skill ([`Input::InnerCall`]):
//!
//! | state | leaves on | to |
//! |---|---|---|
//! | `Checking` | `InputChecked` | `PreHooks`; ended as rejected |
//! | `PreHooks` | `HookAnswered` | `Judging`; `Rechecking` (a new input); ended as denied, stopped or deferred |
//! | `Rechecking` | `InputChecked` | where it came from; ended as denied |
//! | `Judging` | `Judged` | `Running`; `PermissionHook`; ended as denied |
//! | `PermissionHook` | `HookAnswered` | `AskingClient`; what the hook decided |
//! | `AskingClient` | `PermissionAnswered` | `Applying`, `Rechecking`, `Running`; ended as denied (perhaps with an interrupt) |
//! | `Applying` | `UpdatesApplied` | `Rechecking`, `Running` |
//! | `Running` | `ToolFinished`, `AgentFinished` | `PostHooks` |
//! | `PostHooks` | `HookAnswered` | `Hiding` |
//! | `DeniedHook` | `HookAnswered` | `Hiding` |
//! | `Hiding` | `SecretsHidden` | ended |
//! | `Cancelling` | any answer, `Stopped`, the timer | ended as cancelled |
//!
//! A command that goes on in the background is a call whose tool has finished with the words that say so.

mod fault;
mod hook;
mod ids;
mod model_answer;
mod next;
mod books;
mod background;
mod settings;
mod words;
mod error;
mod conversation;
mod effect;
mod input;
mod result;
mod state;
mod turn;
mod asking;
mod batch;
mod begin;
mod call;
mod compact;
mod ending;
mod interrupt;
mod mainline;
mod permission;
mod plan;
mod prompt;
mod say;

#[cfg(test)]
mod testing;

pub use background::{AgentWait, Background, QUICK_AGENT};
pub use batch::STRUCTURED_OUTPUT;
pub use compact::asked_aside;
pub use conversation::{blocks_of, last_text, text_of, without_last_text};
pub use effect::{Effect, Entry, Gather, ModelQuestion, PermissionQuestion, Report, SubagentResult, SubagentStatus};
pub use error::{CommandFailure, InnerCallError};
pub use fault::Fault;
pub use hook::{Hook, HookAnswer, HookDecision, ModelSwitch};
pub use ids::Ids;
pub use input::{
    Attachment, CallContent, CallResult, Command, ErrorFlag, Gathered, Input, InterruptCause, PermissionAnswer,
    Prepared, Recall, SubagentTask, Ticket, ToolFinish,
};
pub use model_answer::{FailureSource, ModelAnswer, ModelFailure, Reset};
pub use permission::refusal_unattended;
pub use settings::{Change, DeferredCall, Limits, Now, Prompter, Role, Settings, Subagent, ToolFacts, ToolTable};
pub use turn::{Config, Turn, step};
