//! MCP servers: which are configured, by whom.

use crate::environment::Environment;
use crate::refusal::Refusal;
use crate::server_logins::login_store;
use arguments::Arguments;
use mcp::{Inherits, LoginOptions, Problem, ServerConfig, StartWaits};
use options::OutsideSetup;
use project::Plugins;
use serde_json::{Map, Value, json};
use settings::{Places, Settings};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

const START_MS: u64 = 30_000;
/// The first request waits this long for servers of the user and of the folder.
const FIRST_WAIT_MS: u64 = 2_000;
/// For servers that must be there from the beginning.
const CONNECT_MS: u64 = 5_000;
/// In effect none: a call may run for a day.
const CALL_MS: u64 = 100_000_000;
const OUTPUT_TOKENS: u64 = 25_000;

/// A configuration file larger than this is a mistake.
const FILE_MAX: u64 = 16 * 1024 * 1024;

pub fn resolve(
    typed: &Arguments,
    settings: &Settings,
    places: &Places,
    plugins: &Plugins,
    environment: &Environment,
    (isolated, session): (bool, &options::Session),
) -> Result<OutsideSetup, Refusal> {
    let mut found = Found::default();
    let variable = |name: &str| environment.get(name).map(str::to_owned);
    let managed = managed(&places.managed_dir.join("managed-mcp.json"))?;
    if let Some(managed) = &managed {
        found.take(managed, "enterprise", &variable);
    }
    // An administrator who lists the servers lists all of them.
    let open = managed.is_none();
    let of_plugins = settings::is_plugin_only(&settings.managed, settings::Surface::Mcp);
    for given in typed.mcp_config.iter().filter(|given| open && !of_plugins && !given.is_empty()) {
        found.take(&given_config(given, environment)?, "dynamic", &variable);
    }
    if open && !of_plugins && !isolated && !typed.strict_mcp_config {
        // `doctor` tells of a broken one.
        let global = read(&places.global_file()).ok().flatten().unwrap_or_default();
        let here = &global["projects"][environment.cwd.display().to_string()];
        found.take(here, "local", &variable);
        let files = [places.checkout_root(), places.project_dir().to_owned()].map(|folder| folder.join(".mcp.json"));
        // A sandbox puts an empty folder there to keep the file from being made.
        if let Some(file) = files.iter().find(|file| file.symlink_metadata().is_ok_and(|found| !found.is_dir())) {
            match project(file) {
                Ok(servers) => found.take_project(servers, settings, &variable),
                Err(error) => found.problems.push(unusable(file, &error.to_string())),
            }
        }
        found.take(&global, "user", &variable);
    }
    // Named on the command line, so a minimal start has them too.
    for plugin in plugins.loaded.iter().filter(|_| open && !typed.strict_mcp_config) {
        found.take(&json!({"mcpServers": plugin.mcp_servers}), "plugin", &variable);
    }
    found.keep_allowed(settings);
    let millis = |name: &str| environment.number(name).filter(|ms| *ms > 0).map(Duration::from_millis);
    Ok(OutsideSetup {
        servers: found.servers,
        problems: found.problems,
        strict: typed.strict_mcp_config,
        env: server_env(environment, places, session),
        start_timeout: millis("MCP_TIMEOUT").unwrap_or(Duration::from_millis(START_MS)),
        waits: waits(environment),
        call_timeout: millis("MCP_TOOL_TIMEOUT").unwrap_or(Duration::from_millis(CALL_MS)),
        idle_timeout: environment.number("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT").map(Duration::from_millis),
        max_output_tokens: environment.number("MAX_MCP_OUTPUT_TOKENS").unwrap_or(OUTPUT_TOKENS),
        logins: Some(login_store(places)),
        login: login(environment),
    })
}

/// For clients that are registered by hand with an authorization server.
fn login(environment: &Environment) -> LoginOptions {
    LoginOptions {
        callback_port: environment.number("MCP_OAUTH_CALLBACK_PORT").and_then(|port| port.try_into().ok()),
        client_secret: environment.get("MCP_CLIENT_SECRET").map(str::to_owned),
    }
}

/// `MCP_CONNECTION_NONBLOCKING` says whether the first request waits at all, `MCP_CONNECT_TIMEOUT_MS` how long.
fn waits(environment: &Environment) -> StartWaits {
    let given = environment.number("MCP_CONNECT_TIMEOUT_MS");
    let connect = Duration::from_millis(given.unwrap_or(CONNECT_MS));
    let usual = match () {
        () if environment.is_on("MCP_CONNECTION_NONBLOCKING") => Duration::ZERO,
        () if environment.is_off("MCP_CONNECTION_NONBLOCKING") => connect,
        () => Duration::from_millis(given.unwrap_or(FIRST_WAIT_MS)),
    };
    StartWaits { usual, always_load: connect }
}

/// Looks a variable of the environment up.
type Variables<'a> = &'a dyn Fn(&str) -> Option<String>;

#[derive(Default)]
struct Found {
    servers: Vec<ServerConfig>,
    problems: Vec<Problem>,
}

impl Found {
    /// Earlier ones win: a name is taken once, as a whole.
    fn take(&mut self, value: &Value, scope: &str, variable: Variables<'_>) {
        match value.get("mcpServers") {
            None | Some(Value::Null) => {}
            Some(servers) => self.add(mcp::parse(&json!({"mcpServers": servers}), scope, variable)),
        }
    }

    fn add(&mut self, (servers, problems): (Vec<ServerConfig>, Vec<Problem>)) {
        for server in servers {
            if !self.servers.iter().any(|known| known.name == server.name) {
                self.servers.push(server);
            }
        }
        self.problems.extend(problems);
    }

    /// What the lists of names, commands and addresses leave over; a denied one is denied whoever allows it.
    fn keep_allowed(&mut self, settings: &Settings) {
        let own = settings.managed["allowManagedMcpServersOnly"] == true;
        let allowed = if own { &settings.managed["allowedMcpServers"] } else { &settings.merged["allowedMcpServers"] };
        let (allowed, denied) = (allowed.as_array(), settings.merged["deniedMcpServers"].as_array());
        let Self { servers, problems } = self;
        servers.retain(|server| {
            let is_listed = |list: &Vec<Value>| list.iter().any(|entry| is_meant(entry, server));
            let keep = !denied.is_some_and(is_listed) && allowed.is_none_or(is_listed);
            if !keep {
                let message = "the settings do not allow this server".to_owned();
                problems.push(Problem { name: server.name.clone(), kind: "blocked_by_policy", message });
            }
            keep
        });
    }

    /// The servers of a folder's `.mcp.json`. Before the folder is trusted, what it wrote is given no variable but
    /// harmless ones, neither in its texts nor in the environment of its programs, and runs no helper: each could
    /// carry a credential to a host of its choice.
    fn take_project(&mut self, mut servers: Map<String, Value>, settings: &Settings, variable: Variables<'_>) {
        if let Some(off) = settings.merged["disabledMcpjsonServers"].as_array() {
            servers.retain(|name, _| !off.iter().any(|disabled| disabled == name.as_str()));
        }
        let servers = json!({"mcpServers": servers});
        if settings.folder_is_trusted {
            return self.add(mcp::parse(&servers, "project", variable));
        }
        let (mut servers, mut problems) =
            mcp::parse(&servers, "project", &|name| variable(name).filter(|_| EXPANDED_UNTRUSTED.contains(&name)));
        for problem in problems.iter_mut().filter(|problem| problem.kind == "missing_variable") {
            "a variable in it is not filled in before the folder is trusted ('ralph trust'), or is not set"
                .clone_into(&mut problem.message);
        }
        problems.dedup();
        for server in &mut servers {
            server.inherits = Inherits::Basics;
            if server.headers_helper.take().is_some() {
                let message = "its headersHelper is not run before the folder is trusted".to_owned();
                problems.push(Problem { name: server.name.clone(), kind: "headers_helper_untrusted", message });
            }
        }
        self.add((servers, problems));
    }
}

/// `${NAME}` in the `.mcp.json` of an untrusted folder: where things are and how to speak, nothing that opens a door.
const EXPANDED_UNTRUSTED: [&str; 11] =
    ["HOME", "USER", "LOGNAME", "PWD", "PATH", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"];

/// An entry of a list: a server by its name, by its whole command line, or by its address with `*` in it.
fn is_meant(entry: &Value, server: &ServerConfig) -> bool {
    if let Some(name) = entry["serverName"].as_str().or(entry.as_str()) {
        return server.name == name;
    }
    match (&server.transport, entry["serverCommand"].as_array(), entry["serverUrl"].as_str()) {
        (mcp::Transport::Stdio { command, args, .. }, Some(words), _) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            words.split_first().is_some_and(|(first, rest)| first == command && *rest == *args)
        }
        (mcp::Transport::Http { url, .. } | mcp::Transport::Sse { url, .. }, _, Some(pattern)) => fits(pattern, url),
        _ => false,
    }
}

/// `*` stands for any text.
fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = Some(part);
    }
    match last {
        None => rest.is_empty(),
        Some("") => true,
        Some(end) => rest.is_empty() || text.ends_with(end),
    }
}

/// Inline JSON, or a file; a file that is not there is a mistake the caller should hear of.
fn given_config(given: &str, environment: &Environment) -> Result<Value, Refusal> {
    let text = if given.trim_start().starts_with('{') {
        given.to_owned()
    } else {
        let path = environment.cwd.join(given);
        std::fs::read_to_string(&path)
            .map_err(|error| Refusal::new(format!("Error: MCP config file not found: {} ({error})", path.display())))?
    };
    let value = settings::parse_json(&text)
        .map_err(|error| Refusal::new(format!("Error: --mcp-config is not JSON: {error}")))?;
    match value {
        Value::Object(inner) if !inner.get("mcpServers").is_some_and(Value::is_object) => {
            Ok(json!({"mcpServers": inner}))
        }
        Value::Object(_) => Ok(value),
        _ => Err(Refusal::new("Error: --mcp-config is not a JSON object that maps names to servers.".to_owned())),
    }
}

/// Why a file of servers cannot be used; follows the name of the file.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error("cannot be read: {0}")]
    Read(#[from] std::io::Error),
    #[error("is not a regular file")]
    NotRegular,
    #[error("is larger than the limit of {} MiB", FILE_MAX / 1024 / 1024)]
    TooLarge,
    #[error("is not UTF-8 text")]
    NotText,
    #[error("is not JSON ({0})")]
    NotJson(String),
    #[error("is not a JSON object")]
    NotObject,
    #[error("has \"mcpServers\" that is not an object of servers")]
    NoServers,
}

/// `None` for a file that is not there; the reason why one that is there cannot be used.
fn read(path: &Path) -> Result<Option<Value>, FileError> {
    let found = match std::fs::metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
        found => found?,
    };
    if !found.is_file() {
        return Err(FileError::NotRegular);
    }
    if found.len() > FILE_MAX {
        return Err(FileError::TooLarge);
    }
    let bytes = std::fs::read(path)?;
    let text = String::from_utf8(bytes).map_err(|_| FileError::NotText)?;
    settings::parse_json(text.trim_start_matches('\u{feff}'))
        .map(Some)
        .map_err(|error| FileError::NotJson(error.to_string()))
}

/// The map in a `.mcp.json`.
fn project(file: &Path) -> Result<Map<String, Value>, FileError> {
    match read(file)? {
        None => Ok(Map::new()),
        Some(Value::Object(mut whole)) => match whole.shift_remove("mcpServers") {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(servers)) => Ok(servers),
            Some(_) => Err(FileError::NoServers),
        },
        Some(_) => Err(FileError::NotObject),
    }
}

/// An administrator's list that cannot be read must not become "any server".
fn managed(file: &Path) -> Result<Option<Value>, Refusal> {
    let refused = |reason: &str| {
        Refusal::new(format!(
            "Error: managed MCP servers {} {reason}; ask the administrator to repair the file",
            file.display()
        ))
    };
    match read(file).map_err(|error| refused(&error.to_string()))? {
        Some(whole) if !whole["mcpServers"].is_object() => Err(refused("has \"mcpServers\" that is not an object")),
        found => Ok(found),
    }
}

fn unusable(file: &Path, reason: &str) -> Problem {
    let message = format!("{} {reason}, so none of its servers is used; repair it or remove it", file.display());
    Problem { name: ".mcp.json".to_owned(), kind: "invalid_config", message }
}

fn server_env(environment: &Environment, places: &Places, session: &options::Session) -> process::Env {
    let mut env = crate::child_env::without_telemetry(environment);
    if environment.is_on("CLAUDE_CODE_MCP_ALLOWLIST_ENV") {
        env.retain(|(name, _)| process::scrub::BASIC_ENV.iter().any(|kept| name == kept));
    }
    if environment.is_on("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB") {
        process::scrub::credentials(&mut env);
    }
    let marks = [
        ("CLAUDE_PROJECT_DIR", places.checkout_root().into_os_string()),
        ("CLAUDECODE", "1".into()),
        ("CLAUDE_CODE_SESSION_ID", session.id.clone().into()),
    ];
    env.retain(|(name, _)| !marks.iter().any(|(mark, _)| name == mark));
    env.extend(marks.map(|(name, value)| (name.into(), value)));
    env
}

#[cfg(test)]
#[path = "outside_tests.rs"]
mod tests;
