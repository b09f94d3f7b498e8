//! `ralph mock SCRIPT.json [--port N] [--log FILE]`: the scripted Messages API, until interrupted; and
//! `ralph mock --record FILE`, the relay that makes such scripts (`mock_record`).

use super::mock_record;
use crate::failure::{Ended, Failure};
use crate::say;
use resolve::{Environment, runtime};
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use wire::ExitCode;

const USAGE: &str =
    "usage: ralph mock SCRIPT.json [--port N] [--log FILE] | ralph mock --record FILE [--upstream URL] [--port N]";

struct Wanted {
    script: Option<PathBuf>,
    port: u16,
    log: Option<PathBuf>,
    record: Option<PathBuf>,
    upstream: Option<String>,
}

pub fn run(words: &[String], environment: &Environment) -> Ended {
    let wanted = wanted(words, environment)?;
    match (&wanted.script, &wanted.record) {
        (Some(script), None) if wanted.upstream.is_none() => serve(script, &wanted)?,
        (None, Some(file)) if wanted.log.is_none() => {
            mock_record::run(file, wanted.upstream.as_deref(), wanted.port, environment)?;
        }
        _ => return Err(Failure::form(USAGE)),
    }
    Ok(ExitCode::Success)
}

fn wanted(words: &[String], environment: &Environment) -> Result<Wanted, Failure> {
    let mut wanted = Wanted { script: None, port: 0, log: None, record: None, upstream: None };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let (flag, inline) =
            word.split_once('=').map_or((word.as_str(), None), |(flag, value)| (flag, Some(value.to_owned())));
        let mut value = || {
            inline
                .clone()
                .or_else(|| words.next().cloned())
                .ok_or_else(|| Failure::usage(format!("option '{flag}' needs a value")).hint(USAGE))
        };
        match flag {
            "--port" => {
                let wrong = |_| Failure::usage("--port needs a port number").hint(USAGE);
                wanted.port = value()?.parse().map_err(wrong)?;
            }
            "--log" => wanted.log = Some(environment.cwd.join(value()?)),
            "--record" => wanted.record = Some(environment.cwd.join(value()?)),
            "--upstream" => wanted.upstream = Some(value()?),
            _ if flag.starts_with('-') => {
                return Err(Failure::usage(format!("unknown option '{flag}'")).hint(USAGE));
            }
            _ => wanted.script = Some(environment.cwd.join(word)),
        }
    }
    Ok(wanted)
}

fn serve(script: &Path, wanted: &Wanted) -> Result<(), Failure> {
    let text = std::fs::read_to_string(script)
        .map_err(|error| Failure::failed(format!("{} cannot be read: {error}", script.display())))?;
    let script =
        mock::Script::from_json(&text).map_err(|error| Failure::failed(format!("{}: {error}", script.display())))?;
    let log = wanted.log.as_ref().map(|path| {
        let file = mock::private_file(path);
        file.map(Mutex::new).map_err(|error| Failure::failed(format!("{} cannot be written: {error}", path.display())))
    });
    let log = log.transpose()?.map(|file| (file, mock::Redactor::new([])));
    let runtime = runtime()?;
    runtime.block_on(async {
        let server = mock::Server::bind(script, SocketAddr::from((Ipv4Addr::LOCALHOST, wanted.port)))
            .map_err(|error| Failure::failed(format!("port {}: {error}", wanted.port)))?;
        let address = server.local_addr().map_err(Failure::failed)?;
        say::out(&format!("http://{address}\nSet ANTHROPIC_BASE_URL to this address; Ctrl-C ends it.\n"));
        tokio::select! {
            ended = server.run(move |request| note(log.as_ref(), request)) => ended.map_err(Failure::failed),
            _ = tokio::signal::ctrl_c() => Ok(()),
        }
    })
}

/// A log that cannot be written never stops the server.
fn note(log: Option<&(Mutex<std::fs::File>, mock::Redactor)>, request: &mock::Recorded) {
    if let Some((file, redactor)) = log
        && let Ok(mut file) = file.lock()
    {
        let _ = file.write_all(request.log_line(redactor).as_bytes());
    }
}
