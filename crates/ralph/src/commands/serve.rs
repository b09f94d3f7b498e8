//! `ralph serve`: wires the server to this machine.

mod arguments;

use super::{goals, loop_prices};
use crate::environment::Environment;
use crate::runtime::runtime;
use crate::{resolve, say};
use arguments::{ListenAt, ServeArguments};
use sandbox::Sandbox;
use serve::{GuardConfig, Listener, Options, Tokens};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use wire::ExitCode;

pub fn run(words: &[String], environment: &Environment) -> ExitCode {
    if words.iter().any(|word| matches!(word.as_str(), "-h" | "--help")) {
        return say::help("serve");
    }
    match arguments::parse(words).and_then(|wanted| started(&wanted, environment)) {
        Ok(exit) => exit,
        Err(line) if line.is_empty() => ExitCode::Failure,
        Err(line) => {
            say::err(&format!("error: {line}"));
            ExitCode::Failure
        }
    }
}

fn started(wanted: &ServeArguments, environment: &Environment) -> Result<ExitCode, String> {
    let folders = folders(&wanted.folders, environment)?;
    let exec = if wanted.allow_exec { Some(sandboxes(&folders, environment)?) } else { None };
    let tokens = if wanted.no_token { None } else { Some(tokens(wanted, environment)?) };
    let runtime = runtime().map_err(|_| String::new())?;
    runtime.block_on(async {
        let listener = listen(&wanted.listen, environment).await?;
        let guard = guard_config(wanted, &listener, tokens);
        say::out(&greeting(wanted, &listener, &guard));
        let options = Options {
            folders,
            guard,
            exe: environment.exe.clone(),
            env: environment.vars.clone(),
            version: env!("CARGO_PKG_VERSION"),
            goals: goals::store_place(environment),
            price: loop_prices::usd,
            exec,
            streams: wanted.streams,
        };
        process::harden();
        serve::serve(listener, options, stopped()).await;
        Ok(ExitCode::Success)
    })
}

/// Completes with the first signal that asks a program to end.
async fn stopped() {
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
}

/// The folders by their real paths; this one where none is named.
fn folders(named: &[PathBuf], environment: &Environment) -> Result<Vec<PathBuf>, String> {
    let here = [PathBuf::from(".")];
    let named = if named.is_empty() { &here[..] } else { named };
    let mut folders = Vec::new();
    for name in named {
        let path = environment.cwd.join(name);
        let real = path.canonicalize().ok().filter(|real| real.is_dir());
        let real = real.ok_or_else(|| format!("{} is no folder. Name folders that exist.", path.display()))?;
        if real == Path::new("/") {
            return Err("/ cannot be served: everything would be in it. Name the folders that agents work in.".into());
        }
        if !folders.contains(&real) {
            folders.push(real);
        }
    }
    Ok(folders)
}

/// One for each folder: commands of clients write there and nowhere else, and read no credentials.
fn sandboxes(folders: &[PathBuf], environment: &Environment) -> Result<Vec<Arc<Sandbox>>, String> {
    let mut warnings = Vec::new();
    let mut sandboxes = Vec::new();
    for folder in folders {
        let rules =
            resolve::confined_checks(&environment.in_folder(folder), &mut warnings).map_err(|refusal| refusal.text)?;
        let rules = rules.ok_or_else(|| "commands of clients need a sandbox, and the settings have none".to_owned())?;
        let sandbox = Sandbox::new(rules).map_err(|error| format!("{error}. Leave '--allow-exec' out."))?;
        sandboxes.push(Arc::new(sandbox));
    }
    for warning in &warnings {
        say::err(warning);
    }
    Ok(sandboxes)
}

fn tokens(wanted: &ServeArguments, environment: &Environment) -> Result<Tokens, String> {
    let folder = if let Some(folder) = &wanted.token_folder {
        environment.cwd.join(folder)
    } else {
        let none = || "there is no home folder to keep the token in. Name a folder with --token-folder.".to_owned();
        environment.state_folder().ok_or_else(none)?.join("serve")
    };
    serve::load_tokens(&folder, wanted.new_token).map_err(|error| format!("{error}."))
}

async fn listen(at: &ListenAt, environment: &Environment) -> Result<Listener, String> {
    match at {
        ListenAt::Address(address) => {
            let listener = Listener::tcp(*address).await;
            listener
                .map_err(|error| format!("{address} cannot be listened on: {error}. Name another one with --listen."))
        }
        ListenAt::Socket(path) => {
            let path = environment.cwd.join(path);
            Listener::unix(&path).map_err(|error| format!("{} cannot be listened on: {error}.", path.display()))
        }
    }
}

/// Names that browsers and programs call us by.
fn guard_config(wanted: &ServeArguments, listener: &Listener, tokens: Option<Tokens>) -> GuardConfig {
    let port = listener.port();
    let with_port = |name: &str| port.map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
    let mut hosts: Vec<String> = ["localhost", "127.0.0.1", "[::1]"].map(with_port).to_vec();
    if let ListenAt::Address(address) = wanted.listen
        && !address.ip().is_unspecified()
    {
        hosts.push(with_port(&bracketed(address.ip())));
    }
    for name in &wanted.hosts {
        hosts.push(name.to_ascii_lowercase());
        if !name.trim_start_matches('[').contains(':') || name.ends_with(']') {
            hosts.push(with_port(&name.to_ascii_lowercase()));
        }
    }
    GuardConfig { hosts, cookie: format!("ralph-{}", port.unwrap_or(0)), tokens }
}

fn bracketed(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// What a person needs to go on, the link first: scripts read the first line.
fn greeting(wanted: &ServeArguments, listener: &Listener, guard: &GuardConfig) -> String {
    let address = match (&wanted.listen, listener.port()) {
        (ListenAt::Address(address), Some(port)) => {
            let ip = if address.ip().is_unspecified() { "127.0.0.1".to_owned() } else { bracketed(address.ip()) };
            format!("http://{ip}:{port}/")
        }
        (ListenAt::Socket(path), _) => format!("unix:{}", path.display()),
        (ListenAt::Address(address), None) => format!("http://{address}/"),
    };
    let mut text = match &guard.tokens {
        Some(tokens) => format!(
            "{address}#token={}\nRead only: {address}#token={}\nPrograms send 'Authorization: Bearer TOKEN'. Ctrl-C ends the server; runs go on.\n",
            tokens.full, tokens.read
        ),
        None => format!("{address}\nCtrl-C ends the server; runs go on.\n"),
    };
    if wanted.is_beyond_loopback() {
        text.push_str("Others can reach this address, and everything on the way is readable: it is plain http. Put a proxy with TLS before it.\n");
    }
    text
}
