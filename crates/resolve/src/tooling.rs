//! Tools and limits.

use crate::asking;
use crate::child_env;
use crate::confined::Confined;
use crate::environment::{Environment, temp_dir};
use crate::refusal::Refusal;
use arguments::Arguments;
use model::ModelNames as _;
use options::{Limits, Linger, Session, ToolChoice, ToolSearch, ToolSetup};
use session::Store;
use settings::Places;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Wrong answers to a schema before the turn is given up.
const SCHEMA_RETRIES: u64 = 5;
const AGENT_DEPTH: u64 = 3;
const AGENTS_AT_ONCE: u64 = 20;
const AGENT_OUTPUT: u64 = 32_000;
const AGENT_OUTPUT_MAX: u64 = 160_000;
const CONCURRENCY: u64 = 10;
const WEB_SEARCHES: u64 = 200;
/// Background shells may finish this long after the last result once stdin is closed.
const LINGER_SHELLS: Duration = Duration::from_secs(5);
const LINGER_AGENTS_MS: u64 = 600_000;
/// A model that wakes itself more often than this only spends.
const SHORTEST_WAKEUP: Duration = Duration::from_mins(1);

/// `slots` is how many requests the endpoint answers at a time, where it says.
pub fn limits(
    typed: &Arguments,
    environment: &Environment,
    slots: Option<usize>,
    warnings: &mut Vec<String>,
) -> Result<Limits, Refusal> {
    let count = |name: &str, default: u64| environment.number(name).unwrap_or(default);
    let ceiling = environment.number("CLAUDE_CODE_PRINT_BG_WAIT_CEILING_MS");
    let wait = |ms: u64| (ms > 0).then(|| Duration::from_millis(ms));
    Ok(Limits {
        max_turns: max_turns(typed, environment, warnings)?,
        max_budget_usd: budget(typed)?,
        schema_retries: count("MAX_STRUCTURED_OUTPUT_RETRIES", SCHEMA_RETRIES) as u32,
        agent_depth: count("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH", AGENT_DEPTH) as u32,
        agents_at_once: count(
            "CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS",
            slots.map_or(AGENTS_AT_ONCE, |slots| slots as u64),
        ) as usize,
        agent_output: count("TASK_MAX_OUTPUT_LENGTH", AGENT_OUTPUT).min(AGENT_OUTPUT_MAX) as usize,
        linger: Linger {
            shells: LINGER_SHELLS,
            agents: wait(ceiling.unwrap_or(LINGER_AGENTS_MS)),
            awaited_agents: ceiling.and_then(wait),
        },
    })
}

/// `--max-turns 0` is accepted as in the reference, where it is no limit; it is said, because it may not be meant.
fn max_turns(typed: &Arguments, environment: &Environment, warnings: &mut Vec<String>) -> Result<Option<u32>, Refusal> {
    let positive = |value: u64, name: &str| match u32::try_from(value) {
        Ok(turns) if turns > 0 => Ok(Some(turns)),
        _ => Err(Refusal::new(format!("error: {name} is {value}; at least 1 turn is needed"))),
    };
    if let Some(turns) = asking::number(typed.max_turns.as_deref(), "max-turns")? {
        if turns == 0 {
            warnings.push("warning: --max-turns 0 sets no limit".to_owned());
            return Ok(None);
        }
        return positive(turns, "option '--max-turns'");
    }
    match environment.get("CLAUDE_CODE_MAX_TURNS") {
        None => Ok(None),
        Some(text) => match environment.number("CLAUDE_CODE_MAX_TURNS") {
            Some(turns) => positive(turns, "CLAUDE_CODE_MAX_TURNS"),
            None => Err(Refusal::new(format!("Error: CLAUDE_CODE_MAX_TURNS is '{text}'; a whole number is needed."))),
        },
    }
}

fn budget(typed: &Arguments) -> Result<Option<f64>, Refusal> {
    let Some(text) = typed.max_budget_usd.as_deref().filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    match text.parse::<f64>() {
        Ok(usd) if usd.is_finite() && usd > 0.0 => Ok(Some(usd)),
        _ => Err(Refusal::new(format!("error: option '--max-budget-usd' is '{text}'; a positive number is needed"))),
    }
}

pub fn resolve(
    typed: &Arguments,
    environment: &Environment,
    places: &Places,
    session: &Session,
    (model, roots): (&str, &[PathBuf]),
) -> ToolSetup {
    let off = environment.is_off("CLAUDE_CODE_ENABLE_TASKS");
    let list = "CLAUDE_CODE_ENABLE_TODO_TOOLS";
    // Newer models keep their own account of what is to be done.
    let wanted = environment.is_on(list) || (!environment.is_off(list) && model::info(model).wants_task_list());
    ToolSetup {
        choice: choice(typed),
        search: ToolSearch::Off,
        todo_write: off,
        task_list: !off && wanted,
        shell: shell(environment, places, session, roots),
        limits: file_limits(environment),
        concurrency: environment.number("CLAUDE_CODE_MAX_TOOL_USE_CONCURRENCY").unwrap_or(CONCURRENCY).max(1) as usize,
        web_searches: environment.number("CLAUDE_CODE_MAX_WEB_SEARCHES_PER_SESSION").unwrap_or(WEB_SEARCHES) as u32,
        web_cache: environment
            .number("CLAUDE_CODE_WEBFETCH_CACHE_TTL_MS")
            .map_or(tools::Web::CACHE_FOR, Duration::from_millis),
        auto_allow_bash: false,
        scheduling: !environment.is_on("CLAUDE_CODE_DISABLE_CRON"),
        shortest_wakeup: shortest_wakeup(environment),
        web_private: cfg!(debug_assertions) && environment.is_on("RALPH_TEST_PRIVATE_WEB"),
    }
}

/// A test need not wait for a minute.
fn shortest_wakeup(environment: &Environment) -> Duration {
    let given = environment.number("RALPH_TEST_WAKEUP_MS").filter(|_| cfg!(debug_assertions));
    given.map_or(SHORTEST_WAKEUP, Duration::from_millis)
}

/// A budget in dollars means little where no price is known.
pub fn unpriced_budget(limits: &Limits, model: &str, client: &model::ClientConfig) -> Option<String> {
    let basis = model::info_for(model, client).cost_basis.filter(|_| limits.max_budget_usd.is_some())?;
    Some(match client.profile.name {
        model::ProfileName::Local => {
            "warning: --max-budget-usd never ends this run: a model of profile local costs nothing".to_owned()
        }
        _ => format!("warning: --max-budget-usd counts a guess for {model}: {basis}"),
    })
}

/// What the endpoint has a say in.
pub fn follow_endpoint(tools: &mut ToolSetup, environment: &Environment, client: &model::ClientConfig) {
    tools.search = search(environment, client);
    if !has_web_search(client) {
        tools.web_searches = 0;
    }
}

/// Searches are the API's own tool, which not every endpoint has.
fn has_web_search(client: &model::ClientConfig) -> bool {
    match &client.cloud {
        Some(cloud) => !matches!(cloud.endpoint.provider_name(), "bedrock" | "mantle"),
        None => client.profile.has(model::Feature::ServerTools),
    }
}

/// Whether tools are searched for: as the user says, else where the endpoint is the API's own.
fn search(environment: &Environment, client: &model::ClientConfig) -> ToolSearch {
    if environment.is_on("CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS") {
        return ToolSearch::Off;
    }
    let is_own = client.cloud.is_none()
        && client.profile.name == model::ProfileName::Anthropic
        && client.base_url.trim_end_matches('/') == model::ClientConfig::DEFAULT_BASE_URL.trim_end_matches('/');
    ToolSearch::read(environment.get("ENABLE_TOOL_SEARCH"), is_own)
}

/// In the sandbox, and without our credentials.
pub fn confine(tools: &mut ToolSetup, confined: Confined) {
    // What leaves the sandbox finds what it would without one.
    tools.shell.exits = confined.exits.with_env(tools.shell.env.clone());
    let env = &mut tools.shell.env;
    process::scrub::credentials(env);
    let proxy = confined.sandbox.proxy_env();
    env.retain(|(name, _)| !proxy.iter().any(|(other, _)| other == name));
    env.extend(proxy);
    tools.auto_allow_bash = confined.auto_allow;
    tools.shell.fenced = confined.fenced;
    tools.shell.sandbox = Some(confined.sandbox);
}

fn choice(typed: &Arguments) -> ToolChoice {
    if typed.tools.is_empty() {
        return ToolChoice::Default;
    }
    let names: Vec<String> = typed.tools.iter().flat_map(|list| policy::split_list(list)).collect();
    if names.iter().any(|name| name == "default") { ToolChoice::Default } else { ToolChoice::Only(names) }
}

fn file_limits(environment: &Environment) -> tools::ToolLimits {
    let mut limits = tools::ToolLimits::default();
    if let Some(tokens) = environment.number("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS").filter(|tokens| *tokens > 0) {
        limits.read_max_tokens = tokens as usize;
    }
    limits.glob_hidden = !environment.is_off("CLAUDE_CODE_GLOB_HIDDEN");
    limits.glob_no_ignore = !environment.is_off("CLAUDE_CODE_GLOB_NO_IGNORE");
    if let Some(seconds) = environment.number("CLAUDE_CODE_GLOB_TIMEOUT_SECONDS").filter(|seconds| *seconds > 0) {
        limits.glob_timeout = Duration::from_secs(seconds);
    }
    limits
}

/// Whose functions and aliases commands may use.
fn session_user(environment: &Environment, roots: &[PathBuf]) -> Option<tools::UserShell> {
    let roots: Vec<PathBuf> = std::iter::once(environment.cwd.clone()).chain(roots.iter().cloned()).collect();
    tools::UserShell::new(environment.home.as_deref()?, &roots)
}

fn shell(environment: &Environment, places: &Places, session: &Session, roots: &[PathBuf]) -> tools::Shell {
    let search = environment.get("PATH").unwrap_or("/usr/local/bin:/usr/bin:/bin");
    let program = tools::find_shell(environment.get("CLAUDE_CODE_SHELL").map(Path::new), search.as_ref());
    let store = Store::new(&places.config_dir, &environment.cwd, session.project_dir_name.as_deref());
    let fallback = environment.get("CLAUDE_CODE_TMPDIR").map_or_else(temp_dir, Into::into);
    let spill = if session.persist { store.side_dir(&session.id).join("tool-results") } else { fallback.clone() };
    // Hooks of the first events leave variables here, in a folder that is the user's alone.
    let env_file = session.persist.then(|| spill.join("hook-env.sh"));
    let env = child_env::commands(environment, session, &program);
    let mut shell = tools::Shell::new(program, env, spill, fallback);
    let millis = |name: &str| environment.number(name).filter(|ms| *ms > 0).map(Duration::from_millis);
    shell.default_timeout = millis("BASH_DEFAULT_TIMEOUT_MS").unwrap_or(tools::Shell::DEFAULT_TIMEOUT);
    shell.max_timeout = millis("BASH_MAX_TIMEOUT_MS").unwrap_or(tools::Shell::MAX_TIMEOUT).max(shell.default_timeout);
    if let Some(chars) = environment.number("BASH_MAX_OUTPUT_LENGTH").filter(|chars| *chars > 0) {
        shell.max_output = (chars as usize).min(tools::Shell::LARGEST_MAX_OUTPUT);
    }
    shell.background_allowed = !environment.is_on("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS");
    shell.env_file = environment.get("CLAUDE_ENV_FILE").map(Into::into).or(env_file);
    shell.user = session_user(environment, roots);
    shell.prefix = environment.get("CLAUDE_CODE_SHELL_PREFIX").map(str::to_owned);
    shell.maintain_project_dir = environment.is_on("CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR");
    shell
}
