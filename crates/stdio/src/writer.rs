//! The only writer of the agent's stdout.
//!
//! A thread of its own, so that a reader who is slow stops neither control requests nor signals: whole
//! lines, one write each (those that come together share one), in order, never buffered. What waits is bounded in bytes and in
//! lines; the turn waits when the bound is reached. Lines of a place that cannot wait have a bound of their own, beyond which they
//! are dropped.

use agent::PIPE_BUF;
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use rustix::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore, mpsc, oneshot};

/// Bytes that may wait for the reader: eight of the longest lines.
const QUEUE_BYTES: usize = 8 * wire::LINE_MAX;

/// And of those that come from a place that cannot wait, once that room is taken. They are small: the start and the end of a
/// hook, a withdrawn question, an entry of a transcript for a client that keeps a copy. Whoever causes one sends in most cases a
/// line that waits before it causes the next, so only hooks that run beside the turns (a file changes again and again) can get here.
const URGENT_BYTES: usize = 4 * wire::LINE_MAX;

/// Lines that may wait. More than fit into the bytes: a line of JSON has two ids of 36 characters, and is longer than 128 bytes.
const QUEUE_LINES: usize = (QUEUE_BYTES + URGENT_BYTES) / 128;

/// Once the run is over, a reader that takes no line for so long is taken for dead. A slow one gets all
/// its lines, the result above all.
const DRAIN_PATIENCE: Duration = Duration::from_secs(30);

/// And even one that takes a line now and then does not keep us for ever.
const DRAIN_MAX: Duration = Duration::from_mins(10);

enum Job {
    Line(Vec<u8>, Taken),
    Flush(oneshot::Sender<()>),
}

/// How much of which room a line took.
enum Taken {
    Room(usize),
    Urgent(usize),
}

#[derive(Default)]
struct Reader {
    gone: AtomicBool,
    left: Notify,
    /// Lines that are queued and not yet written.
    waiting: AtomicUsize,
    /// Somebody was told that lines are dropped.
    lost: AtomicBool,
}

/// Bytes that may still be queued.
struct Rooms {
    room: Semaphore,
    urgent: Semaphore,
}

impl Rooms {
    fn give_back(&self, taken: &Taken) {
        match taken {
            Taken::Room(bytes) => self.room.add_permits(*bytes),
            Taken::Urgent(bytes) => self.urgent.add_permits(*bytes),
        }
    }
}

#[derive(Clone)]
pub struct Writer {
    stdout: BorrowedFd<'static>,
    jobs: mpsc::Sender<Job>,
    rooms: Arc<Rooms>,
    reader: Arc<Reader>,
    /// What the pipe holds that stdout is: lines that it takes at once need no thread. Nothing where it is no pipe.
    pipe_size: Option<usize>,
    is_terminal: bool,
}

impl Writer {
    pub fn start() -> std::io::Result<Self> {
        Self::to(rustix::stdio::stdout())
    }

    fn to(stdout: BorrowedFd<'static>) -> std::io::Result<Self> {
        let (jobs, queue) = mpsc::channel(QUEUE_LINES);
        let rooms = Rooms { room: Semaphore::new(QUEUE_BYTES), urgent: Semaphore::new(URGENT_BYTES) };
        let (rooms, reader) = (Arc::new(rooms), Arc::new(Reader::default()));
        let (thread_rooms, thread_reader) = (Arc::clone(&rooms), Arc::clone(&reader));
        std::thread::Builder::new()
            .name("stdout".into())
            .stack_size(128 * 1024)
            .spawn(move || write_all(stdout, queue, &thread_rooms, &thread_reader))?;
        let stat = rustix::fs::fstat(stdout);
        let is_pipe = stat.is_ok_and(|stat| rustix::fs::FileType::from_raw_mode(stat.st_mode).is_fifo());
        let is_terminal = rustix::termios::isatty(stdout);
        Ok(Self { stdout, jobs, rooms, reader, pipe_size: is_pipe.then(|| pipe_size(stdout)), is_terminal })
    }

    /// Lines for a pipe that takes them whole are written right here: waking the thread costs more than the
    /// write. It never blocks, and never overtakes a line that waits.
    fn write_at_once(&self, line: &[u8]) -> bool {
        if self.reader.waiting.load(Ordering::Acquire) > 0 || !self.has_room(line.len()) {
            return false;
        }
        match rustix::io::write(self.stdout, line) {
            // Only where another program writes into the same pipe. What was begun is ended before anything else.
            Ok(written) if written < line.len() => write_line(self.stdout, &line[written..]).is_ok(),
            Ok(_) => true,
            // Anything unusual is the thread's business, which knows how to wait and whom to tell.
            Err(_) => false,
        }
    }

    /// Whether so much can be written without waiting: a little while there is any room, more while the pipe is empty.
    fn has_room(&self, length: usize) -> bool {
        let Some(size) = self.pipe_size else { return false };
        if length > PIPE_BUF {
            return length <= size && rustix::io::ioctl_fionread(self.stdout) == Ok(0);
        }
        let mut wanted = [rustix::event::PollFd::new(&self.stdout, rustix::event::PollFlags::OUT)];
        let at_once = rustix::event::Timespec::default();
        rustix::event::poll(&mut wanted, Some(&at_once)).is_ok_and(|ready| ready == 1)
            && wanted[0].revents() == rustix::event::PollFlags::OUT
    }

    fn queue(&self, slot: mpsc::Permit<'_, Job>, line: Vec<u8>, taken: Taken) {
        self.reader.waiting.fetch_add(1, Ordering::AcqRel);
        slot.send(Job::Line(line, taken));
    }

    /// Room for a line that cannot wait.
    fn take_now(&self, size: u32) -> Option<Taken> {
        if let Ok(permits) = self.rooms.room.try_acquire_many(size) {
            permits.forget();
            return Some(Taken::Room(size as usize));
        }
        let permits = self.rooms.urgent.try_acquire_many(size).ok()?;
        permits.forget();
        Some(Taken::Urgent(size as usize))
    }

    fn lose(&self) {
        if !self.reader.lost.swap(true, Ordering::AcqRel) {
            agent::warn("warning: nobody reads stdout, so events that cannot wait are left out until somebody does");
        }
    }
}

impl agent::Writer for Writer {
    fn try_line(&self, line: Vec<u8>) -> Option<Vec<u8>> {
        if self.write_at_once(&line) {
            return None;
        }
        let size = size_of(&line);
        match (self.jobs.try_reserve(), self.rooms.room.try_acquire_many(size)) {
            (Ok(slot), Ok(permits)) => {
                permits.forget();
                self.queue(slot, line, Taken::Room(size as usize));
                None
            }
            _ => Some(line),
        }
    }

    fn wait_line(&self, line: Vec<u8>) -> LocalBoxFuture<'_, ()> {
        async move {
            let size = size_of(&line);
            let room =
                async { Some((self.rooms.room.acquire_many(size).await.ok()?, self.jobs.reserve().await.ok()?)) };
            tokio::select! {
                room = room => {
                    if let Some((permits, slot)) = room {
                        permits.forget();
                        self.queue(slot, line, Taken::Room(size as usize));
                    }
                }
                () = self.reader_left() => {}
            }
        }
        .boxed_local()
    }

    fn line_now(&self, line: Vec<u8>) {
        let Ok(slot) = self.jobs.try_reserve() else { return self.lose() };
        match self.take_now(size_of(&line)) {
            Some(taken) => self.queue(slot, line, taken),
            None => self.lose(),
        }
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
            let queued = tokio::time::timeout(DRAIN_PATIENCE, self.jobs.send(Job::Flush(done))).await;
            if !matches!(queued, Ok(Ok(()))) {
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

/// What a pipe holds while it is empty.
#[cfg(target_os = "linux")]
fn pipe_size(pipe: BorrowedFd<'_>) -> usize {
    rustix::pipe::fcntl_getpipe_size(pipe).unwrap_or(PIPE_BUF)
}

/// Elsewhere the system does not say.
#[cfg(not(target_os = "linux"))]
fn pipe_size(_: BorrowedFd<'_>) -> usize {
    PIPE_BUF
}

/// How much of the room a line takes.
fn size_of(line: &[u8]) -> u32 {
    u32::try_from(line.len().min(QUEUE_BYTES)).unwrap_or(u32::MAX)
}

fn write_all(stdout: BorrowedFd<'_>, mut queue: mpsc::Receiver<Job>, rooms: &Rooms, reader: &Reader) {
    while let Some(job) = queue.blocking_recv() {
        match job {
            Job::Line(line, taken) => {
                if !reader.gone.load(Ordering::Acquire) && write_line(stdout, &line).is_err() {
                    reader.gone.store(true, Ordering::Release);
                    reader.left.notify_waiters();
                }
                rooms.give_back(&taken);
                reader.waiting.fetch_sub(1, Ordering::AcqRel);
            }
            Job::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}

/// Straight to the descriptor: std's line buffer would cut a long line into several writes.
fn write_line(stdout: BorrowedFd<'_>, line: &[u8]) -> std::io::Result<()> {
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
fn wait_writable(stdout: BorrowedFd<'_>) -> std::io::Result<()> {
    let mut wanted = [rustix::event::PollFd::new(&stdout, rustix::event::PollFlags::OUT)];
    rustix::event::poll(&mut wanted, None)?;
    Ok(())
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
