//! The end of an agent and its meaning for the iteration.

use crate::outage::outage_on_stderr;
use crate::reset::limit_in;
use crate::{AgentOutput, Changes, Claim, IterationFailure, LimitHit, Outage, Plan, claim};
use serde_json::Value;

/// The end of the agent process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEnd {
    NotStarted(String),
    Exited(i32),
    Signalled(i32),
    /// Stopped after this many milliseconds without output.
    Silent(u64),
    /// Stopped for writing without end.
    Flooded,
    /// Stopped because we were told to.
    Stopped,
    /// Gave its result and then did not leave; stopped.
    Lingered,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IterationReport {
    pub end: AgentEnd,
    pub output: AgentOutput,
    pub changed: Changes,
    /// Items of the todo list, and issues of this run, that are open now.
    pub open_work: Vec<String>,
    /// Of all files, where that can be told.
    pub tree: Option<u64>,
    /// The end of standard error.
    pub stderr_tail: String,
    pub duration_ms: u64,
    /// When a usage limit ends, in milliseconds since 1970.
    pub limit_until: Option<u64>,
}

/// A failure's own words in a receipt.
const DETAIL_MAX: usize = 600;

impl IterationReport {
    /// A report of an agent that changed nothing, as far as is known.
    pub fn unchanged(end: AgentEnd, output: AgentOutput) -> Self {
        Self {
            end,
            output,
            changed: Changes::default(),
            open_work: Vec::new(),
            tree: None,
            stderr_tail: String::new(),
            duration_ms: 0,
            limit_until: None,
        }
    }

    pub(crate) fn failure(&self, plan: &Plan) -> Option<IterationFailure> {
        match &self.end {
            AgentEnd::NotStarted(_) => return Some(IterationFailure::Start),
            AgentEnd::Silent(_) => return Some(IterationFailure::Silence),
            AgentEnd::Flooded => return Some(IterationFailure::Flood),
            AgentEnd::Signalled(_) => return Some(IterationFailure::Signal),
            AgentEnd::Exited(_) | AgentEnd::Stopped | AgentEnd::Lingered => {}
        }
        let left_well = !matches!(self.end, AgentEnd::Exited(code) if code != 0);
        let Some(answer) = &self.output.answer else {
            let refused = is_refusal(None, &self.stderr_tail);
            let silent_end = if left_well { IterationFailure::NoResult } else { IterationFailure::ExitCode };
            return Some(if refused { IterationFailure::Credentials } else { silent_end });
        };
        if answer.is_error {
            let cut = matches!(answer.subtype.as_str(), "error_max_budget_usd" | "error_max_turns");
            let refused = is_refusal(answer.status, &answer.text);
            return Some(match (cut, refused) {
                (true, _) => IterationFailure::Overrun,
                (_, true) => IterationFailure::Credentials,
                _ => IterationFailure::ErrorResult,
            });
        }
        if !left_well {
            return Some(IterationFailure::ExitCode);
        }
        (plan.structured && summary_of(answer.structured.as_ref()).is_none()).then_some(IterationFailure::Unstructured)
    }

    /// An API that could not be used, where that is the reason that the agent failed.
    pub(crate) fn outage(&self) -> Option<Outage> {
        let stderr = || outage_on_stderr(&self.stderr_tail).filter(|_| self.output.answer.is_none());
        self.output.outage.clone().or_else(stderr)
    }

    /// Whether the run knows what the agent used, as far as limits need it.
    pub(crate) fn measures(&self, limits: &crate::RunLimits) -> bool {
        let counts_cost = self.output.knows_cost() || !limits.any_usd();
        let counts_tokens = self.output.tokens.total() > 0 || !limits.any_tokens();
        counts_cost && counts_tokens
    }

    /// A usage limit, where it is the reason that the agent failed.
    pub fn limit(&self) -> Option<LimitHit> {
        self.output.limit.clone().or_else(|| limit_in(&self.stderr_tail))
    }

    /// What the agent says it did.
    pub(crate) fn summary(&self) -> String {
        let structured = self.output.answer.as_ref().and_then(|answer| answer.structured.as_ref());
        summary_of(structured).map_or_else(|| self.output.final_text().to_owned(), str::to_owned)
    }

    pub(crate) fn claim(&self, plan: &Plan) -> Claim {
        let structured = self.output.answer.as_ref().and_then(|answer| answer.structured.as_ref());
        match summary_of(structured) {
            Some(DONE) if plan.structured => Claim::Made,
            // The answer is then the structure itself; words are what was said before it.
            Some(_) => claim(&self.output.last_text, &plan.promise),
            None => claim(self.output.final_text(), &plan.promise),
        }
    }

    /// What went wrong, with what the agent said about it.
    pub(crate) fn blocking(&self, failure: IterationFailure) -> String {
        let detail = match (&self.end, &self.output.answer) {
            (AgentEnd::NotStarted(why), _) => why.clone(),
            (AgentEnd::Silent(ms), _) => {
                let time = crate::amounts::clock(*ms);
                format!("it wrote nothing for {time}; --idle sets how long that may last. {}", self.stderr_tail)
            }
            (AgentEnd::Signalled(signal), _) => format!("signal {signal}. {}", self.stderr_tail),
            (_, Some(answer)) if answer.is_error => answer.text.clone(),
            (AgentEnd::Exited(code), _) if *code != 0 => format!("exit {code}. {}", self.stderr_tail),
            _ => self.stderr_tail.clone(),
        };
        if failure == IterationFailure::Credentials {
            return refused_key(&detail);
        }
        let detail = crate::text::ending(detail.trim(), DETAIL_MAX);
        if detail.is_empty() { failure.words().to_owned() } else { format!("{}: {detail}", failure.words()) }
    }
}

/// The summary that ends a goal. Exactly this: "NOT DONE" and "done." are summaries like others.
const DONE: &str = "DONE";

/// A structured result's summary, where it has one that is text.
pub(crate) fn summary_of(structured: Option<&Value>) -> Option<&str> {
    structured?.get("summary")?.as_str().map(str::trim)
}

/// A refused or missing key, without advice that does not fit a loop.
fn refused_key(detail: &str) -> String {
    let said = detail.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let said = said.replace("Please run /login", "").replace("`auth status`", "`ralph auth status`");
    let said = said.trim_matches(|letter: char| letter.is_whitespace() || "·.".contains(letter));
    let said = crate::bounded(said, DETAIL_MAX);
    let hint = if said.contains("ralph auth status") { "" } else { ". `ralph auth status` shows which one is used" };
    format!("{}: {said}{hint}", IterationFailure::Credentials.words())
}

/// Sentences of agents whose key or login the API refuses.
const REFUSALS: [&str; 5] =
    ["invalid api key", "invalid x-api-key", "authentication_error", "please run /login", "oauth token has expired"];

fn is_refusal(status: Option<u16>, text: &str) -> bool {
    let text = text.to_lowercase();
    matches!(status, Some(401 | 403)) || REFUSALS.iter().any(|words| text.contains(words))
}
