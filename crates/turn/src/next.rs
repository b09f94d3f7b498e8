//! What follows an answer of the model: facts in, one step out.

/// The model's answer, as far as it matters here.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AnswerFacts<'a> {
    pub(crate) stop_reason: Option<&'a str>,
    /// The stream was cut after at least one finished block.
    pub(crate) incomplete: bool,
    pub(crate) tool_calls: usize,
    /// Something visible was said: text or a tool call, not only thinking.
    pub(crate) has_content: bool,
    /// A JSON Schema was given and no valid structured output has been seen in this turn.
    pub(crate) schema_pending: bool,
}

/// How often each kind of nudge was given in this turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Nudged {
    pub(crate) empty: u32,
    pub(crate) cut: u32,
    pub(crate) long: u32,
    pub(crate) schema: u32,
    pub(crate) paused: u32,
    pub(crate) overflow: u32,
}

/// An empty answer after tool results happens now and then; twice in a row it is a fault of the model.
const EMPTY_MAX: u32 = 2;
/// A line that cuts three answers in a row will cut the next one too.
const CUT_MAX: u32 = 3;
/// Answers over the output limit that are continued before the turn is given up.
const LONG_MAX: u32 = 3;
/// A turn that ends without structured output is asked for it once more.
const SCHEMA_MAX: u32 = 1;
/// Server tools pause long turns; each resend is a paid call.
const PAUSED_MAX: u32 = 20;
/// A window that overflows again right after a compaction will do so for ever.
const OVERFLOW_MAX: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nudge {
    Empty,
    Cut,
    Long,
    Schema,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GiveUp {
    Empty,
    Cut,
    Long,
    Schema,
    Paused,
    Overflow,
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    RunTools,
    Done,
    /// Say something to the model and ask again.
    Say(Nudge),
    /// Ask again with what there is (a paused server tool).
    Resend,
    /// Shorten the conversation, then ask again.
    Compact,
    GiveUp(GiveUp),
}

pub(crate) fn after_answer(facts: AnswerFacts<'_>, nudged: &mut Nudged) -> Next {
    if facts.tool_calls > 0 {
        return Next::RunTools;
    }
    match facts.stop_reason {
        _ if facts.incomplete => bounded(&mut nudged.cut, CUT_MAX, Next::Say(Nudge::Cut), GiveUp::Cut),
        Some("refusal") => Next::GiveUp(GiveUp::Refused),
        Some("pause_turn") => bounded(&mut nudged.paused, PAUSED_MAX, Next::Resend, GiveUp::Paused),
        Some("max_tokens") => bounded(&mut nudged.long, LONG_MAX, Next::Say(Nudge::Long), GiveUp::Long),
        Some("model_context_window_exceeded") => {
            bounded(&mut nudged.overflow, OVERFLOW_MAX, Next::Compact, GiveUp::Overflow)
        }
        _ if facts.schema_pending => bounded(&mut nudged.schema, SCHEMA_MAX, Next::Say(Nudge::Schema), GiveUp::Schema),
        _ if !facts.has_content => bounded(&mut nudged.empty, EMPTY_MAX, Next::Say(Nudge::Empty), GiveUp::Empty),
        _ => Next::Done,
    }
}

fn bounded(count: &mut u32, most: u32, next: Next, otherwise: GiveUp) -> Next {
    if *count >= most {
        return Next::GiveUp(otherwise);
    }
    *count += 1;
    next
}

impl Nudge {
    /// What the model is told. Ours to word; clients see it as a synthetic user message.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Empty => "Your last answer was empty. Please go on, or say what you have found.",
            Self::Cut => "The connection broke during your last answer. Go on exactly where it stopped.",
            Self::Long => {
                "Your last answer was cut at the output limit. Go on exactly where it stopped, in smaller pieces."
            }
            Self::Schema => {
                "Finish by calling the StructuredOutput tool with your final answer; plain text is not read."
            }
        }
    }
}

impl GiveUp {
    /// For the result: what happened and what a person can do.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Empty => "The model answered with nothing several times in a row. Run the prompt again.",
            Self::Cut => "The connection to the API broke off several answers in a row. Check the network and resume.",
            Self::Long => {
                "The answer kept exceeding the output limit. Ask for less at once, or raise CLAUDE_CODE_MAX_OUTPUT_TOKENS."
            }
            Self::Schema => "The model ended its turn without calling StructuredOutput, although asked again.",
            Self::Paused => "A server-side tool paused the turn too often. Run the prompt again.",
            Self::Overflow => "The conversation does not fit the model's context window, even after compaction.",
            Self::Refused => "The model declined to answer this request. Rephrase it or use another model.",
        }
    }
}

#[cfg(test)]
#[path = "next_tests.rs"]
mod tests;
