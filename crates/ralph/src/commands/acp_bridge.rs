//! `ralph acp-bridge --command CMD …`: an ACP agent that looks like `claude` on the pipe. The loop starts it.
//!
//! The decisions are `acp::Bridge`'s. Such agents ignore the end of their input and leave commands behind, so the whole
//! tree is killed at the end.

use super::acp::{Launched, Signals, Stdin, Stdout, feed};
use crate::failure::{Ended, Failure};
use acp::{Bridge, BridgeInput, BridgeOptions, BridgeOutput, Decision, Frame, Frames, LINE_MAX};
use process::Piped;
use resolve::{Environment, runtime};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use wire::ExitCode;

pub const NAME: &str = runner::ACP_BRIDGE;

/// From the start to an open session. Agents of a hundred megabytes take seconds, and minutes where a machine has too much to do.
const STARTS_WITHIN: Duration = Duration::from_mins(5);

/// An agent that has not ended a cancelled turn by then never will.
const CANCELS_WITHIN: Duration = Duration::from_secs(10);

/// Between asking an agent to end and killing it and all it started. It has nothing left to do.
const GRACE: Duration = Duration::from_millis(500);

/// For what slipped away from it.
const SWEEP: Duration = Duration::from_secs(1);

/// Lines that wait for an agent that does not read.
const LINES_MAX: usize = 256;

/// An agent that speaks without a whole message, call or result for so long is shown to be alive: the loop would take it
/// as hung.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

/// What is read at once.
const READ: usize = 64 * 1024;

pub fn run(words: &[String], environment: &Environment) -> Ended {
    let (command, typed) = parse(words)?;
    let options = options(&command, &typed, environment);
    let mut launched = launched(&command, environment)?;
    launched.env.extend(unconfined(&command, options.decision, environment));
    process::adopt_orphans();
    process::watch_over();
    let runtime = runtime()?;
    let prompt = typed.positionals.first().cloned().filter(|_| typed.input_format.is_none());
    let exit = runtime.block_on(async {
        let exit = match (launched.spawn(), Signals::open()) {
            (Ok(agent), Ok(signals)) => drive(Bridge::new(options, id), agent, prompt, signals).await,
            (Err(error), _) => Err(Failure::failed(error)),
            (_, Err(failure)) => Err(failure),
        };
        process::end_all(SWEEP).await;
        exit
    });
    // A thread may still sit in a read of stdin; nothing waits for it.
    runtime.shutdown_background();
    exit
}

fn id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// The agent's command, and the flags that the loop gives to every agent.
fn parse(words: &[String]) -> Result<(String, arguments::Arguments), Failure> {
    let [flag, command, rest @ ..] = words else { return Err(Failure::usage(USAGE)) };
    if flag != "--command" {
        return Err(Failure::usage(USAGE));
    }
    let typed = arguments::parse(rest.iter().cloned())?;
    Ok((command.clone(), typed))
}

const USAGE: &str = "'ralph acp-bridge' is for the loop; use 'ralph --backend acp:COMMAND'.";

fn options(command: &str, typed: &arguments::Arguments, environment: &Environment) -> BridgeOptions {
    let mode = if typed.dangerously_skip_permissions {
        "bypassPermissions"
    } else {
        typed.permission_mode.as_deref().unwrap_or_default()
    };
    let text = |given: &Option<String>| given.clone().filter(|value| !value.is_empty());
    BridgeOptions {
        name: command.to_owned(),
        cwd: environment.cwd.clone(),
        model: text(&typed.model),
        decision: Decision::of_mode(mode),
        resume: text(&typed.resume.value),
        is_partial: typed.include_partial_messages,
        version: env!("CARGO_PKG_VERSION").into(),
    }
}

fn launched(command: &str, environment: &Environment) -> Result<Launched, Failure> {
    let mut words = acp::split_words(command).map_err(Failure::usage)?;
    let name = words.remove(0);
    let path = environment.raw("PATH").unwrap_or_default();
    let program =
        find(&name, path.as_ref(), environment).ok_or_else(|| not_found(&name, environment.is_on("IS_SANDBOX")))?;
    Ok(Launched { program, args: words, cwd: environment.cwd.clone(), env: environment.vars.clone() })
}

/// What its user has set stays.
fn unconfined(command: &str, decision: Decision, environment: &Environment) -> process::Env {
    let variables = acp::unconfined(command, decision, environment.is_on("IS_SANDBOX"));
    let is_new = |(name, _): &&(&str, &str)| environment.raw(name).is_none();
    variables.iter().filter(is_new).map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// The loop has seen it on PATH, so what hides it here is the box.
fn not_found(name: &str, is_boxed: bool) -> Failure {
    if is_boxed {
        return Failure::settings(format!(
            "the agent {name} is not on PATH inside of the sandbox, which has a temporary folder of its own; install it elsewhere"
        ));
    }
    Failure::settings(format!("the agent {name} is not on PATH; install it"))
}

fn find(name: &str, path: &OsStr, environment: &Environment) -> Option<PathBuf> {
    let is_program =
        |file: &PathBuf| file.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return Some(environment.cwd.join(name)).filter(is_program);
    }
    std::env::split_paths(path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name)).find(is_program)
}

/// Until the bridge says stop, or a signal comes.
async fn drive(mut bridge: Bridge, mut agent: Piped, prompt: Option<String>, mut signals: Signals) -> Ended {
    let Some((stdin, stdout)) = agent.take_pipes() else {
        return Err(Failure::failed("the agent has no pipes"));
    };
    let (lines, receiver) = mpsc::channel(LINES_MAX);
    tokio::spawn(feed(stdin, receiver));
    let mut rim = Rim {
        lines,
        stdout: Stdout::open(),
        starts_by: Some(Instant::now() + STARTS_WITHIN),
        cancels_by: None,
        wrote_at: Instant::now(),
    };
    let mut agent_lines = AgentLines {
        pipe: stdout,
        frames: Frames::new(LINE_MAX),
        ready: Vec::new().into_iter(),
        ended: false,
        is_told: false,
    };
    let mut exit = rim.carry_out(bridge.start()).await;
    let mut input = prompt.is_none().then(|| Stdin::open(LINE_MAX));
    if let Some(prompt) = prompt {
        exit = exit.or(rim.carry_out(bridge.step(BridgeInput::Loop(wire::Input::prompt(&prompt).to_line()))).await);
        exit = exit.or(rim.carry_out(bridge.step(BridgeInput::LoopEnded)).await);
    }
    let exit = loop {
        if let Some(exit) = exit {
            break exit;
        }
        let deadline = rim.deadline();
        let happened = tokio::select! {
            biased;
            ended = signals.next() => break ended,
            frame = next_input(&mut input) => match frame {
                Some(Frame::Line(line)) => BridgeInput::Loop(line),
                Some(Frame::TooLong) => continue,
                None => {
                    input = None;
                    BridgeInput::LoopEnded
                }
            },
            line = agent_lines.next() => if let Some(line) = line {
                BridgeInput::Agent(line)
            } else {
                agent.stop(GRACE).await;
                BridgeInput::AgentEnded(agent.stderr_tail())
            },
            () = sleep_until(deadline) => rim.overdue(),
        };
        let is_alive = matches!(happened, BridgeInput::Agent(_));
        exit = rim.carry_out(bridge.step(happened)).await;
        if is_alive {
            rim.show_life().await;
        }
    };
    agent.stop(GRACE).await;
    rim.stdout.close().await;
    Ok(exit)
}

/// Never, once the input has ended.
async fn next_input(input: &mut Option<Stdin>) -> Option<Frame> {
    match input {
        Some(stdin) => stdin.next().await,
        None => std::future::pending().await,
    }
}

/// What the bridge wants done.
struct Rim {
    lines: mpsc::Sender<Vec<u8>>,
    stdout: Stdout,
    starts_by: Option<Instant>,
    cancels_by: Option<Instant>,
    /// When the loop last heard something.
    wrote_at: Instant,
}

impl Rim {
    async fn show_life(&mut self) {
        if self.wrote_at.elapsed() > SIGN_OF_LIFE {
            self.wrote_at = Instant::now();
            self.stdout.write(b"{\"type\":\"keep_alive\"}\n".to_vec()).await;
        }
    }

    /// How it ends, once it does.
    async fn carry_out(&mut self, outputs: Vec<BridgeOutput>) -> Option<ExitCode> {
        let mut exit = None;
        for output in outputs {
            match output {
                BridgeOutput::ToLoop(line) => {
                    self.wrote_at = Instant::now();
                    if !self.stdout.write(line).await {
                        exit = Some(ExitCode::Failure);
                    }
                }
                BridgeOutput::ToAgent(message) => {
                    // An agent that is gone, or reads nothing, is noticed by its silence.
                    let _ = self.lines.try_send(acp::to_line(&message));
                }
                BridgeOutput::WatchCancel => self.cancels_by = Some(Instant::now() + CANCELS_WITHIN),
                BridgeOutput::Stop { is_success: true } => exit = Some(ExitCode::Success),
                BridgeOutput::Stop { is_success: false } => exit = Some(ExitCode::Failure),
            }
        }
        exit
    }

    fn deadline(&self) -> Instant {
        /// There is no deadline: the loop has its own.
        const FAR: Duration = Duration::from_hours(24);
        let far = Instant::now() + FAR;
        [self.starts_by, self.cancels_by].into_iter().flatten().fold(far, Instant::min)
    }

    fn overdue(&mut self) -> BridgeInput {
        if self.starts_by.is_some_and(|by| by <= Instant::now()) {
            self.starts_by = None;
            return BridgeInput::StartOverdue;
        }
        self.cancels_by = None;
        BridgeInput::CancelOverdue
    }
}

/// The agent's lines.
struct AgentLines {
    pipe: Receiver,
    frames: Frames,
    ready: std::vec::IntoIter<Frame>,
    ended: bool,
    /// The end was told.
    is_told: bool,
}

impl AgentLines {
    /// `None` at the end, and never again. May be cancelled and called again.
    async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            for frame in self.ready.by_ref() {
                if let Frame::Line(line) = frame {
                    return Some(line);
                }
            }
            if self.ended {
                if std::mem::replace(&mut self.is_told, true) {
                    return std::future::pending().await;
                }
                return None;
            }
            let mut chunk = Vec::with_capacity(READ);
            if let Ok(1..) = self.pipe.read_buf(&mut chunk).await {
                self.ready = self.frames.push(&chunk).into_iter();
            } else {
                self.ended = true;
                self.ready = self.frames.end().into_iter().collect::<Vec<_>>().into_iter();
            }
        }
    }
}
