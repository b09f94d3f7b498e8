//! The daemon outside: a connection to exactly this daemon, and the talk of one program in the box with it.
//!
//! The socket's file lies where programs in the box may write: they can move it, or put another socket or a link in its
//! place. So nothing is followed, and then the kernel says at which path the listener was bound and whose it is. A
//! program in the box cannot listen, and moving a file does not change where its listener was bound.

use crate::beads;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// A request or an answer; lists of thousands of issues fit.
const LINE_MAX: u64 = 10 * 1024 * 1024;
/// A program that has a connection and asks nothing for so long has forgotten it.
const IDLE: Duration = Duration::from_mins(10);
/// For the daemon's answer; its own clients wait for half of it.
const ANSWER: Duration = Duration::from_mins(1);

/// A connection to the daemon that was bound at this path, by this user. Does not wait.
pub(crate) fn connect(socket: &Path) -> io::Result<UnixStream> {
    let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    let place = File::options().read(true).custom_flags(flags).open(socket)?;
    if !place.metadata()?.file_type().is_socket() {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    // By its number, which leads to the file that was opened and to no other.
    let stream = connect_at(OsStr::new(&format!("/proc/self/fd/{}", place.as_raw_fd())))?;
    let bound = stream.peer_addr()?;
    if bound.as_pathname() != Some(socket) || owner(&stream)? != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::ConnectionRefused.into());
    }
    stream.set_nonblocking(false)?;
    Ok(stream)
}

/// A listener with a full queue is an error at once.
#[expect(unsafe_code, reason = "the standard library's connect waits for ever")]
fn connect_at(path: &OsStr) -> io::Result<UnixStream> {
    // SAFETY: integers only.
    let fd = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just returned it to us, and nobody else knows it.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    // SAFETY: an all-zero sockaddr_un is a valid value of that plain C struct.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    if path.len() >= address.sun_path.len() {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    for (to, from) in address.sun_path.iter_mut().zip(path.as_bytes()) {
        *to = *from as libc::c_char;
    }
    let size = size_of::<libc::sockaddr_un>() as libc::socklen_t;
    // SAFETY: pointer and size belong to a live local, and the path in it ends with NUL.
    if unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), size) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(socket.into())
}

/// Whose process listens, as the kernel says.
#[expect(unsafe_code, reason = "no safe interface is compiled in")]
fn owner(stream: &UnixStream) -> io::Result<u32> {
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut size = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: pointer and size belong to live locals.
    let asked = unsafe {
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut peer).cast(), &raw mut size)
    };
    if asked < 0 { Err(io::Error::last_os_error()) } else { Ok(peer.uid) }
}

/// Carries requests that may pass and their answers, one after the other, until one side leaves. Only bytes are
/// carried: descriptors that are sent along get lost.
pub(crate) fn carry(client: UnixStream, daemon: UnixStream) -> io::Result<()> {
    client.set_nonblocking(false)?;
    client.set_read_timeout(Some(IDLE))?;
    client.set_write_timeout(Some(ANSWER))?;
    daemon.set_read_timeout(Some(ANSWER))?;
    daemon.set_write_timeout(Some(ANSWER))?;
    let (mut to_client, mut to_daemon) = (client.try_clone()?, daemon.try_clone()?);
    let (mut asks, mut answers) = (BufReader::new(client), BufReader::new(daemon));
    while let Some(request) = line(&mut asks)? {
        match beads::judge(&request) {
            Ok(passed) => to_daemon.write_all(&passed)?,
            Err(answer) => {
                to_client.write_all(&answer)?;
                continue;
            }
        }
        let Some(answer) = line(&mut answers)? else { return Ok(()) };
        to_client.write_all(&answer)?;
    }
    Ok(())
}

/// A whole line with its end; `None` at the end of the talk, or where a line is too long.
fn line(from: &mut BufReader<UnixStream>) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    from.take(LINE_MAX).read_until(b'\n', &mut line)?;
    Ok(Some(line).filter(|line| line.ends_with(b"\n")))
}

#[cfg(test)]
#[path = "daemon_tests.rs"]
mod tests;
