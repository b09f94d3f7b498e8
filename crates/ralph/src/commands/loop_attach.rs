//! `ralph attach [RUN]`: the screen, or plain lines, on a run that works elsewhere. The run goes on whoever comes and leaves.

use super::loop_reach::find_live;
use super::loop_run::{EndSignals, Show, wait_for_screen};
use super::{loop_prices, loop_screen};
use crate::failure::{Ended, Failure};
use crate::say;
use cycle::{EventKind, LoopEvent, VerdictKind};
use resolve::{Environment, runtime};
use runner::run_socket::{Client, Events, Follower, Request, SocketError};
use runner::{Command, Folder, Sink};
use tokio::sync::mpsc;
use wire::ExitCode;

/// Keys that wait to be sent; nobody types faster.
const COMMANDS_MAX: usize = 16;

const USAGE: &str = "usage: ralph attach [RUN] [--from SEQ] [--json] [--no-tui] [--stay] [--timestamps]";

struct Wanted {
    name: Option<String>,
    from: u64,
    json: bool,
    plain: bool,
    stay: bool,
    timestamps: bool,
}

fn parse(words: &[String]) -> Result<Wanted, Failure> {
    let mut wanted = Wanted { name: None, from: 1, json: false, plain: false, stay: false, timestamps: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--json" => wanted.json = true,
            "--no-tui" => wanted.plain = true,
            "--stay" => wanted.stay = true,
            "--timestamps" => wanted.timestamps = true,
            "--from" => {
                let number = words.next().and_then(|text| text.parse().ok());
                wanted.from = number.ok_or_else(|| Failure::usage("option '--from' needs the number of an event."))?;
            }
            flag if flag.starts_with('-') => {
                return Err(Failure::usage(format!("unknown option '{flag}'")).hint(USAGE));
            }
            name if wanted.name.is_none() => wanted.name = Some(name.to_owned()),
            name => return Err(Failure::usage(format!("'{name}' is one run too many")).hint(USAGE)),
        }
    }
    Ok(wanted)
}

pub fn run(words: &[String], environment: &Environment) -> Ended {
    let wanted = parse(words)?;
    let folder = Folder::new(&environment.cwd);
    let id = find_live(&folder, wanted.name.as_deref())?;
    let show = Show::choose(wanted.json, wanted.plain, environment);
    let attached = Attached { folder, id, from: (wanted.from, 0), exit: None };
    let runtime = runtime()?;
    if show == Show::Screen {
        return Ok(runtime.block_on(attached.on_screen(wanted.stay))?);
    }
    let zone = wanted.timestamps.then(jiff::tz::TimeZone::system);
    Ok(runtime.block_on(attached.follow_in_lines(show.sink(zone)))?)
}

/// Where events come from.
enum Source {
    Live(Events),
    Recorded(Box<Follower>),
}

struct Attached {
    folder: Folder,
    id: String,
    /// The next event that is wanted.
    from: (u64, u32),
    /// Of the verdict, once there is one.
    exit: Option<VerdictKind>,
}

impl Attached {
    async fn open(&self, lines: bool) -> Result<Source, SocketError> {
        match Client::connect(&self.folder, &self.id).await?.events(self.from, lines).await {
            Ok(events) => Ok(Source::Live(events)),
            // It ended while we asked.
            Err(SocketError::Cut(_)) => self.recorded(),
            Err(error) => Err(error),
        }
    }

    /// The next event. A client that was cut because it was slow comes back and goes on; where the run has ended by then,
    /// the rest is in the recording.
    async fn next(&mut self, source: &mut Source, lines: bool) -> Result<Option<LoopEvent>, SocketError> {
        let numbered = loop {
            match source {
                Source::Live(events) => match events.next().await {
                    Err(SocketError::Cut(_)) => {
                        *source = match self.open(lines).await {
                            Ok(again) => again,
                            Err(_) => self.recorded()?,
                        };
                    }
                    other => break other?,
                },
                Source::Recorded(follower) => match follower.next_event() {
                    Ok(None) if self.exit.is_none() => return Err(SocketError::Cut(self.id.clone())),
                    Ok(numbered) => break numbered,
                    Err(source) => return Err(SocketError::Io { path: self.folder.events(&self.id), source }),
                },
            }
        };
        Ok(numbered.map(|numbered| {
            self.from = (numbered.seq, numbered.index + 1);
            if let EventKind::Verdict(verdict) = &numbered.event.kind {
                self.exit = Some(verdict.verdict);
            }
            numbered.event
        }))
    }

    fn recorded(&self) -> Result<Source, SocketError> {
        let path = self.folder.events(&self.id);
        let follower = Follower::open(&path, loop_prices::usd, self.from);
        follower.map(|follower| Source::Recorded(Box::new(follower))).map_err(|source| SocketError::Io { path, source })
    }

    fn exit(&self) -> ExitCode {
        self.exit.map_or(ExitCode::Success, VerdictKind::exit)
    }

    /// To the end of the run, whose exit code is ours.
    async fn follow_in_lines(mut self, mut sink: Box<dyn Sink>) -> Result<ExitCode, SocketError> {
        let mut events = self.open(true).await?;
        while let Some(event) = self.next(&mut events, true).await? {
            sink.event(&event);
        }
        Ok(self.exit())
    }

    /// Until somebody leaves, or to the end of the run.
    async fn on_screen(mut self, stay: bool) -> Result<ExitCode, SocketError> {
        let mut events = self.open(false).await?;
        let (sender, mut commands) = mpsc::channel(COMMANDS_MAX);
        let loop_screen::Screen { mut sink, mut left } = loop_screen::open_attached(sender, stay);
        let mut signals = EndSignals::open();
        let mut last = None;
        let ended = loop {
            tokio::select! {
                event = self.next(&mut events, false) => match event {
                    Ok(Some(event)) => {
                        sink.event(&event);
                        last = Some(event).filter(|event| matches!(event.kind, EventKind::Verdict(_))).or(last);
                    }
                    Ok(None) => break Ok(()),
                    Err(error) => break Err(error),
                },
                Some(command) = commands.recv() => {
                    if let Err(error) = self.send(command).await {
                        let now = u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0);
                        sink.event(&EventKind::Warning { iteration: None, text: error.to_string() }.at(now));
                    }
                }
                _ = &mut left => {
                    tui::restore();
                    say::out(&format!("Run {} goes on. Come back with: ralph attach\n", self.id));
                    return Ok(ExitCode::Success);
                }
                () = EndSignals::next(&mut signals) => {
                    tui::restore();
                    return Ok(ExitCode::Terminated);
                }
            }
        };
        drop(sink);
        let leaves = !stay || ended.is_err();
        if wait_for_screen(left, leaves, signals).await
            && let Some(event) = last
        {
            Show::Plain.sink(None).event(&event);
        }
        ended.map(|()| self.exit())
    }

    async fn send(&self, command: Command) -> Result<(), SocketError> {
        let request = match command {
            Command::Pause => Request::Pause,
            Command::Resume => Request::Resume,
            Command::Stop => Request::Stop,
            Command::StopNow | Command::Terminate => Request::StopNow,
            Command::Steer(text) => Request::Steer { text },
            Command::Answer(text) => Request::Answer { text },
        };
        Client::connect(&self.folder, &self.id).await?.tell(&request).await
    }
}
