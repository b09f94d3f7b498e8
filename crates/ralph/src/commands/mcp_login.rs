//! `mcp login NAME` and `mcp logout NAME`: the user's login at a remote server, kept with the user's own credentials.
//!
//! The page opens in a browser where there is one. Its answer comes to this machine, or somebody pastes the address that the
//! browser ended at.

use super::mcp::refused;
use super::mcp_health::{deps, find};
use crate::failure::Failure;
use crate::say;
use arguments::Arguments;
use mcp::{LoginError, LoginLock, PendingLogin, Revocation, ServerConfig, ServerLogin, Transport, login_key};
use resolve::{Environment, runtime};
use serde_json::Value;
use std::io::BufRead as _;
use tokio::sync::mpsc::{Receiver, channel};

/// A pasted address is one short line; more is a mistake.
const PASTED_MAX: usize = 16 * 1024;

pub fn log_in(name: &str, no_browser: bool, typed: &Arguments, environment: &Environment) -> Result<(), Failure> {
    let configured = resolve::command_servers(typed, environment)?;
    let server = find(name, &configured)?;
    let deps = deps(&configured);
    let runtime = runtime()?;
    let done: Result<(), LoginError> = runtime.block_on(async {
        let pending = PendingLogin::begin(&server, &*deps.http, &deps.login).await?;
        say::out(&format!(
            "Log in to {name} on this page:\n  {}\nIf the browser runs on another machine, paste the address that it ends at.\n",
            wire::clean::block(&pending.url)
        ));
        if !no_browser {
            open(&pending.url, environment);
        }
        let login = pending.wait(pasted()).await?;
        keep(&server, &configured, Value::from(&login))
    });
    // A thread may still sit in a read of stdin; nothing waits for it.
    runtime.shutdown_background();
    match done {
        Ok(()) => {
            say::out(&format!("Logged in to {name}.\n"));
            Ok(())
        }
        Err(LoginError::NotWanted) => Err(refused(format!("the server {name} works without a login"))),
        Err(error) => Err(refused(format!("no login at {name}: {error}"))),
    }
}

pub fn log_out(name: &str, typed: &Arguments, environment: &Environment) -> Result<(), Failure> {
    let configured = resolve::command_servers(typed, environment)?;
    let server = find(name, &configured)?;
    // Removed first, so that no other process of the user sends or renews what is being revoked.
    let stored = take(&server, &configured).map_err(|error| refused(format!("no logout from {name}: {error}")))?;
    let Some(stored) = stored else {
        return Err(refused(format!("nobody is logged in to {name}")));
    };
    let revoked = match ServerLogin::read(&stored) {
        Some(login) => runtime()?.block_on(mcp::revoke(&login, &*deps(&configured).http)),
        None => Ok(Revocation::NotOffered),
    };
    let words = match &revoked {
        Ok(Revocation::Revoked) => "the tokens are revoked at the server and removed from this machine",
        Ok(Revocation::NotOffered) | Err(_) => "the tokens are removed from this machine",
    };
    say::out(&format!("Logged out of {name}; {words}.\n"));
    if let Err(error) = revoked {
        let why = error.to_string();
        let why = why.lines().next().unwrap_or_default();
        say::err(&format!(
            "warning: the tokens of {name} may still work, because the server did not revoke them: {why}"
        ));
    }
    Ok(())
}

fn address(server: &ServerConfig) -> Option<&str> {
    match &server.transport {
        Transport::Http { url, .. } | Transport::Sse { url, .. } => Some(url),
        Transport::Stdio { .. } | Transport::Sdk => None,
    }
}

fn keep(server: &ServerConfig, configured: &resolve::CommandServers, login: Value) -> Result<(), LoginError> {
    let url = address(server).ok_or(LoginError::NotRemote)?;
    lock(configured)?.set(&login_key(&server.name, url), Some(login))
}

/// Removes the login of a server; what was there.
fn take(server: &ServerConfig, configured: &resolve::CommandServers) -> Result<Option<Value>, LoginError> {
    let Some(url) = address(server) else { return Ok(None) };
    let (lock, key) = (lock(configured)?, login_key(&server.name, url));
    let Some(stored) = lock.get(&key) else { return Ok(None) };
    lock.set(&key, None)?;
    Ok(Some(stored))
}

fn lock(configured: &resolve::CommandServers) -> Result<Box<dyn LoginLock>, LoginError> {
    let no_place = || LoginError::Store("there is no place for them".into());
    configured.outside.logins.as_ref().ok_or_else(no_place)?.lock()
}

/// Lines of stdin, from a thread of their own: a terminal may never say anything.
fn pasted() -> Receiver<String> {
    let (sender, receiver) = channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if line.len() <= PASTED_MAX && !line.trim().is_empty() && sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Shows the page in the user's browser, where there seems to be one. The address is on the terminal in any case.
fn open(url: &str, environment: &Environment) {
    let has_screen = cfg!(target_os = "macos")
        || environment.get("DISPLAY").is_some()
        || environment.get("WAYLAND_DISPLAY").is_some();
    let usual = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let program = environment.get("BROWSER").or_else(|| has_screen.then_some(usual));
    let Some(program) = program else { return };
    let spec = process::Spec {
        program: program.into(),
        args: vec![url.into()],
        cwd: environment.cwd.clone(),
        env: environment.vars.clone(),
        stdin: process::Stdin::Null,
        output: process::Output::Pipes,
        arg0: None,
    };
    // The browser goes on when we are done. One that does not start is no reason to stop: the address is shown.
    let _ = process::start_detached(spec);
}
