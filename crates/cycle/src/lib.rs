//! The loop's mind: what happened in a run, and what to do next.
//!
//! Everything here is pure: lines, reports and the time come in, events and effects go out. `runner`
//! does what the effects say. Deliberately absent: I/O, async, clocks, processes, and the wording of
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
mod heard;
mod judge;
mod speak;
mod listen;
mod state;
mod decide;
mod todo;

pub use decide::{Effect, Input, decide};
pub use event::{
    ApiRetry, CheckFinished, EventKind, IterationStarted, LoopEvent, Question, QuestionAbout, Resumed, RunStarted,
    SCHEMA, Speech, TodoItem, TodoState, ToolCall, ToolResult, Transport, UsageSoFar, Verbatim, Verdict, VerdictKind,
    Work,
};
pub use fallback::FallbackModel;
pub use heard::{Answer, Heard};
pub use judge::{AgentEnd, Report};
pub use limits::{Allowance, Limits, Spent};
pub use listen::{Listener, Price, unpriced};
pub use memory::{Memory, Progress};
pub use outage::Outage;
pub use plan::{DAY_MS, OnFailure, Plan, SessionMode};
pub use promise::{Claim, claim};
pub use receipt::{Changes, Failure, FileChange, Outcome, Receipt, RefusedClaim, Tokens};
pub use reset::{LimitHit, Reset};
pub use state::{Start, State};
pub use text::{bounded, failing_line};
pub use todo::todo_items;
