//! The options of a run, once: parsing, help, completions, the manual, the keys of `.ralph/config.toml` and the words
//! of their mistakes are made from this table. Every option has a field of its own, so nothing looks one up by name.
//!
//! Deliberately absent: what an option does, and its default. `runner::Settings` has both.

use serde::{Deserialize, Serialize};

/// What an option takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Whole,
    Amount,
    Switch,
    /// May be given more than once.
    List,
    /// A text, or nothing: then the option is just wanted.
    Maybe,
    /// A span of time.
    Span,
    /// A size in bytes.
    Size,
    /// One of these words.
    OneOf(&'static str),
}

impl Kind {
    /// In words, for a message about a wrong value.
    pub fn expects(self) -> &'static str {
        match self {
            Self::Text | Self::Maybe => "a text",
            Self::Whole => "a whole number",
            Self::Amount => "an amount in USD, like 2.50",
            Self::Switch => "true or false",
            Self::List => "a text, or a list of texts",
            Self::Span => "a span of time, like 4h, 1h30m, 90s or 500ms",
            Self::Size => "a size, like 500MB or 2GB",
            Self::OneOf(words) => words,
        }
    }
}

/// The type of a field.
macro_rules! value {
    (Whole) => { u32 };
    (Amount) => { f64 };
    (Switch) => { bool };
    (List) => { Vec<String> };
    ($text:ident) => { String };
}

/// A row is: field (and key), kind, name, perhaps a second name, help.
macro_rules! loop_options {
    (@alias) => { None };
    (@alias $alias:literal) => { Some($alias) };
    ($($field:ident: $kind:ident $(($words:literal))? = $name:literal $(or $alias:literal)?, $help:literal;)+) => {
        /// The options of a run as they were typed; `None` was not said. They are recorded with a run, for whoever
        /// goes on with it.
        #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct LoopOptions {
            $(
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<value!($kind)>,
            )+
        }

        impl LoopOptions {
            /// These options, and those of `earlier` that are not among them.
            #[must_use]
            pub fn or(self, earlier: Self) -> Self {
                Self { $($field: self.$field.or(earlier.$field),)+ }
            }
        }

        /// Every option of a run that is also a key of `.ralph/config.toml`.
        pub const LOOP_OPTIONS: &[LoopOption] = &[$(LoopOption {
            name: $name,
            alias: loop_options!(@alias $($alias)?),
            key: stringify!($field),
            kind: Kind::$kind$(($words))?,
            help: $help,
            put: |options, text| put(&mut options.$field, text),
        },)+];
    };
}

/// A row of the table.
pub struct LoopOption {
    pub name: &'static str,
    /// A second name.
    pub alias: Option<&'static str>,
    /// In `.ralph/config.toml`.
    pub key: &'static str,
    pub kind: Kind,
    pub help: &'static str,
    /// Reads a value; otherwise says what is needed.
    pub(crate) put: fn(&mut LoopOptions, &str) -> Result<(), Needed>,
}

impl LoopOption {
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        LOOP_OPTIONS.iter().find(|option| option.name == name || option.alias == Some(name))
    }

    pub fn of_key(key: &str) -> Option<&'static Self> {
        LOOP_OPTIONS.iter().find(|option| option.key == key)
    }
}

/// What an option needs, where its text is something else.
#[derive(Debug)]
pub(crate) struct Needed(pub(crate) &'static str);

trait Value: Sized {
    fn read(text: &str, before: Option<Self>) -> Result<Self, Needed>;
}

impl Value for u32 {
    fn read(text: &str, _: Option<Self>) -> Result<Self, Needed> {
        text.parse().map_err(|_| Needed("a whole number"))
    }
}

impl Value for f64 {
    fn read(text: &str, _: Option<Self>) -> Result<Self, Needed> {
        text.parse().map_err(|_| Needed("an amount in USD"))
    }
}

impl Value for bool {
    fn read(text: &str, _: Option<Self>) -> Result<Self, Needed> {
        text.parse().map_err(|_| Needed("true or false"))
    }
}

impl Value for String {
    fn read(text: &str, _: Option<Self>) -> Result<Self, Needed> {
        Ok(text.to_owned())
    }
}

impl Value for Vec<String> {
    fn read(text: &str, before: Option<Self>) -> Result<Self, Needed> {
        Ok(before.into_iter().flatten().chain([text.to_owned()]).collect())
    }
}

fn put<V: Value>(field: &mut Option<V>, text: &str) -> Result<(), Needed> {
    *field = Some(V::read(text, field.take())?);
    Ok(())
}

loop_options! {
    max: Whole = "max" or "max-iterations", "iterations at most; 0 is no such limit (also: ralph N)";
    duration: Span = "duration", "wall time of the run, like 4h";
    max_cost: Amount = "max-cost", "USD of the run";
    max_tokens: Whole = "max-tokens", "tokens of the run";
    iteration_time: Span = "iteration-time", "wall time of one iteration";
    iteration_cost: Amount = "iteration-cost", "USD of one iteration";
    iteration_tokens: Whole = "iteration-tokens", "tokens of one iteration";
    day_time: Span = "day-time", "wall time of all your runs of a day, in all folders";
    day_cost: Amount = "day-cost", "USD of all your runs of a day, in all folders";
    day_tokens: Whole = "day-tokens", "tokens of all your runs of a day, in all folders";
    idle: Span = "idle", "an agent that is silent this long is stopped (5m)";
    prompt: Text = "prompt", "the prompt file (.ralph/prompt.md, docs/PROMPT.md)";
    todo: Text = "todo", "the todo list (.ralph/todo.md)";
    goal: Text = "goal", "a goal file; the summary DONE reaches it";
    promise: Text = "promise", "the words that claim completion";
    session: OneOf("clean or continue") = "session", "clean, or continue: one conversation for all iterations";
    cooldown: Span = "cooldown", "seconds between iterations";
    check: List = "check", "a command that must pass before done counts; repeatable";
    check_from: Text = "check-from", "a commit whose versions of the checks' scripts count";
    check_time: Span = "check-time", "how long a check may take (10m)";
    commit: Switch = "commit", "a git commit per iteration";
    review: Maybe = "review", "another agent looks at it before done counts (--review [BACKEND:MODEL])";
    review_model: Text = "review-model", "the reviewer's model";
    review_rounds: Whole = "review-rounds", "reviews with findings before a person is asked (3)";
    backend: Text = "backend", "auto, builtin, claude, a path, or an ACP agent: codex, gemini, opencode, goose, claude-acp, acp:COMMAND";
    model: Text = "model", "the model (sonnet)";
    fallback_model: Text = "fallback-model", "tried when the loop gets nowhere";
    fallback: List = "fallback", "provider:model, taken while a usage limit lasts; repeatable";
    fallback_after: Span = "fallback-after", "the longest wait for a limit where a fallback is free (15m)";
    summary_model: Text = "summary-model", "who condenses old iterations (haiku)";
    reasoning: OneOf("none, low, med or high") = "reasoning", "none, low, med, high";
    permissions: Text = "permissions", "bypass, acceptEdits, default, plan";
    sandbox: OneOf("workspace, read-only or off") = "sandbox", "what commands may write: workspace, read-only, off";
    keep_env: List = "keep-env", "a credential in the environment that another agent needs itself; repeatable";
    tools: Text = "tools", "the agent's tools";
    auth: OneOf("auto or login") = "auth", "auto, or login: the agent's own login";
    output_format: OneOf("stream-json, args, json or text") = "output-format", "stream-json, args, json, text: how the agent is spoken to";
    pty_mode: Switch = "pty", "give the agent a terminal";
    structured: Switch = "structured", "require results of the form {\"summary\": …}";
    live: Switch = "live", "show the agent's words as they come";
    max_failures: Whole = "max-failures", "failed iterations in a row that end the run (3)";
    max_outage: Span = "max-outage", "how long an unreachable API is waited for (--duration, else 24h)";
    failure_pause: Span = "failure-pause", "seconds after a failed iteration (2)";
    on_failure: OneOf("continue or stop") = "on-failure", "continue, or stop at the first";
    on_question: OneOf("stop or wait") = "on-question", "stop, or wait for 'ralph answer'";
    stuck: Switch = "stuck", "--stuck=false: never mind when nothing changes";
    summarise_every: Whole = "summarise-every", "iterations between summaries (10); 0 is never";
    watch: Switch = "watch", "when done, wait for new work and start again";
    notify: List = "notify", "called at the end and for questions: a command, a web address, or 'terminal'; repeatable";
    json: Switch = "json", "print every event as a line of JSON";
    no_tui: Switch = "no-tui", "plain lines, no screen";
    stay: Switch = "stay", "keep the screen when the run is over, until q";
    timestamps: Switch = "timestamps", "plain lines begin with the time";
    keep_runs: Whole = "keep-runs", "recordings to keep (100); 0 is all";
    keep_days: Whole = "keep-days", "days that a recording is kept (90); 0 is for ever";
    keep_size: Size = "keep-size", "size of all recordings together (2GB); 0 is no such limit";
}
