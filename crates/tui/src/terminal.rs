//! The terminal while it is ours: entered once, written to in whole pictures, given back on every way out.
//!
//! Deliberately absent: what is on a picture (`view`), and when one is due (`screen`).

use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::terminal::{
    EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, execute};
use std::cell::RefCell;
use std::io::{self, Stdout, Write};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, Once, PoisonError, mpsc};
use std::time::Duration;

/// A terminal that takes no bytes is not worth more waiting on the way out.
const PATIENCE: Duration = Duration::from_millis(500);

/// Set while the terminal is ours.
static ENTERED: AtomicBool = AtomicBool::new(false);
/// Held while bytes go to the terminal, so that no picture lands on it after it was given back.
static WRITING: Mutex<()> = Mutex::new(());
/// Whether the terminal could not be given back. Held while that is tried, so that everybody hears how it went.
static STUCK: Mutex<bool> = Mutex::new(false);

pub fn is_ours() -> bool {
    ENTERED.load(Ordering::SeqCst)
}

/// Gives the terminal back. Safe to call at any time, from any thread, more than once. A terminal that takes
/// no bytes is given up after a while, and the answer is `false`: it must not keep a process, and who writes
/// to it would wait for ever.
pub fn restore() -> bool {
    let mut stuck = STUCK.lock().unwrap_or_else(PoisonError::into_inner);
    if ENTERED.swap(false, Ordering::SeqCst) {
        // Typed lines work again even where nothing can be written. Nobody is left to tell that this failed.
        let _ = disable_raw_mode();
        *stuck = !leave();
    }
    !*stuck
}

fn leave() -> bool {
    let (sender, left) = mpsc::channel();
    let leaving = std::thread::Builder::new().name("screen-restore".into()).spawn(move || {
        let _turn = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let _ =
            execute!(terminal_out(), EndSynchronizedUpdate, DisableBracketedPaste, LeaveAlternateScreen, cursor::Show);
        let _ = sender.send(());
    });
    leaving.is_ok() && left.recv_timeout(PATIENCE).is_ok()
}

/// The terminal, ours until this is dropped.
pub struct TerminalGuard;

impl TerminalGuard {
    pub fn enter() -> io::Result<Self> {
        restore_on_panic();
        enable_raw_mode()?;
        ENTERED.store(true, Ordering::SeqCst);
        let entered = Self;
        execute!(terminal_out(), EnterAlternateScreen, EnableBracketedPaste, cursor::Hide)?;
        Ok(entered)
    }
}

impl Drop for TerminalGuard {
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

/// Where a picture is put together. It leaves as a whole, or not at all.
#[derive(Clone, Default)]
pub struct Picture(Rc<RefCell<Vec<u8>>>);

impl Picture {
    /// One write, so that no terminal has to show a part.
    pub fn send(&self) -> io::Result<()> {
        let bytes = std::mem::take(&mut *self.0.borrow_mut());
        let _turn = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        if !is_ours() {
            return Ok(());
        }
        let mut out = terminal_out().lock();
        out.write_all(&bytes)?;
        out.flush()
    }
}

impl Write for Picture {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// The drawing code flushes in the middle of pictures; [`Picture::send`] is for their end.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[expect(clippy::disallowed_methods, reason = "the screen is one of the loop's reporters")]
fn terminal_out() -> Stdout {
    io::stdout()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_kept_until_it_is_whole_and_dropped_where_the_terminal_is_not_ours() {
        let mut picture = Picture::default();
        picture.write_all(b"half").unwrap();
        picture.flush().unwrap();
        assert_eq!(*picture.0.borrow(), b"half");
        picture.send().unwrap();
        assert!(picture.0.borrow().is_empty());
    }
}
