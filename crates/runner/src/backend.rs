//! Which agent, and how it is called. The built-in one is this same program, started as a process like
//! any other.

use crate::command::on_path;
use crate::settings::{OutputFormat, Settings};
use crate::thinking;
use crate::{Auth, Reasoning};
use cycle::Start;
use proc::Env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// `builtin`, `claude`, or the path as given.
    pub name: String,
    pub program: PathBuf,
    /// Words before the flags.
    pub leading: Vec<OsString>,
}

const BUILTIN: &str = "builtin";

#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    #[error("no 'claude' on PATH. Install it, run 'ralph link', or use --backend builtin.")]
    NoClaude,
    #[error("the backend {0} is not a program. Use auto, builtin, claude, or the path of one.")]
    NoProgram(String),
}

/// `auto` takes `claude` on PATH first and the built-in agent where there is none.
pub fn choose(wish: &str, exe: &Path, cwd: &Path, path: &OsStr) -> Result<Backend, BackendError> {
    let builtin = || Backend { name: BUILTIN.into(), program: exe.to_owned(), leading: vec!["agent".into()] };
    let claude = || {
        let program = on_path("claude", path)?;
        Some(Backend { name: "claude".into(), program, leading: Vec::new() })
    };
    match wish {
        "auto" => Ok(claude().unwrap_or_else(builtin)),
        BUILTIN => Ok(builtin()),
        "claude" => claude().ok_or(BackendError::NoClaude),
        other if other.contains('/') => {
            let program = cwd.join(other);
            let found = program.is_file().then(|| Backend { name: other.into(), program, leading: Vec::new() });
            found.ok_or_else(|| BackendError::NoProgram(other.into()))
        }
        other => match on_path(other, path) {
            Some(program) => Ok(Backend { name: other.into(), program, leading: Vec::new() }),
            None => Err(BackendError::NoProgram(other.into())),
        },
    }
}

/// The form of a structured result.
pub(crate) const SCHEMA: &str =
    r#"{"type":"object","properties":{"summary":{"type":"string"}},"required":["summary"]}"#;

/// What a summariser may use: it looks, and changes nothing.
const SUMMARY_TOOLS: &str = "Read,Glob,Grep,StructuredOutput";
pub(crate) const SUMMARY_MODEL: &str = "haiku";

/// Longer prompts go by file: agents have lost long arguments and long terminal input.
const ARGUMENT_MAX: usize = 7_000;

/// An agent's command line and environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub args: Vec<OsString>,
    pub env: Env,
    /// Whether messages go in over stdin.
    pub talks: bool,
}

/// How a prompt reaches the agent where it is an argument: itself, or the file it was written to.
pub(crate) fn needs_file(settings: &Settings, prompt: &str) -> bool {
    settings.output_format != OutputFormat::StreamJson && prompt.chars().count() > ARGUMENT_MAX
}

impl Backend {
    /// Only our own agent knows our flags.
    pub fn is_builtin(&self) -> bool {
        self.name == BUILTIN
    }

    /// For an iteration. `prompt` is used where it has to be an argument.
    pub(crate) fn call(&self, settings: &Settings, start: &Start, prompt: &str, auth: &Auth, env: &Env) -> Call {
        let mut args = self.leading.clone();
        let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        add(&["-p", "--model", &start.model]);
        match settings.permissions.as_str() {
            "bypass" => add(&["--dangerously-skip-permissions"]),
            "default" => {}
            mode => add(&["--permission-mode", mode]),
        }
        if self.is_builtin() {
            add(&["--sandbox", settings.sandbox.name()]);
        }
        if let Some(tools) = &settings.tools {
            add(&["--tools", tools]);
        }
        if settings.is_structured() {
            add(&["--json-schema", SCHEMA]);
        }
        if let Some(usd) = start.allowance.usd {
            add(&["--max-budget-usd", &format!("{usd:.4}")]);
        }
        if let Some(session) = &start.session {
            add(&["--resume", session]);
        }
        let talks = settings.output_format == OutputFormat::StreamJson;
        match settings.output_format {
            OutputFormat::StreamJson => {
                add(&["--verbose", "--input-format", "stream-json", "--output-format", "stream-json"]);
            }
            OutputFormat::Args => add(&["--verbose", "--output-format", "stream-json"]),
            OutputFormat::Json => add(&["--output-format", "json"]),
            OutputFormat::Text => add(&["--output-format", "text"]),
        }
        if settings.live && matches!(settings.output_format, OutputFormat::StreamJson | OutputFormat::Args) {
            add(&["--include-partial-messages"]);
        }
        if !talks {
            // After a separator: a prompt that begins with a dash is no option.
            add(&["--", prompt]);
        }
        let env = environment(env, &start.model, settings.reasoning, auth);
        Call { args, env, talks }
    }

    pub(crate) fn summary_call(&self, auth: &Auth, env: &Env) -> Call {
        let mut args = self.leading.clone();
        if self.is_builtin() {
            args.extend(["--sandbox", "read-only"].map(OsString::from));
        }
        let words = ["-p", "--model", SUMMARY_MODEL, "--tools", SUMMARY_TOOLS, "--verbose", "--input-format"];
        args.extend(words.iter().map(OsString::from));
        args.extend(["stream-json", "--output-format", "stream-json", "--json-schema", SCHEMA].map(OsString::from));
        Call { args, env: environment(env, SUMMARY_MODEL, Reasoning::High, auth), talks: true }
    }
}

fn environment(env: &Env, model: &str, reasoning: Reasoning, auth: &Auth) -> Env {
    let mut env = env.clone();
    let budget = thinking::budget(model, reasoning).map(|tokens| OsString::from(tokens.to_string()));
    crate::command::set(&mut env, "MAX_THINKING_TOKENS", budget.as_deref());
    match auth {
        Auth::Ambient => {}
        Auth::Key(key) => crate::command::set(&mut env, "ANTHROPIC_API_KEY", Some(OsStr::new(key))),
        Auth::Login => crate::command::set(&mut env, "ANTHROPIC_API_KEY", Some(OsStr::new(""))),
    }
    env
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
