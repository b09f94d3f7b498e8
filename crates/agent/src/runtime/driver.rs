//! One machine at work: its effects are executed in order, and what comes of them is handed back.
//!
//! Work is a future. Dropping it stops it, and what it started is gone before the machine is told.

use futures_util::future::{AbortHandle, Abortable, LocalBoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use std::collections::HashMap;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use turn::{Effect, Input, Now, Ticket, Turn, step};

/// Blocks of an answer that have come and are not taken yet. Whoever has more waits.
const EARLY_MAX: usize = 64;

/// How effects are done.
pub trait Executor {
    /// What the machine has to know of the rest of the program at this moment.
    fn now(&self) -> Now;

    /// Work that comes back, with its one answer. What comes before it (the blocks of an answer, calls inside a tool) goes
    /// through `early`.
    fn work(&self, effect: Effect, early: Sender<Input>) -> LocalBoxFuture<'static, Input>;

    /// Something that is done at once and does not come back.
    fn perform(&self, effect: Effect) -> LocalBoxFuture<'_, ()>;

    /// Ends when everything that dropped work had started is gone.
    fn gone(&self) -> LocalBoxFuture<'static, ()>;
}

pub struct Driver<E> {
    turn: Turn,
    executor: E,
    running: FuturesUnordered<LocalBoxFuture<'static, (Ticket, Input)>>,
    handles: HashMap<Ticket, AbortHandle>,
    early: Sender<Input>,
    arrived: Receiver<Input>,
    /// The end of work whose early inputs are not all taken yet.
    ended: Option<Input>,
}

impl<E: Executor> Driver<E> {
    pub fn new(turn: Turn, executor: E) -> Self {
        let (early, arrived) = channel(EARLY_MAX);
        Self { turn, executor, running: FuturesUnordered::new(), handles: HashMap::new(), early, arrived, ended: None }
    }

    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// The next thing that comes of running work. May be dropped at any time without losing anything.
    pub async fn next(&mut self) -> Input {
        if let Some(input) = self.ended.take_if(|_| self.arrived.is_empty()) {
            return input;
        }
        tokio::select! {
            biased;
            Some(input) = self.arrived.recv() => input,
            Some((ticket, input)) = self.running.next(), if self.ended.is_none() && !self.running.is_empty() => {
                self.handles.remove(&ticket);
                match self.arrived.try_recv() {
                    // Blocks that came in the very same moment go before the end of their answer.
                    Ok(early) => {
                        self.ended = Some(input);
                        early
                    }
                    Err(_) => input,
                }
            }
        }
    }

    /// One step with everything that it wants done. Must not be dropped half-way: effects would be lost.
    pub async fn feed(&mut self, input: Input) {
        for effect in step(&mut self.turn, input, self.executor.now()) {
            match effect {
                Effect::Cancel { ticket } => {
                    if let Some(handle) = self.handles.get(&ticket) {
                        handle.abort();
                    }
                }
                Effect::SetTimer { ticket, after_ms } => {
                    let timer = async move {
                        tokio::time::sleep(Duration::from_millis(after_ms)).await;
                        Input::TimerFired { ticket }
                    };
                    self.start(ticket, Box::pin(timer));
                }
                effect => match effect.ticket() {
                    Some(ticket) => {
                        let work = self.executor.work(effect, self.early.clone());
                        self.start(ticket, work);
                    }
                    None => self.executor.perform(effect).await,
                },
            }
        }
    }

    /// Steps until no turn runs.
    pub async fn finish_turn(&mut self) {
        while !self.turn.is_idle() {
            let input = self.next().await;
            self.feed(input).await;
        }
    }

    fn start(&mut self, ticket: Ticket, work: LocalBoxFuture<'static, Input>) {
        let (handle, registration) = AbortHandle::new_pair();
        self.handles.insert(ticket, handle);
        let gone = self.executor.gone();
        self.running.push(Box::pin(async move {
            // Dropped here where it was cancelled, before the wait for what it started.
            let ended = Abortable::new(work, registration).await;
            let input = if let Ok(input) = ended {
                input
            } else {
                gone.await;
                Input::Stopped { ticket }
            };
            (ticket, input)
        }));
    }
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
