//! A child's pipes on threads of their own, so that no test waits on a read or a write without a deadline.

use serde_json::Value;
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::process::ChildStdin;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A binary that floods a pipe is read to its end, but no more than this is kept.
const KEPT_MAX: usize = 256 * 1024 * 1024;

#[derive(Default)]
struct State {
    lines: Vec<String>,
    kept: usize,
    closed: bool,
}

/// What has been read from a pipe so far, line by line.
#[derive(Clone, Default)]
pub(crate) struct Output {
    state: Arc<(Mutex<State>, Condvar)>,
}

impl Output {
    pub(crate) fn of(pipe: impl Read + Send + 'static) -> Self {
        let output = Self::default();
        let filled = output.clone();
        std::thread::spawn(move || filled.fill(pipe));
        output
    }

    fn fill(&self, pipe: impl Read) {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        // A pipe that cannot be read any more is as good as closed.
        while pipe.read_until(b'\n', &mut line).is_ok_and(|count| count > 0) {
            let mut state = self.lock();
            if state.kept + line.len() <= KEPT_MAX {
                state.kept += line.len();
                state.lines.push(String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line)).into_owned());
            }
            line.clear();
            self.state.1.notify_all();
        }
        self.lock().closed = true;
        self.state.1.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.lock().lines.clone()
    }

    /// The position after the first line from `start` on that `wanted` accepts; `None` if the pipe closes or
    /// the deadline passes first.
    pub(crate) fn wait_for(&self, start: usize, deadline: Instant, wanted: impl Fn(&Value) -> bool) -> Option<usize> {
        let mut next = start;
        let mut state = self.lock();
        loop {
            while let Some(line) = state.lines.get(next) {
                next += 1;
                if serde_json::from_str(line).is_ok_and(|event| wanted(&event)) {
                    return Some(next);
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if state.closed || left.is_zero() {
                return None;
            }
            state = self.state.1.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// `false` if somebody still holds the pipe open at the deadline.
    pub(crate) fn wait_closed(&self, deadline: Instant) -> bool {
        self.wait_for(usize::MAX, deadline, |_| false);
        self.lock().closed
    }
}

/// A child's stdin. Dropping the sender closes it once all has been written.
pub(crate) fn feed(mut stdin: ChildStdin) -> Sender<Vec<u8>> {
    let (sender, receiver) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        for bytes in receiver {
            // A child that no longer reads has said why by its exit code.
            if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
                break;
            }
        }
    });
    sender
}
