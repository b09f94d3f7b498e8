//! What a machine is set up with, and what may change between two steps.

use crate::background::Background;
use serde_json::Value;
use std::collections::BTreeMap;
use wire::PermissionMode;

/// What a step has to know of the rest of the program at this moment.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Now {
    /// Milliseconds of a clock that never goes back.
    pub ms: u64,
    /// What the process has spent, sub-agents and side questions included.
    pub spent_usd: f64,
    /// Sub-agents at work in the whole process.
    pub subagents: usize,
}

/// Whose conversation it is.
#[derive(Debug, Clone, PartialEq)]
pub enum Role {
    Main,
    Sub(Box<Subagent>),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Subagent {
    pub agent_id: String,
    /// The call that started it.
    pub tool_use_id: String,
    pub agent_type: String,
    /// The task in a few words.
    pub description: String,
    /// 1 for a sub-agent of the main conversation.
    pub depth: u32,
    /// The sub-agent judges a condition for a hook: no hooks of its own start and end, no progress.
    pub answers_a_hook: bool,
}

impl Role {
    pub fn is_main(&self) -> bool {
        matches!(self, Self::Main)
    }

    pub fn depth(&self) -> u32 {
        match self {
            Self::Main => 0,
            Self::Sub(sub) => sub.depth,
        }
    }

    pub(crate) fn parent_tool_use_id(&self) -> Option<String> {
        match self {
            Self::Main => None,
            Self::Sub(sub) => Some(sub.tool_use_id.clone()),
        }
    }

    pub(crate) fn agent_id(&self) -> Option<String> {
        match self {
            Self::Main => None,
            Self::Sub(sub) => Some(sub.agent_id.clone()),
        }
    }

    pub(crate) fn answers_a_hook(&self) -> bool {
        matches!(self, Self::Sub(sub) if sub.answers_a_hook)
    }
}

/// Bounds of one machine. They do not change while it lives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// Answers of the model in one turn (`--max-turns`).
    pub max_answers: Option<u32>,
    /// What the process may spend (`--max-budget-usd`).
    pub budget_usd: Option<f64>,
    /// Structured answers that do not fit the schema before the turn is given up.
    pub schema_retries: u32,
    /// Times in a row that Stop hooks may send the model on.
    pub stop_blocks: u32,
    pub subagent_depth: u32,
    pub subagents_at_once: usize,
    /// Characters of a sub-agent's answer that its caller gets.
    pub subagent_output: usize,
    /// Calls that run beside each other.
    pub concurrency: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_answers: None,
            budget_usd: None,
            schema_retries: 5,
            stop_blocks: 8,
            subagent_depth: 1,
            subagents_at_once: 8,
            subagent_output: 100_000,
            concurrency: 10,
        }
    }
}

/// Who answers when a permission is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Prompter {
    #[default]
    Nobody,
    /// The client, or a tool of an MCP server; the runtime knows which.
    Somebody,
}

/// What the machine knows of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolFacts {
    /// Its calls may run beside others of the same kind.
    pub runs_beside_others: bool,
    /// A call starts a sub-agent.
    pub starts_subagent: bool,
}

/// The tools of this conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolTable {
    pub tools: BTreeMap<String, ToolFacts>,
    /// Older names, and names that the client has given to other tools: name to the tool that is meant.
    pub aliases: BTreeMap<String, String>,
}

/// What a client, a hook, a skill or an administrator may change between two steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub mode: PermissionMode,
    pub model: String,
    /// Models to fall back on, in order. Only for the main conversation.
    pub fallback: Vec<String>,
    pub tools: ToolTable,
    pub prompter: Prompter,
    /// A JSON Schema was given: the turn ends with structured output.
    pub wants_structured: bool,
    /// Size of the context, in tokens, from which on it is compacted; `None` switches that off.
    pub compact_at: Option<u64>,
    /// Characters of system prompt and tool definitions, for the size after a compaction.
    pub overhead_chars: usize,
    /// How to work in plan mode, in the client's words.
    pub plan_instructions: Option<String>,
    /// Clients see what sub-agents say, not only what they do.
    pub shows_subagent_text: bool,
    /// Clients see their prompts again.
    pub replays_prompts: bool,
    /// Prompts that begin with a slash are commands.
    pub reads_commands: bool,
    /// `@path` in a prompt attaches a file.
    pub reads_mentions: bool,
    /// Setup hooks before the first turn: `init` or `maintenance`.
    pub setup_trigger: Option<&'static str>,
    /// `startup`, `resume` or `fork`, for SessionStart hooks.
    pub start_source: &'static str,
    /// The agent that the session runs as, and the session's title, for SessionStart hooks.
    pub session_agent: Option<String>,
    pub session_title: Option<String>,
    /// Who is not waited for.
    pub background: Background,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            mode: PermissionMode::Default,
            model: String::new(),
            fallback: Vec::new(),
            tools: ToolTable::default(),
            prompter: Prompter::Nobody,
            wants_structured: false,
            compact_at: None,
            overhead_chars: 0,
            plan_instructions: None,
            shows_subagent_text: false,
            replays_prompts: false,
            reads_commands: true,
            reads_mentions: true,
            setup_trigger: None,
            start_source: "startup",
            session_agent: None,
            session_title: None,
            background: Background::default(),
        }
    }
}

/// One change. It counts from the next step on.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    Mode(PermissionMode),
    Model(String),
    /// A skill chooses the model for the rest of the turn.
    TurnModel(String),
    Tools(ToolTable),
    Prompter(Prompter),
    Structured(bool),
    CompactAt(Option<u64>),
    OverheadChars(usize),
    PlanInstructions(Option<String>),
    SubagentText(bool),
    /// The text before the first message, for the next time that the conversation starts over.
    Preamble(Option<String>),
    SessionTitle(Option<String>),
    Background(Background),
}

/// A call that a hook put off; the next turn begins with it.
#[derive(Debug, Clone, PartialEq)]
pub struct DeferredCall {
    pub id: String,
    pub name: String,
    pub input: Value,
    /// The transcript entry that holds the call.
    pub entry: String,
}

impl ToolTable {
    /// The tool that a name means.
    pub(crate) fn resolve<'a>(&'a self, name: &'a str) -> &'a str {
        self.aliases.get(name).map_or(name, String::as_str)
    }

    pub(crate) fn find(&self, name: &str) -> Option<ToolFacts> {
        self.tools.get(self.resolve(name)).copied()
    }
}
