//! `ralph mock SCRIPT.json [--port N] [--log FILE]`: the scripted Messages API, until interrupted.

use super::runtime;
use crate::environment::Environment;
use crate::say;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Mutex;
use wire::ExitCode;

const USAGE: &str = "usage: ralph mock SCRIPT.json [--port N] [--log FILE]";

struct Wanted {
    script: PathBuf,
    port: u16,
    log: Option<PathBuf>,
}

pub fn run(words: &[String], environment: &Environment) -> ExitCode {
    match wanted(words, environment).and_then(|wanted| serve(&wanted)) {
        Ok(()) => ExitCode::Success,
        Err(problem) => {
            say::err(&problem);
            ExitCode::Failure
        }
    }
}

fn wanted(words: &[String], environment: &Environment) -> Result<Wanted, String> {
    let mut wanted = Wanted { script: PathBuf::new(), port: 0, log: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (flag, inline) =
            word.split_once('=').map_or((word.as_str(), None), |(flag, value)| (flag, Some(value.to_owned())));
        let mut value = || {
            inline
                .clone()
                .or_else(|| words.next().cloned())
                .ok_or_else(|| format!("error: option '{flag}' needs a value. {USAGE}"))
        };
        match flag {
            "--port" => {
                wanted.port = value()?.parse().map_err(|_| format!("error: --port needs a port number. {USAGE}"))?;
            }
            "--log" => wanted.log = Some(environment.cwd.join(value()?)),
            _ if flag.starts_with('-') => return Err(format!("error: unknown option '{flag}'. {USAGE}")),
            _ => wanted.script = environment.cwd.join(word),
        }
    }
    if wanted.script.as_os_str().is_empty() { Err(USAGE.into()) } else { Ok(wanted) }
}

fn serve(wanted: &Wanted) -> Result<(), String> {
    let text = std::fs::read_to_string(&wanted.script)
        .map_err(|error| format!("error: {} cannot be read: {error}", wanted.script.display()))?;
    let script =
        mock::Script::from_json(&text).map_err(|error| format!("error: {}: {error}", wanted.script.display()))?;
    let log = match &wanted.log {
        Some(path) => Some(Mutex::new(
            std::fs::File::create(path)
                .map_err(|error| format!("error: {} cannot be written: {error}", path.display()))?,
        )),
        None => None,
    };
    let runtime = runtime().map_err(|_| String::new())?;
    runtime.block_on(async {
        let server = mock::Server::bind(script, SocketAddr::from((Ipv4Addr::LOCALHOST, wanted.port)))
            .map_err(|error| format!("error: port {}: {error}", wanted.port))?;
        let address = server.local_addr().map_err(|error| error.to_string())?;
        say::out(&format!("http://{address}\nSet ANTHROPIC_BASE_URL to this address; Ctrl-C ends it.\n"));
        tokio::select! {
            ended = server.run(move |request| note(log.as_ref(), request)) => ended.map_err(|error| error.to_string()),
            _ = tokio::signal::ctrl_c() => Ok(()),
        }
    })
}

/// A log that cannot be written never stops the server.
fn note(log: Option<&Mutex<std::fs::File>>, request: &mock::Recorded) {
    if let Some(Ok(mut file)) = log.map(Mutex::lock) {
        let _ = file.write_all(request.log_line().as_bytes());
    }
}
