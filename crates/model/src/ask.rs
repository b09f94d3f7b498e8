//! One asking, from the first attempt to an answer or a final failure.
//!
//! A small state machine: send, read, perhaps wait, send again. Every await is on something that the state
//! holds, so [`Ask::next`] may be dropped half-way (in a `select!`) and called again without losing a
//! byte; dropping the [`Ask`] itself cancels. Once a block is finished nothing is asked again: what the
//! client has seen is kept, and the reply says that it is incomplete.

use crate::assemble::{Assembler, Damage, Finished, FrameOutcome, StreamProgress};
use crate::client::{BETA_HEADER, Client};
use crate::failure::{Failure, FailureKind};
use crate::frame;
use crate::http;
use crate::missing_usage;
use crate::provider::Operation;
use crate::refused_field::{self, Reduction};
use crate::request::Request;
use crate::retry::{self, FailureCounts, RetryDecision, RetryLimits};
use crate::stream::{Decoder, StreamError};
use bytes::Bytes;
use jiff::Timestamp;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::hash::{BuildHasher as _, RandomState};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep, timeout, timeout_at};

/// A finished stream's last bytes are read in the background so that the connection can be used again;
/// a server that does not end its response by then loses the connection.
const DRAIN_WAIT: Duration = Duration::from_secs(1);
/// Fields and betas that one request may lose. A server that refuses more speaks another API.
const REDUCTIONS_MAX: u32 = 3;

#[derive(Debug)]
pub enum Event {
    /// The attempt failed; the next one follows after the delay. Comes before the wait.
    Retry(wire::Retry),
    /// The JSON of each of the stream's events that came together, as it came, without blanks.
    Partials(Vec<Bytes>),
    /// A message begins. After a [`Event::Retry`] it replaces the one before.
    MessageStart {
        message: Value,
        request_id: Option<String>,
        ttft_ms: u64,
    },
    /// A content block is whole. Comes before the partial of its `content_block_stop`.
    Block {
        index: usize,
        block: Value,
        /// Why the tool input could not be read; the block's `input` then holds its text.
        bad_input: Option<String>,
    },
    Finished(Box<Reply>),
    Failed(Box<Failure>),
}

#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub id: String,
    pub model: String,
    pub stop_reason: Option<String>,
    pub stop_sequence: Option<String>,
    pub stop_details: Option<Value>,
    /// Final counts: those of the start, updated by those of the end.
    pub usage: wire::Usage,
    /// The counts of `message_start` as they came.
    pub start_usage: Value,
    pub blocks: Vec<Value>,
    /// The stream broke after at least one whole block. Those are here; the broken one is not.
    pub incomplete: bool,
    /// What broke it.
    pub incomplete_because: Option<String>,
    pub request_id: Option<String>,
    /// Spent on the API over all attempts, waits between them not counted.
    pub api_ms: u64,
    /// From the last attempt's start to `message_start`.
    pub ttft_ms: Option<u64>,
    /// From the last attempt's start to the first content.
    pub ttft_stream_ms: Option<u64>,
}

type Opening<'a> = Pin<Box<dyn Future<Output = Result<reqwest::Response, Box<Failure>>> + Send + 'a>>;

enum State<'a> {
    Ready,
    Opening(Opening<'a>),
    Reading(Box<Reading>),
    Waiting(Pin<Box<Sleep>>),
    Over,
}

pub struct Ask<'a> {
    client: &'a Client,
    state: State<'a>,
    queue: VecDeque<Event>,
    model: String,
    headers: reqwest::header::HeaderMap,
    body: Bytes,
    /// Tools that are sent under another name.
    names: Vec<(String, String)>,
    /// What was left out because the server refused it.
    reductions: u32,
    partials: bool,
    limits: RetryLimits,
    tally: FailureCounts,
    attempt_started: Instant,
    api_time: Duration,
}

impl<'a> Ask<'a> {
    pub(crate) fn new(client: &'a Client, request: &Request) -> Self {
        let prepared = client.headers(request).and_then(|headers| {
            let body = client.body(Operation::Stream, request)?;
            Ok((headers, body))
        });
        let mut ask = Self {
            client,
            state: State::Ready,
            queue: VecDeque::new(),
            model: request.model_id().to_owned(),
            headers: reqwest::header::HeaderMap::new(),
            body: Bytes::new(),
            names: client.changed_names(request),
            reductions: 0,
            partials: true,
            limits: RetryLimits {
                max_retries: client.config.max_retries,
                overload_retries: request.overload_retries,
                backoff: client.config.backoff,
                watchdog: client.config.retry_watchdog,
            },
            tally: FailureCounts::default(),
            attempt_started: Instant::now(),
            api_time: Duration::ZERO,
        };
        match prepared {
            Ok((headers, body)) => (ask.headers, ask.body) = (headers, body),
            Err(failure) => ask.fail(*failure),
        }
        for known in client.refused() {
            ask.go_without(&known);
        }
        ask
    }

    /// Leaves something out of the request. Whether that changed anything.
    fn go_without(&mut self, reduction: &Reduction) -> bool {
        let betas = http::text(&self.headers, BETA_HEADER).unwrap_or_default().to_owned();
        let fewer = refused_field::reduced_betas(&betas, reduction);
        let has_fewer = fewer != betas;
        if has_fewer {
            self.headers.remove(BETA_HEADER);
            let value = HeaderValue::try_from(fewer).ok().filter(|value| !value.is_empty());
            self.headers.extend(value.map(|value| (HeaderName::from_static(BETA_HEADER), value)));
        }
        let body = refused_field::reduced_body(&self.body, reduction);
        let is_changed = has_fewer || body.is_some();
        self.body = body.map_or_else(|| self.body.clone(), Bytes::from);
        is_changed
    }

    /// The request without what the server refuses by name, told as a retry without a wait.
    fn reduce(&mut self, failure: &Failure) -> Option<wire::Retry> {
        let betas = http::text(&self.headers, BETA_HEADER).unwrap_or_default();
        let reduction = refused_field::asked_for(failure, betas, &self.body)?;
        self.reductions += 1;
        if self.reductions > REDUCTIONS_MAX || !self.go_without(&reduction) {
            return None;
        }
        if reduction.is_lasting() {
            self.client.note_refused(reduction);
        }
        Some(self.retry(failure, Duration::ZERO))
    }

    fn retry(&self, failure: &Failure, delay: Duration) -> wire::Retry {
        wire::Retry {
            attempt: self.tally.failures,
            max_retries: self.limits.max_retries,
            retry_delay_ms: delay.as_millis() as u64,
            error_status: failure.status,
            error: failure.category.into(),
            ..wire::Retry::default()
        }
    }

    /// Saves the work of making [`Event::Partials`] that nobody will look at.
    #[must_use]
    pub fn without_partials(mut self) -> Self {
        self.partials = false;
        self
    }

    /// The next thing that happened. After `Finished` or `Failed` the asking is over.
    pub async fn next(&mut self) -> Event {
        loop {
            if let Some(event) = self.queue.pop_front() {
                return event;
            }
            match &mut self.state {
                State::Ready => {
                    self.attempt_started = Instant::now();
                    let opening = self.client.open(self.model.clone(), self.headers.clone(), self.body.clone());
                    self.state = State::Opening(Box::pin(opening));
                }
                State::Opening(opening) => match opening.as_mut().await {
                    Ok(response) => {
                        let format = self.client.stream_format(&self.model);
                        let decoder = Decoder::new(format, self.client.config.profile.format(), &self.names);
                        let started = self.attempt_started;
                        let reading = Reading::new(self.client, &self.model, response, decoder, started, self.partials);
                        self.state = State::Reading(Box::new(reading));
                    }
                    Err(failure) => self.fail(*failure),
                },
                State::Reading(reading) => {
                    if let Some(end) = reading.step(&mut self.queue).await {
                        self.end(end);
                    }
                }
                State::Waiting(wait) => {
                    wait.as_mut().await;
                    self.state = State::Ready;
                }
                State::Over => {
                    let message = "this request has ended already; its result came before";
                    return Event::Failed(Box::new(Failure::new(FailureKind::Over, message)));
                }
            }
        }
    }

    /// Whether [`Self::next`] will answer without waiting.
    pub fn has_next(&self) -> bool {
        !self.queue.is_empty()
    }

    /// The stream is over, well or not.
    fn end(&mut self, end: End) {
        let State::Reading(reading) = std::mem::replace(&mut self.state, State::Over) else { return };
        let Reading { mut assembler, response, request_id, ttft, ttft_stream, .. } = *reading;
        let because = match (end, assembler.progress()) {
            (End::Stopped, _) => {
                drain(response);
                None
            }
            (End::Broken(_), StreamProgress::End) => None,
            (End::Broken(failure), StreamProgress::Blocks) => Some(failure.message),
            (End::Broken(failure), StreamProgress::Nothing) => {
                // Nobody has seen anything of this attempt, so clients are not told of it either.
                let is_quiet = failure.kind == FailureKind::Stream && ttft_stream.is_none();
                let failure = Failure { request_id: failure.request_id.or(request_id), ..failure };
                return self.fail_attempt(failure, is_quiet);
            }
        };
        if because.is_none() {
            let unclosed = std::iter::from_fn(|| assembler.close_open());
            self.queue.extend(unclosed.map(Event::from));
        }
        self.api_time += self.attempt_started.elapsed();
        let ms = |time: Option<Duration>| time.map(|time| time.as_millis() as u64);
        let reply = assembler.into_reply();
        self.queue.push_back(Event::Finished(Box::new(Reply {
            incomplete: because.is_some(),
            incomplete_because: because,
            request_id,
            api_ms: self.api_time.as_millis() as u64,
            ttft_ms: ms(ttft),
            ttft_stream_ms: ms(ttft_stream),
            usage: missing_usage::estimated(reply.usage, self.body.len(), &reply.blocks),
            ..reply
        })));
    }

    fn fail(&mut self, failure: Failure) {
        self.fail_attempt(failure, false);
    }

    /// The attempt is over without an answer: try again (and tell of it, unless that is to be quiet), or say why not.
    fn fail_attempt(&mut self, failure: Failure, is_quiet: bool) {
        let mut failure = self.client.scrubbed(failure);
        self.api_time += self.attempt_started.elapsed();
        self.tally.count(&failure);
        self.state = State::Over;
        if let Some(retry) = self.reduce(&failure) {
            self.queue.push_back(Event::Retry(retry));
            self.state = State::Ready;
            return;
        }
        match retry::decide_retry(self.tally, &self.limits, &failure, dice()) {
            RetryDecision::Retry(delay) => {
                let retry = self.retry(&failure, delay);
                self.queue.extend((!is_quiet).then_some(Event::Retry(retry)));
                self.state = State::Waiting(Box::pin(sleep(delay)));
                return;
            }
            RetryDecision::GiveUp if self.tally.failures > 1 => {
                failure.message = format!("{}; gave up after {} attempts", failure.message, self.tally.failures);
            }
            RetryDecision::GiveUp => {}
            RetryDecision::ResetsLater(wait) => {
                let reset = failure.reset_at.or_else(|| Timestamp::now().checked_add(wait).ok());
                failure.reset_at = reset;
                let when = reset.map_or_else(String::new, |at| format!("; the limit resets at {at:.0}"));
                failure.message.push_str(&when);
            }
        }
        failure.api_ms = self.api_time.as_millis() as u64;
        self.queue.push_back(Event::Failed(Box::new(failure)));
    }
}

impl From<Finished> for Event {
    fn from(Finished { index, block, bad_input }: Finished) -> Self {
        Self::Block { index, block, bad_input }
    }
}

/// How the reading of a stream ended.
enum End {
    /// With its `message_stop`.
    Stopped,
    /// In any other way.
    Broken(Failure),
}

/// A stream that is being read.
struct Reading {
    response: reqwest::Response,
    decoder: Decoder,
    assembler: Assembler,
    partials: bool,
    host: String,
    timeouts: crate::Timeouts,
    started: Instant,
    /// When the last bytes came, and when the last bytes with an event.
    fed: Instant,
    last_event: Instant,
    /// Since when we wait for bytes. Time in which nobody asked for any does not count as silence.
    waiting: Option<Instant>,
    request_id: Option<String>,
    ttft: Option<Duration>,
    ttft_stream: Option<Duration>,
}

impl Reading {
    fn new(
        client: &Client,
        model: &str,
        response: reqwest::Response,
        decoder: Decoder,
        started: Instant,
        partials: bool,
    ) -> Self {
        Self {
            request_id: http::request_id(response.headers()),
            response,
            decoder,
            assembler: Assembler::default(),
            partials,
            host: client.host_of(model),
            timeouts: client.config.timeouts,
            started,
            fed: Instant::now(),
            last_event: Instant::now(),
            waiting: None,
            ttft: None,
            ttft_stream: None,
        }
    }

    /// Takes every event that has arrived, or waits for more to arrive.
    async fn step(&mut self, queue: &mut VecDeque<Event>) -> Option<End> {
        loop {
            match self.decoder.next() {
                Ok(Some(data)) => {
                    if let Some(end) = self.digest(&data, queue) {
                        return Some(end);
                    }
                }
                Ok(None) => break,
                Err(StreamError::Exception { kind, message }) => {
                    return Some(End::Broken(Failure::stream(kind, &message, self.request_id.clone())));
                }
                Err(error) => return Some(self.broken(FailureKind::Garbled, &error.to_string())),
            }
        }
        if !queue.is_empty() {
            return None;
        }
        let since = *self.waiting.get_or_insert_with(Instant::now);
        let quiet = (since + self.timeouts.idle).min(self.last_event + self.timeouts.event);
        let deadline = quiet.min(self.started + self.timeouts.total);
        match timeout_at(deadline, self.response.chunk()).await {
            Ok(Ok(Some(chunk))) => {
                self.waiting = None;
                self.fed = Instant::now();
                self.decoder.feed(chunk);
                None
            }
            // Some APIs announce the end and then only close: what they announced is taken at the next step.
            Ok(Ok(None)) if self.decoder.close() == Ok(true) => None,
            Ok(Ok(None)) => Some(self.broken(FailureKind::Cut, "it ended early")),
            Ok(Err(error)) => Some(self.broken(FailureKind::Cut, &http::root(&error))),
            Err(_) => Some(self.stalled()),
        }
    }

    fn digest(&mut self, data: &Bytes, queue: &mut VecDeque<Event>) -> Option<End> {
        if let Some(piece) = frame::plain_piece(data) {
            let taken = self.assembler.take_text(&piece);
            return self.pass_on(taken, || data.clone(), queue);
        }
        // Bytes that are no text become replacement characters, as the format demands.
        let text = std::str::from_utf8(data).map_or_else(|_| String::from_utf8_lossy(data), Cow::Borrowed);
        let taken = match frame::parse(&text) {
            // A server that only ever pings keeps bytes flowing, so it is caught here.
            Ok(frame) if frame.kind.0 == "ping" => {
                return (self.last_event.elapsed() > self.timeouts.event).then(|| self.stalled());
            }
            Ok(frame) => self.assembler.take(&frame),
            Err(error) => Err(error.into()),
        };
        let compact = || match text {
            Cow::Borrowed(_) => frame::compact(data),
            Cow::Owned(text) => frame::compact(&Bytes::from(text)),
        };
        self.pass_on(taken, compact, queue)
    }

    /// Tells what an event did, and the event itself to those who want to see it.
    fn pass_on(
        &mut self,
        taken: Result<FrameOutcome, Damage>,
        raw: impl FnOnce() -> Bytes,
        queue: &mut VecDeque<Event>,
    ) -> Option<End> {
        self.last_event = self.fed;
        let mut stopped = false;
        match taken {
            Ok(FrameOutcome::Nothing) => {}
            Ok(FrameOutcome::Started(message)) => queue.push_back(self.start(message)),
            Ok(FrameOutcome::Content) => {
                self.ttft_stream.get_or_insert_with(|| self.started.elapsed());
            }
            Ok(FrameOutcome::Block(finished)) => queue.push_back(finished.into()),
            Ok(FrameOutcome::Stopped) => {
                queue.extend(std::iter::from_fn(|| self.assembler.close_open()).map(Event::from));
                stopped = true;
            }
            Ok(FrameOutcome::Error { kind, message }) => {
                return Some(End::Broken(Failure::stream(&kind, &message, self.request_id.clone())));
            }
            Err(damage) => return Some(self.broken(FailureKind::Garbled, &damage.to_string())),
        }
        if self.partials {
            match queue.back_mut() {
                Some(Event::Partials(pieces)) => pieces.push(raw()),
                _ => queue.push_back(Event::Partials(vec![raw()])),
            }
        }
        stopped.then_some(End::Stopped)
    }

    fn start(&mut self, message: Value) -> Event {
        let ttft = self.started.elapsed();
        self.ttft = Some(ttft);
        Event::MessageStart { message, request_id: self.request_id.clone(), ttft_ms: ttft.as_millis() as u64 }
    }

    fn stalled(&self) -> End {
        self.broken(FailureKind::Stalled, "nothing came for too long")
    }

    fn broken(&self, kind: FailureKind, why: &str) -> End {
        let id = crate::failure::in_brackets(self.request_id.as_deref());
        End::Broken(Failure::new(kind, format!("the answer of {} was cut off: {why}{id}", self.host)))
    }
}

fn drain(mut response: reqwest::Response) {
    let rest = async move { while let Ok(Some(_)) = response.chunk().await {} };
    // Nobody waits for it: it ends by itself, with the runtime at the latest.
    drop(tokio::spawn(async move { timeout(DRAIN_WAIT, rest).await }));
}

/// A number from 0 to 1. The standard library's hash keys are random, and waiting needs no better dice.
fn dice() -> f64 {
    f64::from(RandomState::new().hash_one(0u8) as u32) / f64::from(u32::MAX)
}

#[cfg(test)]
#[path = "ask_tests.rs"]
mod tests;
