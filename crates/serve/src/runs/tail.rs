//! One reader of a recording for all streams of that run.
//!
//! A task reads the recording while anybody listens, and puts its events into a [`Window`]. Streams take their events from there: a
//! stream costs a place in a queue, no thread, no file and no timer. A stream that is behind the window reads the recording itself until
//! it has caught up, a few of them at a time.

use super::numbered::{Position, Selection, behind, streamed};
use super::window::{PIECE_MAX, Piece, Rest, WINDOW_MAX, Window};
use super::{Found, apart};
use crate::sse::{self, EventSender, ReaderLeft};
use bytes::Bytes;
use cycle::EventKind;
use runner::run_socket::{Follower, NumberedEvent};
use serde_json::json;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// How often a recording is looked at: faster than anybody reads, and once for all readers.
const LOOK: Duration = Duration::from_millis(120);
/// A run that holds no lock is looked at a little longer: it may be just starting.
const IDLE_LOOKS: u32 = 25;
/// Events that are read at once, apart from the main thread.
const BATCH: usize = 256;
/// A recording up to this length is kept from its beginning: its events are in memory twice, as lines and as derived ones.
const WHOLE_MAX: u64 = WINDOW_MAX as u64 / 4;
/// Streams that read a recording themselves at the same time; the others wait. Reading is work of the processor, and machines have few.
const CATCHING_UP: usize = 4;

/// The tails of runs that have readers.
#[derive(Debug)]
pub struct Tails {
    all: Mutex<HashMap<(usize, String), Weak<Tail>>>,
    catching_up: Arc<Semaphore>,
}

impl Default for Tails {
    fn default() -> Self {
        Self { all: Mutex::default(), catching_up: Arc::new(Semaphore::new(CATCHING_UP)) }
    }
}

#[derive(Debug, Default)]
pub struct Tail {
    window: Mutex<Window>,
    changed: watch::Sender<()>,
}

impl Tails {
    /// The tail of this run; begun where nobody reads it yet. One that saw the run end is not used again: the run may have gone on.
    fn of(&self, found: &Found, price: cycle::Price) -> Arc<Tail> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|_, tail| tail.strong_count() > 0);
        let key = (found.at, found.id.clone());
        if let Some(tail) = all.get(&key).and_then(Weak::upgrade).filter(|tail| !tail.window().is_over()) {
            return tail;
        }
        let tail = Arc::new(Tail::default());
        all.insert(key, Arc::downgrade(&tail));
        tokio::spawn(read_on(Arc::downgrade(&tail), found.clone(), price));
        tail
    }

    /// A reader of this run, from an event on.
    pub fn reader(&self, found: &Found, price: cycle::Price, from: Position, derived: bool) -> TailReader {
        TailReader {
            tail: self.of(found, price),
            found: found.clone(),
            price,
            position: from,
            selection: Selection { derived, is_live: false },
            catching_up: self.catching_up.clone(),
        }
    }
}

impl Tail {
    fn window(&self) -> MutexGuard<'_, Window> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Window)) {
        change(&mut self.window());
        self.changed.send_replace(());
    }
}

/// The recording as the task of a tail reads it.
struct Source {
    follower: Follower,
    found: Found,
    is_over: bool,
}

/// What one look at a recording has found.
struct Look {
    events: Vec<NumberedEvent>,
    at_end: bool,
    /// Whether somebody works on the run; asked only at the end, when nothing came.
    has_owner: bool,
}

impl Source {
    /// Opens it at the beginning, or at its last iteration where it is long; and where that is.
    fn open(found: Found, price: cycle::Price) -> io::Result<(Self, Position)> {
        let path = found.folder.events(&found.id);
        let is_short = path.metadata()?.len() <= WHOLE_MAX;
        let follower =
            if is_short { Follower::open(&path, price, (1, 0))? } else { Follower::last_iteration(&path, price)? };
        let from = (follower.seq() + 1, 0);
        Ok((Self { follower, found, is_over: false }, from))
    }

    fn look(&mut self) -> io::Result<Look> {
        let mut events = Vec::new();
        while events.len() < BATCH {
            let Some(numbered) = self.follower.next_event()? else {
                let has_owner = !events.is_empty() || self.found.owner().is_some();
                return Ok(Look { events, at_end: true, has_owner });
            };
            match &numbered.event.kind {
                EventKind::Verdict(_) => self.is_over = true,
                EventKind::RunStarted(_) => self.is_over = false,
                _ => {}
            }
            events.push(numbered);
        }
        Ok(Look { events, at_end: false, has_owner: true })
    }

    /// The last event of every stream.
    fn end(&self) -> Bytes {
        let reason = if self.is_over { "over" } else { "not at work" };
        end_event(self.follower.seq(), reason)
    }
}

fn end_event(seq: u64, reason: &str) -> Bytes {
    sse::event("end", "", &json!({"seq": seq, "reason": reason}).to_string()).into()
}

/// Fills the window until the run is over or nobody reads it any more.
async fn read_on(tail: Weak<Tail>, found: Found, price: cycle::Price) {
    let change = |change: &mut dyn FnMut(&mut Window)| {
        let tail = tail.upgrade();
        tail.map(|tail| tail.change(change)).is_some()
    };
    let unreadable = |seq| move |window: &mut Window| window.end(end_event(seq, "the recording cannot be read"));
    let Ok(Ok((mut source, from))) = apart(move || Source::open(found, price)).await else {
        change(&mut unreadable(0));
        return;
    };
    change(&mut |window| window.open(from));
    let mut idle = 0;
    loop {
        let looked = apart(move || {
            let look = source.look();
            (source, look)
        });
        let Ok((back, look)) = looked.await else {
            change(&mut unreadable(0));
            return;
        };
        source = back;
        let Ok(look) = look else {
            change(&mut unreadable(source.follower.seq()));
            return;
        };
        idle = if look.events.is_empty() { idle + 1 } else { 0 };
        let is_over = idle > 0 && (source.is_over || idle > IDLE_LOOKS) && !look.has_owner;
        if is_over {
            change(&mut |window| window.end(source.end()));
            return;
        }
        // Without news, nobody is woken.
        let has_readers = if look.events.is_empty() {
            tail.strong_count() > 0
        } else {
            change(&mut |window| look.events.iter().for_each(|event| window.push(event)))
        };
        if !has_readers {
            return;
        }
        if look.at_end {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// One stream of a run.
pub struct TailReader {
    tail: Arc<Tail>,
    found: Found,
    price: cycle::Price,
    position: Position,
    selection: Selection,
    catching_up: Arc<Semaphore>,
}

impl TailReader {
    /// Sends what is there and what comes, until the run is over.
    pub async fn send_all(mut self, outlet: EventSender) -> Result<(), ReaderLeft> {
        let mut changed = self.tail.changed.subscribe();
        let mut own = None;
        loop {
            changed.mark_unchanged();
            let piece = self.tail.window().piece(self.position, self.selection);
            match piece {
                Piece::Forgotten => {
                    let Some((follower, text)) = self.catch_up(own.take()).await else { return Ok(()) };
                    own = Some(follower);
                    send(&outlet, text).await?;
                }
                Piece::Events { text, next, rest } => {
                    own = None;
                    self.position = next;
                    send(&outlet, text).await?;
                    match rest {
                        Rest::More => {}
                        Rest::End(last) => return outlet.send(last).await,
                        Rest::Nothing => {
                            self.selection.is_live = true;
                            changed.changed().await.map_err(|_| ReaderLeft)?;
                        }
                    }
                }
                Piece::Later => changed.changed().await.map_err(|_| ReaderLeft)?,
            }
        }
    }

    /// The next events from the recording itself; nothing where it cannot be read.
    async fn catch_up(&mut self, own: Option<Follower>) -> Option<(Follower, Bytes)> {
        let _place = self.catching_up.acquire().await.ok()?;
        let (path, price) = (self.found.folder.events(&self.found.id), self.price);
        let (position, selection) = (self.position, self.selection);
        let read = apart(move || -> io::Result<_> {
            let mut follower = own.map_or_else(|| Follower::open(&path, price, position), Ok)?;
            let (text, next) = read_piece(&mut follower, position, selection)?;
            Ok((follower, text, next))
        });
        let (follower, text, next) = read.await.ok()?.ok()?;
        self.position = next;
        Some((follower, text))
    }
}

async fn send(outlet: &EventSender, text: Bytes) -> Result<(), ReaderLeft> {
    if text.is_empty() { Ok(()) } else { outlet.send(text).await }
}

/// Up to a batch of events as text, and the position behind them.
fn read_piece(follower: &mut Follower, position: Position, selection: Selection) -> io::Result<(Bytes, Position)> {
    let (mut text, mut next) = (String::new(), position);
    for _ in 0..BATCH {
        let Some(numbered) = follower.next_event()? else {
            // Every line so far was read, also those that hold no event.
            next = next.max((follower.seq() + 1, 0));
            break;
        };
        next = behind(&numbered);
        if selection.wants(&numbered) {
            text.push_str(&streamed(&numbered, selection.derived));
        }
        if text.len() > PIECE_MAX {
            break;
        }
    }
    Ok((text.into(), next))
}

#[cfg(test)]
#[path = "tail_tests.rs"]
mod tests;
