//! `ralph steer|pause|unpause|stop [RUN]`: words to a run that works elsewhere.

use crate::failure::{Ended, Failure};
use crate::say;
use resolve::{Environment, runtime};
use runner::run_socket::{Client, FailureKind, Request, SocketError};
use runner::{Folder, Lock};
use std::time::Duration;
use tokio::time::timeout;
use wire::ExitCode;

/// An end in order takes an agent's grace and that of everything else: 9 s at most.
const ENDS_WITHIN: Duration = Duration::from_secs(20);

/// The run that is meant; without a name the one at work here.
pub fn find_live(folder: &Folder, name: Option<&str>) -> Result<String, Failure> {
    if name.is_some() {
        return Ok(runner::find(folder, name)?);
    }
    let owner = Lock::holder(folder);
    let live = owner.as_deref().and_then(runner::live_run).map(str::to_owned);
    live.ok_or_else(|| Failure::failed("no run is at work in this folder; 'ralph runs' lists what ran."))
}

/// Splits `[RUN] TEXT…` and `--run RUN TEXT…`. A first word is a run only where it looks like one and there is one.
pub fn split_run<'a>(folder: &Folder, words: &'a [String]) -> (Option<&'a str>, String) {
    match words {
        [flag, run, text @ ..] if flag == "--run" => (Some(run), text.join(" ")),
        [run, text @ ..] if !text.is_empty() && looks_like_run(run) && runner::find(folder, Some(run)).is_ok() => {
            (Some(run), text.join(" "))
        }
        text => (None, text.join(" ")),
    }
}

/// As `20260101-120000` and `20260101-120000-2`.
fn looks_like_run(word: &str) -> bool {
    let digits = |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = word.splitn(3, '-');
    let (day, time, rest) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""), parts.next());
    digits(day, 8) && digits(time, 6) && rest.is_none_or(|rest| rest.parse::<u32>().is_ok())
}

/// `ralph steer [RUN] TEXT…`.
pub fn steer(words: &[String], environment: &Environment) -> Ended {
    let folder = Folder::new(&environment.cwd);
    let (name, text) = split_run(&folder, words);
    if text.trim().is_empty() {
        return Err(Failure::form("usage: ralph steer [RUN] TEXT"));
    }
    send(&folder, name, &Request::Steer { text }, "was told")
}

/// `ralph pause [RUN]`.
pub fn pause(words: &[String], environment: &Environment) -> Ended {
    let name = only_run("pause", words)?;
    send(&Folder::new(&environment.cwd), name, &Request::Pause, "pauses after this iteration")
}

/// `ralph unpause [RUN]`.
pub fn unpause(words: &[String], environment: &Environment) -> Ended {
    let name = only_run("unpause", words)?;
    send(&Folder::new(&environment.cwd), name, &Request::Resume, "goes on")
}

/// `ralph stop [RUN] [--now]`.
pub fn stop(words: &[String], environment: &Environment) -> Ended {
    let (flags, rest): (Vec<String>, Vec<String>) = words.iter().cloned().partition(|word| word == "--now");
    let folder = Folder::new(&environment.cwd);
    let name = only_run("stop", &rest)?;
    if flags.is_empty() {
        send(&folder, name, &Request::Stop, "ends after this iteration")
    } else {
        stop_now(&folder, name)
    }
}

fn only_run<'a>(command: &str, words: &'a [String]) -> Result<Option<&'a str>, Failure> {
    match words {
        [] => Ok(None),
        [name] if !name.starts_with('-') => Ok(Some(name)),
        [word, ..] => {
            let now = if command == "stop" { " and --now" } else { "" };
            Err(Failure::usage(format!("'ralph {command}' takes the id of a run{now}, not '{word}'.")))
        }
    }
}

fn send(folder: &Folder, name: Option<&str>, request: &Request, words: &str) -> Ended {
    let id = find_live(folder, name)?;
    let sent = async { Client::connect(folder, &id).await?.tell(request).await };
    runtime()?.block_on(sent)?;
    say::out(&format!("run {id} {words}\n"));
    Ok(ExitCode::Success)
}

/// Returns when the run is over.
fn stop_now(folder: &Folder, name: Option<&str>) -> Ended {
    let id = find_live(folder, name)?;
    let stopped = async {
        // Beyond every line: only the end of the run is of interest.
        let mut events = Client::connect(folder, &id).await?.events((u64::MAX, 0), false).await?;
        Client::connect(folder, &id).await?.tell(&Request::StopNow).await?;
        // However the connection ends, the run is over.
        let _ = timeout(ENDS_WITHIN, events.next())
            .await
            .map_err(|_| SocketError::Silent { run: id.clone(), seconds: ENDS_WITHIN.as_secs() })?;
        Ok::<(), SocketError>(())
    };
    runtime()?.block_on(stopped)?;
    say::out(&format!("run {id} has ended; go on with it: ralph resume {id}\n"));
    Ok(ExitCode::Success)
}

/// Offers an answer through the run's socket. Says whether the run took it; a run without a socket is answered through
/// its folder.
pub fn offer_answer(folder: &Folder, id: &str, text: &str) -> Result<bool, SocketError> {
    let request = Request::Answer { text: text.to_owned() };
    let sent = async { Client::connect(folder, id).await?.tell(&request).await };
    let Ok(runtime) = runtime() else { return Ok(false) };
    match runtime.block_on(sent) {
        Ok(()) => Ok(true),
        Err(SocketError::NotAtWork(_) | SocketError::Io { .. }) => Ok(false),
        Err(SocketError::Failed(failure)) if failure.kind == FailureKind::Busy => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_runs_are_told_from_words() {
        for (word, is_run) in [
            ("20260101-120000", true),
            ("20260101-120000-2", true),
            ("20260101-120000-x", false),
            ("20260101", false),
            ("use", false),
            ("8080-808080", false),
            ("", false),
        ] {
            assert_eq!(looks_like_run(word), is_run, "{word}");
        }
    }
}
