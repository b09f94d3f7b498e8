//! `.ralph/config.toml`: every key is also a flag, and flags win. An unknown key is an error, so that a
//! misspelt limit does not silently become none.

use crate::mistakes::{line_of, mistake_in_file, mistake_in_flags, nearest_key, unknown_key, unreadable};
use crate::review_setting::a_reviewer;
use arguments::{LoopOptions, span};
use cycle::{Allowance, OnFailure, Plan, RunLimits, SessionMode};
use serde::{Deserialize, Deserializer};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Iterations at most; 0 is no such limit.
    pub max: u32,
    pub prompt: Option<PathBuf>,
    pub todo: Option<PathBuf>,
    pub goal: Option<PathBuf>,
    pub promise: String,
    pub session: Session,
    #[serde(deserialize_with = "a_span")]
    pub cooldown: Duration,
    #[serde(deserialize_with = "some_span")]
    pub duration: Option<Duration>,
    pub max_cost: Option<f64>,
    pub max_tokens: Option<u64>,
    #[serde(deserialize_with = "some_span")]
    pub iteration_time: Option<Duration>,
    pub iteration_cost: Option<f64>,
    pub iteration_tokens: Option<u64>,
    #[serde(deserialize_with = "some_span")]
    pub day_time: Option<Duration>,
    pub day_cost: Option<f64>,
    pub day_tokens: Option<u64>,
    pub model: String,
    pub fallback_model: Option<String>,
    /// Ways to a model while the first is limited: `provider:model`, in their order.
    #[serde(deserialize_with = "one_or_more")]
    pub fallback: Vec<String>,
    /// A wait for a limit that is longer than this is not waited where a fallback is free.
    #[serde(deserialize_with = "a_span")]
    pub fallback_after: Duration,
    /// Who condenses old iterations.
    pub summary_model: String,
    pub reasoning: Reasoning,
    /// `auto`, `builtin`, `claude`, or a path.
    pub backend: String,
    pub pty_mode: bool,
    pub output_format: OutputFormat,
    pub permissions: String,
    pub sandbox: SandboxMode,
    pub tools: Option<String>,
    /// Credentials in the environment that an agent of somebody else's needs itself.
    #[serde(deserialize_with = "one_or_more")]
    pub keep_env: Vec<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub check: Vec<String>,
    #[serde(deserialize_with = "a_span")]
    pub check_time: Duration,
    /// A commit whose versions of the checks' scripts count.
    pub check_from: Option<String>,
    pub commit: bool,
    /// Another agent looks at work that is said to be done: by default (an empty name) or by name, `BACKEND:MODEL`.
    #[serde(deserialize_with = "a_reviewer")]
    pub review: Option<String>,
    /// Of the reviewer, where `review` names none.
    pub review_model: Option<String>,
    /// How often it may send work back before a person is asked.
    pub review_rounds: u32,
    #[serde(deserialize_with = "a_span")]
    pub idle: Duration,
    /// Whether results must have the form `{"summary": …}`; unset, where a goal is given.
    pub structured: Option<bool>,
    pub live: bool,
    pub auth: AuthMode,
    pub max_failures: u32,
    /// How long an unreachable API is waited for; unset, as long as the run may last, else a day.
    #[serde(deserialize_with = "some_span")]
    pub max_outage: Option<Duration>,
    #[serde(deserialize_with = "a_span")]
    pub failure_pause: Duration,
    pub on_failure: FailureMode,
    pub on_question: QuestionMode,
    pub stuck: bool,
    pub summarise_every: u32,
    /// When done, wait for new work and start again.
    pub watch: bool,
    /// Who is called when somebody is needed, or it is over: commands, web addresses, `terminal`.
    #[serde(deserialize_with = "one_or_more")]
    pub notify: Vec<String>,
    /// How goals of this repository land, unless `ralph goal add --land` says otherwise.
    pub land: Option<String>,
    pub json: bool,
    pub no_tui: bool,
    /// The screen stays when the run is over.
    pub stay: bool,
    /// Plain lines and logs begin with the time.
    pub timestamps: bool,
    /// Recordings that are kept: so many, so old, so large together. Zero is no such limit.
    pub keep_runs: u32,
    pub keep_days: u32,
    #[serde(deserialize_with = "a_size")]
    pub keep_size: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Session {
    #[default]
    Clean,
    Continue,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reasoning {
    None,
    Low,
    #[default]
    Med,
    High,
}

/// How the agent is asked to answer. Only `stream-json` shows what it does while it works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputFormat {
    /// Messages on both pipes: the prompt, corrections and steering go in as messages too.
    #[default]
    StreamJson,
    /// The prompt as an argument, events out.
    Args,
    Json,
    Text,
}

/// What agents' commands are confined to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    Off,
    ReadOnly,
    #[default]
    Workspace,
}

impl SandboxMode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::ReadOnly => "read-only",
            Self::Workspace => "workspace",
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// The key that we would use ourselves.
    #[default]
    Auto,
    /// The agent's own login.
    Login,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureMode {
    #[default]
    Continue,
    Stop,
}

/// What a run does whose agent asks a person, where nobody sits in front of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionMode {
    #[default]
    Stop,
    /// For `ralph answer`.
    Wait,
}

impl Default for Settings {
    fn default() -> Self {
        let plan = Plan::default();
        Self {
            max: plan.limits.iterations,
            prompt: None,
            todo: None,
            goal: None,
            promise: plan.promise,
            session: Session::Clean,
            cooldown: Duration::ZERO,
            duration: None,
            max_cost: None,
            max_tokens: None,
            iteration_time: None,
            iteration_cost: None,
            iteration_tokens: None,
            day_time: None,
            day_cost: None,
            day_tokens: None,
            model: plan.model,
            fallback_model: None,
            fallback: Vec::new(),
            fallback_after: Duration::from_millis(plan.fallback_after_ms),
            summary_model: "haiku".into(),
            reasoning: Reasoning::Med,
            backend: "auto".into(),
            pty_mode: false,
            output_format: OutputFormat::StreamJson,
            permissions: "bypass".into(),
            sandbox: SandboxMode::Workspace,
            tools: None,
            keep_env: Vec::new(),
            check: Vec::new(),
            check_time: Duration::from_mins(10),
            check_from: None,
            commit: false,
            review: None,
            review_model: None,
            review_rounds: 3,
            idle: Duration::from_mins(5),
            structured: None,
            live: false,
            auth: AuthMode::Auto,
            max_failures: plan.failures_max,
            max_outage: None,
            failure_pause: Duration::from_millis(plan.failure_pause_ms),
            on_failure: FailureMode::Continue,
            on_question: QuestionMode::Stop,
            stuck: true,
            summarise_every: plan.summarise_every,
            watch: false,
            json: false,
            no_tui: false,
            stay: false,
            timestamps: false,
            keep_runs: 100,
            keep_days: 90,
            keep_size: 2_000_000_000,
            notify: Vec::new(),
            land: None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("{} cannot be read: {source}", file.display())]
    Read { file: PathBuf, source: std::io::Error },
    #[error("{}: {why}", file.display())]
    Wrong { file: PathBuf, why: String },
    #[error("{}: line {line}: unknown key '{key}'", file.display())]
    UnknownKey { file: PathBuf, line: usize, key: String },
    #[error("{0}")]
    Flags(String),
    #[error("{name} must be an amount in USD")]
    Amount { name: &'static str },
    #[error("review_rounds must be at least 1")]
    NoReviewRounds,
    #[error("promise must not be empty")]
    NoPromise,
    #[error("permissions must be bypass, acceptEdits, default or plan, not {0:?}")]
    Permissions(String),
    /// A limit that the agent's way of answering cannot hold: it would be silently none.
    #[error(
        "a limit in USD or tokens cannot hold with output_format = \"text\": the agent reports no usage. Use \
         output_format = \"json\" or \"stream-json\", or limit iterations (max) or time (duration)"
    )]
    Unmeasurable,
}

impl SettingsError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownKey { key, .. } => nearest_key(key).map(|near| format!("Did you mean '{near}'?")),
            _ => None,
        }
    }
}

impl Settings {
    /// The file where there is one, with `flags` laid over it.
    pub fn load(file: &Path, flags: &LoopOptions) -> Result<Self, SettingsError> {
        let wrong = |why: String| SettingsError::Wrong { file: file.into(), why };
        let text = match std::fs::read_to_string(file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound || file.is_dir() => String::new(),
            Err(source) => return Err(SettingsError::Read { file: file.into(), source }),
        };
        let mut table = text.parse::<toml::Table>().map_err(|error| wrong(unreadable(&text, &error)))?;
        // The file is judged on its own first: a message about the file must not be about a flag.
        if let Some((key, line)) = unknown_key(&text, &table) {
            return Err(SettingsError::UnknownKey { file: file.into(), line, key });
        }
        if let Err(error) = toml::from_str::<Self>(&text) {
            return Err(wrong(mistake_in_file(&text, line_of(&text, &error), &error)));
        }
        let given = toml::Table::try_from(flags).map_err(|error| SettingsError::Flags(error.to_string()))?;
        if let Some(mistake) = mistake_in_flags(&given, |one| one.try_into::<Self>().is_err()) {
            return Err(SettingsError::Flags(mistake));
        }
        table.extend(given);
        table.try_into::<Self>().map_err(|error| SettingsError::Flags(error.message().to_owned()))?.sensible()
    }

    fn sensible(self) -> Result<Self, SettingsError> {
        let costs = [("max_cost", self.max_cost), ("iteration_cost", self.iteration_cost), ("day_cost", self.day_cost)];
        let is_wrong = |cost: Option<f64>| cost.is_some_and(|cost| !cost.is_finite() || cost < 0.0);
        if let Some((name, _)) = costs.into_iter().find(|(_, cost)| is_wrong(*cost)) {
            return Err(SettingsError::Amount { name });
        }
        if self.review.is_some() && self.review_rounds == 0 {
            return Err(SettingsError::NoReviewRounds);
        }
        if self.promise.trim().is_empty() {
            return Err(SettingsError::NoPromise);
        }
        if !["bypass", "acceptEdits", "default", "plan"].contains(&self.permissions.as_str()) {
            return Err(SettingsError::Permissions(self.permissions));
        }
        let limits = self.limits();
        if self.output_format == OutputFormat::Text && (limits.any_usd() || limits.any_tokens()) {
            return Err(SettingsError::Unmeasurable);
        }
        Ok(self)
    }

    /// Whether agents are to use their own login and no key.
    pub fn wants_login(&self) -> bool {
        self.auth == AuthMode::Login
    }

    pub(crate) fn waits_for_answers(&self) -> bool {
        self.on_question == QuestionMode::Wait
    }

    pub fn is_structured(&self) -> bool {
        self.structured.unwrap_or(self.goal.is_some())
    }

    pub fn limits(&self) -> RunLimits {
        let ms = |span: Option<Duration>| span.map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
        RunLimits {
            iterations: self.max,
            iteration: Allowance {
                time_ms: ms(self.iteration_time),
                usd: self.iteration_cost,
                tokens: self.iteration_tokens,
            },
            run: Allowance { time_ms: ms(self.duration), usd: self.max_cost, tokens: self.max_tokens },
            day: Allowance { time_ms: ms(self.day_time), usd: self.day_cost, tokens: self.day_tokens },
        }
    }

    pub(crate) fn plan(&self, has_checks: bool, attended: bool, day_offset_ms: i64) -> Plan {
        let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        Plan {
            limits: self.limits(),
            promise: self.promise.clone(),
            structured: self.is_structured(),
            has_checks,
            session: match self.session {
                Session::Clean => SessionMode::Clean,
                Session::Continue => SessionMode::Continue,
            },
            model: self.model.clone(),
            other_model: self.fallback_model.clone(),
            fallback: Vec::new(),
            fallback_after_ms: ms(self.fallback_after),
            cooldown_ms: ms(self.cooldown),
            failure_pause_ms: ms(self.failure_pause),
            on_failure: match self.on_failure {
                FailureMode::Continue => OnFailure::GoOn,
                FailureMode::Stop => OnFailure::Stop,
            },
            failures_max: self.max_failures,
            max_outage_ms: self.max_outage.or(self.duration).map_or(cycle::DAY_MS, ms),
            wait_max_ms: None,
            summarise_every: self.summarise_every,
            watch_for_stuck: self.stuck,
            attended,
            commit: self.commit,
            // The caller sets this where there is a reviewer.
            review_rounds: 0,
            day_offset_ms,
        }
    }
}

/// A number is seconds, a string a span.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Whole(u32),
    Part(f64),
    Text(String),
}

fn a_span<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let text = match Written::deserialize(from)? {
        Written::Whole(seconds) => seconds.to_string(),
        Written::Part(seconds) => seconds.to_string(),
        Written::Text(text) => text,
    };
    span(&text).map_err(serde::de::Error::custom)
}

/// `500MB`, `2GB`; a number alone is bytes.
fn a_size<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let text = match Written::deserialize(from)? {
        Written::Whole(bytes) => return Ok(bytes.into()),
        Written::Part(_) => String::new(),
        Written::Text(text) => text,
    };
    let split = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let unit: u64 = match text[split..].trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => 0,
    };
    let size = text[..split].parse::<u64>().ok().filter(|_| unit > 0).and_then(|count| count.checked_mul(unit));
    size.ok_or_else(|| serde::de::Error::custom(format!("{text:?} is no size; write it like 500MB or 2GB")))
}

fn one_or_more<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a text, or a list of them")]
    enum Texts {
        One(String),
        More(Vec<String>),
    }
    Ok(match Texts::deserialize(from)? {
        Texts::One(text) => vec![text],
        Texts::More(texts) => texts,
    })
}

fn some_span<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    a_span(from).map(Some)
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
