//! `ralph mock --record FILE [--upstream URL] [--port N]`: a relay on loopback before the configured API, that
//! writes down what a loop and its model say to each other. The file is a script for `ralph --rehearse`.

use crate::failure::Failure;
use crate::say;
use resolve::{Environment, runtime};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use tokio::signal::unix::{SignalKind, signal};

/// A shorter value of a variable that is named like a secret may be anything: a region, a profile.
const SECRET_MIN: usize = 16;

pub fn run(file: &Path, upstream: Option<&str>, port: u16, environment: &Environment) -> Result<(), Failure> {
    let mut api = resolve::api(environment)?;
    if let Some(upstream) = upstream {
        upstream.clone_into(&mut api.base_url);
    }
    // Before the file is made: a wrong address must leave none behind.
    model::endpoint_client(&api).map_err(Failure::settings)?;
    let unwritable = |error: std::io::Error| Failure::failed(format!("{} cannot be written: {error}", file.display()));
    let recording = mock::private_file(file).map_err(unwritable)?;
    let redactor = mock::Redactor::new(secrets(environment));
    let tape = Arc::new(mock::RecordingWriter::new(recording, &environment.cwd, redactor).map_err(unwritable)?);
    let runtime = runtime()?;
    runtime.block_on(relay(&api, port, Arc::clone(&tape)))?;
    say::out(&format!("{} answers recorded in {}\n", tape.answers(), file.display()));
    tape.trouble().map_or(Ok(()), |why| Err(Failure::failed(format!("the recording is not whole: {why}"))))
}

async fn relay(api: &model::ClientConfig, port: u16, tape: Arc<mock::RecordingWriter>) -> Result<(), Failure> {
    let client = model::endpoint_client(api).map_err(Failure::settings)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let bound = mock::Relay::bind(address, &api.base_url, client, tape);
    let relay = bound.map_err(|error| Failure::failed(format!("port {port}: {error}")))?;
    let address = relay.local_addr().map_err(Failure::failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::failed)?;
    say::out(&format!("http://{address}\nSet ANTHROPIC_BASE_URL to this address; Ctrl-C ends it.\n"));
    tokio::select! {
        ended = relay.run() => ended.map_err(Failure::failed),
        _ = tokio::signal::ctrl_c() => Ok(()),
        _ = terminate.recv() => Ok(()),
    }
}

/// Values of variables that are named like secrets. A path is none.
fn secrets(environment: &Environment) -> Vec<String> {
    let mut plain = environment.vars.clone();
    process::scrub::credentials(&mut plain);
    let is_plain = |name: &std::ffi::OsString| plain.iter().any(|(known, _)| known == name);
    let values = environment.vars.iter().filter(|(name, _)| !is_plain(name)).filter_map(|(_, value)| value.to_str());
    values.filter(|value| value.len() >= SECRET_MIN && !value.starts_with('/')).map(str::to_owned).collect()
}
