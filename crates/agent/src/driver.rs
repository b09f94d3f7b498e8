//! One machine at work: its effects are executed in order, and what comes of them is handed back.
//!
//! Work is a future. Dropping it stops it, and what it started is gone before the machine is told. A panic, wherever it
//! happens, is an input like any other: the machine still ends its turn with a result.

use futures_util::FutureExt as _;
use futures_util::future::{AbortHandle, Abortable, LocalBoxFuture};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use std::any::Any;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use turn::{Effect, Input, Now, Ticket, Turn, step};

/// Blocks of an answer that have come and are not taken yet. Whoever has more waits.
const EARLY_MAX: usize = 64;

/// Times in a row that the end of a broken turn may break as well.
const BREAKS_MAX: usize = 3;

/// How effects are done.
pub trait Execute: Clone + 'static {
    /// What the machine has to know of the rest of the program at this moment.
    fn now(&self) -> Now;

    /// Sees what the machine hears, and what it wants done. Only looks on.
    fn heard(&self, _input: &Input) {}

    fn wanted(&self, _effects: &[Effect]) {}

    /// The answer of work that needs no waiting, or the effect as it was.
    #[expect(
        clippy::result_large_err,
        reason = "the effect goes back to where it came from; a box would be one for each"
    )]
    fn at_once(&self, effect: Effect) -> Result<Input, Effect> {
        Err(effect)
    }

    /// Work that comes back, with its one answer. What comes before it (the blocks of an answer, calls inside a tool) goes
    /// through `early`.
    fn work(&self, effect: Effect, early: Sender<Input>) -> LocalBoxFuture<'static, Input>;

    /// Something that is done at once and does not come back.
    fn perform(&self, effect: Effect) -> impl Future<Output = ()>;

    /// Asks work to end by itself, with its own answer. False where it can only be dropped.
    fn ask_to_end(&self, _ticket: Ticket) -> bool {
        false
    }

    /// Ends when everything that dropped work had started is gone.
    fn gone(&self) -> impl Future<Output = ()>;
}

pub struct Driver<E> {
    turn: Rc<RefCell<Turn>>,
    executor: E,
    running: FuturesUnordered<LocalBoxFuture<'static, (Ticket, Input)>>,
    handles: HashMap<Ticket, AbortHandle>,
    early: Sender<Input>,
    arrived: Receiver<Input>,
    /// The end of work whose early inputs are not all taken yet.
    ended: Option<Input>,
    /// Answers that were there at once.
    ready: VecDeque<Input>,
}

/// The machine or an effect panicked, with these words.
struct Panicked(String);

impl<E: Execute> Driver<E> {
    pub fn new(turn: Rc<RefCell<Turn>>, executor: E) -> Self {
        let (early, arrived) = channel(EARLY_MAX);
        let (running, handles) = (FuturesUnordered::new(), HashMap::new());
        Self { turn, executor, running, handles, early, arrived, ended: None, ready: VecDeque::new() }
    }

    pub fn is_idle(&self) -> bool {
        self.turn.borrow().is_idle()
    }

    /// The next thing that comes of running work. May be dropped at any time without losing anything.
    pub async fn next(&mut self) -> Input {
        if let Some(input) = self.ready.pop_front() {
            return input;
        }
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
        let mut input = input;
        for _ in 0..BREAKS_MAX {
            match self.step(input).await {
                Ok(()) => return,
                Err(Panicked(message)) => input = Input::Broken { message },
            }
        }
    }

    /// What panics is remembered until everything else of the step is done.
    async fn step(&mut self, input: Input) -> Result<(), Panicked> {
        let now = self.executor.now();
        self.executor.heard(&input);
        let stepped = catch_unwind(AssertUnwindSafe(|| step(&mut self.turn.borrow_mut(), input, now)));
        let effects = stepped.map_err(|panic| Panicked(panic_words(&*panic)))?;
        self.executor.wanted(&effects);
        let mut broken = Ok(());
        for effect in effects {
            if let Err(panic) = AssertUnwindSafe(self.execute(effect)).catch_unwind().await {
                broken = Err(Panicked(panic_words(&*panic)));
            }
        }
        broken
    }

    async fn execute(&mut self, effect: Effect) {
        match effect {
            Effect::Cancel { ticket } => {
                if let Some(handle) = self.handles.get(&ticket)
                    && !self.executor.ask_to_end(ticket)
                {
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
                Some(ticket) => match self.executor.at_once(effect) {
                    Ok(input) => self.ready.push_back(input),
                    Err(effect) => {
                        let work = self.executor.work(effect, self.early.clone());
                        self.start(ticket, work);
                    }
                },
                None => self.executor.perform(effect).await,
            },
        }
    }

    fn start(&mut self, ticket: Ticket, work: LocalBoxFuture<'static, Input>) {
        let (handle, registration) = AbortHandle::new_pair();
        self.handles.insert(ticket, handle);
        let executor = self.executor.clone();
        let work = AssertUnwindSafe(work).catch_unwind();
        self.running.push(Box::pin(async move {
            // Dropped here where it was cancelled, before the wait for what it started.
            let ended = Abortable::new(work, registration).await;
            let input = match ended {
                Ok(Ok(input)) => input,
                Ok(Err(panic)) => Input::Broken { message: panic_words(&*panic) },
                Err(_) => {
                    executor.gone().await;
                    Input::Stopped { ticket }
                }
            };
            (ticket, input)
        }));
    }
}

/// What a panic says.
pub fn panic_words(panic: &(dyn Any + Send)) -> String {
    let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "unknown".into())
}

#[cfg(test)]
#[path = "driver_tests.rs"]
mod tests;
