//! Everything a conversation depends on, resolved once by the binary from argv, environment and
//! settings. Nothing here changes during a run and nothing below this crate reads the outside again.

use model::{CachePolicy, ClientConfig, ModelEnv, ModelNames as _, ThinkingAsk};
use observer::Observer;
use policy::RuleSet;
use project::{AgentDef, Skill};
use serde_json::Value;
use settings::{Places, Settings};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use wire::PermissionMode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    Text,
    /// One result object.
    Json,
    /// A JSON list of every event (`json` with `--verbose`).
    JsonList,
    StreamJson,
}

/// Where prompts come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputFormat {
    Text,
    StreamJson,
}

/// What stdin is, as far as it matters for waiting on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StdinKind {
    /// A terminal, possibly shared with a parent in raw mode: never read.
    Terminal,
    /// A regular file or the null device: ends by itself.
    File,
    /// A pipe or socket that another program of the pipeline feeds: worth waiting for.
    Pipe,
    /// A pipe whose writing end our own parent holds: it may never say anything.
    InheritedPipe,
    Closed,
}

/// Which built-in tools exist in this session. Restricts, never grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolChoice {
    Default,
    Only(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionPlan {
    New,
    /// Go on in the same file.
    Resume {
        from: PathBuf,
    },
    /// Copy on resume: the source stays as it is.
    Fork {
        from: PathBuf,
    },
}

/// How long the process may linger after its last result.
#[derive(Debug, Clone, Copy)]
pub struct Linger {
    /// For background shells once stdin is closed.
    pub shells: Duration,
    /// For agents that a call or a definition wants in the background; `None` waits as long as they take.
    pub agents: Option<Duration>,
    /// For agents in the background by nobody's wish.
    pub awaited_agents: Option<Duration>,
}

pub struct Session {
    pub id: String,
    pub plan: SessionPlan,
    /// Resume only up to and including this entry.
    pub until: Option<String>,
    /// Resume only if nothing but the turn of this prompt is lost by it.
    pub drops_turn: Option<String>,
    /// Show every transcript entry on stdout too.
    pub mirror: bool,
    pub persist: bool,
    pub title: Option<String>,
    pub project_dir_name: Option<String>,
    pub git_branch: String,
    pub entrypoint: Option<String>,
}

pub struct Asking {
    /// The id that is sent.
    pub model: String,
    /// The caller chose it; an agent's own model stands back.
    pub model_named: bool,
    pub small_model: String,
    /// Every sub-agent's, whatever it or its caller asks for.
    pub subagent_model: Option<String>,
    pub fallback: Vec<String>,
    /// Those of the fallbacks that another provider answers for.
    pub elsewhere: Vec<Elsewhere>,
    pub model_env: ModelEnv,
    pub thinking: ThinkingAsk,
    pub effort: Option<String>,
    pub max_output: Option<u64>,
    pub betas: Vec<String>,
    pub task_budget: Option<u64>,
    pub extra_body: Option<Value>,
    pub cache: Caching,
    pub auto_compact: AutoCompact,
    /// A smaller context window than the model has.
    pub window: Option<u64>,
}

/// A model of another provider than the session's.
pub struct Elsewhere {
    /// As the list of fallbacks has it: `provider:id`.
    pub name: String,
    /// The id that is sent.
    pub model: String,
    pub client: ClientConfig,
}

/// Which requests mark what the API should remember, and for how long.
#[derive(Debug, Clone, Copy, Default)]
pub struct Caching {
    pub off: bool,
    /// Families of models that do without.
    pub off_for: [Option<&'static str>; 4],
    /// An hour instead of five minutes.
    pub hour: bool,
}

impl Caching {
    pub fn policy(&self, model: &str) -> CachePolicy {
        let is_meant = |family: &&'static str| model.contains(*family);
        match (self.off || self.off_for.iter().flatten().any(is_meant), self.hour) {
            (true, _) => CachePolicy::Off,
            (false, true) => CachePolicy::OneHour,
            (false, false) => CachePolicy::FiveMinutes,
        }
    }
}

#[derive(Clone)]
pub struct Prompting {
    pub system: Option<String>,
    pub append: Option<String>,
    pub append_subagent: Option<String>,
    /// Keep what differs per machine out of the system prompt.
    pub static_system: bool,
    /// How to work in plan mode, in the client's words.
    pub plan: Option<String>,
    /// A few sentences instead of our whole prompt.
    pub short: bool,
    /// The language of the answers.
    pub language: Option<String>,
    /// What commits and pull requests end with; none where git is not spoken of at all.
    pub attribution: Option<project::Attribution>,
}

/// MCP servers and their limits.
pub struct OutsideSetup {
    pub servers: Vec<mcp::ServerConfig>,
    /// Configurations that cannot be used.
    pub problems: Vec<mcp::Problem>,
    /// Only the servers that the command line configures.
    pub strict: bool,
    /// The whole environment of servers that are processes.
    pub env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    pub start_timeout: Duration,
    pub waits: mcp::StartWaits,
    pub call_timeout: Duration,
    pub idle_timeout: Option<Duration>,
    pub max_output_tokens: u64,
    /// Who keeps the logins of remote servers.
    pub logins: Option<Arc<dyn mcp::LoginStore>>,
    pub login: mcp::LoginOptions,
}

/// Who answers when a permission is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompter {
    Nobody,
    /// The client, over the control protocol.
    Client,
    /// A tool of an MCP server, by its full name.
    Tool(String),
}

/// What is done before the first prompt, where a flag asks for it: Setup hooks of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preparation {
    Init,
    /// And then nothing: no prompt, no model.
    InitOnly,
    Maintenance,
}

/// Whether the client wants to be told when we are busy and when idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateEvents {
    Off,
    /// For the SDK itself, which hides them from its user.
    HostOnly,
    All,
}

pub struct Permissions {
    pub mode: PermissionMode,
    pub rules: RuleSet,
    pub prompter: Prompter,
    /// Bypass was allowed at the start, so a client may switch to it.
    pub may_bypass: bool,
}

pub struct ToolSetup {
    pub choice: ToolChoice,
    pub search: crate::ToolSearch,
    pub todo_write: bool,
    /// The newer form of the same: tools for single tasks.
    pub task_list: bool,
    pub shell: tools::Shell,
    pub limits: tools::ToolLimits,
    pub concurrency: usize,
    /// Commands in the sandbox need no permission, unless a rule says otherwise.
    pub auto_allow_bash: bool,
    pub web_searches: u32,
    /// Prompts may be set for later: the tools for it and `/loop` are there.
    pub scheduling: bool,
    /// The model may wake itself after this at the earliest.
    pub shortest_wakeup: Duration,
    pub web_cache: Duration,
    /// Pages of this machine may be fetched: for tests on loopback.
    pub web_private: bool,
}

pub struct Limits {
    pub max_turns: Option<u32>,
    pub max_budget_usd: Option<f64>,
    pub schema_retries: u32,
    pub agent_depth: u32,
    pub agents_at_once: usize,
    pub agent_output: usize,
    pub linger: Linger,
}

/// How the API is reached and as whom.
pub struct Access {
    pub client: ClientConfig,
    pub credentials: settings::Resolution,
    pub helper_ttl: Duration,
    pub oauth_refresh_url: String,
}

impl Access {
    /// Where the API key comes from, as clients are told. A cloud is asked with none.
    pub fn key_source(&self) -> String {
        let chosen = self.credentials.chosen.as_ref().filter(|_| self.client.cloud.is_none());
        chosen.map_or_else(|| "none".to_owned(), |chosen| chosen.source.clone())
    }

    /// Who is asked.
    pub fn provider(&self) -> &'static str {
        self.client.cloud.as_ref().map_or("firstParty", |cloud| cloud.endpoint.provider_name())
    }
}

/// The part of the options that a client may still change, with its `initialize` request.
#[derive(Clone)]
pub struct Setup {
    pub prompting: Prompting,
    pub schema: Option<Rc<crate::Schema>>,
    pub agents: Vec<AgentDef>,
    /// Run the main conversation as this agent.
    pub agent: Option<String>,
    pub skills: Vec<Skill>,
    pub plugins: Rc<project::Plugins>,
    /// The client wants these and no others.
    pub only_skills: Option<Vec<String>>,
    /// Room for the listing of skills, where the caller sets it.
    pub listing_chars: Option<usize>,
    /// Show what sub-agents say, not only what they do.
    pub subagent_text: bool,
    /// Calls of these tools mean others, in the client's words.
    pub tool_aliases: BTreeMap<String, String>,
    /// Guess what the user will say next.
    pub suggestions: bool,
}

pub struct Options {
    pub input: InputFormat,
    pub output: OutputFormat,
    pub stdin: StdinKind,
    /// Whether SIGHUP ends the run; not where `nohup` started it.
    pub ends_with_terminal: bool,
    /// No prompt is taken before the client has sent its `initialize`.
    pub await_initialize: bool,
    /// The prompt of the command line, positionals joined.
    pub prompt: Option<String>,
    pub partial: bool,
    pub replay_user: bool,
    pub hook_events: bool,
    /// Nobody has switched suggestions off.
    pub may_suggest: bool,
    pub preparation: Option<Preparation>,
    pub state_events: StateEvents,
    /// Where files are kept before they are changed, for clients that may rewind.
    pub checkpoint_dir: Option<PathBuf>,
    /// Blocks of Stop hooks in a row before the turn ends all the same.
    pub stop_block_cap: u32,
    /// stdout is a terminal: escape what is not ASCII, readers of terminals cut characters in two.
    pub ascii: bool,
    pub cwd: PathBuf,
    pub extra_roots: Vec<PathBuf>,
    pub setup: Setup,
    pub places: Places,
    pub sources: settings::Sources,
    pub settings: Settings,
    /// The whole environment for children.
    pub env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    pub session: Session,
    pub asking: Asking,
    pub permissions: Permissions,
    pub tools: ToolSetup,
    pub outside: OutsideSetup,
    pub limits: Limits,
    pub access: Access,
    pub mentions: bool,
    /// Prompts that begin with a slash are commands.
    pub slash: bool,
    /// The commands that come with us count.
    pub bundled: bool,
    /// Instruction files, where they count at all.
    pub memory: Option<project::MemoryOptions>,
    pub bare: bool,
    /// What was installed before the start, for clients that wait for it.
    pub plugin_installs: Vec<wire::PluginInstall>,
    /// The model is told how the repository stands when the session begins, if git says so within this time.
    pub git_state: Option<Duration>,
    pub builtin_agents: BuiltinAgents,
    pub version: &'static str,
    /// Where the session is shown to its operator's collector.
    pub observer: Observer,
    pub debug_file: Option<PathBuf>,
}

/// Agents of ours beside those that are configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuiltinAgents {
    All,
    /// Not those that explore and plan.
    GeneralOnly,
    None,
}

/// When a conversation is shortened by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AutoCompact {
    Off,
    /// Shortly before the model's window is full.
    Auto,
    /// At this many tokens.
    At(u64),
    /// At this share of the model's window, where that is earlier.
    Percent(u64),
}
