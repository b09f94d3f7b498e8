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
    isolated: bool,
) -> Result<OutsideSetup, Refusal> {
    let mut found = Found::default();
    for given in typed.values("mcp-config").iter().filter(|given| !given.is_empty()) {
        found.take(&given_config(given, environment)?, "dynamic", environment);
    }
    if !isolated && !typed.has("strict-mcp-config") {
        let global = read(&places.global_file()).unwrap_or_default();
        let here = &global["projects"][environment.cwd.display().to_string()];
        found.take(here, "local", environment);
        if let Some(project) =
            read(&places.checkout_root().join(".mcp.json")).or_else(|| read(&places.project_dir().join(".mcp.json")))
        {
            found.take_project(&project, settings, environment);
        }
        found.take(&global, "user", environment);
    }
    // Named on the command line, so a minimal start has them too.
    for plugin in plugins.loaded.iter().filter(|_| !typed.has("strict-mcp-config")) {
        found.take(&serde_json::json!({"mcpServers": plugin.mcp_servers}), "plugin", environment);
    }
    let millis = |name: &str| environment.number(name).filter(|ms| *ms > 0).map(Duration::from_millis);
    Ok(OutsideSetup {
        servers: found.servers,
        problems: found.problems,
        strict: typed.has("strict-mcp-config"),
        env: server_env(environment, places),
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

    fn take_project(&mut self, value: &Value, settings: &Settings, environment: &Environment) {
        let off = &settings.merged["disabledMcpjsonServers"];
        let mut value = value.clone();
        if let (Some(servers), Some(off)) = (value["mcpServers"].as_object_mut(), off.as_array()) {
            servers.retain(|name, _| !off.iter().any(|disabled| disabled == name.as_str()));
        }
        self.take(&value, "project", environment);
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

fn server_env(environment: &Environment, places: &Places) -> proc::Env {
    let mut env = environment.vars.clone();
    if environment.is_on("CLAUDE_CODE_SUBPROCESS_ENV_SCRUB") {
        proc::scrub::credentials(&mut env);
    }
    env.push(("CLAUDE_PROJECT_DIR".into(), places.checkout_root().into()));
    env.push(("CLAUDECODE".into(), "1".into()));
    env
}
