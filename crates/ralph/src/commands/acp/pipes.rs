//! Our own stdin and stdout, each with a thread that may block.

use crate::say;
use acp::{Frame, Frames};
use std::collections::VecDeque;
use std::io::Read as _;
use std::time::Duration;
use tokio::sync::mpsc;

/// What is read at once, and how many such pieces wait.
const READ: usize = 64 * 1024;
const PIECES_MAX: usize = 16;

/// Pieces of output that wait for whoever reads.
const WRITES_MAX: usize = 64;

/// After the last word: a reader that takes nothing for so long is gone.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Lines of stdin.
pub(crate) struct Stdin {
    pieces: mpsc::Receiver<Vec<u8>>,
    frames: Frames,
    ready: VecDeque<Frame>,
}

impl Stdin {
    pub(crate) fn open(line_max: usize) -> Self {
        let (sender, pieces) = mpsc::channel(PIECES_MAX);
        let read = move || {
            let mut stdin = std::io::stdin().lock();
            let mut piece = vec![0; READ];
            while let Ok(count @ 1..) = stdin.read(&mut piece) {
                if sender.blocking_send(piece[..count].to_vec()).is_err() {
                    return;
                }
            }
        };
        // Where no thread can be had, the input ends at once.
        let _ = std::thread::Builder::new().name("stdin".into()).spawn(read);
        Self { pieces, frames: Frames::new(line_max), ready: VecDeque::new() }
    }

    /// `None` at the end. May be cancelled and called again.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            match self.pieces.recv().await {
                Some(piece) => self.ready.extend(self.frames.push(&piece)),
                None => return self.frames.end(),
            }
        }
    }
}

/// Whole lines to stdout, in order.
pub(crate) struct Stdout {
    lines: Option<mpsc::Sender<Vec<u8>>>,
    done: Option<tokio::sync::oneshot::Receiver<()>>,
}

impl Stdout {
    pub(crate) fn open() -> Self {
        let (lines, mut receiver) = mpsc::channel::<Vec<u8>>(WRITES_MAX);
        let (sender, done) = tokio::sync::oneshot::channel();
        let write = move || {
            while let Some(lines) = receiver.blocking_recv() {
                say::out(&String::from_utf8_lossy(&lines));
            }
            let _ = sender.send(());
        };
        let spawned = std::thread::Builder::new().name("stdout".into()).spawn(write);
        Self { lines: spawned.is_ok().then_some(lines), done: Some(done) }
    }

    /// Whether the lines are on their way.
    pub(crate) async fn write(&mut self, lines: Vec<u8>) -> bool {
        match &self.lines {
            _ if lines.is_empty() => true,
            Some(sender) => sender.send(lines).await.is_ok(),
            None => false,
        }
    }

    /// Until everything is written.
    pub(crate) async fn close(mut self) {
        self.lines = None;
        if let Some(done) = self.done.take() {
            let _ = tokio::time::timeout(LAST_WORDS, done).await;
        }
    }
}
