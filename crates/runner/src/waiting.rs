//! A loop that is done and waits for new work: still the one loop of its folder, and reachable.

use crate::job::{Job, Sink};
use crate::lock::Lock;
use crate::run_command::Command;
use crate::run_socket::Server;
use crate::runs::find;
use crate::watch::Watch;
use cycle::EventKind;
use std::path::Path;
use tokio::sync::mpsc;

/// What the lock says of a loop that watches.
pub(crate) const WATCHING: &str = "watching for new work";

/// Waits for new work; `None` where somebody wants an end instead.
pub async fn wait_for_work(
    job: &Job,
    sinks: &mut [Box<dyn Sink>],
    commands: &mut mpsc::Receiver<Command>,
) -> Option<cycle::WorkItem> {
    let mut say = |text: String| {
        let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
        let event = EventKind::Warning { iteration: None, text }.at(now);
        for sink in sinks.iter_mut() {
            sink.event(&event);
        }
    };
    // A loop that waits for work is still the one loop of this folder.
    let last = find(&job.folder, None).unwrap_or_default();
    let owner = format!("process {}, {WATCHING} after run {last}", std::process::id());
    let _lock = match Lock::take(&job.folder, &owner) {
        Ok(lock) => lock,
        Err(error) => {
            say(error.to_string());
            return None;
        }
    };
    let mut watch = Watch::begin(&job.folder, &job.settings, &job.env).await;
    // Said when everything that is open is known: what comes after it is new.
    say("watching for new work; Ctrl-C ends it".into());
    let work = watch.next();
    tokio::pin!(work);
    let mut reach = reachable(job, &last);
    loop {
        tokio::select! {
            command = next_command(&mut reach) => match command {
                Command::Stop | Command::StopNow | Command::Terminate => return None,
                _ => {}
            },
            work = &mut work => {
                let id = work.id.as_ref().map_or(String::new(), |id| format!("{id} "));
                say(format!("new work: {id}{}", work.title));
                return Some(work);
            }
            command = commands.recv() => match command {
                Some(Command::Stop | Command::StopNow | Command::Terminate) | None => return None,
                Some(_) => {}
            }
        }
    }
}

/// The way to a loop that waits for work. One that cannot be reached still waits.
fn reachable(job: &Job, last: &str) -> Option<Server> {
    let runtime = job.env.iter().find(|(name, _)| name == "XDG_RUNTIME_DIR").map(|(_, value)| Path::new(value));
    Server::watching(&job.folder, last, job.price, runtime).ok()
}

async fn next_command(reach: &mut Option<Server>) -> Command {
    match reach {
        Some(server) => server.next_command().await,
        None => std::future::pending().await,
    }
}
