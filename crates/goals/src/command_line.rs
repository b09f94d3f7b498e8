//! What was typed after `ralph goal` and `ralph work`, as values: nothing after this looks at words.

use crate::goal::{GoalId, GoalState, LandingMode, Reviewer};
use arguments::{nearest, span};
use std::path::PathBuf;
use std::time::Duration;

/// Attempts, unless somebody says otherwise.
pub const ATTEMPTS: i64 = 3;

#[derive(Debug, PartialEq)]
pub enum GoalCommand {
    Add(Fields),
    Import { file: PathBuf, fields: Fields },
    List { all: bool, state: Option<GoalState>, label: Option<String> },
    Show(GoalId),
    Log { id: GoalId, follow: bool },
    Diff(GoalId),
    Comment { id: GoalId, text: String },
    Attach { id: GoalId, files: Vec<PathBuf> },
    Answer { id: GoalId, text: String },
    Retry(GoalId),
    Cancel(GoalId),
    Queue(GoalId),
    Edit { id: GoalId, fields: Fields },
    Budget { scope: Option<String>, usd: Option<f64>, tokens: Option<u64>, remove: bool },
}

/// What a goal is made of. `None` was not said.
#[derive(Debug, Default, PartialEq)]
pub struct Fields {
    pub text: Option<String>,
    pub file: Option<PathBuf>,
    pub title: Option<String>,
    pub repo: Option<String>,
    pub base: Option<String>,
    pub after: Option<Vec<GoalId>>,
    pub labels: Option<Vec<String>>,
    pub checks: Option<Vec<String>>,
    pub attachments: Vec<PathBuf>,
    pub priority: Option<i64>,
    pub attempts: Option<i64>,
    pub model: Option<String>,
    pub reasoning: Option<String>,
    pub backend: Option<String>,
    pub max_iterations: Option<u32>,
    pub duration: Option<String>,
    pub max_cost: Option<f64>,
    pub max_tokens: Option<u64>,
    pub iteration_cost: Option<f64>,
    pub iteration_tokens: Option<u64>,
    pub land: Option<LandingMode>,
    pub squash: Option<bool>,
    pub review: Option<Reviewer>,
    pub key: Option<String>,
    pub draft: bool,
    pub trust: bool,
}

#[derive(Debug, PartialEq)]
pub struct WorkArguments {
    pub slots: usize,
    pub drain: bool,
    pub lease: Duration,
    pub notify: Vec<String>,
    pub json: bool,
}

/// A minute: three heartbeats may be lost before another worker takes over.
const LEASE: Duration = Duration::from_mins(1);
/// Below it, a busy disk would cost leases.
const LEASE_MIN: Duration = Duration::from_millis(500);
/// More agents than any machine runs.
const SLOTS_MAX: usize = 256;

pub(crate) const USAGE: &str = "usage: ralph goal add|import|list|show|log|diff|comment|attach|answer|retry|cancel|queue|edit|budget … \
                         ('ralph goal --help' explains them)";

const BUDGET: &str = "usage: ralph goal budget [all|repo:PATH|label:NAME] [USD] [--tokens N] [--remove]";

/// A mistake in what was typed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum GoalUsageError {
    /// The words fit no form of the command; these are its forms.
    #[error("{0}")]
    Form(String),
    #[error("option '--{0}' needs a value.")]
    MissingValue(String),
    #[error("option '--{name}' needs {needed}, not '{value}'.")]
    WrongValue { name: String, needed: &'static str, value: String },
    #[error("unknown option '--{flag}'.{hint} See 'ralph goal --help'.")]
    UnknownOption { flag: String, hint: String },
    #[error("'ralph goal {verb}' is unknown.{hint} {USAGE}")]
    UnknownVerb { verb: String, hint: String },
    #[error("'{0}' is no number of a goal. 'ralph goal list' shows them.")]
    NoGoal(String),
    #[error("option '--attempts' needs at least 1.")]
    Attempts,
    #[error("option '--land' is branch, push or pr, not '{0}'.")]
    Land(String),
    #[error("'{0}' is no state. States: {1}.")]
    NoState(String, String),
    #[error("'ralph {command}' takes options only, and '{word}' is none.")]
    Stray { command: &'static str, word: String },
    #[error("'{0}' is no amount in USD. {BUDGET}")]
    NoAmount(String),
    #[error("'{0}' is no budget. {BUDGET}")]
    NoBudget(String),
    #[error("option '--slots' needs 1 to {SLOTS_MAX}.")]
    Slots,
}

/// Words, taken one after the other.
struct Words<'a> {
    rest: std::slice::Iter<'a, String>,
    json: bool,
}

/// A flag with its value where it was written in one word.
struct Flag<'a> {
    name: &'a str,
    inline: Option<&'a str>,
}

enum Word<'a> {
    Flag(Flag<'a>),
    Plain(&'a str),
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<Word<'a>> {
        let word = self.rest.next()?;
        if !word.starts_with('-') || word == "-" {
            return Some(Word::Plain(word));
        }
        let bare = word.trim_start_matches('-');
        let (name, inline) = bare.split_once('=').map_or((bare, None), |(name, value)| (name, Some(value)));
        if name == "json" {
            self.json = true;
            return self.next();
        }
        Some(Word::Flag(Flag { name, inline }))
    }

    fn value(&mut self, flag: &Flag<'a>) -> Result<&'a str, GoalUsageError> {
        let value = flag.inline.or_else(|| self.rest.next().map(String::as_str));
        value.ok_or_else(|| GoalUsageError::MissingValue(flag.name.to_owned()))
    }

    fn number<T: std::str::FromStr>(&mut self, flag: &Flag<'a>, needed: &'static str) -> Result<T, GoalUsageError> {
        let text = self.value(flag)?;
        text.parse().map_err(|_| wrong(flag, needed, text))
    }
}

fn wrong(flag: &Flag<'_>, needed: &'static str, value: &str) -> GoalUsageError {
    GoalUsageError::WrongValue { name: flag.name.to_owned(), needed, value: value.to_owned() }
}

fn form(text: &str) -> GoalUsageError {
    GoalUsageError::Form(text.to_owned())
}

fn unknown(flag: &str, known: &[&str]) -> GoalUsageError {
    let near = nearest(flag, known.iter().copied()).map(|near| format!(" Did you mean '--{near}'?"));
    GoalUsageError::UnknownOption { flag: flag.to_owned(), hint: near.unwrap_or_default() }
}

const FIELD_NAMES: [&str; 26] = [
    "file",
    "title",
    "repo",
    "base",
    "after",
    "label",
    "check",
    "attach",
    "priority",
    "attempts",
    "model",
    "reasoning",
    "backend",
    "max-iterations",
    "duration",
    "max-cost",
    "max-tokens",
    "iteration-cost",
    "iteration-tokens",
    "land",
    "squash",
    "review",
    "key",
    "draft",
    "trust",
    "json",
];

/// An amount of money that makes sense.
fn usd<'a>(words: &mut Words<'a>, flag: &Flag<'a>) -> Result<f64, GoalUsageError> {
    let text = words.value(flag)?;
    amount(text).ok_or_else(|| wrong(flag, "an amount in USD", text))
}

fn amount(text: &str) -> Option<f64> {
    text.trim_start_matches('$').parse().ok().filter(|usd: &f64| usd.is_finite() && *usd >= 0.0)
}

fn goal_id(text: &str) -> Result<GoalId, GoalUsageError> {
    let number = text.trim_start_matches('#').parse().ok().filter(|id| *id > 0);
    number.ok_or_else(|| GoalUsageError::NoGoal(text.to_owned()))
}

impl Fields {
    fn take<'a>(&mut self, flag: &Flag<'a>, words: &mut Words<'a>) -> Result<(), GoalUsageError> {
        let whole = "a whole number";
        match flag.name {
            "f" | "file" => self.file = Some(words.value(flag)?.into()),
            "title" => self.title = Some(words.value(flag)?.to_owned()),
            "repo" => self.repo = Some(words.value(flag)?.to_owned()),
            "base" => self.base = Some(words.value(flag)?.to_owned()),
            "after" => {
                for id in words.value(flag)?.split(',') {
                    self.after.get_or_insert_default().push(goal_id(id)?);
                }
            }
            "label" => self.labels.get_or_insert_default().push(words.value(flag)?.to_owned()),
            "check" => self.checks.get_or_insert_default().push(words.value(flag)?.to_owned()),
            "attach" => self.attachments.push(words.value(flag)?.into()),
            "priority" => self.priority = Some(words.number(flag, whole)?),
            "attempts" => {
                let attempts: i64 = words.number(flag, whole)?;
                if attempts < 1 {
                    return Err(GoalUsageError::Attempts);
                }
                self.attempts = Some(attempts);
            }
            "model" => self.model = Some(words.value(flag)?.to_owned()),
            "reasoning" => self.reasoning = Some(words.value(flag)?.to_owned()),
            "backend" => self.backend = Some(words.value(flag)?.to_owned()),
            "max" | "max-iterations" => self.max_iterations = Some(words.number(flag, whole)?),
            "duration" => self.duration = Some(words.value(flag)?.to_owned()),
            "max-cost" => self.max_cost = Some(usd(words, flag)?),
            "max-tokens" => self.max_tokens = Some(words.number(flag, whole)?),
            "iteration-cost" => self.iteration_cost = Some(usd(words, flag)?),
            "iteration-tokens" => self.iteration_tokens = Some(words.number(flag, whole)?),
            "land" => {
                let text = words.value(flag)?;
                let land = LandingMode::parse(text);
                self.land = Some(land.ok_or_else(|| GoalUsageError::Land(text.to_owned()))?);
            }
            "squash" => self.squash = Some(flag.inline.is_none_or(|value| value == "true")),
            // The next word is the goal's text: a reviewer is named with '='.
            "review" => self.review = Some(reviewer(flag.inline.unwrap_or_default())),
            "key" => self.key = Some(words.value(flag)?.to_owned()),
            "draft" => self.draft = true,
            "trust" => self.trust = true,
            other => return Err(unknown(other, &FIELD_NAMES)),
        }
        Ok(())
    }
}

/// `BACKEND:MODEL`, split at the first colon after a known backend's name; otherwise all of it is the model.
pub fn reviewer(text: &str) -> Reviewer {
    let named = ["builtin", "claude", "auto"].iter().find_map(|name| text.strip_prefix(name).map(|rest| (*name, rest)));
    let some = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    match named {
        Some((name, "")) => Reviewer { backend: some(name), model: None },
        Some((name, rest)) if rest.starts_with(':') => Reviewer { backend: some(name), model: some(&rest[1..]) },
        _ if text.starts_with('/') => {
            let (path, model) = text.split_once(':').unwrap_or((text, ""));
            Reviewer { backend: some(path), model: some(model) }
        }
        _ => Reviewer { backend: None, model: some(text) },
    }
}

/// The command, and whether its answer is JSON.
pub fn goal(words: &[String]) -> Result<(GoalCommand, bool), GoalUsageError> {
    let Some((verb, rest)) = words.split_first() else { return Err(form(USAGE)) };
    let mut words = Words { rest: rest.iter(), json: false };
    let command = match verb.as_str() {
        "add" => {
            let (plain, fields) = fields(&mut words)?;
            GoalCommand::Add(Fields { text: Some(plain.join(" ")).filter(|text| !text.is_empty()), ..fields })
        }
        "import" => {
            let (plain, fields) = fields(&mut words)?;
            let [file] = plain[..] else { return Err(form("usage: ralph goal import FILE [options]")) };
            GoalCommand::Import { file: file.into(), fields }
        }
        "edit" => {
            let (plain, fields) = fields(&mut words)?;
            let Some((id, text)) = plain.split_first() else {
                return Err(form("usage: ralph goal edit N [options] [TEXT]"));
            };
            let text = Some(text.join(" ")).filter(|text| !text.is_empty());
            GoalCommand::Edit { id: goal_id(id)?, fields: Fields { text, ..fields } }
        }
        "list" => list(&mut words)?,
        "budget" => budget(&mut words)?,
        "log" => {
            let (plain, follow) = plain_and(&mut words, &["f", "follow"])?;
            GoalCommand::Log { id: only_id("log", &plain)?, follow }
        }
        _ => {
            let (plain, _) = plain_and(&mut words, &[])?;
            by_number(verb, &plain)?
        }
    };
    Ok((command, words.json))
}

fn by_number(verb: &str, plain: &[&str]) -> Result<GoalCommand, GoalUsageError> {
    let with_text = |what: &str| -> Result<(GoalId, String), GoalUsageError> {
        let usage = || GoalUsageError::Form(format!("usage: ralph goal {verb} N {what}"));
        let (id, rest) = plain.split_first().ok_or_else(usage)?;
        if rest.is_empty() {
            return Err(usage());
        }
        Ok((goal_id(id)?, rest.join(" ")))
    };
    Ok(match verb {
        "show" => GoalCommand::Show(only_id(verb, plain)?),
        "diff" => GoalCommand::Diff(only_id(verb, plain)?),
        "retry" => GoalCommand::Retry(only_id(verb, plain)?),
        "cancel" => GoalCommand::Cancel(only_id(verb, plain)?),
        "queue" => GoalCommand::Queue(only_id(verb, plain)?),
        "comment" => with_text("TEXT").map(|(id, text)| GoalCommand::Comment { id, text })?,
        "answer" => with_text("TEXT").map(|(id, text)| GoalCommand::Answer { id, text })?,
        "attach" => {
            let (id, _) = with_text("FILE…")?;
            GoalCommand::Attach { id, files: plain[1..].iter().map(PathBuf::from).collect() }
        }
        other => {
            let verbs = [
                "add", "import", "list", "show", "log", "diff", "comment", "attach", "answer", "retry", "cancel",
                "queue", "edit", "budget",
            ];
            let near = nearest(other, verbs.into_iter()).map(|near| format!(" Did you mean '{near}'?"));
            return Err(GoalUsageError::UnknownVerb { verb: other.to_owned(), hint: near.unwrap_or_default() });
        }
    })
}

fn only_id(verb: &str, plain: &[&str]) -> Result<GoalId, GoalUsageError> {
    match plain {
        [id] => goal_id(id),
        _ => Err(GoalUsageError::Form(format!("usage: ralph goal {verb} N"))),
    }
}

fn fields<'a>(words: &mut Words<'a>) -> Result<(Vec<&'a str>, Fields), GoalUsageError> {
    let (mut plain, mut fields) = (Vec::new(), Fields::default());
    while let Some(word) = words.next() {
        match word {
            Word::Plain(text) => plain.push(text),
            Word::Flag(flag) => fields.take(&flag, words)?,
        }
    }
    Ok((plain, fields))
}

fn plain_and<'a>(words: &mut Words<'a>, switches: &[&str]) -> Result<(Vec<&'a str>, bool), GoalUsageError> {
    let (mut plain, mut is_on) = (Vec::new(), false);
    while let Some(word) = words.next() {
        match word {
            Word::Plain(text) => plain.push(text),
            Word::Flag(flag) if switches.contains(&flag.name) => is_on = true,
            Word::Flag(flag) => return Err(unknown(flag.name, &["json", "follow"])),
        }
    }
    Ok((plain, is_on))
}

fn list(words: &mut Words<'_>) -> Result<GoalCommand, GoalUsageError> {
    let (mut all, mut state, mut label) = (false, None, None);
    while let Some(word) = words.next() {
        match word {
            Word::Flag(flag) if flag.name == "all" => all = true,
            Word::Flag(flag) if flag.name == "label" => label = Some(words.value(&flag)?.to_owned()),
            Word::Flag(flag) if flag.name == "state" => {
                let text = words.value(&flag)?;
                let names = GoalState::ALL.map(GoalState::word).join(", ");
                let found = GoalState::parse(text);
                state = Some(found.ok_or_else(|| GoalUsageError::NoState(text.to_owned(), names))?);
            }
            Word::Flag(flag) => return Err(unknown(flag.name, &["all", "state", "label", "json"])),
            Word::Plain(text) => {
                return Err(GoalUsageError::Stray { command: "goal list", word: text.to_owned() });
            }
        }
    }
    Ok(GoalCommand::List { all, state, label })
}

fn budget(words: &mut Words<'_>) -> Result<GoalCommand, GoalUsageError> {
    let (mut plain, mut tokens, mut remove) = (Vec::new(), None, false);
    while let Some(word) = words.next() {
        match word {
            Word::Plain(text) => plain.push(text),
            Word::Flag(flag) if flag.name == "tokens" => tokens = Some(words.number(&flag, "a whole number")?),
            Word::Flag(flag) if flag.name == "remove" => remove = true,
            Word::Flag(flag) => return Err(unknown(flag.name, &["tokens", "remove", "json"])),
        }
    }
    let (scope, usd) = match plain[..] {
        [] if tokens.is_none() && !remove => (None, None),
        [scope] if tokens.is_some() || remove => (Some(scope), None),
        [scope, usd] => (Some(scope), Some(amount(usd).ok_or_else(|| GoalUsageError::NoAmount(usd.to_owned()))?)),
        _ => return Err(form(BUDGET)),
    };
    let is_scope = |scope: &str| scope == "all" || scope.starts_with("repo:") || scope.starts_with("label:");
    if let Some(scope) = scope.filter(|scope| !is_scope(scope)) {
        return Err(GoalUsageError::NoBudget(scope.to_owned()));
    }
    Ok(GoalCommand::Budget { scope: scope.map(str::to_owned), usd, tokens, remove })
}

pub fn work(words: &[String]) -> Result<WorkArguments, GoalUsageError> {
    let mut parsed = WorkArguments { slots: 1, drain: false, lease: LEASE, notify: Vec::new(), json: false };
    let mut words = Words { rest: words.iter(), json: false };
    while let Some(word) = words.next() {
        match word {
            Word::Flag(flag) => match flag.name {
                "slots" => parsed.slots = words.number(&flag, "a whole number")?,
                "drain" => parsed.drain = true,
                "notify" => parsed.notify.push(words.value(&flag)?.to_owned()),
                "lease" => {
                    let text = words.value(&flag)?;
                    let lease = span(text).map_err(|_| wrong(&flag, "a span like 60s", text))?;
                    parsed.lease = lease.max(LEASE_MIN);
                }
                other => return Err(unknown(other, &["slots", "drain", "lease", "notify", "json"])),
            },
            Word::Plain(text) => return Err(GoalUsageError::Stray { command: "work", word: text.to_owned() }),
        }
    }
    if parsed.slots == 0 || parsed.slots > SLOTS_MAX {
        return Err(GoalUsageError::Slots);
    }
    parsed.json = words.json;
    Ok(parsed)
}

#[cfg(test)]
#[path = "command_line_tests.rs"]
mod tests;
