//! One handler as configured: what runs, for which subjects, for how long.

use crate::error::ConfigError;
use crate::event::HookEvent;
use crate::matcher::Matcher;
use policy::{Rule, Source, parse_rule};
use serde_json::Value;
use std::cell::Cell;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// What a handler that gives no valid answer does to the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnFailure {
    Continue,
    /// Only silence blocks, and only a tool call: a client's callback that was asked to guard one.
    BlockOnTimeout,
    Block,
}

/// Hooks run test suites; ten minutes is what the reference gives them.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(10);
/// A client that is asked is there or it is not.
const CALLBACK_TIMEOUT: Duration = Duration::from_mins(1);
/// One short answer of a model.
const OPINION_TIMEOUT: Duration = Duration::from_secs(30);
/// An agent that may look around first.
const AGENT_TIMEOUT: Duration = Duration::from_mins(1);
/// Longer waits are mistakes in the unit: a day is 86,400 s, not ms.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24);
/// As much of a command as identifies it in an error.
const LONGEST_LABEL: usize = 80;

#[derive(Debug, Clone)]
pub(crate) struct Handler {
    pub(crate) event: HookEvent,
    pub(crate) matcher: Matcher,
    pub(crate) condition: Condition,
    pub(crate) timeout: Option<Duration>,
    pub(crate) action: Action,
    pub(crate) plugin: Option<Plugin>,
    /// Set where it runs a single time: whether it has.
    pub(crate) once: Option<Rc<Cell<bool>>>,
    /// The skill that brought it.
    pub(crate) by: Option<Rc<str>>,
    /// Whether whoever wrote it may grant and may see our environment.
    pub(crate) is_trusted: bool,
}

/// The `if` field.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    Always,
    /// The call must match.
    Rule(Box<Rule>),
    /// A rule where there is no call to match.
    Never,
}

/// Where a plugin lives, for its own hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Plugin {
    pub(crate) root: PathBuf,
    pub(crate) data: PathBuf,
}

/// What runs. Equal ones are the same handler, wherever they were configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    Command {
        program: Program,
        mode: Mode,
    },
    Http {
        url: String,
        headers: Vec<(String, String)>,
        env: Vec<String>,
    },
    /// A tool of an MCP server; `${path}` in its input is filled from the event's.
    Tool {
        server: String,
        tool: String,
        input: Value,
    },
    /// A model is asked whether a condition holds.
    Opinion {
        words: String,
        model: Option<String>,
        who: Judge,
    },
    Callback {
        id: String,
        on_failure: OnFailure,
    },
}

/// Who forms an opinion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judge {
    /// A model, from what the event says alone.
    Model,
    /// An agent, which may look around first.
    Agent,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Program {
    Shell {
        shell: Shell,
        text: String,
    },
    /// No shell in between.
    Exec {
        program: String,
        args: Vec<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shell {
    Sh,
    Bash,
    /// PowerShell, under the name it has on this system.
    Pwsh,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Awaited,
    /// Started and left alone.
    Background,
    /// The same, but a refusal is heard at once.
    Rewakes,
}

impl Handler {
    /// Reads one from settings; what is odd but harmless goes to `warnings`.
    pub(crate) fn parse(
        event: HookEvent,
        matcher: Matcher,
        value: &Value,
        source: &str,
        warnings: &mut Vec<String>,
    ) -> Result<Self, ConfigError> {
        let action = match text(value, "type")? {
            Some("command") => command(value)?,
            Some("http") if !event.takes_http() => return Err(ConfigError::NoHttp),
            Some("http") => http(value)?,
            Some("mcp_tool") => tool(value)?,
            Some(kind @ ("prompt" | "agent")) if !event.takes_opinion() => {
                return Err(ConfigError::NoOpinion(kind.to_owned()));
            }
            Some("prompt") => opinion(value, Judge::Model)?,
            Some("agent") => opinion(value, Judge::Agent)?,
            Some(kind) => return Err(ConfigError::UnknownType(kind.to_owned())),
            None => return Err(ConfigError::NoType),
        };
        let mut lenient = |read: Result<_, ConfigError>| read.map_err(|why| warnings.push(why.to_string())).ok();
        let timeout = lenient(seconds(value)).flatten();
        let condition = match text(value, "if")? {
            None => Condition::Always,
            Some(_) if !event.is_about_a_tool() => Condition::Never,
            // Where no anchor is given later, patterns are relative to the project.
            Some(rule) => match parse_rule(rule, &Source { name: source.to_owned(), anchor: PathBuf::new() }) {
                Ok(rule) => Condition::Rule(Box::new(rule)),
                Err(error) => {
                    // A guard with a broken condition still guards.
                    warnings.push(format!("{error}; the hook runs for every call its matcher names"));
                    Condition::Always
                }
            },
        };
        let once = (value["once"] == true).then(Rc::default);
        Ok(Self { event, matcher, condition, timeout, action, plugin: None, once, by: None, is_trusted: true })
    }

    /// How long it may take.
    pub(crate) fn time_allowed(&self) -> Duration {
        let default = match self.action {
            Action::Callback { .. } => CALLBACK_TIMEOUT,
            Action::Opinion { who: Judge::Model, .. } => OPINION_TIMEOUT,
            Action::Opinion { who: Judge::Agent, .. } => AGENT_TIMEOUT,
            _ => self.event.own_timeout().unwrap_or(DEFAULT_TIMEOUT),
        };
        self.timeout.unwrap_or(default)
    }

    /// In words, for errors.
    pub(crate) fn label(&self) -> String {
        let text = match &self.action {
            Action::Command { program: Program::Shell { text, .. }, .. } => text,
            Action::Command { program: Program::Exec { program, .. }, .. } => program,
            Action::Http { url, .. } => url,
            Action::Tool { tool, .. } => tool,
            Action::Opinion { words, .. } => words,
            Action::Callback { id, .. } => id,
        };
        let line = text.lines().next().unwrap_or_default();
        match line.char_indices().nth(LONGEST_LABEL) {
            Some((end, _)) => format!("`{}…`", &line[..end]),
            None => format!("`{line}`"),
        }
    }

    pub(crate) fn on_failure(&self) -> OnFailure {
        match self.action {
            Action::Callback { on_failure, .. } => on_failure,
            _ => OnFailure::Continue,
        }
    }
}

fn command(value: &Value) -> Result<Action, ConfigError> {
    let text_of = text(value, "command")?.filter(|text| !text.trim().is_empty());
    let text_of = text_of.ok_or(ConfigError::Empty("command"))?.to_owned();
    let program = if let Some(args) = strings(value, "args")? {
        Program::Exec { program: text_of, args }
    } else {
        let shell = match text(value, "shell")? {
            None => Shell::Sh,
            Some("bash") => Shell::Bash,
            Some("powershell") => Shell::Pwsh,
            Some(other) => return Err(ConfigError::Shell(other.to_owned())),
        };
        Program::Shell { shell, text: text_of }
    };
    let mode = match (flag(value, "asyncRewake")?, flag(value, "async")?) {
        (true, _) => Mode::Rewakes,
        (false, true) => Mode::Background,
        (false, false) => Mode::Awaited,
    };
    Ok(Action::Command { program, mode })
}

fn http(value: &Value) -> Result<Action, ConfigError> {
    let url = text(value, "url")?.unwrap_or_default();
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return Err(ConfigError::Address(url.to_owned()));
    }
    let headers = match value.get("headers").filter(|headers| !headers.is_null()) {
        None => Vec::new(),
        Some(Value::Object(headers)) => headers
            .iter()
            .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect::<Option<_>>()
            .ok_or(ConfigError::HeaderValue)?,
        Some(_) => return Err(ConfigError::Headers),
    };
    let env = strings(value, "allowedEnvVars")?.unwrap_or_default();
    Ok(Action::Http { url: url.to_owned(), headers, env })
}

fn tool(value: &Value) -> Result<Action, ConfigError> {
    let named = |key: &'static str| {
        let name = text(value, key)?.filter(|name| !name.is_empty());
        name.map(str::to_owned).ok_or(ConfigError::Missing(key))
    };
    let input = match value.get("input") {
        None | Some(Value::Null) => Value::Object(serde_json::Map::new()),
        Some(input @ Value::Object(_)) => input.clone(),
        Some(_) => return Err(ConfigError::Type { key: "input", kind: "an object" }),
    };
    Ok(Action::Tool { server: named("server")?, tool: named("tool")?, input })
}

fn opinion(value: &Value, who: Judge) -> Result<Action, ConfigError> {
    let words = text(value, "prompt")?.filter(|words| !words.trim().is_empty());
    let words = words.ok_or(ConfigError::Empty("prompt"))?.to_owned();
    let model = text(value, "model")?.filter(|model| !model.is_empty()).map(str::to_owned);
    Ok(Action::Opinion { words, model, who })
}

fn text<'a>(value: &'a Value, key: &'static str) -> Result<Option<&'a str>, ConfigError> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(ConfigError::Type { key, kind: "a string" }),
    }
}

fn flag(value: &Value, key: &'static str) -> Result<bool, ConfigError> {
    match value.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(ConfigError::Type { key, kind: "true or false" }),
    }
}

fn strings(value: &Value, key: &'static str) -> Result<Option<Vec<String>>, ConfigError> {
    let list = match value.get(key) {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Array(list)) => list.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        Some(_) => None,
    };
    list.map(Some).ok_or(ConfigError::Type { key, kind: "a list of strings" })
}

/// The `timeout` field, in seconds.
pub(crate) fn seconds(value: &Value) -> Result<Option<Duration>, ConfigError> {
    let Some(given) = value.get("timeout").filter(|timeout| !timeout.is_null()) else { return Ok(None) };
    let wanted = given.as_f64().filter(|wanted| *wanted > 0.0);
    let wanted = wanted.ok_or_else(|| ConfigError::Timeout(given.clone()))?;
    Ok(Some(Duration::try_from_secs_f64(wanted).unwrap_or(LONGEST_TIMEOUT).min(LONGEST_TIMEOUT)))
}
