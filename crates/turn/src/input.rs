//! What comes in: prompts, changes, interrupts, and the answers to effects.

use crate::effect::Report;
use crate::error::CommandFailure;
use crate::hook::HookAnswer;
use crate::model_answer::{ModelAnswer, ModelFailure};
use crate::settings::Change;
use policy::Decision;
use serde_json::{Value, json};
use wire::UserInput;

/// Names one piece of work that was asked for and is answered once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u64);

#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// A prompt of the client. It is queued, also while nothing runs; [`Input::Next`] begins it. With `shouldQuery: false` it
    /// is kept and goes along with the next prompt.
    Prompt(Box<UserInput>),
    /// A background task has finished, or a hook in the background has something to say. Queued like a prompt.
    Notice {
        text: String,
    },
    /// Go on with the call that was put off, without a prompt. Queued like a prompt.
    GoOn,
    /// The task of a sub-agent: its only turn. Begins at once.
    Task(Box<SubagentTask>),
    /// Begin a turn with what is queued. Ignored while a turn runs and where nothing is queued.
    Next,
    /// Prompts that wait are taken back, or only listed. Answered by [`crate::Effect::Recalled`].
    Recall(Recall),
    Changed(Change),
    /// From a sub-agent; only the main conversation is told ([`crate::Effect::Report`]).
    Reported(Report),
    /// Ends the running turn. Ignored while none runs.
    Interrupt(InterruptCause),
    /// Something of the runtime broke (a panic). The running turn ends with an internal error.
    Broken {
        message: String,
    },
    /// The session is over. A running turn is dropped without a result. Ends with [`crate::Effect::Closed`].
    Close {
        reason: &'static str,
    },
    /// A tool that runs (or a command that is read) wants another call made: a shell line of a skill. It takes the path of
    /// every call and is answered by [`crate::Effect::AnswerInner`]. `owner` is the ticket of the work that wants it.
    InnerCall {
        inner: u64,
        owner: Ticket,
        tool_use_id: String,
        name: String,
        input: Value,
    },

    // Answers.
    Prepared {
        ticket: Ticket,
        prepared: Box<Prepared>,
    },
    Gathered {
        ticket: Ticket,
        gathered: Box<Gathered>,
    },
    CommandRead {
        ticket: Ticket,
        command: Command,
    },
    CommandExpanded {
        ticket: Ticket,
        blocks: Result<Vec<Value>, CommandFailure>,
    },
    /// What a command of ours came to: the text of the result, or why it failed.
    CommandDone {
        ticket: Ticket,
        answer: Result<String, CommandFailure>,
    },
    ConversationReset {
        ticket: Ticket,
        preamble: Option<String>,
    },
    HookAnswered {
        ticket: Ticket,
        answer: Box<HookAnswer>,
    },
    /// The stream has begun. `message` is the API's message without content. After a retry it replaces the one before.
    AnswerStarted {
        ticket: Ticket,
        message: Value,
        request_id: Option<String>,
    },
    /// A block is whole. The input of a `tool_use` has the defaults of the tool's schema filled in. `bad_input` says what came
    /// instead of JSON, `tool_use_meta` how clients show the call.
    BlockFinished {
        ticket: Ticket,
        block: Value,
        bad_input: Option<String>,
        tool_use_meta: Option<Value>,
    },
    AnswerFinished {
        ticket: Ticket,
        answer: Box<ModelAnswer>,
    },
    ModelFailed {
        ticket: Ticket,
        failure: Box<ModelFailure>,
    },
    CredentialsRenewed {
        ticket: Ticket,
        renewed: bool,
    },
    /// The model's summary, and the text before the first message, read anew. `None` for the text leaves it as it is.
    SummaryFinished {
        ticket: Ticket,
        text: String,
        preamble: Option<Option<String>>,
    },
    SummaryFailed {
        ticket: Ticket,
        failure: Box<ModelFailure>,
    },
    /// The input as the tool understands it, or the result that says what is wrong with it.
    InputChecked {
        ticket: Ticket,
        checked: Result<Value, CallResult>,
    },
    /// `suggestions` are permission updates that the client may hand back; they are needed only where somebody is asked.
    Judged {
        ticket: Ticket,
        decision: Decision,
        suggestions: Vec<Value>,
    },
    PermissionAnswered {
        ticket: Ticket,
        answer: PermissionAnswer,
    },
    UpdatesApplied {
        ticket: Ticket,
    },
    ToolFinished {
        ticket: Ticket,
        finish: Box<ToolFinish>,
    },
    /// `stopped`: the sub-agent was interrupted, and so is whoever waits for it.
    AgentFinished {
        ticket: Ticket,
        result: CallResult,
        stopped: bool,
    },
    SecretsHidden {
        ticket: Ticket,
        result: CallResult,
    },
    TimerFired {
        ticket: Ticket,
    },
    /// Cancelled work is gone.
    Stopped {
        ticket: Ticket,
    },
}

/// Who ends a turn. A client that interrupts goes on talking; the others end the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InterruptCause {
    Client,
    Signal,
    ReaderLeft,
}

/// Which of the waiting prompts are meant. Only prompts to which the client gave an id can be named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recall {
    List,
    All,
    One(String),
}

/// What a sub-agent starts with.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SubagentTask {
    pub task: String,
    /// The texts of the skills that it has from the start.
    pub skills: Vec<String>,
}

/// Servers are settled, tools and system prompt are up to date.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prepared {
    /// Why no turn can begin: the agent that the session should run as does not exist.
    pub problem: Option<String>,
    /// In the first turn: a new text before the first message. `None` leaves it as it is.
    pub preamble: Option<Option<String>>,
    /// In the first turn of a new session: what its agent says before the prompt.
    pub initial_prompt: Option<String>,
}

/// What the model should know, from outside the conversation.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Gathered {
    /// Contents of mentioned files.
    pub attachments: Vec<Attachment>,
    /// Instructions and skills for files that were touched.
    pub reminders: Vec<String>,
    /// What hooks have said outside the turn.
    pub late: Vec<String>,
}

/// Something that comes along with a prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Attachment {
    /// For the transcript: what it is.
    pub attachment: Value,
    /// For the model.
    pub blocks: Vec<Value>,
}

/// What a prompt that begins with a slash is.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// A prompt like any other.
    None,
    /// A command of a skill, a file or a server. Hooks hear of it before it is expanded.
    Expands {
        kind: &'static str,
        name: String,
        args: String,
        source: String,
    },
    /// The text that stands for it.
    Blocks(Vec<Value>),
    Clear,
    Compact {
        wish: Option<String>,
    },
    /// One of ours that no model is asked for.
    Local {
        name: &'static str,
        args: String,
    },
    Failed(String),
}

/// What came of asking for a permission.
#[derive(Debug, Clone, PartialEq)]
pub enum PermissionAnswer {
    /// Nobody could be asked: the client is gone, or only a person may answer.
    Nobody,
    /// The tool that should answer does not exist. The turn ends with this message.
    NoPrompter(String),
    /// `behavior`, `message`, `interrupt`, `updatedInput`, `updatedPermissions`: as it came. What is not `allow` is a no.
    Answer(Value),
}

/// What a tool came to, beside its result.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolFinish {
    pub result: CallResult,
    /// Text that goes into the conversation after the results, such as a skill's body.
    pub follow_up: Option<String>,
    /// Structured output that fits the schema: it ends the turn.
    pub structured: Option<Value>,
    /// The tool says that its success ends the turn.
    pub ends_turn: bool,
    /// A hook inside the tool wants the run to stop.
    pub stop: Option<String>,
}

/// What the model reads: text where possible (strict clients drop arrays), blocks for images.
#[derive(Debug, Clone, PartialEq)]
pub enum CallContent {
    Text(String),
    Blocks(Vec<Value>),
}

/// As the API has it.
impl From<CallContent> for Value {
    fn from(content: CallContent) -> Self {
        match content {
            CallContent::Text(text) => Self::from(text),
            CallContent::Blocks(blocks) => Self::from(blocks),
        }
    }
}

/// `is_error` on the wire. Some tools of the reference send `false`, others leave it out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorFlag {
    Absent,
    No,
    Yes,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    pub content: CallContent,
    /// The twin in `tool_use_result`; for an error, its text.
    pub structured: Value,
    pub flag: ErrorFlag,
}

impl From<CallResult> for ToolFinish {
    fn from(result: CallResult) -> Self {
        Self { result, follow_up: None, structured: None, ends_turn: false, stop: None }
    }
}

impl CallResult {
    pub fn text(text: impl Into<String>, structured: Value) -> Self {
        Self { content: CallContent::Text(text.into()), structured, flag: ErrorFlag::Absent }
    }

    /// An error that the model can act on; the turn goes on.
    pub fn error(text: impl Into<String>) -> Self {
        let text = text.into();
        let structured = json!(format!("Error: {text}"));
        Self { content: CallContent::Text(text), structured, flag: ErrorFlag::Yes }
    }

    /// An error in how the tool was called, marked so that the model tells it from a failed run.
    pub fn misuse(text: impl AsRef<str>) -> Self {
        Self::error(format!("<tool_use_error>{}</tool_use_error>", text.as_ref()))
    }

    pub fn is_error(&self) -> bool {
        self.flag == ErrorFlag::Yes
    }

    /// Its text alone.
    pub fn words(&self) -> String {
        match &self.content {
            CallContent::Text(text) => text.clone(),
            CallContent::Blocks(blocks) => {
                let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
                texts.join("\n")
            }
        }
    }

    /// The block that answers the call.
    pub(crate) fn block(&self, tool_use_id: &str) -> Value {
        let content = match &self.content {
            CallContent::Text(text) => Value::String(text.clone()),
            CallContent::Blocks(blocks) => Value::Array(blocks.clone()),
        };
        let mut block = serde_json::Map::new();
        block.insert("tool_use_id".into(), json!(tool_use_id));
        block.insert("type".into(), json!("tool_result"));
        block.insert("content".into(), content);
        match self.flag {
            ErrorFlag::Absent => {}
            ErrorFlag::No => drop(block.insert("is_error".into(), json!(false))),
            ErrorFlag::Yes => drop(block.insert("is_error".into(), json!(true))),
        }
        Value::Object(block)
    }

    /// The same call with what a hook puts in the place of its output.
    #[must_use]
    pub fn replaced(&self, output: Value) -> Self {
        let content = match &output {
            Value::String(text) => CallContent::Text(text.clone()),
            Value::Array(blocks) => CallContent::Blocks(blocks.clone()),
            other => CallContent::Text(other.to_string()),
        };
        Self { content, structured: output, flag: self.flag }
    }
}
