//! What to do after the model has answered. Pure: facts in, one step out.

/// What the model's answer looks like.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen<'a> {
    pub stop_reason: Option<&'a str>,
    /// The stream was cut after at least one finished block.
    pub incomplete: bool,
    pub tool_calls: usize,
    /// Something visible was said: text or a tool call, not only thinking.
    pub has_content: bool,
    /// A JSON Schema was given and no valid structured output has been seen in this turn.
    pub schema_pending: bool,
}

/// How often each kind of nudge was given in this turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Nudged {
    pub empty: u32,
    pub cut: u32,
    pub long: u32,
    pub schema: u32,
    pub paused: u32,
    pub overflow: u32,
}

/// An empty answer after tool results happens now and then; twice in a row it is a fault of the model.
const EMPTY_MAX: u32 = 2;
/// A line that cuts three answers in a row will cut the next one too.
const CUT_MAX: u32 = 3;
/// Answers over the output limit that are continued before the turn is given up.
const LONG_MAX: u32 = 3;
/// The rule: a turn that ends without structured output is asked once more.
const SCHEMA_MAX: u32 = 1;
/// Server tools pause long turns; each resend is a paid call.
const PAUSED_MAX: u32 = 20;
/// A window that overflows again right after a compaction will do so for ever.
const OVERFLOW_MAX: u32 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nudge {
    Empty,
    Cut,
    Long,
    Schema,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GiveUp {
    Empty,
    Cut,
    Long,
    Schema,
    Paused,
    Overflow,
    Refused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
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

pub fn after(seen: Seen<'_>, nudged: &mut Nudged) -> Next {
    if seen.tool_calls > 0 {
        return Next::RunTools;
    }
    match seen.stop_reason {
        _ if seen.incomplete => bounded(&mut nudged.cut, CUT_MAX, Next::Say(Nudge::Cut), GiveUp::Cut),
        Some("refusal") => Next::GiveUp(GiveUp::Refused),
        Some("pause_turn") => bounded(&mut nudged.paused, PAUSED_MAX, Next::Resend, GiveUp::Paused),
        Some("max_tokens") => bounded(&mut nudged.long, LONG_MAX, Next::Say(Nudge::Long), GiveUp::Long),
        Some("model_context_window_exceeded") => {
            bounded(&mut nudged.overflow, OVERFLOW_MAX, Next::Compact, GiveUp::Overflow)
        }
        _ if seen.schema_pending => bounded(&mut nudged.schema, SCHEMA_MAX, Next::Say(Nudge::Schema), GiveUp::Schema),
        _ if !seen.has_content => bounded(&mut nudged.empty, EMPTY_MAX, Next::Say(Nudge::Empty), GiveUp::Empty),
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
    pub fn words(self) -> &'static str {
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
    pub fn words(self) -> &'static str {
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
mod tests {
    use super::*;

    #[test]
    fn one_step_for_each_kind_of_answer() {
        let said = Seen { has_content: true, ..Seen::default() };
        let rows = [
            ("plain end", Seen { stop_reason: Some("end_turn"), ..said }, Next::Done),
            ("stop sequence", Seen { stop_reason: Some("stop_sequence"), ..said }, Next::Done),
            ("unknown reason", Seen { stop_reason: Some("novel"), ..said }, Next::Done),
            ("tools", Seen { tool_calls: 2, stop_reason: Some("tool_use"), ..said }, Next::RunTools),
            ("tools though cut", Seen { tool_calls: 1, incomplete: true, ..said }, Next::RunTools),
            ("tools though refused", Seen { tool_calls: 1, stop_reason: Some("refusal"), ..said }, Next::RunTools),
            ("cut text", Seen { incomplete: true, ..said }, Next::Say(Nudge::Cut)),
            ("refusal", Seen { stop_reason: Some("refusal"), ..said }, Next::GiveUp(GiveUp::Refused)),
            ("pause", Seen { stop_reason: Some("pause_turn"), ..said }, Next::Resend),
            ("too long", Seen { stop_reason: Some("max_tokens"), ..said }, Next::Say(Nudge::Long)),
            ("window", Seen { stop_reason: Some("model_context_window_exceeded"), ..said }, Next::Compact),
            (
                "no schema yet",
                Seen { stop_reason: Some("end_turn"), schema_pending: true, ..said },
                Next::Say(Nudge::Schema),
            ),
            ("nothing said", Seen { stop_reason: Some("end_turn"), ..Seen::default() }, Next::Say(Nudge::Empty)),
        ];
        for (name, seen, expected) in rows {
            assert_eq!(after(seen, &mut Nudged::default()), expected, "{name}");
        }
    }

    #[test]
    fn every_repetition_ends() {
        let rows = [
            Seen { incomplete: true, ..Seen::default() },
            Seen { stop_reason: Some("pause_turn"), ..Seen::default() },
            Seen { stop_reason: Some("max_tokens"), ..Seen::default() },
            Seen { stop_reason: Some("model_context_window_exceeded"), ..Seen::default() },
            Seen { schema_pending: true, ..Seen::default() },
            Seen::default(),
        ];
        for seen in rows {
            let mut nudged = Nudged::default();
            let steps = (0..100).take_while(|_| !matches!(after(seen, &mut nudged), Next::GiveUp(_))).count();
            assert!(steps <= 20, "{seen:?}");
        }
    }
}
