//! MCP servers: which are configured, by whom.

use super::Refusal;
use crate::argv::Typed;
use crate::environment::Environment;
use agent::OutsideSetup;
use config::{Places, Plugins, Settings};
use mcp::{Problem, ServerConfig};
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

const START_MS: u64 = 30_000;
/// In effect none: a call may run for a day.
const CALL_MS: u64 = 100_000_000;
const OUTPUT_TOKENS: u64 = 25_000;

/// A configuration file larger than this is a mistake.
const FILE_MAX: u64 = 16 * 1024 * 1024;

pub fn resolve(
    typed: &Typed,
    settings: &Settings,
    places: &Places,
    plugins: &Plugins,
    environment: &Environment,
    (isolated, session): (bool, &agent::Session),
) -> Result<OutsideSetup, Refusal> {
    let mut found = Found::default();
    let managed = read(&places.managed_dir.join("managed-mcp.json"));
    if let Some(managed) = &managed {
        found.take(managed, "enterprise", environment);
    }
    // An administrator who lists the servers lists all of them.
    let open = managed.is_none();
    for given in typed.values("mcp-config").iter().filter(|given| open && !given.is_empty()) {
        found.take(&given_config(given, environment)?, "dynamic", environment);
    }
    if open && !isolated && !typed.has("strict-mcp-config") {
        let global = read(&places.global_file()).unwrap_or_default();
        let here = &global["projects"][environment.cwd.display().to_string()];
        found.take(here, "local", environment);
        let files = [places.checkout_root(), places.project_dir().to_owned()].map(|folder| folder.join(".mcp.json"));
        if let Some(file) = files.iter().find(|file| file.is_file()) {
            match read(file) {
                Some(project) => found.take_project(&project, settings, environment),
                None => found.problems.push(unreadable(file)),
            }
            found.without_helpers(|| config::is_trusted(places));
        }
        found.take(&global, "user", environment);
    }
    // Named on the command line, so a minimal start has them too.
    for plugin in plugins.loaded.iter().filter(|_| open && !typed.has("strict-mcp-config")) {
        found.take(&serde_json::json!({"mcpServers": plugin.mcp_servers}), "plugin", environment);
    }
    found.keep_allowed(settings);
    let millis = |name: &str| environment.number(name).filter(|ms| *ms > 0).map(Duration::from_millis);
    Ok(OutsideSetup {
        servers: found.servers,
        problems: found.problems,
        strict: typed.has("strict-mcp-config"),
        env: server_env(environment, places, session),
        start_timeout: millis("MCP_TIMEOUT").unwrap_or(Duration::from_millis(START_MS)),
        call_timeout: millis("MCP_TOOL_TIMEOUT").unwrap_or(Duration::from_millis(CALL_MS)),
        idle_timeout: environment.number("CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT").map(Duration::from_millis),
        max_output_tokens: environment.number("MAX_MCP_OUTPUT_TOKENS").unwrap_or(OUTPUT_TOKENS),
    })
}

#[derive(Default)]
struct Found {
    servers: Vec<ServerConfig>,
    problems: Vec<Problem>,
}

impl Found {
    /// Earlier ones win: a name is taken once, as a whole.
    fn take(&mut self, value: &Value, scope: &str, environment: &Environment) {
        if !value["mcpServers"].is_object() {
            return;
        }
        let (servers, problems) = mcp::parse(value, scope, &|name| environment.get(name).map(str::to_owned));
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

    /// A repository starts no program of its choice before its folder is trusted, be it only for a header.
    fn without_helpers(&mut self, is_trusted: impl FnOnce() -> bool) {
        let mut helped: Vec<&mut ServerConfig> = self
            .servers
            .iter_mut()
            .filter(|server| server.scope == "project" && server.headers_helper.is_some())
            .collect();
        if helped.is_empty() || is_trusted() {
            return;
        }
        for server in &mut helped {
            server.headers_helper = None;
            let message = "its headersHelper is not run before the folder is trusted".to_owned();
            self.problems.push(Problem { name: server.name.clone(), kind: "headers_helper_untrusted", message });
        }
    }

    fn take_project(&mut self, value: &Value, settings: &Settings, environment: &Environment) {
        let off = &settings.merged["disabledMcpjsonServers"];
        let mut value = value.clone();
        if let (Some(servers), Some(off)) = (value["mcpServers"].as_object_mut(), off.as_array()) {
            servers.retain(|name, _| !off.iter().any(|disabled| disabled == name.as_str()));
        }
        self.take(&value, "project", environment);
    }
}

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
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| Refusal::new(format!("Error: --mcp-config is not JSON: {error}")))?;
    let inner = value["mcpServers"].is_object();
    Ok(if inner { value } else { serde_json::json!({"mcpServers": value}) })
}

/// A file that is not there or not JSON configures nothing; `doctor` tells of broken ones.
fn read(path: &Path) -> Option<Value> {
    let size = std::fs::metadata(path).ok()?.len();
    if size > FILE_MAX {
        return None;
    }
    let bytes = std::fs::read(path).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn unreadable(file: &Path) -> Problem {
    let message = format!("{} is not JSON, so none of its servers is used; repair it or remove it", file.display());
    Problem { name: ".mcp.json".to_owned(), kind: "invalid_config", message }
}

/// What a program needs to run at all.
const MINIMAL: [&str; 10] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TERM", "TMPDIR", "TZ"];

fn server_env(environment: &Environment, places: &Places, session: &agent::Session) -> proc::Env {
    let mut env = environment.vars.clone();
    if environment.is_on("CLAUDE_CODE_MCP_ALLOWLIST_ENV") {
        env.retain(|(name, _)| MINIMAL.iter().any(|kept| name == kept));
    }
    if environment.is_on("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB") {
        proc::scrub::credentials(&mut env);
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
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn addresses_fit_their_patterns() {
        for (pattern, url, expected) in [
            ("https://a.test/*", "https://a.test/mcp", true),
            ("https://a.test/*", "https://a.test.evil/mcp", false),
            ("https://*.a.test/*", "https://x.a.test/mcp", true),
            ("https://*.a.test/*", "https://a.test/mcp", false),
            ("https://a.test/mcp", "https://a.test/mcp", true),
            ("https://a.test/mcp", "https://a.test/mcp/more", false),
            ("*/mcp", "https://a.test/mcp", true),
            ("*/mcp", "https://a.test/mcp/x", false),
            ("*", "anything", true),
            ("", "anything", false),
        ] {
            assert_eq!(fits(pattern, url), expected, "{pattern} and {url}");
        }
    }

    #[test]
    fn a_folders_helper_runs_only_where_the_folder_is_trusted() {
        let configured = json!({"mcpServers": {
            "s": {"type": "http", "url": "https://two.test/mcp", "headersHelper": "./token"}}});
        for (scope, trusted, runs) in
            [("project", false, false), ("project", true, true), ("user", false, true), ("dynamic", false, true)]
        {
            let (servers, problems) = mcp::parse(&configured, scope, &|_| None);
            let mut found = Found { servers, problems };
            found.without_helpers(|| trusted);
            assert_eq!(found.servers[0].headers_helper.is_some(), runs, "{scope} {trusted}");
            assert_eq!(found.problems.is_empty(), runs, "{scope} {trusted}");
        }
    }

    #[test]
    fn lists_decide_which_servers_count() {
        let configured = json!({"mcpServers": {
            "one": {"command": "run", "args": ["it"]}, "two": {"type": "http", "url": "https://two.test/mcp"}}});
        for (merged, managed, expected) in [
            (json!({}), json!({}), vec!["one", "two"]),
            (json!({"deniedMcpServers": [{"serverName": "one"}]}), json!({}), vec!["two"]),
            (json!({"deniedMcpServers": [{"serverCommand": ["run", "it"]}]}), json!({}), vec!["two"]),
            (json!({"deniedMcpServers": [{"serverCommand": ["run"]}]}), json!({}), vec!["one", "two"]),
            (json!({"allowedMcpServers": [{"serverUrl": "https://two.test/*"}]}), json!({}), vec!["two"]),
            (json!({"allowedMcpServers": []}), json!({}), vec![]),
            (
                json!({"allowedMcpServers": [{"serverName": "one"}, {"serverName": "two"}]}),
                json!({"allowManagedMcpServersOnly": true, "allowedMcpServers": [{"serverName": "two"}]}),
                vec!["two"],
            ),
            (
                json!({"allowedMcpServers": [{"serverName": "one"}], "deniedMcpServers": [{"serverName": "one"}]}),
                json!({}),
                vec![],
            ),
        ] {
            let (servers, problems) = mcp::parse(&configured, "project", &|_| None);
            let mut found = Found { servers, problems };
            found.keep_allowed(&Settings { merged: merged.clone(), managed, ..Settings::default() });
            let names: Vec<&str> = found.servers.iter().map(|server| server.name.as_str()).collect();
            assert_eq!((&names, names.len() + found.problems.len()), (&expected, 2), "{merged}");
        }
    }
}
