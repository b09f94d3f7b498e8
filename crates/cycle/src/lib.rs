//! The decisions of the loop: the events of a run, and the next step.
//!
//! Everything here is pure: lines, reports and the time come in, events and effects go out. `runner`
//! executes the effects. Deliberately absent: I/O, async, clocks, processes, and the wording of
//! prompts beyond the notes that a decision gives to the next iteration.

pub mod amounts;
pub mod clean;
mod fallback;
mod promise;
mod receipt;
mod limits;
mod event;
mod plan;
mod stuck;
mod text;
pub mod review;
mod memory;
mod outage;
mod questions;
mod reset;
mod agent_output;
mod judge;
mod digest;
mod output_reader;
mod state;
mod decide;
mod todo;

pub use agent_output::{AgentOutput, AgentResult};
pub use decide::{Effect, Input, decide};
pub use event::{
    AgentText, ApiRetry, CheckFinished, EventKind, IterationStarted, LoopEvent, Question, QuestionAbout, Resumed,
    RunStarted, RunVerdict, SCHEMA, TodoItem, TodoState, ToolCall, ToolResult, Transport, UsageSoFar, Verbatim,
    VerdictKind, WorkItem,
};
pub use fallback::FallbackModel;
pub use judge::{AgentEnd, IterationReport};
pub use limits::{Allowance, RunLimits, Spent};
pub use memory::{Memory, Progress};
pub use outage::Outage;
pub use output_reader::{OutputReader, Price, unpriced};
pub use plan::{DAY_MS, OnFailure, Plan, SessionMode};
pub use promise::{Claim, claim};
pub use receipt::{Changes, FileChange, IterationFailure, IterationOutcome, Receipt, RefusedClaim, Tokens};
pub use reset::{LimitHit, Reset};
pub use state::{IterationStart, LoopState};
pub use text::{bounded, failing_line};
pub use todo::todo_items;
