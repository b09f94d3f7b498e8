//! One client of a run: its identity, its requests, and the events that it follows.

use super::follower::Follower;
use super::lines::{self, Line};
use super::protocol::{
    Failure, FailureKind, Hello, PROTOCOL, REQUEST_MAX, Request, done_line, end_line, event_line, failure_line,
    hello_line, parse_request,
};
use super::server::Shared;
use crate::Command;
use std::os::fd::AsFd as _;
use std::time::Duration;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::time::timeout;

/// A client that takes no bytes for so long is cut; it can come back and go on where it was.
const TAKES_WITHIN: Duration = Duration::from_secs(10);
/// A loop takes commands between any two lines of its agent.
const TAKEN_WITHIN: Duration = Duration::from_secs(5);
/// A client that follows nothing and asks nothing.
const IDLE: Duration = Duration::from_mins(5);
/// After the run's end, for a request that is on its way.
const LAST_REQUEST: Duration = Duration::from_millis(100);
/// Events in one write, and bytes: requests are looked for in between.
const BATCH: usize = 64;
const BATCH_BYTES: usize = 256 * 1024;

/// The connection is over.
struct ClientGone;

/// One line, if the socket has room for it, and no more.
pub(super) fn turn_away(stream: &UnixStream, failure: &Failure) {
    let _ = stream.try_write(failure_line(None, failure).as_bytes());
}

pub(super) async fn serve(stream: UnixStream, shared: &Shared) {
    if let Err(failure) = judge(&stream) {
        return turn_away(&stream, &failure);
    }
    let (reader, writer) = stream.into_split();
    let connection = Connection { reader: BufReader::new(reader), writer, line: Vec::new(), follower: None, shared };
    // However it ends, there is nobody left to tell.
    let _ = connection.run().await;
}

/// Same user, and nothing that this run has started.
fn judge(stream: &UnixStream) -> Result<(), Failure> {
    let refused = |why: String| Failure::new(FailureKind::Refused, format!("refused: {why}"));
    let peer = stream.peer_cred().map_err(|error| refused(error.to_string()))?;
    process::judge_peer(stream.as_fd(), peer.uid(), peer.pid()).map_err(|why| refused(why.to_string()))
}

struct Following {
    follower: Follower,
    lines: bool,
    /// The recording was read to its end.
    is_caught_up: bool,
}

struct Connection<'a> {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
    line: Vec<u8>,
    follower: Option<Following>,
    shared: &'a Shared,
}

impl Connection<'_> {
    async fn run(mut self) -> Result<(), ClientGone> {
        let hello = Hello { protocol: PROTOCOL, run: self.shared.run.clone(), pid: std::process::id() };
        self.send(&hello_line(&hello)).await?;
        let mut changes = self.shared.changes.subscribe();
        loop {
            let is_over = changes.borrow_and_update().is_over;
            self.pump().await?;
            let follows = self.follower.is_some();
            let has_more = self.follower.as_ref().is_some_and(|following| !following.is_caught_up);
            if is_over && !has_more {
                if !follows && self.has_late_request().await {
                    let line = std::mem::take(&mut self.line);
                    self.request(&line).await?;
                    continue;
                }
                return self.say_end().await;
            }
            let line = tokio::select! {
                biased;
                line = lines::read(&mut self.reader, &mut self.line, REQUEST_MAX) => line,
                () = std::future::ready(()), if has_more => {
                    // Other clients are on this thread, too.
                    tokio::task::yield_now().await;
                    continue;
                }
                _ = changes.changed() => continue,
                () = tokio::time::sleep(IDLE), if !follows => return Err(ClientGone),
            };
            match line {
                Ok(Line::Whole) => {
                    let line = std::mem::take(&mut self.line);
                    self.request(&line).await?;
                }
                Ok(Line::TooLong) => {
                    let most = format!("a request is at most {} KiB long", REQUEST_MAX / 1024);
                    return self.send(&failure_line(None, &Failure::new(FailureKind::TooLong, most))).await;
                }
                Ok(Line::End) | Err(_) => return Err(ClientGone),
            }
        }
    }

    /// What was asked before the end has an answer.
    async fn has_late_request(&mut self) -> bool {
        let asked = lines::read(&mut self.reader, &mut self.line, REQUEST_MAX);
        matches!(timeout(LAST_REQUEST, asked).await, Ok(Ok(Line::Whole)))
    }

    async fn send(&mut self, text: &str) -> Result<(), ClientGone> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match timeout(TAKES_WITHIN, self.writer.write(rest)).await {
                Ok(Ok(sent @ 1..)) => rest = &rest[sent..],
                _ => return Err(ClientGone),
            }
        }
        Ok(())
    }

    /// The next events, where some are wanted.
    async fn pump(&mut self) -> Result<(), ClientGone> {
        let Some(following) = &mut self.follower else { return Ok(()) };
        let mut text = String::new();
        following.is_caught_up = false;
        for _ in 0..BATCH {
            match following.follower.next_event() {
                Ok(Some(numbered)) => text.push_str(&event_line(&numbered, following.lines)),
                Ok(None) => {
                    following.is_caught_up = true;
                    break;
                }
                Err(_) => return Err(ClientGone),
            }
            if text.len() > BATCH_BYTES {
                break;
            }
        }
        self.send(&text).await
    }

    async fn say_end(&mut self) -> Result<(), ClientGone> {
        match &self.follower {
            Some(following) => {
                let line = end_line(following.follower.seq());
                self.send(&line).await
            }
            None => Ok(()),
        }
    }

    async fn request(&mut self, line: &[u8]) -> Result<(), ClientGone> {
        let (id, request) = parse_request(line);
        let done = match request {
            Ok(request) => self.perform(request).await,
            Err(failure) => Err(failure),
        };
        let response = match done {
            Ok(Done::Yes) => done_line(&id, None),
            Ok(Done::Status) => done_line(&id, Some(&self.shared.status())),
            Err(failure) => failure_line(Some(&id), &failure),
        };
        self.send(&response).await
    }

    async fn perform(&mut self, request: Request) -> Result<Done, Failure> {
        match request {
            Request::Status => return Ok(Done::Status),
            Request::Events { from, index, lines } => self.follow((from, index), lines)?,
            Request::Answer { text } => self.answer(text).await?,
            Request::Steer { text } => self.command(Command::Steer(text)).await?,
            Request::Pause => self.command(Command::Pause).await?,
            Request::Resume => self.command(Command::Resume).await?,
            Request::Stop => self.command(Command::Stop).await?,
            Request::StopNow => self.command(Command::StopNow).await?,
        }
        Ok(Done::Yes)
    }

    fn follow(&mut self, from: (u64, u32), lines: bool) -> Result<(), Failure> {
        let invalid = |what: String| Failure::new(FailureKind::Invalid, what);
        if self.follower.is_some() {
            return Err(invalid("this connection follows events already; open another one".into()));
        }
        let follower = Follower::open(&self.shared.events, self.shared.price, from)
            .map_err(|error| invalid(format!("the recording cannot be read: {error}")))?;
        self.follower = Some(Following { follower, lines, is_caught_up: false });
        Ok(())
    }

    async fn command(&self, command: Command) -> Result<(), Failure> {
        let run = &self.shared.run;
        if self.shared.changes.borrow().is_over {
            return Err(Failure::new(FailureKind::Over, format!("run {run} has ended")));
        }
        match timeout(TAKEN_WITHIN, self.shared.commands.send(command)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Failure::new(FailureKind::Over, format!("run {run} has ended"))),
            Err(_) => Err(self.not_taken()),
        }
    }

    fn not_taken(&self) -> Failure {
        let run = &self.shared.run;
        Failure::new(FailureKind::NotTaken, format!("run {run} did not take the command; is its output held up?"))
    }

    /// Done when the run has taken it.
    async fn answer(&self, text: String) -> Result<(), Failure> {
        let run = &self.shared.run;
        let Some(question) = self.shared.status().question else {
            return Err(Failure::new(FailureKind::NotAsking, format!("run {run} asks nothing")));
        };
        let mut changes = self.shared.changes.subscribe();
        self.command(Command::Answer(text)).await?;
        let is_open = || self.shared.status().question.is_some_and(|open| open.id == question.id);
        let taken = async {
            while is_open() && !changes.borrow_and_update().is_over {
                if changes.changed().await.is_err() {
                    break;
                }
            }
        };
        let in_time = timeout(TAKEN_WITHIN, taken).await.is_ok();
        if in_time && !is_open() { Ok(()) } else { Err(self.not_taken()) }
    }
}

enum Done {
    Yes,
    Status,
}
