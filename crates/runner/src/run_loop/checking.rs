//! A running check and its output.

use super::work::ActivityEvent;
use cycle::CheckFinished;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// What comes within this time is shown together: nobody reads faster, and a flood is no flood of events.
const TOGETHER: Duration = Duration::from_millis(100);
/// Of what came in that time, the end.
const SHOWN_MAX: usize = 16 * 1024;
/// Pieces that wait to be shown; when there are more, newer ones are not shown before the end.
pub(super) const PIECES_MAX: usize = 64;

/// The running check, and the checks before it.
pub(super) struct Checking {
    pub iteration: u32,
    pub done: Vec<CheckFinished>,
    running: Pin<Box<dyn Future<Output = CheckFinished>>>,
    /// The output of the check, where it is shown live.
    output: Option<mpsc::Receiver<Vec<u8>>>,
    pending: Vec<u8>,
    show_at: Option<Instant>,
    /// The check is over, and the rest of its output is shown first.
    finished: Option<CheckFinished>,
}

impl Checking {
    pub fn new(
        iteration: u32,
        done: Vec<CheckFinished>,
        running: Pin<Box<dyn Future<Output = CheckFinished>>>,
        output: Option<mpsc::Receiver<Vec<u8>>>,
    ) -> Self {
        Self { iteration, done, running, output, pending: Vec::new(), show_at: None, finished: None }
    }

    /// May be cancelled and called again.
    pub async fn next(&mut self) -> ActivityEvent {
        loop {
            if let Some(finished) = self.finished.take() {
                return ActivityEvent::Checked(finished);
            }
            tokio::select! {
                biased;
                piece = next_piece(&mut self.output) => match piece {
                    Some(piece) => self.add(&piece),
                    None => self.output = None,
                },
                finished = self.running.as_mut() => {
                    while let Some(piece) = self.output.as_mut().and_then(|output| output.try_recv().ok()) {
                        self.add(&piece);
                    }
                    self.output = None;
                    self.finished = Some(finished);
                    if !self.pending.is_empty() {
                        return ActivityEvent::Printed(self.take(true));
                    }
                }
                () = until(self.show_at) => {
                    let text = self.take(false);
                    if !text.is_empty() {
                        return ActivityEvent::Printed(text);
                    }
                }
            }
        }
    }

    fn add(&mut self, piece: &[u8]) {
        self.pending.extend_from_slice(piece);
        let surplus = self.pending.len().saturating_sub(SHOWN_MAX);
        self.pending.drain(..surplus);
        self.show_at.get_or_insert_with(|| Instant::now() + TOGETHER);
    }

    /// What is to be shown. Half a letter at the end waits for its other half, unless this is the end.
    fn take(&mut self, all: bool) -> String {
        self.show_at = None;
        let cut = match std::str::from_utf8(&self.pending) {
            Err(error) if !all && error.error_len().is_none() => error.valid_up_to(),
            _ => self.pending.len(),
        };
        let rest = self.pending.split_off(cut);
        let whole = std::mem::replace(&mut self.pending, rest);
        String::from_utf8_lossy(&whole).into_owned()
    }
}

async fn next_piece(output: &mut Option<mpsc::Receiver<Vec<u8>>>) -> Option<Vec<u8>> {
    match output {
        Some(output) => output.recv().await,
        None => std::future::pending().await,
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}
