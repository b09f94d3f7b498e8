//! `ralph serve`: wires the server to this machine.

use super::{goals, loop_prices};
use crate::failure::{Ended, Failure};
use crate::say;
use resolve::{Environment, runtime};
use sandbox::Sandbox;
use serve::command_line::{self, ListenAt, ServeArguments};
use serve::{Listener, Options, Tokens};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};
use wire::ExitCode;

pub fn run(words: &[String], environment: &Environment) -> Ended {
    if words.iter().any(|word| matches!(word.as_str(), "-h" | "--help")) {
        return Ok(say::help("serve"));
    }
    started(&command_line::parse(words)?, environment)
}

fn started(wanted: &ServeArguments, environment: &Environment) -> Ended {
    let folders = folders(&wanted.folders, environment)?;
    let exec = if wanted.allow_exec { Some(sandboxes(&folders, environment)?) } else { None };
    let tokens = if wanted.no_token { None } else { Some(tokens(wanted, environment)?) };
    let runtime = runtime()?;
    runtime.block_on(async {
        let listener = listen(&wanted.listen, environment).await?;
        let guard = serve::guard_config(wanted, &listener, tokens);
        say::out(&serve::greeting(wanted, &listener, &guard));
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
fn folders(named: &[PathBuf], environment: &Environment) -> Result<Vec<PathBuf>, Failure> {
    let here = [PathBuf::from(".")];
    let named = if named.is_empty() { &here[..] } else { named };
    let mut folders = Vec::new();
    for name in named {
        let path = environment.cwd.join(name);
        let real = path.canonicalize().ok().filter(|real| real.is_dir());
        let real = real.ok_or_else(|| {
            Failure::usage(format!("{} is no folder", path.display())).hint("Name folders that exist.")
        })?;
        if real == Path::new("/") {
            let why = Failure::usage("/ cannot be served: everything would be in it");
            return Err(why.hint("Name the folders that agents work in."));
        }
        if !folders.contains(&real) {
            folders.push(real);
        }
    }
    Ok(folders)
}

/// One for each folder: commands of clients write there and nowhere else, and read no credentials.
fn sandboxes(folders: &[PathBuf], environment: &Environment) -> Result<Vec<Arc<Sandbox>>, Failure> {
    let mut warnings = Vec::new();
    let mut sandboxes = Vec::new();
    for folder in folders {
        let rules = resolve::confined_checks(&environment.in_folder(folder), &mut warnings)?;
        let none = || Failure::settings("commands of clients need a sandbox, and the settings have none");
        let sandbox = Sandbox::new(rules.ok_or_else(none)?)
            .map_err(|error| Failure::failed(error).hint("Leave '--allow-exec' out."))?;
        sandboxes.push(Arc::new(sandbox));
    }
    for warning in &warnings {
        say::err(warning);
    }
    Ok(sandboxes)
}

fn tokens(wanted: &ServeArguments, environment: &Environment) -> Result<Tokens, Failure> {
    let folder = if let Some(folder) = &wanted.token_folder {
        environment.cwd.join(folder)
    } else {
        let none = || {
            Failure::settings("there is no home folder to keep the token in").hint("Name a folder with --token-folder.")
        };
        environment.state_folder().ok_or_else(none)?.join("serve")
    };
    serve::load_tokens(&folder, wanted.new_token).map_err(|error| Failure::failed(format!("{error}.")))
}

async fn listen(at: &ListenAt, environment: &Environment) -> Result<Listener, Failure> {
    match at {
        ListenAt::Address(address) => {
            let listener = Listener::tcp(*address).await;
            listener.map_err(|error| {
                Failure::failed(format!("{address} cannot be listened on: {error}"))
                    .hint("Name another one with --listen.")
            })
        }
        ListenAt::Socket(path) => {
            let path = environment.cwd.join(path);
            let cannot = |error| Failure::failed(format!("{} cannot be listened on: {error}.", path.display()));
            Listener::unix(&path).map_err(cannot)
        }
    }
}
