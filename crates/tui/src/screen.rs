//! A state on the terminal: drawn at most 30 times a second, changed by events and keys.
//!
//! Events are folded on a thread of their own, so a terminal that does not take its bytes holds up
//! nobody but itself. Deliberately absent: signals. Whoever handles them lets the events end, or calls
//! [`crate::restore`] before the process is gone.

use crate::keys::{self, Action, Command};
use crate::replay::{Player, Recording};
use crate::state::ScreenState;
use crate::terminal::{self, Picture, TerminalGuard};
use crate::view::view;
use crossterm::event::{Event, KeyEventKind};
use crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use crossterm::{event, queue};
use cycle::LoopEvent;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// 30 draws a second: more is invisible and costs the agent's processor time.
const FRAME: Duration = Duration::from_millis(33);
/// Keys handled between two draws; a held key must not starve the picture.
const KEYS_PER_FRAME: usize = 64;

/// How a screen is shown.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Milliseconds since 1970.
    pub clock: fn() -> u64,
    /// Stops the process as Ctrl-Z does, and returns when it goes on.
    pub suspend: fn(),
    /// Stay after the run's end until a person leaves. A run that somebody ended, or that never got to a
    /// verdict, is left at once all the same.
    pub hold: bool,
    /// The run works elsewhere: it goes on when this screen is left.
    pub attached: bool,
}

/// Shows a run until its events end (and, with `hold`, until somebody leaves). Blocks: give it a thread.
/// Events are taken as fast as they come, on another thread, whatever the terminal does.
pub fn run<E>(events: E, tell: impl FnMut(Command), options: Options) -> io::Result<()>
where
    E: IntoIterator<Item = LoopEvent> + Send + 'static,
{
    let shared = Arc::new(Shared::default());
    shared.lock().attached = options.attached;
    let folding = Arc::clone(&shared);
    std::thread::Builder::new().name("screen-fold".into()).spawn(move || folding.fold(events))?;
    show(&shared, &mut LiveScreen { tell, options, seen: 0, second: 0, shared: &shared })
}

/// Plays a recording until somebody leaves. Blocks. For `suspend` see [`Options`].
pub fn play(recording: Recording, suspend: fn()) -> io::Result<()> {
    show(&Shared::default(), &mut Playback { player: Player::new(recording), suspend })
}

#[derive(Default)]
struct Shared {
    state: Mutex<ScreenState>,
    changes: AtomicU64,
    ended: AtomicBool,
}

impl Shared {
    /// A state half changed by a panic elsewhere is still worth showing.
    fn lock(&self) -> MutexGuard<'_, ScreenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fold(&self, events: impl IntoIterator<Item = LoopEvent>) {
        for event in events {
            self.lock().apply(&event);
            self.changes.fetch_add(1, Ordering::Release);
        }
        self.ended.store(true, Ordering::Release);
    }
}

/// Where a screen's state comes from.
trait Driver {
    /// Time passed; says whether there is something new to draw.
    fn frame(&mut self, state: &mut ScreenState, passed: Duration) -> bool;
    fn act(&mut self, state: &mut ScreenState, action: Action);
    fn finished(&self) -> bool;
    /// See [`Options::suspend`].
    fn suspend(&self);
    /// A person leaves.
    fn leave(&mut self) {}
}

struct LiveScreen<'a, T> {
    tell: T,
    options: Options,
    seen: u64,
    second: u64,
    shared: &'a Shared,
}

impl<T: FnMut(Command)> Driver for LiveScreen<'_, T> {
    fn frame(&mut self, state: &mut ScreenState, _passed: Duration) -> bool {
        let now = (self.options.clock)();
        state.tick(now);
        let changes = self.shared.changes.load(Ordering::Acquire);
        let second_before = std::mem::replace(&mut self.second, now / 1000);
        std::mem::replace(&mut self.seen, changes) != changes || second_before != self.second
    }

    fn act(&mut self, _state: &mut ScreenState, action: Action) {
        if let Action::Tell(command) = action {
            (self.tell)(command);
        }
    }

    fn finished(&self) -> bool {
        self.shared.ended.load(Ordering::Acquire) && !(self.options.hold && self.shared.lock().worth_a_look())
    }

    fn suspend(&self) {
        (self.options.suspend)();
    }

    /// A loop that watches for new work ends with its screen.
    fn leave(&mut self) {
        if self.options.attached {
            return;
        }
        (self.tell)(Command::Finish);
    }
}

struct Playback {
    player: Player,
    suspend: fn(),
}

impl Driver for Playback {
    fn frame(&mut self, state: &mut ScreenState, passed: Duration) -> bool {
        self.player.step(state, u64::try_from(passed.as_millis()).unwrap_or(u64::MAX))
    }

    fn act(&mut self, state: &mut ScreenState, action: Action) {
        if let Action::Play(control) = action {
            self.player.control(state, control);
        }
    }

    fn finished(&self) -> bool {
        false
    }

    fn suspend(&self) {
        (self.suspend)();
    }
}

/// Draws and listens until the end.
fn show(shared: &Shared, driver: &mut dyn Driver) -> io::Result<()> {
    let mut entered = TerminalGuard::enter()?;
    let mut canvas = Canvas::new()?;
    let mut drawn = Instant::now();
    let mut stale = true;
    loop {
        let finished = driver.finished();
        let passed = drawn.elapsed();
        if passed >= FRAME || finished {
            stale |= driver.frame(&mut shared.lock(), passed);
            drawn = Instant::now();
            if std::mem::take(&mut stale) {
                canvas.draw(shared)?;
            }
        }
        if finished || !terminal::is_ours() {
            return Ok(());
        }
        match read_keys(shared, driver, FRAME.saturating_sub(drawn.elapsed()))? {
            KeyOutcome::Nothing => {}
            KeyOutcome::Something => stale = true,
            KeyOutcome::Redraw => {
                canvas.afresh = true;
                stale = true;
            }
            KeyOutcome::Suspend => {
                drop(entered);
                driver.suspend();
                entered = TerminalGuard::enter()?;
                canvas.afresh = true;
                stale = true;
            }
            KeyOutcome::Leave => {
                driver.leave();
                return Ok(());
            }
        }
    }
}

enum KeyOutcome {
    Nothing,
    Something,
    Redraw,
    Suspend,
    Leave,
}

/// Waits for keys, no longer than until the next draw is due.
fn read_keys(shared: &Shared, driver: &mut dyn Driver, wait: Duration) -> io::Result<KeyOutcome> {
    if !event::poll(wait)? {
        return Ok(KeyOutcome::Nothing);
    }
    for _ in 0..KEYS_PER_FRAME {
        // Read first: the state must not be locked while a terminal makes up its mind.
        let event = event::read()?;
        let mut state = shared.lock();
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => match keys::press(&mut state, key) {
                Some(Action::Leave) => return Ok(KeyOutcome::Leave),
                Some(Action::Redraw) => return Ok(KeyOutcome::Redraw),
                Some(Action::Suspend) => return Ok(KeyOutcome::Suspend),
                Some(action) => driver.act(&mut state, action),
                None => {}
            },
            Event::Paste(text) => keys::paste(&mut state, &text),
            _ => {}
        }
        drop(state);
        if !event::poll(Duration::ZERO)? {
            break;
        }
    }
    Ok(KeyOutcome::Something)
}

struct Canvas {
    terminal: Terminal<CrosstermBackend<Picture>>,
    picture: Picture,
    /// Somebody else wrote over the screen.
    afresh: bool,
}

impl Canvas {
    fn new() -> io::Result<Self> {
        let picture = Picture::default();
        let terminal = Terminal::new(CrosstermBackend::new(picture.clone()))?;
        Ok(Self { terminal, picture, afresh: false })
    }

    /// The state is locked while cells are computed, not while bytes are written.
    fn draw(&mut self, shared: &Shared) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        if std::mem::take(&mut self.afresh) {
            // Not `clear`: it asks the terminal where its cursor is, and some never answer.
            let area = self.terminal.size()?.into();
            self.terminal.resize(area)?;
        }
        self.terminal.draw(|frame| {
            let mut state = shared.lock();
            state.reader.size = (frame.area().width, frame.area().height);
            view(&state, frame);
        })?;
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        self.picture.send()
    }
}
