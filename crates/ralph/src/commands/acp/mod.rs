//! `ralph acp`: our agent for clients of the Agent Client Protocol, on stdin and stdout.
//!
//! The decisions are `acp::Server`'s; here are the pipes, the agent processes, the transcripts and the clocks.

mod children;
mod login;
mod past;
mod pipes;

use crate::failure::{Ended, Failure};
use crate::say;
use acp::{ChildKey, DeleteError, Frame, LINE_MAX, Server, ServerInput, ServerOptions, ServerOutput, StartError};
use children::Children;
pub(super) use children::{Launched, feed};
pub(super) use pipes::{Stdin, Stdout};
use process::Env;
use resolve::{Environment, runtime};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use wire::ExitCode;

/// What has happened and was not looked at yet; more wait in the pipes.
const INPUTS_MAX: usize = 256;

/// For agent processes, between being asked to end and being killed.
const GRACE: Duration = Duration::from_secs(3);

/// The variable that gives the agent a list of tasks.
const PLAN_TOOLS: &str = "CLAUDE_CODE_ENABLE_TODO_TOOLS";

pub fn run(words: &[String], environment: &Environment) -> Ended {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["login"] => login::run(environment),
        ["help"] => Ok(say::help("acp")),
        _ => match sandbox_flag(&words) {
            Ok(sandbox) => serve(environment, sandbox),
            Err(word) => {
                let why = Failure::usage(format!("'ralph acp' has no argument '{word}'"));
                Err(why.hint("'ralph acp --help' lists what it has."))
            }
        },
    }
}

/// The levels of the agent's own flag.
const LEVELS: [&str; 3] = ["workspace", "read-only", "off"];

/// The flag as the agent processes get it, or the word that is not known. Without a level it is the agent's usual one.
fn sandbox_flag<'a>(words: &[&'a str]) -> Result<Option<String>, &'a str> {
    let flag = match words {
        [] => return Ok(None),
        ["--sandbox"] => return Ok(Some("--sandbox".to_owned())),
        ["--sandbox", level] => level,
        [word] => word.strip_prefix("--sandbox=").ok_or(*word)?,
        [word, ..] => return Err(word),
    };
    if LEVELS.contains(&flag) { Ok(Some(format!("--sandbox={flag}"))) } else { Err(flag) }
}

fn serve(environment: &Environment, sandbox: Option<String>) -> Ended {
    process::adopt_orphans();
    process::watch_over();
    process::harden();
    let runtime = runtime()?;
    let exit = runtime.block_on(async {
        let exit = match Signals::open() {
            Ok(signals) => Ok(Front::new(environment, sandbox).run(signals).await),
            Err(failure) => Err(failure),
        };
        process::end_all(GRACE).await;
        exit
    });
    // A thread may still sit in a read of stdin; nothing waits for it.
    runtime.shutdown_background();
    exit
}

/// Signals that end a server.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    pub(super) fn open() -> Result<Self, Failure> {
        let opened =
            |kind| signal(kind).map_err(|error| Failure::failed(format!("signals cannot be received: {error}")));
        Ok(Self {
            interrupt: opened(SignalKind::interrupt())?,
            terminate: opened(SignalKind::terminate())?,
            hangup: opened(SignalKind::hangup())?,
        })
    }

    pub(super) async fn next(&mut self) -> ExitCode {
        tokio::select! {
            _ = self.interrupt.recv() => ExitCode::Interrupted,
            _ = self.terminate.recv() => ExitCode::Terminated,
            _ = self.hangup.recv() => ExitCode::Terminated,
        }
    }
}

/// The effects of the server.
struct Front {
    server: Server,
    environment: Environment,
    /// For every agent process.
    sandbox: Option<String>,
    children: Children,
    inputs: mpsc::Receiver<ServerInput>,
    sender: mpsc::Sender<ServerInput>,
}

impl Front {
    fn new(environment: &Environment, sandbox: Option<String>) -> Self {
        let options = ServerOptions { version: env!("CARGO_PKG_VERSION").into(), may_bypass: may_bypass(environment) };
        let (sender, inputs) = mpsc::channel(INPUTS_MAX);
        Self {
            server: Server::new(options, || uuid::Uuid::new_v4().to_string()),
            environment: environment.clone(),
            sandbox,
            children: Children::new(sender.clone()),
            inputs,
            sender,
        }
    }

    /// Until the client closes our input or a signal comes. Then every agent process is ended.
    async fn run(mut self, mut signals: Signals) -> ExitCode {
        let mut stdin = Stdin::open(LINE_MAX);
        let mut stdout = Stdout::open();
        let exit = loop {
            let input = tokio::select! {
                biased;
                exit = signals.next() => break exit,
                Some(input) = self.inputs.recv() => input,
                frame = stdin.next() => match frame {
                    Some(Frame::Line(line)) => ServerInput::Client(line),
                    Some(Frame::TooLong) => ServerInput::ClientTooLong,
                    None => break ExitCode::Success,
                },
            };
            let outputs = self.step(input);
            // A client that does not read holds up everything but its end.
            let written = tokio::select! {
                written = stdout.write(outputs) => written,
                exit = signals.next() => break exit,
            };
            if !written {
                break ExitCode::Failure;
            }
        };
        self.children.stop_all(GRACE).await;
        stdout.close().await;
        exit
    }

    /// Everything that follows from an input; the lines for the client are left.
    fn step(&mut self, input: ServerInput) -> Vec<u8> {
        let mut lines = Vec::new();
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            for output in self.server.step(input) {
                match output {
                    ServerOutput::ToClient(message) => lines.extend(acp::to_line(&message)),
                    other => inputs.extend(self.carry_out(other)),
                }
            }
        }
        lines
    }

    /// What follows at once; the rest comes through the channel.
    fn carry_out(&mut self, output: ServerOutput) -> Option<ServerInput> {
        match output {
            ServerOutput::ToClient(_) => None,
            ServerOutput::Start { child, launch } => {
                let error = self.start(child, &launch).err()?;
                Some(ServerInput::NotStarted { child, error })
            }
            ServerOutput::ToChild { child, line } => {
                let error = self.children.write(child, line).err()?;
                Some(ServerInput::ChildEnded { child, words: error.to_string() })
            }
            ServerOutput::Stop { child } => {
                self.children.stop(child, GRACE);
                None
            }
            ServerOutput::After { child, timer, wait } => {
                self.later(async move {
                    tokio::time::sleep(wait).await;
                    ServerInput::Elapsed { child, timer }
                });
                None
            }
            ServerOutput::CheckLogin { id } => {
                Some(ServerInput::LoginChecked { id, is_logged_in: login::is_logged_in(&self.environment) })
            }
            ServerOutput::Find { child, session, cwd } => {
                self.look_up(ServerInput::Found { child, messages: None }, move |environment| {
                    past::find(child, &session, &cwd, environment)
                });
                None
            }
            ServerOutput::List { id, cwd, cursor } => {
                let nothing = ServerInput::Listed { id: id.clone(), sessions: Vec::new(), next: None };
                self.look_up(nothing, move |environment| {
                    past::list(id, cwd.as_deref(), cursor.as_deref(), environment)
                });
                None
            }
            ServerOutput::Delete { id, session } => {
                let failed = ServerInput::Deleted {
                    id: id.clone(),
                    result: Err(DeleteError("the session cannot be deleted".into())),
                };
                self.look_up(failed, move |environment| past::delete(id, &session, environment));
                None
            }
        }
    }

    /// Reads transcripts without holding up anybody. `failed` is the answer where the reader breaks.
    fn look_up(&self, failed: ServerInput, read: impl FnOnce(&Environment) -> ServerInput + Send + 'static) {
        let environment = self.environment.clone();
        self.later(async move { tokio::task::spawn_blocking(move || read(&environment)).await.unwrap_or(failed) });
    }

    fn later(&self, input: impl Future<Output = ServerInput> + Send + 'static) {
        let sender = self.sender.clone();
        tokio::spawn(async move {
            let input = input.await;
            // Closed means that this process ends.
            let _ = sender.send(input).await;
        });
    }

    /// Clients show plans, so the agent has the tools that make them, unless somebody has chosen.
    fn child_env(&self) -> Env {
        let mut env = self.environment.vars.clone();
        if self.environment.raw(PLAN_TOOLS).is_none() {
            env.push((PLAN_TOOLS.into(), "1".into()));
        }
        env
    }

    fn start(&mut self, child: ChildKey, launch: &acp::Launch) -> Result<(), StartError> {
        if !launch.cwd.is_dir() {
            return Err(StartError::NoFolder(launch.cwd.clone()));
        }
        let launched = Launched {
            program: self.environment.exe.clone(),
            args: std::iter::once("agent".to_owned()).chain(launch.args()).chain(self.sandbox.clone()).collect(),
            cwd: launch.cwd.clone(),
            env: self.child_env(),
        };
        self.children.start(child, launched).map_err(|error| StartError::NoProcess(error.to_string()))
    }
}

/// As root, only in a sandbox: then nothing would be left that asks.
fn may_bypass(environment: &Environment) -> bool {
    let is_root = rustix::process::geteuid().is_root();
    let places = resolve::places(environment);
    let loaded = settings::load(&places, settings::Sources::default(), None, None, false);
    let is_forbidden = loaded.map_or(true, |loaded| loaded.settings.permissions.disable_bypass);
    (!is_root || environment.is_on("IS_SANDBOX")) && !is_forbidden
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sandbox_is_passed_on_and_nothing_else() {
        for (words, expected) in [
            (&[][..], Ok(None)),
            (&["--sandbox"], Ok(Some("--sandbox"))),
            (&["--sandbox=read-only"], Ok(Some("--sandbox=read-only"))),
            (&["--sandbox", "off"], Ok(Some("--sandbox=off"))),
            (&["--sandbox=none"], Err("none")),
            (&["--sandbox", "--model"], Err("--model")),
            (&["serve"], Err("serve")),
            (&["login", "--sandbox"], Err("login")),
        ] {
            assert_eq!(sandbox_flag(words), expected.map(|flag: Option<&str>| flag.map(str::to_owned)), "{words:?}");
        }
    }
}
