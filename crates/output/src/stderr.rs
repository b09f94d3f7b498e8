//! One line on stderr, for people.

use std::sync::atomic::{AtomicBool, Ordering};

/// What a pipe with room takes whole and at once (POSIX: at least 512, Linux: 4096).
pub const PIPE_BUF: usize = 4096;

/// How long the first line waits for a stderr that takes nothing: a busy reader needs less, and for one
/// that never looks at it no turn may stand still.
const STDERR_WAIT: rustix::event::Timespec = rustix::event::Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// Nobody reads our stderr: what more there is to say is not waited for.
static UNHEARD: AtomicBool = AtomicBool::new(false);

/// One line for people. Only for what went wrong: stderr is empty on success. Where stderr is a pipe that
/// is full and stays full, the line is dropped.
pub fn warn(line: &str) {
    let mut text = wire_safe(line);
    text.push('\n');
    let stderr = std::io::stderr();
    for piece in text.as_bytes().chunks(PIPE_BUF) {
        let wait = if UNHEARD.load(Ordering::Relaxed) { rustix::event::Timespec::default() } else { STDERR_WAIT };
        let mut wanted = [rustix::event::PollFd::new(&stderr, rustix::event::PollFlags::OUT)];
        // An interrupted or impossible poll says nothing; the write then says it.
        let unheard = rustix::event::poll(&mut wanted, Some(&wait)) == Ok(0);
        UNHEARD.store(unheard, Ordering::Relaxed);
        if unheard || rustix::io::write(&stderr, piece).is_err() {
            return;
        }
    }
}

/// Line breaks, escape sequences and characters that hide or reorder text do not reach the terminal.
fn wire_safe(line: &str) -> String {
    wire::clean::line(&line.replace(['\n', '\r'], " ")).into_owned()
}
