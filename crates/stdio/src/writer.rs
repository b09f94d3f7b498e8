//! The only writer of the agent's stdout.
//!
//! A thread of its own, so that a reader who is slow stops neither control requests nor signals: whole
//! lines, one write each (small ones that come together share one), in order, never buffered. What waits is bounded in bytes; the
//! turn waits when the bound is reached.

use agent::PIPE_BUF;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};

/// Bytes that may wait for the reader: eight of the longest lines.
const QUEUE_BYTES: usize = 8 * wire::LINE_MAX;

/// Once the run is over, a reader that takes no line for so long is taken for dead. A slow one gets all
/// its lines, the result above all.
const DRAIN_PATIENCE: Duration = Duration::from_secs(30);

/// And even one that takes a line now and then does not keep us for ever.
const DRAIN_MAX: Duration = Duration::from_mins(10);

enum Job {
    /// And how much of the room it took.
    Line(Vec<u8>, usize),
    Flush(oneshot::Sender<()>),
}

#[derive(Default)]
struct Reader {
    gone: AtomicBool,
    left: Notify,
    /// Lines that are queued and not yet written.
    waiting: AtomicUsize,
}

#[derive(Clone)]
pub struct Writer {
    /// Has no bound of its own, because it cannot grow: lines of `try_line` and `wait_line` enter only with room in bytes. Lines of
    /// `line_now` (a transcript entry for a client that keeps a copy, the start and the end of a hook, a withdrawn question) enter
    /// without, but whoever causes one sends a line that waits before it causes the next: a conversation its events, a request its
    /// response. With a reader that takes nothing, a few of them stand here for each conversation that runs.
    jobs: mpsc::UnboundedSender<Job>,
    room: Arc<Semaphore>,
    reader: Arc<Reader>,
    /// stdout is a pipe: short lines need no thread.
    is_pipe: bool,
    is_terminal: bool,
}

impl Writer {
    pub fn start() -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::unbounded_channel();
        let room = Arc::new(Semaphore::new(QUEUE_BYTES));
        let reader = Arc::new(Reader::default());
        let (thread_room, thread_reader) = (Arc::clone(&room), Arc::clone(&reader));
        std::thread::Builder::new()
            .name("stdout".into())
            .stack_size(128 * 1024)
            .spawn(move || write_all(queue, &thread_room, &thread_reader))?;
        let stat = rustix::fs::fstat(rustix::stdio::stdout());
        let is_pipe = stat.is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_fifo());
        let is_terminal = rustix::termios::isatty(rustix::stdio::stdout());
        Ok(Self { jobs, room, reader, is_pipe, is_terminal })
    }

    /// A short line for a pipe that has room is written right here: waking the thread costs more than the
    /// write. It never blocks, and never overtakes a line that waits.
    fn write_at_once(&self, line: &[u8]) -> bool {
        if !self.is_pipe || line.len() > PIPE_BUF || self.reader.waiting.load(Ordering::Acquire) > 0 {
            return false;
        }
        let stdout = rustix::stdio::stdout();
        let mut wanted = [rustix::event::PollFd::new(&stdout, rustix::event::PollFlags::OUT)];
        let at_once = rustix::event::Timespec::default();
        let ready = rustix::event::poll(&mut wanted, Some(&at_once)).is_ok_and(|ready| ready == 1)
            && wanted[0].revents() == rustix::event::PollFlags::OUT;
        // Anything unusual is the thread's business, which knows how to wait and whom to tell.
        ready && rustix::io::write(stdout, line) == Ok(line.len())
    }

    fn queue(&self, line: Vec<u8>, taken: usize) {
        self.reader.waiting.fetch_add(1, Ordering::AcqRel);
        let _ = self.jobs.send(Job::Line(line, taken));
    }
}

impl agent::Writer for Writer {
    fn try_line(&self, line: Vec<u8>) -> Option<Vec<u8>> {
        if self.write_at_once(&line) {
            return None;
        }
        let size = size_of(&line);
        match self.room.try_acquire_many(size) {
            Ok(permits) => {
                permits.forget();
                self.queue(line, size as usize);
                None
            }
            Err(_) => Some(line),
        }
    }

    fn wait_line(&self, line: Vec<u8>) -> LocalBoxFuture<'_, ()> {
        async move {
            let size = size_of(&line);
            tokio::select! {
                permit = self.room.acquire_many(size) => {
                    if let Ok(permit) = permit {
                        permit.forget();
                        self.queue(line, size as usize);
                    }
                }
                () = self.reader_left() => {}
            }
        }
        .boxed_local()
    }

    fn line_now(&self, line: Vec<u8>) {
        let size = size_of(&line);
        let taken = self.room.try_acquire_many(size).map_or(0, |permits| {
            permits.forget();
            size as usize
        });
        self.queue(line, taken);
    }

    fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    fn reader_left(&self) -> LocalBoxFuture<'_, ()> {
        async move {
            let left = self.reader.left.notified();
            if !self.reader.gone.load(Ordering::Acquire) {
                left.await;
            }
        }
        .boxed_local()
    }

    fn drain(&self) -> LocalBoxFuture<'_, ()> {
        async move {
            let (done, mut written) = oneshot::channel();
            if self.jobs.send(Job::Flush(done)).is_err() {
                return;
            }
            let started = Instant::now();
            let mut left = usize::MAX;
            while started.elapsed() < DRAIN_MAX {
                let waiting = self.reader.waiting.load(Ordering::Acquire);
                if waiting == left || tokio::time::timeout(DRAIN_PATIENCE, &mut written).await.is_ok() {
                    return;
                }
                left = waiting;
            }
        }
        .boxed_local()
    }
}

/// How much of the room a line takes.
fn size_of(line: &[u8]) -> u32 {
    u32::try_from(line.len().min(QUEUE_BYTES)).unwrap_or(u32::MAX)
}

#[expect(clippy::disallowed_methods, reason = "this is the agent's one writer of stdout")]
fn write_all(mut queue: mpsc::UnboundedReceiver<Job>, room: &Semaphore, reader: &Reader) {
    let stdout = std::io::stdout();
    while let Some(job) = queue.blocking_recv() {
        match job {
            Job::Line(line, taken) => {
                if !reader.gone.load(Ordering::Acquire) && write_line(&stdout, &line).is_err() {
                    reader.gone.store(true, Ordering::Release);
                    reader.left.notify_waiters();
                }
                room.add_permits(taken);
                reader.waiting.fetch_sub(1, Ordering::AcqRel);
            }
            Job::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}

fn write_line(stdout: &std::io::Stdout, line: &[u8]) -> std::io::Result<()> {
    // Straight to the descriptor: std's line buffer would cut a long line into several writes.
    let mut rest = line;
    while !rest.is_empty() {
        match rustix::io::write(stdout, rest) {
            Ok(written) => rest = &rest[written..],
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::AGAIN) => wait_writable(stdout)?,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A client may have made the shared descriptor non-blocking; then we wait for it ourselves.
fn wait_writable(stdout: &std::io::Stdout) -> std::io::Result<()> {
    let mut wanted = [rustix::event::PollFd::new(stdout, rustix::event::PollFlags::OUT)];
    rustix::event::poll(&mut wanted, None)?;
    Ok(())
}
