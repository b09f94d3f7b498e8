//! The one socket of a box: programs in it reach the daemon of their issue tracker, and no other socket.
//!
//! A filter cannot read paths, so the kernel reports three calls to a thread of ours, outside. `socket(AF_UNIX)` is
//! answered with one end of a pair, which is connected for good: whatever a program does with it, it reaches nobody but
//! this thread. `connect` is answered by looking which path is meant; if it is the daemon's, this thread connects by
//! itself and carries what is said ([`daemon`]). A path that changes after the look changes nothing, because the kernel
//! never carries out that call with it. Calls on other sockets go on as they would without the relay: nothing in
//! the box is a Unix socket that could be connected. Deliberately absent: serving (`bind`), datagrams, descriptors.

use crate::daemon;
use crate::layout::real;
use crate::namespaces;
use crate::notify::{self, Answer, Call};
use rustix::event::{PollFd, PollFlags};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Sockets that were made and not connected yet. Programs make one and connect it at once.
const UNCONNECTED_MAX: usize = 64;
/// Talks with the daemon at once, each with a thread.
const TALKS_MAX: usize = 32;
/// Commands at once. The calls of one that is not listened to fail.
const COMMANDS_MAX: usize = 1024;
/// For the relay to take a child's message; it waits for nothing else.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(crate) struct Relay {
    /// Children send the listener of their filter here.
    hands: OwnedFd,
}

impl Relay {
    pub(crate) fn start(socket: PathBuf) -> io::Result<Self> {
        let (hands, received) = namespaces::pair()?;
        // A child that nobody listens to fails to start.
        let hands = UnixStream::from(hands);
        hands.set_write_timeout(Some(PATIENCE))?;
        let sockets = Sockets { daemon: socket, unconnected: Vec::new(), talks: Arc::new(AtomicUsize::new(0)) };
        let supervisor = Supervisor { received: Some(received), listeners: Vec::new(), sockets };
        std::thread::Builder::new().name("relay".into()).spawn(move || supervisor.run())?;
        Ok(Self { hands: hands.into() })
    }

    pub(crate) fn hands(&self) -> RawFd {
        self.hands.as_raw_fd()
    }
}

/// In the child: applies the filter and sends its listener to the relay.
pub(crate) fn install(program: &[libc::sock_filter], hands: RawFd) -> io::Result<()> {
    let listener = notify::install(program)?;
    // Exec closes the child's copy.
    namespaces::send(hands, &[listener], 0)
}

/// The thread that answers.
struct Supervisor {
    /// Until the box is closed.
    received: Option<OwnedFd>,
    /// Of the filters of commands that run.
    listeners: Vec<OwnedFd>,
    sockets: Sockets,
}

impl Supervisor {
    /// Until the box is closed and all of its commands are gone. There is no deadline: whoever waits for an answer would
    /// wait for ever without this thread.
    fn run(mut self) {
        while self.received.is_some() || !self.listeners.is_empty() {
            let Ok(seen) = self.wait() else { return };
            let (received, rest) = seen.split_at(usize::from(self.received.is_some()));
            let (commands, sockets) = rest.split_at(self.listeners.len());
            self.sockets.forget(sockets);
            for (listener, seen) in self.listeners.iter().zip(commands) {
                if seen.contains(PollFlags::IN) {
                    self.sockets.serve(listener.as_fd());
                }
            }
            let mut commands = commands.iter();
            self.listeners.retain(|_| !commands.next().is_some_and(|seen| has_left(*seen)));
            if received.iter().any(|seen| !seen.is_empty()) {
                self.take_listener();
            }
        }
    }

    /// What happened to each: the children's messages, the listeners, the sockets.
    fn wait(&self) -> io::Result<Vec<PollFlags>> {
        let sockets = self.sockets.unconnected.iter().map(|one| PollFd::new(&one.ours, PollFlags::empty()));
        let asking = self.received.iter().chain(&self.listeners).map(|file| PollFd::new(file, PollFlags::IN));
        let mut all: Vec<PollFd<'_>> = asking.chain(sockets).collect();
        loop {
            match rustix::event::poll(&mut all, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) => return Ok(all.iter().map(PollFd::revents).collect()),
            }
        }
    }

    fn take_listener(&mut self) {
        let Some(received) = &self.received else { return };
        match namespaces::receive(received.as_raw_fd()) {
            Ok((files, _)) if !files.is_empty() => {
                let room = COMMANDS_MAX.saturating_sub(self.listeners.len());
                self.listeners.extend(files.into_iter().take(room));
            }
            // Every other end is closed.
            _ => self.received = None,
        }
    }
}

fn has_left(seen: PollFlags) -> bool {
    seen.intersects(PollFlags::HUP | PollFlags::ERR) && !seen.contains(PollFlags::IN)
}

/// A socket in the box, by the number of its inode, and our end of it.
struct Unconnected {
    inode: u64,
    ours: UnixStream,
}

struct Sockets {
    /// The path of the daemon's.
    daemon: PathBuf,
    unconnected: Vec<Unconnected>,
    talks: Arc<AtomicUsize>,
}

impl Sockets {
    /// Drops those that programs have closed.
    fn forget(&mut self, seen: &[PollFlags]) {
        let mut seen = seen.iter();
        self.unconnected.retain(|_| !seen.next().is_some_and(|seen| has_left(*seen)));
    }

    fn serve(&mut self, listener: BorrowedFd<'_>) {
        // A caller that is gone by now needs no answer.
        let Ok(call) = notify::receive(listener) else { return };
        let answer = match call.number {
            libc::SYS_socket => match self.open(listener, &call) {
                Ok(()) => return,
                Err(error) => Answer::Error(errno(&error)),
            },
            libc::SYS_connect | libc::SYS_bind => match self.find(&call) {
                // Either no Unix socket, or one that is connected for good.
                None => Answer::Continue,
                Some(at) if call.number == libc::SYS_connect => return self.connect(listener, &call, at),
                Some(_) => Answer::Error(libc::EPERM),
            },
            _ => Answer::Error(libc::EPERM),
        };
        let _ = notify::answer(listener, &call, answer);
    }

    /// Answers `socket`.
    fn open(&mut self, listener: BorrowedFd<'_>, call: &Call) -> io::Result<()> {
        if self.unconnected.len() >= UNCONNECTED_MAX {
            return Err(io::Error::from_raw_os_error(libc::EMFILE));
        }
        let (ours, theirs) = UnixStream::pair()?;
        let flags = call.arguments[1] as libc::c_int;
        theirs.set_nonblocking(flags & libc::SOCK_NONBLOCK != 0)?;
        let inode = rustix::fs::fstat(&theirs)?.st_ino;
        notify::answer_with_file(listener, call, theirs.as_fd(), flags & libc::SOCK_CLOEXEC != 0)?;
        self.unconnected.push(Unconnected { inode, ours });
        Ok(())
    }

    /// Which of ours the first argument of a call is.
    fn find(&self, call: &Call) -> Option<usize> {
        let number = call.arguments[0] as libc::c_int;
        let link = std::fs::read_link(format!("/proc/{}/fd/{number}", call.thread)).ok()?;
        let inode: u64 = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
        self.unconnected.iter().position(|one| one.inode == inode)
    }

    /// Answers `connect` on one of ours.
    fn connect(&mut self, listener: BorrowedFd<'_>, call: &Call, at: usize) {
        let reached = self.reach(listener, call);
        let answer = reached.as_ref().map_or_else(|error| Answer::Error(errno(error)), |_| Answer::Zero);
        // A caller that was interrupted asks again.
        if notify::answer(listener, call, answer).is_ok()
            && let Ok(daemon) = reached
        {
            let client = self.unconnected.swap_remove(at).ours;
            let place = Place::take(&self.talks);
            let talk = move || {
                let _place = place;
                // A talk that breaks is the business of its two ends.
                let _ = daemon::carry(client, daemon);
            };
            let _ = std::thread::Builder::new().name("relay-talk".into()).spawn(talk);
        }
    }

    fn reach(&self, listener: BorrowedFd<'_>, call: &Call) -> io::Result<UnixStream> {
        let refused = || io::Error::from_raw_os_error(libc::EPERM);
        let (address, cwd) = address(call).map_err(|_| refused())?;
        if !notify::is_waiting(listener, call) || !is_meant(&address, &cwd, &self.daemon) {
            return Err(refused());
        }
        if self.talks.load(Ordering::Relaxed) >= TALKS_MAX {
            return Err(io::Error::from_raw_os_error(libc::EAGAIN));
        }
        daemon::connect(&self.daemon)
    }
}

/// One of the talks, until dropped.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(talks: &Arc<AtomicUsize>) -> Self {
        talks.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(talks))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn errno(error: &io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::ECONNREFUSED)
}

/// What the second argument of `connect` points to, and where relative paths count from.
fn address(call: &Call) -> io::Result<(Vec<u8>, PathBuf)> {
    let size = usize::try_from(call.arguments[2] as u32).unwrap_or(usize::MAX);
    if size > size_of::<libc::sockaddr_un>() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = vec![0; size];
    File::open(format!("/proc/{}/mem", call.thread))?.read_exact_at(&mut bytes, call.arguments[1])?;
    Ok((bytes, std::fs::read_link(format!("/proc/{}/cwd", call.thread))?))
}

/// Whether an address is the path of this socket. It may be written in any way that leads to the socket's folder; the
/// name itself is never followed.
fn is_meant(address: &[u8], cwd: &Path, socket: &Path) -> bool {
    let (family, name) = address.split_at(address.len().min(size_of::<libc::sa_family_t>()));
    if family != (libc::AF_UNIX as libc::sa_family_t).to_ne_bytes() {
        return false;
    }
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let path = cwd.join(std::ffi::OsStr::from_bytes(name));
    // An empty name, or one that begins with NUL, is no path.
    if name.is_empty() || path.file_name() != socket.file_name() || name.ends_with(b"/") {
        return false;
    }
    path == socket || path.parent().map(real).as_deref() == socket.parent()
}

#[cfg(test)]
#[path = "relay_tests.rs"]
mod tests;
