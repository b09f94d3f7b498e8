//! The events of a run, one a line: one schema for the recording, the screens and `--json`.
//!
//! Every event has `at` (milliseconds since 1970) and `type`. The agent's own lines are kept word for
//! word in [`EventKind::Agent`]; the digests carry the same content in one form for every backend. The
//! [`crate::OutputReader`] derives them from the lines. They are shown and printed but not recorded: a replay derives
//! them anew. New kinds and fields may come; a reader skips unknown ones.
//!
//! Deliberately absent: how an event is made, and any judgement (`decide`).

use crate::receipt::{Receipt, Tokens};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// The version of this schema, in [`EventKind::RunStarted`].
pub const SCHEMA: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoopEvent {
    /// Milliseconds since 1970.
    pub at: u64,
    #[serde(flatten)]
    pub kind: EventKind,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum EventKind {
    /// First of every run; again, with `resumed`, where a run goes on after an end.
    RunStarted(Box<RunStarted>),
    IterationStarted(IterationStarted),
    /// One line of the agent's output, word for word.
    Agent {
        iteration: u32,
        line: Verbatim,
    },
    /// Digest: the agent speaks. With `partial`, a piece to append; a whole text follows it.
    AgentText(AgentText),
    /// Digest: the agent thinks; as [`EventKind::AgentText`].
    AgentThinking(AgentText),
    /// Digest: a tool was called.
    ToolCall(ToolCall),
    /// Digest: a tool answered.
    ToolResult(ToolResult),
    /// Digest: a call was refused.
    PermissionDenied {
        iteration: u32,
        tool: String,
        id: String,
        message: String,
    },
    /// Digest: the agent waits before it asks the API again.
    ApiRetry(ApiRetry),
    /// Digest: the iteration's sums so far.
    Usage(UsageSoFar),
    /// The agent asks a person. The run goes on, or ends as blocked, by the run's policy.
    Question(Question),
    /// A person answered.
    Answered {
        id: String,
        text: String,
    },
    /// The open work as the todo file or the agent's own list says. Replaces the earlier list.
    Todo {
        items: Vec<TodoItem>,
    },
    CheckStarted {
        iteration: u32,
        command: String,
    },
    /// What the running check prints, as it comes (`--live`). Shown, not recorded: the end of it is in
    /// [`EventKind::CheckFinished`].
    CheckOutput {
        iteration: u32,
        text: String,
    },
    CheckFinished(CheckFinished),
    /// Another agent looks at work that is said to be done.
    ReviewStarted {
        iteration: u32,
    },
    Reviewed {
        iteration: u32,
        approved: bool,
        /// It named findings; otherwise, not approved, it gave no clear answer.
        found: bool,
        /// What it found, one a line; or why there is no answer.
        text: String,
        cost_usd: f64,
        tokens: Tokens,
    },
    /// Nothing is done until then: a usage limit, an overload, a pause between iterations.
    Waiting {
        iteration: u32,
        /// Milliseconds since 1970.
        until: u64,
        reason: String,
    },
    /// Held between iterations at a person's wish, until `resumed`.
    Paused,
    Resumed,
    /// A person's words went to the running agent, or into the next prompt.
    Steered {
        iteration: u32,
        text: String,
    },
    /// The transport to the agent from here on, where it was found by trying.
    Transport {
        iteration: u32,
        transport: Transport,
    },
    /// The loop was getting nowhere and tries something else.
    StrategyChanged {
        iteration: u32,
        strategy: String,
        reason: String,
    },
    /// The work that a watching loop was started for. It is in every prompt of the run.
    Work(WorkItem),
    /// The older iterations could not be condensed: what was known before stays. The cost counts.
    SummaryFailed {
        /// The last iteration that the summary would have covered.
        through: u32,
        reason: String,
        cost_usd: f64,
        tokens: Tokens,
    },
    /// Older iterations were condensed; the cost counts towards the run.
    Summarised {
        /// The last iteration that the summary covers.
        through: u32,
        summary: String,
        cost_usd: f64,
        tokens: Tokens,
    },
    IterationEnded {
        iteration: u32,
        receipt: Box<Receipt>,
    },
    Warning {
        iteration: Option<u32>,
        text: String,
    },
    /// Last of every run.
    Verdict(RunVerdict),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    pub schema: u32,
    pub run: String,
    pub folder: String,
    /// What the screen calls this run: the goal's or the prompt's first words.
    pub title: String,
    /// `builtin`, `claude`, or a path.
    pub backend: String,
    pub model: String,
    pub limits: crate::RunLimits,
    pub checks: Vec<String>,
    /// The commit that was checked out, where this is a git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Where an earlier run goes on: what it had done and spent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed: Option<Resumed>,
    /// The sandbox of the agent in words; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<String>,
    /// The part of the run that no sandbox confines, in words; absent where everything is confined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unconfined: Option<String>,
    /// The flags of the run, by key; a resumed run uses them again.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub flags: serde_json::Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    Pipe,
    Terminal,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Resumed {
    /// Iterations done before.
    pub iterations: u32,
    pub cost_usd: f64,
    pub tokens: Tokens,
    pub elapsed_ms: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IterationStarted {
    /// From 1. An iteration that had to wait starts again under its number.
    pub iteration: u32,
    /// From 1; more after a wait or a retry.
    pub attempt: u32,
    pub model: String,
    /// The session that is continued, where one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Where the strategy is not the usual one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    pub prompt_chars: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentText {
    pub iteration: u32,
    pub text: String,
    #[serde(default)]
    pub partial: bool,
    /// The tool call that runs the sub-agent that speaks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub iteration: u32,
    pub id: String,
    pub name: String,
    pub input: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolResult {
    pub iteration: u32,
    /// Of the call.
    pub id: String,
    pub is_error: bool,
    /// Bounded: the whole is in the agent's line.
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiRetry {
    pub iteration: u32,
    /// From 1.
    pub attempt: u32,
    /// Attempts at most; zero where the agent does not say.
    pub most: u32,
    pub delay_ms: u64,
    /// The HTTP status, where an answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The agent's word for it.
    pub error: String,
}

impl ApiRetry {
    /// What is wrong, for people.
    pub fn words(&self) -> String {
        match (self.status, self.error.as_str()) {
            (Some(429), _) => "the API limits requests (HTTP 429)".to_owned(),
            (Some(529), _) | (_, "overloaded") => "the API is overloaded (HTTP 529)".to_owned(),
            (Some(status), _) => format!("the API answers with HTTP {status}"),
            (None, _) => "the API cannot be reached".to_owned(),
        }
    }
}

/// A piece of work from a tracker or a todo list.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkItem {
    /// The tracker's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    pub title: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// How the agent closes it, as an instruction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub close: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsageSoFar {
    pub iteration: u32,
    /// Of this iteration, sub-agents included.
    pub tokens: Tokens,
    /// Of this iteration, once something is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// The cost is our sum over messages; the agent has not named its own yet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// What the last request of the main agent held.
    pub context_tokens: u64,
    pub context_window: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    pub iteration: u32,
    pub id: String,
    pub about: QuestionAbout,
    pub text: String,
    /// What may be chosen; anything may be said where there is none.
    #[serde(default)]
    pub options: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionAbout {
    /// A plan to approve (`ExitPlanMode`).
    Plan,
    /// A choice (`AskUserQuestion`).
    Choice,
    /// May this tool run?
    Permission,
    /// Asked in words at the end of an iteration.
    Words,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TodoItem {
    pub text: String,
    pub state: TodoState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TodoState {
    Open,
    Active,
    Done,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFinished {
    pub iteration: u32,
    pub command: String,
    pub passed: bool,
    /// As a shell shows it: the exit code, or 128 and the signal.
    pub exit_code: i32,
    /// The end of what it printed.
    pub output: String,
    pub duration_ms: u64,
}

/// How the run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunVerdict {
    pub verdict: VerdictKind,
    pub reason: String,
    pub exit_code: u8,
    /// Done by the agent's word alone: no check has passed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unchecked: bool,
    /// What a person has to answer, where the run is blocked on one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<Question>,
    pub iterations: u32,
    pub cost_usd: f64,
    pub tokens: Tokens,
    pub elapsed_ms: u64,
}

impl RunVerdict {
    /// How a person goes on from here, with commands as they are typed.
    pub fn next_step(&self) -> &'static str {
        match self.verdict {
            VerdictKind::Done => "What happened: ralph show",
            VerdictKind::Blocked => "Answer with: ralph answer \"…\", then: ralph resume",
            VerdictKind::Stuck => "Look at it with: ralph show. Change the prompt or the todo list, then: ralph resume",
            VerdictKind::Failed => "What happened: ralph show. Try again with: ralph resume",
            VerdictKind::Limit | VerdictKind::Interrupted | VerdictKind::Terminated => "Go on with: ralph resume",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictKind {
    Done,
    Blocked,
    Stuck,
    Limit,
    Failed,
    Interrupted,
    Terminated,
}

impl VerdictKind {
    pub fn exit(self) -> wire::ExitCode {
        match self {
            Self::Done => wire::ExitCode::Success,
            Self::Blocked | Self::Stuck => wire::ExitCode::NeedsHuman,
            Self::Limit => wire::ExitCode::Limit,
            Self::Failed => wire::ExitCode::Failure,
            Self::Interrupted => wire::ExitCode::Interrupted,
            Self::Terminated => wire::ExitCode::Terminated,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Blocked => "blocked",
            Self::Stuck => "stuck",
            Self::Limit => "limit",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Terminated => "terminated",
        }
    }
}

/// JSON text as it came. A line that was no JSON is a JSON string of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Verbatim(Box<RawValue>);

impl Verbatim {
    pub fn new(line: &str) -> Self {
        let text = || serde_json::value::to_raw_value(line).unwrap_or_else(|_| RawValue::NULL.to_owned());
        Self(RawValue::from_string(line.trim().to_owned()).unwrap_or_else(|_| text()))
    }

    /// The JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    pub fn value(&self) -> Value {
        serde_json::from_str(self.get()).unwrap_or_default()
    }
}

impl PartialEq for Verbatim {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl EventKind {
    pub fn at(self, at: u64) -> LoopEvent {
        LoopEvent { at, kind: self }
    }
}

impl LoopEvent {
    /// The line of this event, without its newline.
    pub fn to_line(&self) -> String {
        // Nothing in an event can fail to be written: no maps with odd keys, no foreign writers.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a line of a recording.
    pub fn parse(line: &str) -> Result<Self, serde_json::Error> {
        // Tagged enums are read through a buffer that cannot hold raw text, so the one kind with raw
        // text is read on its own.
        #[derive(Deserialize)]
        struct Head {
            #[serde(rename = "type")]
            kind: String,
        }
        #[derive(Deserialize)]
        struct Agent {
            at: u64,
            iteration: u32,
            line: Verbatim,
        }
        if serde_json::from_str::<Head>(line)?.kind != "agent" {
            return serde_json::from_str(line);
        }
        let Agent { at, iteration, line } = serde_json::from_str(line)?;
        Ok(EventKind::Agent { iteration, line }.at(at))
    }
}

#[cfg(test)]
#[path = "event_tests.rs"]
mod tests;
