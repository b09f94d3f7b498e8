//! How configured servers stand: each is connected to once, within a bound, and left again.
//!
//! A server of a folder that is not trusted is not started: a look at the list must run nothing that a repository brought.

use super::mcp::refused;
use crate::failure::Failure;
use arguments::Arguments;
use mcp::{Deps, Inherits, ServerConfig, Servers, Status};
use resolve::{CommandServers, Environment, runtime};
use std::rc::Rc;
use std::time::Duration;

/// For all servers at the same time, where `MCP_TIMEOUT` does not say: a person waits for the list.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was started gets this long between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_millis(300);

const UNTRUSTED: &str = "⏸ Not started: this folder is not trusted ('ralph trust')";

/// How servers stand, by name.
pub struct Health(Vec<(String, String)>);

impl Health {
    pub fn of(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(known, _)| known == name);
        found.map_or("⏸ Not started: the settings switch it off", |(_, words)| words.as_str())
    }
}

/// Connects to one server or to all.
pub fn of(name: Option<&str>, typed: &Arguments, environment: &Environment) -> Result<Health, Failure> {
    let mut configured = resolve::command_servers(typed, environment)?;
    if environment.get("MCP_TIMEOUT").is_none() {
        configured.outside.start_timeout = PATIENCE;
    }
    let mut health: Vec<(String, String)> = Vec::new();
    let mut meant: Vec<ServerConfig> = std::mem::take(&mut configured.outside.servers);
    meant.retain(|server| name.is_none_or(|name| server.name == name));
    let (untrusted, meant): (Vec<_>, Vec<_>) =
        meant.into_iter().partition(|server| server.inherits == Inherits::Basics);
    health.extend(untrusted.into_iter().map(|server| (server.name, UNTRUSTED.to_owned())));
    if !meant.is_empty() {
        process::adopt_orphans();
        process::watch_over();
        let runtime = runtime()?;
        let statuses = runtime.block_on(tokio::task::LocalSet::new().run_until(connect(meant, &configured)));
        runtime.shutdown_background();
        health.extend(statuses.into_iter().map(|status| (status.name.clone(), words(&status))));
    }
    let problems = configured.outside.problems.iter();
    health.extend(problems.map(|problem| (problem.name.clone(), format!("✗ Cannot be used: {}", problem.message))));
    Ok(Health(health))
}

async fn connect(meant: Vec<ServerConfig>, configured: &CommandServers) -> Vec<Status> {
    let servers = Servers::new(deps(configured));
    servers.start(meant);
    servers.ready().await;
    let statuses = servers.statuses();
    servers.shutdown().await;
    process::end_all(GRACE).await;
    statuses
}

/// What servers get that a command connects to.
pub fn deps(configured: &CommandServers) -> Deps {
    let outside = &configured.outside;
    let client = configured.client.clone();
    Deps {
        cwd: configured.places.cwd.clone(),
        env: outside.env.clone(),
        roots: vec![configured.places.cwd.clone()],
        sdk: None,
        user: None,
        client: ("ralph".into(), env!("CARGO_PKG_VERSION").into()),
        start_timeout: outside.start_timeout,
        waits: outside.waits,
        call_timeout: outside.call_timeout,
        lookup_timeout: outside.start_timeout,
        idle_timeout: outside.idle_timeout,
        http: Rc::new(move |_| model::plain_client(&client).map_err(mcp::HostError::from)),
        logins: outside.logins.clone(),
        login: outside.login.clone(),
        max_output_tokens: outside.max_output_tokens,
        // Nothing is called, so nothing is written there.
        spill_dir: configured.places.config_dir.join("tool-results"),
    }
}

fn words(status: &Status) -> String {
    let reason =
        || status.error.as_deref().unwrap_or("no reason is known").lines().next().unwrap_or_default().to_owned();
    match status.status {
        "connected" => format!("✓ Connected, {} tools", status.tools.len()),
        "needs-auth" => format!("! Needs authentication ('mcp login {}')", status.name),
        "pending" => "✗ Failed to connect: it did not become ready in time".to_owned(),
        _ => format!("✗ Failed to connect: {}", wire::clean::block(&reason())),
    }
}

/// The server of this name, for a login.
pub fn find(name: &str, configured: &CommandServers) -> Result<ServerConfig, Failure> {
    let found = configured.outside.servers.iter().find(|server| server.name == name);
    let problem = configured.outside.problems.iter().find(|problem| problem.name == name);
    match (found, problem) {
        (Some(server), _) if server.inherits == Inherits::Basics => {
            let why = format!("the server {name} is configured by a folder that is not trusted");
            Err(refused(why).hint("Look at its .mcp.json, then run 'ralph trust'."))
        }
        (Some(server), _) => Ok(server.clone()),
        (None, Some(problem)) => Err(refused(format!("the server {name} cannot be used: {}", problem.message))),
        (None, None) => Err(refused(format!("No MCP server found with name: {name}"))),
    }
}
