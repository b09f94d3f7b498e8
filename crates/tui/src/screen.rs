//! The terminal: entered, drawn at most 30 times a second, and given back on every way out.
//!
//! Events are folded on a thread of their own, so a terminal that does not take its bytes holds up
//! nobody but itself. Deliberately absent: signals. Whoever handles them lets the events end, or calls
//! [`restore`] before the process is gone.

use crate::keys::{self, Action, Command};
use crate::replay::{Player, Recording};
use crate::state::State;
use crate::view::view;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste, Event, KeyEventKind};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{cursor, event, execute};
use cycle::LoopEvent;
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use std::io::{self, Stdout};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
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
    /// Stay after the run's end until a person leaves.
    pub hold: bool,
}

/// Shows a run until its events end (and, with `hold`, until somebody leaves). Blocks: give it a thread.
/// Events are taken as fast as they come, on another thread, whatever the terminal does.
pub fn run<E>(events: E, tell: impl FnMut(Command), options: Options) -> io::Result<()>
where
    E: IntoIterator<Item = LoopEvent> + Send + 'static,
{
    let shared = Arc::new(Shared::default());
    let folding = Arc::clone(&shared);
    std::thread::Builder::new().name("screen-fold".into()).spawn(move || folding.fold(events))?;
    show(&shared, &mut Live { tell, options, seen: 0, second: 0, shared: &shared })
}

/// Plays a recording until somebody leaves. Blocks.
pub fn play(recording: Recording) -> io::Result<()> {
    show(&Shared::default(), &mut Player::new(recording))
}

/// Gives the terminal back. Safe to call at any time, from any thread, more than once.
pub fn restore() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        // On the way out there is nobody left to tell that this failed.
        let _ =
            execute!(terminal_out(), EndSynchronizedUpdate, DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _ = disable_raw_mode();
    }
}

/// Set while the terminal is ours.
static ENTERED: AtomicBool = AtomicBool::new(false);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changes: AtomicU64,
    ended: AtomicBool,
}

impl Shared {
    /// A state half changed by a panic elsewhere is still worth showing.
    fn lock(&self) -> MutexGuard<'_, State> {
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
    fn frame(&mut self, state: &mut State, passed: Duration) -> bool;
    fn act(&mut self, state: &mut State, action: Action);
    fn finished(&self) -> bool;
}

struct Live<'a, T> {
    tell: T,
    options: Options,
    seen: u64,
    second: u64,
    shared: &'a Shared,
}

impl<T: FnMut(Command)> Driver for Live<'_, T> {
    fn frame(&mut self, state: &mut State, _passed: Duration) -> bool {
        let now = (self.options.clock)();
        state.tick(now);
        let changes = self.shared.changes.load(Ordering::Acquire);
        let second_before = std::mem::replace(&mut self.second, now / 1000);
        std::mem::replace(&mut self.seen, changes) != changes || second_before != self.second
    }

    fn act(&mut self, _state: &mut State, action: Action) {
        if let Action::Tell(command) = action {
            (self.tell)(command);
        }
    }

    fn finished(&self) -> bool {
        !self.options.hold && self.shared.ended.load(Ordering::Acquire)
    }
}

impl Driver for Player {
    fn frame(&mut self, state: &mut State, passed: Duration) -> bool {
        self.step(state, u64::try_from(passed.as_millis()).unwrap_or(u64::MAX))
    }

    fn act(&mut self, state: &mut State, action: Action) {
        if let Action::Play(control) = action {
            self.control(state, control);
        }
    }

    fn finished(&self) -> bool {
        false
    }
}

/// Draws and listens until the end.
fn show(shared: &Shared, driver: &mut dyn Driver) -> io::Result<()> {
    let _entered = Entered::enter()?;
    let mut terminal = Terminal::new(CrosstermBackend::new(terminal_out()))?;
    let mut drawn = Instant::now();
    let mut stale = true;
    loop {
        let finished = driver.finished();
        let passed = drawn.elapsed();
        if passed >= FRAME || finished {
            stale |= driver.frame(&mut shared.lock(), passed);
            drawn = Instant::now();
            if std::mem::take(&mut stale) {
                draw(&mut terminal, shared)?;
            }
        }
        if finished || !ENTERED.load(Ordering::SeqCst) {
            return Ok(());
        }
        match listen(shared, driver, FRAME.saturating_sub(drawn.elapsed()))? {
            Heard::Nothing => {}
            Heard::Something => stale = true,
            Heard::Redraw => {
                terminal.clear()?;
                stale = true;
            }
            Heard::Leave => return Ok(()),
        }
    }
}

enum Heard {
    Nothing,
    Something,
    Redraw,
    Leave,
}

/// Waits for keys, no longer than until the next draw is due.
fn listen(shared: &Shared, driver: &mut dyn Driver, wait: Duration) -> io::Result<Heard> {
    if !event::poll(wait)? {
        return Ok(Heard::Nothing);
    }
    for _ in 0..KEYS_PER_FRAME {
        // Read first: the state must not be locked while a terminal makes up its mind.
        let event = event::read()?;
        let mut state = shared.lock();
        match event {
            Event::Key(key) if key.kind != KeyEventKind::Release => match keys::press(&mut state, key) {
                Some(Action::Leave) => return Ok(Heard::Leave),
                Some(Action::Redraw) => return Ok(Heard::Redraw),
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
    Ok(Heard::Something)
}

/// The state is locked while cells are computed, not while bytes are written.
fn draw(terminal: &mut Terminal<CrosstermBackend<Stdout>>, shared: &Shared) -> io::Result<()> {
    execute!(terminal.backend_mut(), BeginSynchronizedUpdate)?;
    let drawn = terminal.draw(|frame| {
        let mut state = shared.lock();
        state.reader.size = (frame.area().width, frame.area().height);
        view(&state, frame);
    });
    drawn.map(|_| ())?;
    execute!(terminal.backend_mut(), EndSynchronizedUpdate)
}

/// The terminal while it is ours.
struct Entered;

impl Entered {
    fn enter() -> io::Result<Self> {
        restore_on_panic();
        enable_raw_mode()?;
        ENTERED.store(true, Ordering::SeqCst);
        let entered = Self;
        execute!(terminal_out(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
        Ok(entered)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        restore();
    }
}

/// A panic's message belongs on the terminal it came from.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
    });
}

#[expect(clippy::disallowed_methods, reason = "the screen is one of the loop's reporters")]
fn terminal_out() -> Stdout {
    io::stdout()
}
