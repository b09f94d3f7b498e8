//! `.ralph/config.toml`: every key is also a flag, and flags win. An unknown key is an error, so that a
//! misspelt limit does not silently become none.

use crate::span::span;
use cycle::{Allowance, Limits, OnFailure, Plan, SessionMode};
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
    pub reasoning: Reasoning,
    /// `auto`, `builtin`, `claude`, or a path.
    pub backend: String,
    pub pty_mode: bool,
    pub output_format: OutputFormat,
    pub permissions: String,
    pub sandbox: SandboxWish,
    pub tools: Option<String>,
    /// Credentials in the environment that an agent of somebody else's needs itself.
    #[serde(deserialize_with = "one_or_more")]
    pub keep_env: Vec<String>,
    #[serde(deserialize_with = "one_or_more")]
    pub check: Vec<String>,
    #[serde(deserialize_with = "a_span")]
    pub check_time: Duration,
    pub commit: bool,
    #[serde(deserialize_with = "a_span")]
    pub idle: Duration,
    /// Whether results must have the form `{"summary": …}`; unset, where a goal is given.
    pub structured: Option<bool>,
    pub live: bool,
    pub auth: AuthWish,
    pub max_failures: u32,
    #[serde(deserialize_with = "a_span")]
    pub failure_pause: Duration,
    pub on_failure: FailureWish,
    pub on_question: QuestionWish,
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
pub enum SandboxWish {
    Off,
    ReadOnly,
    #[default]
    Workspace,
}

impl SandboxWish {
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
pub enum AuthWish {
    /// The key that we would use ourselves.
    #[default]
    Auto,
    /// The agent's own login.
    Login,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FailureWish {
    #[default]
    Continue,
    Stop,
}

/// What a run does whose agent asks a person, where nobody sits in front of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionWish {
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
            reasoning: Reasoning::Med,
            backend: "auto".into(),
            pty_mode: false,
            output_format: OutputFormat::StreamJson,
            permissions: "bypass".into(),
            sandbox: SandboxWish::Workspace,
            tools: None,
            keep_env: Vec::new(),
            check: Vec::new(),
            check_time: Duration::from_mins(10),
            commit: false,
            idle: Duration::from_mins(5),
            structured: None,
            live: false,
            auth: AuthWish::Auto,
            max_failures: plan.failures_max,
            failure_pause: Duration::from_millis(plan.failure_pause_ms),
            on_failure: FailureWish::Continue,
            on_question: QuestionWish::Stop,
            stuck: true,
            summarise_every: plan.summarise_every,
            watch: false,
            json: false,
            no_tui: false,
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
    #[error("{}: unknown key '{key}'", file.display())]
    UnknownKey { file: PathBuf, key: String, known: Vec<String> },
    #[error("{0}")]
    Flags(String),
}

/// What is wrong with a key, in one line; the key's name stands on one of its own.
fn one_line(error: &toml::de::Error) -> String {
    error.to_string().trim().replace('\n', ", ")
}

/// Where a file cannot be read, without the picture of it.
fn unreadable(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, error.message().replace('\n', ", "))
}

/// The key that is none of ours, and those that are.
fn unknown_key(message: &str) -> Option<(String, Vec<String>)> {
    let mut names = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2).map(str::to_owned);
    Some((names.next()?, names.collect()))
}

impl Settings {
    /// The file where there is one, with `flags` laid over it.
    pub fn load(file: &Path, flags: toml::Table) -> Result<Self, SettingsError> {
        let wrong = |why: String| SettingsError::Wrong { file: file.into(), why };
        let mut table = match std::fs::read_to_string(file) {
            Ok(text) => text.parse::<toml::Table>().map_err(|error| wrong(unreadable(&text, &error)))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound || file.is_dir() => toml::Table::new(),
            Err(source) => return Err(SettingsError::Read { file: file.into(), source }),
        };
        // Judged on its own first: a message about the file must not be about a flag.
        table.clone().try_into::<Self>().map_err(|error| match unknown_key(error.message()) {
            Some((key, known)) => SettingsError::UnknownKey { file: file.into(), key, known },
            None => wrong(one_line(&error)),
        })?;
        table.extend(flags);
        let settings: Self = table.try_into().map_err(|error| SettingsError::Flags(one_line(&error)))?;
        settings.sensible().map_err(SettingsError::Flags)
    }

    fn sensible(self) -> Result<Self, String> {
        for (name, cost) in
            [("max_cost", self.max_cost), ("iteration_cost", self.iteration_cost), ("day_cost", self.day_cost)]
        {
            if cost.is_some_and(|cost| !cost.is_finite() || cost < 0.0) {
                return Err(format!("{name} must be an amount in USD"));
            }
        }
        if self.promise.trim().is_empty() {
            return Err("promise must not be empty".into());
        }
        if !["bypass", "acceptEdits", "default", "plan"].contains(&self.permissions.as_str()) {
            return Err(format!(
                "permissions must be bypass, acceptEdits, default or plan, not {:?}",
                self.permissions
            ));
        }
        Ok(self)
    }

    /// Whether agents are to use their own login and no key.
    pub fn wants_login(&self) -> bool {
        self.auth == AuthWish::Login
    }

    pub(crate) fn waits_for_answers(&self) -> bool {
        self.on_question == QuestionWish::Wait
    }

    pub fn is_structured(&self) -> bool {
        self.structured.unwrap_or(self.goal.is_some())
    }

    pub fn limits(&self) -> Limits {
        let ms = |span: Option<Duration>| span.map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
        Limits {
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
            cooldown_ms: ms(self.cooldown),
            failure_pause_ms: ms(self.failure_pause),
            on_failure: match self.on_failure {
                FailureWish::Continue => OnFailure::GoOn,
                FailureWish::Stop => OnFailure::Stop,
            },
            failures_max: self.max_failures,
            summarise_every: self.summarise_every,
            watch_for_stuck: self.stuck,
            attended,
            commit: self.commit,
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
mod tests {
    use super::*;

    fn load(text: &str, flags: &str) -> Result<Settings, String> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        std::fs::write(&file, text).unwrap();
        Settings::load(&file, flags.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_nothing() {
        let settings = load("max = 5\nduration = \"4h\"\nbackend = \"claude\"", "max = 7\ncheck = [\"make\"]").unwrap();
        assert_eq!((settings.max, settings.duration), (7, Some(Duration::from_hours(4))));
        assert_eq!((settings.backend.as_str(), settings.check), ("claude", vec!["make".to_owned()]));
        assert_eq!(load("check = \"make\"", "").unwrap().check, ["make"], "one needs no list");
    }

    #[test]
    fn mistakes_are_named() {
        for (text, flags, words) in [
            ("mx = 5", "", "config.toml: unknown key 'mx'"),
            ("max = \"x\"", "", "config.toml: invalid type: string \"x\", expected u32, in `max`"),
            ("max = 3\n[check\n", "", "config.toml: line 2: unclosed table"),
            ("check = 5", "", "config.toml: expected a text, or a list of them"),
            ("max = -1", "", "config.toml"),
            ("duration = \"soon\"", "", "is no span of time"),
            ("", "reasoning = \"much\"", "unknown variant `much`"),
            ("", "reasoning = \"much\"", ", in `reasoning`"),
            ("", "max_cost = -1.0", "max_cost must be an amount"),
            ("permissions = \"all\"", "", "permissions must be"),
            ("= 5", "", "config.toml"),
        ] {
            let error = load(text, flags).unwrap_err();
            assert!(!error.contains('\n'), "{text} {flags}: {error}");
            assert!(error.contains(words), "{text} {flags}: {error}");
        }
    }

    #[test]
    fn the_template_is_the_default() {
        assert_eq!(load(include_str!("templates/config.toml"), "").unwrap(), Settings::default());
    }

    #[test]
    fn seed_001_names_are_keys() {
        let settings = load("backend = \"claude\"\npty_mode = true\noutput_format = \"stream-json\"", "").unwrap();
        assert!(settings.pty_mode && settings.output_format == OutputFormat::StreamJson);
    }
}
