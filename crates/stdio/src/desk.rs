//! What is waiting to be done, and everything that may happen outside a turn.

use super::stdin::{self, Line};
use agent::session::{Agents, News, Session, State};
use agent::{InputFormat, StdinKind, warn};
use std::rc::Rc;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;
use wire::{ExitCode, Input, UserInput};

/// A timer needs some end; a day is for ever to it.
const FOR_EVER: Duration = Duration::from_hours(24);

/// One thing that happened outside the turn.
pub enum Happened {
    Line(Option<Line>),
    Signal(ExitCode),
    News(News),
    ReaderLeft,
}

/// What comes of waiting.
pub enum Outside {
    /// A turn can begin.
    Work,
    /// Nothing is queued and nothing can come any more.
    Over,
    Stop(ExitCode),
}

pub struct Desk {
    lines: Option<mpsc::Receiver<Line>>,
    interrupt: Signal,
    terminate: Signal,
    hangup: Option<Signal>,
    bad_lines: u32,
    /// The client's `initialize` has to come before anything is done.
    awaits_client: bool,
    /// Since when only background tasks keep us here.
    lingering_since: Option<Instant>,
}

impl Desk {
    pub fn open(session: &Session, input: InputFormat, prompt: Option<String>) -> std::io::Result<Self> {
        let options = session.options();
        let lines = match (input, options.stdin) {
            (InputFormat::Text, _) | (_, StdinKind::Closed) => None,
            _ => Some(stdin::lines()?),
        };
        match prompt {
            Some(text) => session.prompt(Box::new(UserInput::text(text))),
            None if input == InputFormat::Text && session.is_deferred() => session.go_on(),
            None => {}
        }
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: options.ends_with_terminal.then(|| signal(SignalKind::hangup())).transpose()?,
            bad_lines: 0,
            awaits_client: options.await_initialize && lines.is_some(),
            lines,
            lingering_since: None,
        })
    }

    pub fn saw_bad_line(&self) -> bool {
        self.bad_lines > 0
    }

    /// Waits for the next thing to do.
    pub async fn next(&mut self, session: &Rc<Session>) -> Outside {
        loop {
            if !self.awaits_client && session.has_next() {
                self.lingering_since = None;
                return Outside::Work;
            }
            self.rest(session).await;
            let Some(until) = self.stays_until(session) else {
                return Outside::Over;
            };
            let happened = tokio::select! {
                happened = self.happening(session) => happened,
                () = tokio::time::sleep_until(until) => continue,
            };
            if let Some(exit) = self.handle(session, happened).await {
                return Outside::Stop(exit);
            }
        }
    }

    /// Tells the client that nothing is being done, unless agents still work in the background.
    pub async fn rest(&self, session: &Session) {
        if !session.has_next() && session.agents() == Agents::None && !session.has_task_news() {
            session.tell_state(State::Idle).await;
        }
    }

    /// Until when we stay although nothing is queued; `None` where there is nothing to stay for.
    fn stays_until(&mut self, session: &Session) -> Option<Instant> {
        let now = Instant::now();
        if self.lines.is_some() {
            return Some(now + FOR_EVER);
        }
        // It comes within the hour, and the turn that it begins is part of the work.
        if session.has_wakeup() {
            return Some(now + FOR_EVER);
        }
        if !session.has_tasks() {
            return None;
        }
        let since = *self.lingering_since.get_or_insert(now);
        let linger = &session.options().limits.linger;
        let limit = match session.agents() {
            Agents::Awaited => linger.awaited_agents.unwrap_or(FOR_EVER),
            Agents::Wanted => linger.agents.unwrap_or(FOR_EVER),
            Agents::None => linger.shells,
        };
        let until = since + limit;
        (until > now).then_some(until)
    }

    /// Waits for one thing to happen. May be dropped at any time without losing anything.
    pub async fn happening(&mut self, session: &Session) -> Happened {
        let room = session.has_room();
        tokio::select! {
            _ = self.terminate.recv() => Happened::Signal(ExitCode::Terminated),
            () = hung_up(self.hangup.as_mut()) => Happened::Signal(ExitCode::Terminated),
            _ = self.interrupt.recv() => Happened::Signal(ExitCode::Interrupted),
            () = session.output().writer().reader_left() => Happened::ReaderLeft,
            news = session.news(room) => Happened::News(news),
            line = receive(self.lines.as_mut()), if room && self.lines.is_some() => Happened::Line(line),
        }
    }

    /// Waits for a signal alone.
    pub async fn signalled(&mut self) -> ExitCode {
        tokio::select! {
            _ = self.terminate.recv() => ExitCode::Terminated,
            () = hung_up(self.hangup.as_mut()) => ExitCode::Terminated,
            _ = self.interrupt.recv() => ExitCode::Interrupted,
        }
    }

    /// Does what the happening asks for; `Some` where it asks us to stop.
    pub async fn handle(&mut self, session: &Rc<Session>, happened: Happened) -> Option<ExitCode> {
        match happened {
            Happened::Signal(exit) => return Some(exit),
            Happened::ReaderLeft => return Some(ExitCode::Failure),
            Happened::Line(None) => {
                self.lines = None;
                self.awaits_client = false;
                session.client_left();
            }
            Happened::Line(Some(Line::TooLong)) => self.bad_line("a line on stdin is over 64 MiB and was thrown away"),
            Happened::Line(Some(Line::Bytes(line))) => match Input::parse(&line) {
                Ok(Some(input)) => self.take(session, input).await,
                Ok(None) => {}
                Err(error) => self.bad_line(&error.to_string()),
            },
            Happened::News(news) => session.take_news(news).await,
        }
        None
    }

    fn bad_line(&mut self, problem: &str) {
        self.bad_lines += 1;
        warn(&format!("error: {problem}; the line was skipped"));
    }

    async fn take(&mut self, session: &Session, input: Input) {
        match input {
            Input::User(prompt) => session.prompt(prompt),
            Input::ControlRequest { request_id, request } => {
                let is_first = request["subtype"] == "initialize";
                session.request(request_id, request).await;
                self.awaits_client &= !is_first;
            }
            Input::ControlResponse(line) => session.answer(line.response),
            Input::ControlCancel(_) | Input::KeepAlive | Input::Unknown(_) => {}
        }
    }
}

async fn hung_up(signal: Option<&mut Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

async fn receive(lines: Option<&mut mpsc::Receiver<Line>>) -> Option<Line> {
    match lines {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}
