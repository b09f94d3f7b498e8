//! The namespaces that all confined commands of one agent share: users, processes, IPC, and network where it is cut.
//!
//! Made once by a short-lived process that hands over descriptors and ends; the descriptors keep the
//! namespaces alive, and the one of processes its first process ([`Init`]). Shared, so that a server started by one
//! command can be reached by the next, and so that a command only has to join. Deliberately absent: mounts, which are
//! made anew for every command.

use crate::init::{self, Init};
use crate::sys;
use process::tree;
use std::ffi::CStr;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::time::Duration;

/// Making namespaces takes a millisecond; a machine that needs longer has stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// Descriptors of one message: users, processes, IPC, network, listener.
const HANDED: usize = 5;
/// The namespaces of every sandbox.
const ALWAYS: usize = 3;

/// Connections waiting for the proxy; browsers and package managers open some dozens at once.
const WAITING: libc::c_int = 128;

#[derive(Debug)]
pub(crate) struct SharedNamespaces {
    pub(crate) users: OwnedFd,
    pub(crate) processes: OwnedFd,
    /// Shared memory, semaphores and message queues of their own.
    pub(crate) ipc: OwnedFd,
    pub(crate) init: Init,
    /// Whether commands can have a `/proc` of their own; where not, they see the machine's, and cannot look into it.
    pub(crate) own_proc: bool,
    /// Joined by every command; without it they have the machine's own network.
    pub(crate) network: Option<OwnedFd>,
    /// On the loopback of `network`: what connects here wants out.
    pub(crate) listener: Option<TcpListener>,
}

/// Every number that is known here, as itself.
fn identity(map: &str) -> String {
    let line = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let (inside, _, count) = (fields.next()?, fields.next()?, fields.next()?);
        Some(format!("{inside} {inside} {count}\n"))
    };
    map.lines().filter_map(line).collect()
}

/// Says whose numbers are known in the helper's namespace. Root keeps every number, since a workspace
/// may belong to somebody else; others, and a root that may not, keep their own.
fn map_users(helper: libc::pid_t) -> io::Result<()> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    let write = |file: &str, text: &str| std::fs::write(format!("/proc/{helper}/{file}"), text);
    let whole = |file: &str| write(file, &identity(&std::fs::read_to_string(format!("/proc/self/{file}"))?));
    if uid.is_root() && whole("uid_map").is_ok() {
        return whole("gid_map");
    }
    let own = |id: u32| format!("{id} {id} 1\n");
    write("setgroups", "deny")?;
    write("uid_map", &own(uid.as_raw()))?;
    write("gid_map", &own(gid.as_raw()))
}

impl SharedNamespaces {
    /// Fails where the system does not let users have namespaces.
    pub(crate) fn make(cut: bool) -> io::Result<Self> {
        let (ours, theirs) = pair()?;
        let (waits, holds) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        // Nobody else may collect the helper, and it must be collected.
        let owned = tree::owned();
        let helper = start(cut, theirs.as_raw_fd(), ours.as_raw_fd(), waits.as_raw_fd())?;
        drop((theirs, waits));
        let received = serve(helper, ours.as_raw_fd());
        // Ends the helper if it still waits.
        drop(ours);
        collect(helper);
        drop(owned);
        let Made { handed, init, own_proc } = received?;
        let init = Init::new(init, holds);
        let mut handed = handed.into_iter();
        let mut next = || handed.next().ok_or_else(refused);
        let (users, processes, ipc) = (next()?, next()?, next()?);
        let (network, listener) = if cut { (Some(next()?), Some(next()?)) } else { (None, None) };
        Ok(Self { users, processes, ipc, init, own_proc, network, listener: listener.map(TcpListener::from) })
    }
}

/// What the helper has made.
struct Made {
    handed: Vec<OwnedFd>,
    init: libc::pid_t,
    own_proc: bool,
}

fn refused() -> io::Error {
    io::ErrorKind::PermissionDenied.into()
}

/// Our side of the talk with the helper: it is ready, its users are mapped, it hands over, and the first process of
/// the namespace says what it can do.
fn serve(helper: libc::pid_t, with: RawFd) -> io::Result<Made> {
    wait_for_word(with)?;
    map_users(helper)?;
    send(with, &[], 0)?;
    let (handed, init) = receive(with)?;
    if init <= 1 {
        return Err(refused());
    }
    match send(with, &[], 0).and_then(|()| wait_for_word(with)) {
        Ok(own_proc) => Ok(Made { handed, init, own_proc: own_proc == 1 }),
        Err(error) => {
            // Its pipe is closed by our return; it still has to be collected.
            collect_killed(init);
            Err(error)
        }
    }
}

/// After a failed call: nothing where a signal was the reason, as the helper's end sends one.
fn retry() -> io::Result<()> {
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(()) } else { Err(error) }
}

/// A message without descriptors; an end without one is an error.
#[expect(unsafe_code, reason = "also runs where nothing may be allocated")]
fn wait_for_word(from: RawFd) -> io::Result<u8> {
    let mut byte = [0_u8];
    loop {
        // SAFETY: room for the one byte that is asked for; a longer message is cut.
        match unsafe { libc::recv(from, byte.as_mut_ptr().cast(), 1, 0) } {
            1 => return Ok(byte[0]),
            0 => return Err(refused()),
            _ => retry()?,
        }
    }
}

#[expect(unsafe_code, reason = "no safe interface is compiled in")]
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for the two descriptors that are written.
    if unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, ends.as_mut_ptr()) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let patience = libc::timeval { tv_sec: PATIENCE.as_secs() as libc::time_t, tv_usec: 0 };
    for end in ends {
        // SAFETY: pointer and size belong to a live local. Without the limit a wait would only be longer.
        unsafe {
            libc::setsockopt(
                end,
                libc::SOL_SOCKET,
                libc::SO_RCVTIMEO,
                (&raw const patience).cast(),
                size_of::<libc::timeval>() as libc::socklen_t,
            )
        };
    }
    // SAFETY: both were just made and belong to nobody else.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

#[expect(unsafe_code, reason = "the helper is a bare copy of this process that never returns")]
fn start(cut: bool, to: RawFd, ours: RawFd, pipe: RawFd) -> io::Result<libc::pid_t> {
    // SAFETY: the child calls only async-signal-safe functions on what was prepared, and then ends.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: the helper's copy of our end; with it open, it would never see ours close.
            unsafe { libc::close(ours) };
            let code = i32::from(help(cut, to, pipe).is_err());
            // SAFETY: ends this copy without running anything of the original's.
            unsafe { libc::_exit(code) }
        }
        helper => Ok(helper),
    }
}

#[expect(unsafe_code, reason = "no safe interface for a child that is not a std one")]
fn collect(helper: libc::pid_t) {
    let mut status = 0;
    // SAFETY: the pointer is to a live local. It has sent its message or closed its end, so it is ending.
    unsafe { libc::waitpid(helper, &raw mut status, 0) };
}

#[expect(unsafe_code, reason = "no safe interface for a child that is not a std one")]
fn collect_killed(pid: libc::pid_t) {
    // SAFETY: integers only; the process is our own child and not collected yet.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    collect(pid);
}

/// In the helper: makes the namespaces and hands them over.
fn help(cut: bool, to: RawFd, pipe: RawFd) -> io::Result<()> {
    // A process that hides its memory hides its maps, too.
    sys::dumpable(true)?;
    sys::unshare(libc::CLONE_NEWUSER | if cut { libc::CLONE_NEWNET } else { 0 })?;
    // Only somebody outside may map more than one user.
    send(to, &[], 0)?;
    wait_for_word(to)?;
    // Some systems give the namespace but none of its powers; better to know now.
    sys::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWIPC | libc::CLONE_NEWPID)?;
    // What is unmounted outside goes here, too: the first process keeps these mounts.
    sys::mount(c"none", c"/", c"", libc::MS_REC | libc::MS_SLAVE, c"")?;
    let init = init::sibling()?;
    if init == 0 {
        init::wait_for_end(to, pipe);
    }
    let mut handed = [-1; HANDED];
    handed[0] = open(c"/proc/self/ns/user")?;
    handed[1] = open(c"/proc/self/ns/pid_for_children")?;
    handed[2] = open(c"/proc/self/ns/ipc")?;
    let mut count = ALWAYS;
    if cut {
        raise_loopback()?;
        handed[3] = open(c"/proc/self/ns/net")?;
        handed[4] = listen()?;
        count = HANDED;
    }
    send(to, &handed[..count], init)
}

#[expect(unsafe_code, reason = "runs where nothing may be allocated")]
fn open(path: &CStr) -> io::Result<RawFd> {
    // SAFETY: the path ends with NUL and outlives the call.
    let fd = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(fd) }
}

#[expect(unsafe_code, reason = "runs where nothing may be allocated")]
fn raise_loopback() -> io::Result<()> {
    // SAFETY: integers only.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: an all-zero ifreq is a valid value of that plain C struct.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the request outlives the call and has the layout that this ioctl wants.
    if unsafe { libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[expect(unsafe_code, reason = "runs where nothing may be allocated")]
fn listen() -> io::Result<RawFd> {
    // SAFETY: integers only.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: an all-zero sockaddr_in is a valid value of that plain C struct.
    let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_addr.s_addr = u32::from(Ipv4Addr::LOCALHOST).to_be();
    let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
    // SAFETY: pointer and size belong to a live local.
    if unsafe { libc::bind(socket, (&raw const address).cast(), size) } < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: integers only.
    if unsafe { libc::listen(socket, WAITING) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(socket)
}

/// Room for the descriptors of one message, aligned as the kernel wants control data.
#[repr(C, align(8))]
struct Control([u8; 64]);

#[expect(unsafe_code, reason = "descriptors travel in control data, which has no safe interface here")]
pub(crate) fn send(to: RawFd, handed: &[RawFd], number: i32) -> io::Result<()> {
    let mut control = Control([0; 64]);
    let mut bytes = number.to_ne_bytes();
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: an all-zero msghdr is a valid value of that plain C struct.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    let size = size_of_val(handed) as libc::c_uint;
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    if !handed.is_empty() {
        message.msg_control = control.0.as_mut_ptr().cast();
        // SAFETY: arithmetic only; at most 40 bytes for five descriptors, which `control` has.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(size) } as _;
        // SAFETY: `message` has control data with room for one header and the descriptors.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(size) as _;
            std::ptr::copy_nonoverlapping(handed.as_ptr().cast::<u8>(), libc::CMSG_DATA(header), size as usize);
        }
    }
    // SAFETY: everything `message` points to is alive.
    if unsafe { libc::sendmsg(to, &raw const message, libc::MSG_NOSIGNAL) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// What the helper handed over, with its number; nothing when it failed and ended.
#[expect(unsafe_code, reason = "descriptors travel in control data, which has no safe interface here")]
pub(crate) fn receive(from: RawFd) -> io::Result<(Vec<OwnedFd>, i32)> {
    let mut control = Control([0; 64]);
    let mut bytes = [0_u8; 4];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: an all-zero msghdr is a valid value of that plain C struct.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: everything `message` points to is alive.
    while unsafe { libc::recvmsg(from, &raw mut message, libc::MSG_CMSG_CLOEXEC) } < 0 {
        retry()?;
    }
    let mut handed = Vec::new();
    // SAFETY: the kernel has filled in the control data; the header is null where there is none.
    let header = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    if !header.is_null() {
        // SAFETY: the header is in `control`, and the kernel wrote as many whole descriptors as its
        // length says; each is ours alone now.
        unsafe {
            let bytes = (*header).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            let data = libc::CMSG_DATA(header);
            for at in (0..bytes).step_by(size_of::<RawFd>()) {
                handed.push(OwnedFd::from_raw_fd(data.add(at).cast::<RawFd>().read_unaligned()));
            }
        }
    }
    Ok((handed, i32::from_ne_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::identity;

    #[test]
    fn numbers_stand_for_themselves() {
        assert_eq!(identity("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(identity("0 100000 1000\n1000 1000 1\n"), "0 0 1000\n1000 1000 1\n");
        assert_eq!(identity("torn"), "");
    }
}
