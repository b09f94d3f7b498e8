//! Ways out of the box, tried for real: by `doctor`, and by the tests that show each to be closed.
//!
//! Each does one small thing that works outside and harms nobody. Deliberately absent: whatever a shell
//! can try by itself.

use std::io::{self, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

pub use native::SharedMemory;

/// A connection to this machine is there at once or not at all.
const CONNECT: Duration = Duration::from_secs(3);

/// Tries one thing; `about` is the path, process or address that it is tried on.
pub fn attempt(name: &str, about: &str) -> io::Result<()> {
    match name {
        "write" => std::fs::write(about, "written from inside\n"),
        "read" => std::fs::read(about).map(drop),
        "make-folder" => std::fs::create_dir(about),
        "truncate" => truncate(about),
        "socket" => UnixStream::connect(about).map(drop),
        "serve" => UnixListener::bind(about).map(drop),
        "connect" => connect(about),
        "datagram" => UdpSocket::bind("0.0.0.0:0")?.send_to(b"?", about).map(drop),
        "signal" => signal(number(about)?),
        "environment" => std::fs::read(format!("/proc/{}/environ", number(about)?)).map(drop),
        "memory" => std::fs::File::open(format!("/proc/{}/mem", number(about)?)).map(drop),
        "own-memory" => std::fs::File::options().write(true).open("/proc/self/mem").map(drop),
        "trace" => native::trace(number(about)?),
        "type" => native::type_into_terminal(),
        "namespace" => native::new_namespace(),
        "ring" => native::ring(),
        "packet" => native::packets(),
        "limit" => native::limit_of(number(about)?),
        "shared-memory" => native::shared_memory(number(about)?),
        "datagram-pair" => native::datagram_pair(),
        "outlive" => native::outlive(about),
        "core-dump" => native::core_dump_allowed(),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("there is no attempt called '{name}'"))),
    }
}

fn number(about: &str) -> io::Result<i32> {
    about.parse().map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, format!("'{about}' is no process")))
}

fn truncate(path: &str) -> io::Result<()> {
    let path = std::ffi::CString::new(path)?;
    // By name: opening it for writing is tried elsewhere.
    native::truncate(&path)
}

fn connect(about: &str) -> io::Result<()> {
    let address = about.to_socket_addrs()?.next().ok_or(io::ErrorKind::NotFound)?;
    TcpStream::connect_timeout(&address, CONNECT)?.write_all(b"?")
}

/// One that a running process takes as nothing.
fn signal(pid: i32) -> io::Result<()> {
    let pid = rustix::process::Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::kill_process(pid, rustix::process::Signal::CONT)?)
}

#[cfg(target_os = "linux")]
mod native {
    use std::ffi::CStr;
    use std::io;

    fn check(result: libc::c_long) -> io::Result<libc::c_long> {
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
    }

    #[expect(unsafe_code, reason = "the attempt is the call itself")]
    pub(super) fn truncate(path: &CStr) -> io::Result<()> {
        // SAFETY: the path ends with NUL and outlives the call.
        check(libc::c_long::from(unsafe { libc::truncate(path.as_ptr(), 0) })).map(drop)
    }

    #[expect(unsafe_code, reason = "the attempt is the call itself")]
    pub(super) fn trace(pid: i32) -> io::Result<()> {
        let null = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: seizing does not stop the other process, and no memory is passed.
        check(unsafe { libc::ptrace(libc::PTRACE_SEIZE, pid, null, null) } as libc::c_long).map(drop)
    }

    #[expect(unsafe_code, reason = "the attempt is the call itself")]
    pub(super) fn type_into_terminal() -> io::Result<()> {
        // Only one's own terminal may be typed into: a new one, of a new session.
        // SAFETY: integers only; fails where we lead a session already, which will do.
        unsafe { libc::setsid() };
        // SAFETY: flags only.
        let master = unsafe { libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY) };
        check(libc::c_long::from(master))?;
        // SAFETY: integers only.
        check(libc::c_long::from(unsafe { libc::grantpt(master) }))?;
        // SAFETY: integers only.
        check(libc::c_long::from(unsafe { libc::unlockpt(master) }))?;
        // SAFETY: flags only.
        let terminal = unsafe { libc::ioctl(master, libc::TIOCGPTPEER, libc::O_RDWR) };
        check(libc::c_long::from(terminal))?;
        // SAFETY: integers only.
        check(libc::c_long::from(unsafe { libc::ioctl(terminal, libc::TIOCSCTTY, 0) }))?;
        let byte = 0_u8;
        // SAFETY: one byte that outlives the call. The process ends soon, and both descriptors with it.
        match check(libc::c_long::from(unsafe { libc::ioctl(terminal, libc::TIOCSTI, &raw const byte) })) {
            // Newer kernels refuse everybody with this error: then the call itself came through.
            Err(error) if error.raw_os_error() == Some(libc::EIO) => Ok(()),
            other => other.map(drop),
        }
    }

    #[expect(unsafe_code, reason = "the attempt is the call itself")]
    pub(super) fn new_namespace() -> io::Result<()> {
        // In a copy of one thread, since that is all that may do it.
        // SAFETY: the copy makes two calls that are async-signal-safe, and ends.
        let copy = unsafe { libc::fork() };
        if copy == 0 {
            // SAFETY: flags only; and the copy ends without running anything of the original's.
            unsafe { libc::_exit(i32::from(libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) < 0)) };
        }
        check(libc::c_long::from(copy))?;
        let mut status = 0;
        // SAFETY: the pointer is to a live local, and the copy ends by itself.
        check(libc::c_long::from(unsafe { libc::waitpid(copy, &raw mut status, 0) }))?;
        if status == 0 { Ok(()) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }

    #[expect(unsafe_code, reason = "the attempt is the call itself")]
    pub(super) fn ring() -> io::Result<()> {
        // Room for the kernel's parameters, all zero as it wants them.
        let mut parameters = [0_u8; 120];
        // SAFETY: the kernel's structure has exactly this size.
        check(unsafe { libc::syscall(libc::SYS_io_uring_setup, 4_u32, parameters.as_mut_ptr()) }).map(drop)
    }

    #[expect(unsafe_code, reason = "the attempt is the call itself")]
    pub(super) fn packets() -> io::Result<()> {
        // SAFETY: integers only.
        check(libc::c_long::from(unsafe { libc::socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0) })).map(drop)
    }

    #[expect(unsafe_code, reason = "the attempt is the call itself")]
    pub(super) fn limit_of(pid: i32) -> io::Result<()> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: a limit is only asked for, into a live local.
        let asked = unsafe { libc::prlimit(pid, libc::RLIMIT_NOFILE, std::ptr::null(), &raw mut limit) };
        check(libc::c_long::from(asked)).map(drop)
    }

    #[expect(unsafe_code, reason = "the attempt is the call itself")]
    pub(super) fn shared_memory(id: i32) -> io::Result<()> {
        // SAFETY: an all-zero structure is a valid value of that plain C struct, and outlives the call.
        let asked = unsafe {
            let mut about: libc::shmid_ds = std::mem::zeroed();
            libc::shmctl(id, libc::IPC_STAT, &raw mut about)
        };
        check(libc::c_long::from(asked)).map(drop)
    }

    #[expect(unsafe_code, reason = "the attempt is the call itself")]
    pub(super) fn datagram_pair() -> io::Result<()> {
        let mut ends = [0; 2];
        // SAFETY: room for the two descriptors that are written.
        let made = unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_DGRAM, 0, ends.as_mut_ptr()) };
        check(libc::c_long::from(made)).map(drop)
    }

    /// Leaves a detached process behind that writes a file later.
    #[expect(unsafe_code, reason = "the attempt is the call itself")]
    pub(super) fn outlive(path: &str) -> io::Result<()> {
        let path = std::ffi::CString::new(path)?;
        // SAFETY: the copy makes async-signal-safe calls on what was prepared before, and ends.
        unsafe {
            let copy = libc::fork();
            if copy == 0 {
                libc::setsid();
                libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, 0);
                libc::usleep(LATER_MICROSECONDS);
                libc::_exit(i32::from(libc::open(path.as_ptr(), libc::O_CREAT | libc::O_WRONLY, 0o600) < 0));
            }
            check(libc::c_long::from(copy)).map(drop)
        }
    }

    /// Longer than a box takes to go.
    const LATER_MICROSECONDS: libc::c_uint = 700_000;

    /// A piece of shared memory of this machine, for the time being.
    #[derive(Debug)]
    pub struct SharedMemory(pub i32);

    impl SharedMemory {
        #[expect(unsafe_code, reason = "no safe interface is compiled in")]
        pub fn make() -> io::Result<Self> {
            // SAFETY: integers only.
            let id = unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, libc::IPC_CREAT | 0o600) };
            check(libc::c_long::from(id)).map(|id| Self(id as i32))
        }
    }

    impl Drop for SharedMemory {
        #[expect(unsafe_code, reason = "no safe interface is compiled in")]
        fn drop(&mut self) {
            // SAFETY: removing takes no memory.
            unsafe { libc::shmctl(self.0, libc::IPC_RMID, std::ptr::null_mut()) };
        }
    }

    #[expect(unsafe_code, reason = "no safe interface is compiled in")]
    pub(super) fn core_dump_allowed() -> io::Result<()> {
        let unlimited = libc::rlimit { rlim_cur: 1, rlim_max: 1 };
        // SAFETY: the pointer is to a live local.
        check(libc::c_long::from(unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const unlimited) })).map(drop)
    }
}

#[cfg(not(target_os = "linux"))]
mod native {
    use std::ffi::CStr;
    use std::io;

    fn none() -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn truncate(_path: &CStr) -> io::Result<()> {
        none()
    }

    pub(super) fn trace(_pid: i32) -> io::Result<()> {
        none()
    }

    pub(super) fn type_into_terminal() -> io::Result<()> {
        none()
    }

    pub(super) fn new_namespace() -> io::Result<()> {
        none()
    }

    pub(super) fn ring() -> io::Result<()> {
        none()
    }

    pub(super) fn packets() -> io::Result<()> {
        none()
    }

    pub(super) fn limit_of(_pid: i32) -> io::Result<()> {
        none()
    }

    pub(super) fn shared_memory(_id: i32) -> io::Result<()> {
        none()
    }

    pub(super) fn datagram_pair() -> io::Result<()> {
        none()
    }

    pub(super) fn outlive(_path: &str) -> io::Result<()> {
        none()
    }

    #[derive(Debug)]
    pub struct SharedMemory(pub i32);

    impl SharedMemory {
        pub fn make() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    pub(super) fn core_dump_allowed() -> io::Result<()> {
        none()
    }
}
