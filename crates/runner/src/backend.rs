//! The agent program and its command line. The built-in one is this same program, started as a process like
//! any other.

use crate::helper::on_path;
use crate::settings::{OutputFormat, Settings};
use crate::thinking;
use crate::transport::{Transport, TransportHint};
use crate::{Auth, Reasoning};
use cycle::IterationStart;
use process::Env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backend {
    /// `builtin`, `claude`, the path as given, or the ACP agent as given.
    pub name: String,
    pub program: PathBuf,
    /// Words before the flags.
    pub leading: Vec<OsString>,
    pub known: TransportHint,
}

const BUILTIN: &str = "builtin";
const CLAUDE: &str = "claude";

#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    #[error("no 'claude' on PATH. Install it, run 'ralph link', or use --backend builtin.")]
    NoClaude,
    #[error(
        "the backend {0} is not a program. Use auto, builtin, claude, the path of one, or an ACP agent (acp:'COMMAND')."
    )]
    NoProgram(String),
    #[error("the ACP agent {agent} of the backend {backend} is not on PATH. Install it, or give its path.")]
    NoAcpAgent { backend: String, agent: String },
    #[error(transparent)]
    Command(#[from] acp::CommandError),
}

/// The word that makes this program a bridge to an ACP agent.
pub const ACP_BRIDGE: &str = "acp-bridge";

/// The command of an ACP agent, where the backend is one: by the name of a preset, or after `acp:`.
pub fn acp_command(wish: &str) -> Option<&str> {
    wish.strip_prefix(acp::PREFIX).or_else(|| acp::preset(wish).map(|preset| preset.command))
}

/// The agent behind the bridge must be there; what it is started in comes later.
fn acp_backend(wish: &str, command: &str, exe: &Path, cwd: &Path, path: &OsStr) -> Result<Backend, BackendError> {
    let words = acp::split_words(command)?;
    let agent = words.into_iter().next().unwrap_or_default();
    let is_there = if agent.contains('/') { cwd.join(&agent).is_file() } else { on_path(&agent, path).is_some() };
    if !is_there {
        return Err(BackendError::NoAcpAgent { backend: wish.into(), agent });
    }
    let leading = [ACP_BRIDGE, "--command", command].map(OsString::from).to_vec();
    Ok(Backend { name: wish.into(), program: exe.to_owned(), leading, known: TransportHint::Bridge })
}

/// `auto` takes `claude` on PATH first and the built-in agent where there is none.
pub fn choose(wish: &str, exe: &Path, cwd: &Path, path: &OsStr) -> Result<Backend, BackendError> {
    let other = |name: &str, program: PathBuf, known| {
        let ours = is_us(&program, exe) && program.file_name() == Some(OsStr::new(CLAUDE));
        let known = if ours { TransportHint::Ours } else { known };
        Backend { name: name.into(), program, leading: Vec::new(), known }
    };
    let builtin = || Backend { leading: vec!["agent".into()], ..other(BUILTIN, exe.to_owned(), TransportHint::Ours) };
    let claude = |known| Some(other(CLAUDE, on_path(CLAUDE, path)?, known));
    if let Some(command) = acp_command(wish) {
        return acp_backend(wish, command, exe, cwd, path);
    }
    match wish {
        "auto" => Ok(claude(TransportHint::Nothing).unwrap_or_else(builtin)),
        BUILTIN => Ok(builtin()),
        // A named agent has the transport of the table: a terminal.
        CLAUDE => claude(TransportHint::WantsTerminal).ok_or(BackendError::NoClaude),
        given => {
            let here = given.contains('/').then(|| cwd.join(given)).filter(|program| program.is_file());
            let found = here.or_else(|| on_path(given, path).filter(|_| !given.contains('/')));
            found
                .map(|program| other(given, program, TransportHint::Nothing))
                .ok_or_else(|| BackendError::NoProgram(given.into()))
        }
    }
}

/// A `claude` that is a link to this program (`ralph link`) is known to work on pipes.
fn is_us(program: &Path, exe: &Path) -> bool {
    matches!((program.canonicalize(), exe.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// The form of a structured result.
pub(crate) const SCHEMA: &str =
    r#"{"type":"object","properties":{"summary":{"type":"string"}},"required":["summary"]}"#;

/// What a summariser may use: it looks, and changes nothing.
const SUMMARY_TOOLS: &str = "Read,Glob,Grep,StructuredOutput";

/// Longer prompts go by file: agents have lost long arguments and long terminal input.
const ARGUMENT_MAX: usize = 7_000;

/// An agent's command line and environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub args: Vec<OsString>,
    pub env: Env,
    /// Whether messages go in over stdin.
    pub talks: bool,
    pub transport: Transport,
}

/// Whether messages go in over stdin. On a terminal agents do not look for any there.
fn talks(format: OutputFormat, transport: Transport) -> bool {
    format == OutputFormat::StreamJson && transport == Transport::Pipe
}

/// What programs look for in a terminal's name: that it is a usual one.
const TERM: &str = "xterm-256color";

impl Backend {
    /// Only our own agent knows our flags: built in, or under a name that links to it.
    pub fn is_ours(&self) -> bool {
        self.known == TransportHint::Ours
    }

    /// Whether a prompt has to be written to a file: as an argument it may get lost, and other a `claude` than
    /// ours is known for losing long input, too.
    pub(crate) fn needs_file(&self, format: OutputFormat, transport: Transport, prompt: &str) -> bool {
        let takes_all = talks(format, transport) && (self.name != CLAUDE || self.is_ours());
        !takes_all && prompt.chars().count() > ARGUMENT_MAX
    }

    /// For an iteration. `prompt` is used where it has to be an argument.
    pub(crate) fn call(
        &self,
        settings: &Settings,
        transport: Transport,
        start: &IterationStart,
        prompt: &str,
        auth: &Auth,
        env: &Env,
    ) -> Call {
        let mut args = self.leading.clone();
        let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        add(&["-p", "--model", &start.model]);
        match settings.permissions.as_str() {
            "bypass" => add(&["--dangerously-skip-permissions"]),
            "default" => {}
            mode => add(&["--permission-mode", mode]),
        }
        if self.is_ours() {
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
        let talks = talks(settings.output_format, transport);
        match settings.output_format {
            OutputFormat::StreamJson if talks => {
                add(&["--verbose", "--input-format", "stream-json", "--output-format", "stream-json"]);
            }
            OutputFormat::StreamJson | OutputFormat::Args => add(&["--verbose", "--output-format", "stream-json"]),
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
        let env = environment(env, transport, &start.model, settings.reasoning, auth);
        Call { args, env, talks, transport }
    }

    /// Lets the commands of our own agent reach this socket.
    pub(crate) fn open_beads(&self, call: &mut Call, socket: &Path) {
        if self.is_ours() {
            let at = self.leading.len();
            call.args.splice(at..at, ["--beads-socket".into(), socket.into()]);
        }
    }

    pub(crate) fn summary_call(&self, model: &str, transport: Transport, prompt: &str, auth: &Auth, env: &Env) -> Call {
        let mut args = self.leading.clone();
        if self.is_ours() {
            args.extend(["--sandbox", "read-only"].map(OsString::from));
        }
        let mut add = |words: &[&str]| args.extend(words.iter().map(OsString::from));
        add(&["-p", "--model", model, "--tools", SUMMARY_TOOLS, "--verbose"]);
        let talks = talks(OutputFormat::StreamJson, transport);
        if talks {
            add(&["--input-format", "stream-json"]);
        }
        add(&["--output-format", "stream-json", "--json-schema", SCHEMA]);
        if !talks {
            add(&["--", prompt]);
        }
        let env = environment(env, transport, model, Reasoning::High, auth);
        Call { args, env, talks, transport }
    }
}

fn environment(env: &Env, transport: Transport, model: &str, reasoning: Reasoning, auth: &Auth) -> Env {
    let mut env = env.clone();
    if transport == Transport::Terminal {
        crate::helper::set(&mut env, "TERM", Some(OsStr::new(TERM)));
    }
    let budget = thinking::budget(model, reasoning).map(|tokens| OsString::from(tokens.to_string()));
    crate::helper::set(&mut env, "MAX_THINKING_TOKENS", budget.as_deref());
    match auth {
        Auth::Ambient => {}
        Auth::Key(key) => crate::helper::set(&mut env, "ANTHROPIC_API_KEY", Some(OsStr::new(key))),
        Auth::Login => crate::helper::set(&mut env, "ANTHROPIC_API_KEY", Some(OsStr::new(""))),
    }
    env
}

#[cfg(test)]
#[path = "backend_tests.rs"]
mod tests;
