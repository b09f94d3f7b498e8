//! The one socket: the daemon of the issue tracker is reached from inside, and no other socket is, however it is asked for.

use crate::world::{Said, World, skip};
use ralph_sandbox::{Hosts, Network, Request, Sandbox};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SOCKET: &str = "work/.beads/bd.sock";
/// A request that passes.
const PING: &[u8] = b"{\"operation\":\"ping\",\"args\":{}}\n";
/// Tries of a race.
const TRIES: usize = 300;

/// A listener that answers lines with its name, and counts what it was sent.
struct Server {
    bytes: Arc<AtomicUsize>,
}

impl Server {
    fn at(address: &SocketAddr, name: &'static str) -> Self {
        let listener = UnixListener::bind_addr(address).unwrap();
        let bytes = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&bytes);
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                let counted = Arc::clone(&counted);
                std::thread::spawn(move || {
                    let mut answers = client.try_clone().unwrap();
                    let mut lines = BufReader::new(client);
                    let mut line = Vec::new();
                    while let Ok(1..) = lines.read_until(b'\n', &mut line) {
                        counted.fetch_add(line.len(), Ordering::SeqCst);
                        let _ = answers.write_all(format!("{{\"success\":true,\"data\":\"{name}\"}}\n").as_bytes());
                        line.clear();
                    }
                });
            }
        });
        Self { bytes }
    }

    fn in_file(path: &Path, name: &'static str) -> Self {
        Self::at(&SocketAddr::from_pathname(path).unwrap(), name)
    }

    fn was_told_anything(&self) -> bool {
        self.bytes.load(Ordering::SeqCst) > 0
    }
}

/// A world with the daemon's socket, and another one beside it in the workspace.
fn world() -> (World, Server, Server) {
    let world = World::new();
    std::fs::create_dir_all(world.at("work/.beads")).unwrap();
    let daemon = Server::in_file(&world.at(SOCKET), "daemon");
    let other = Server::in_file(&world.at("work/other.sock"), "other");
    (world, daemon, other)
}

fn with_relay(world: &World, request: Request) -> Sandbox {
    if !ralph_sandbox::reaches_beads(&world.at(SOCKET)) {
        skip("a relay for one socket");
    }
    Sandbox::new(Request { beads_socket: Some(world.at(SOCKET)), ..request }.rules()).unwrap()
}

fn sandbox(world: &World) -> Sandbox {
    with_relay(world, world.request())
}

fn refused(said: &Said) {
    assert!(!said.ok && said.text.contains("refused: "), "{}", said.text);
}

#[test]
fn the_daemon_answers_from_inside_and_only_where_it_is_named() {
    let (world, _daemon, _other) = world();
    let path = world.at(SOCKET).display().to_string();
    let inside = sandbox(&world);
    for name in ["relay-ask", "relay-relative", "relay-nonblocking"] {
        let said = world.attempt(Some(&inside), name, &path);
        assert!(said.ok && said.text.contains("daemon"), "{name}: {}", said.text);
    }
    refused(&world.attempt(Some(&world.sandbox()), "relay-ask", &path));
    // A network of its own changes nothing about it, and the relay nothing about the network.
    let network = Network::Only(Hosts::new(&["a.test".into()], &[]).0);
    for request in [world.request(), Request { network, ..world.request() }] {
        let inside = with_relay(&world, request);
        let said = world.attempt(Some(&inside), "relay-ask", &path);
        assert!(said.ok && said.text.contains("daemon"), "{}", said.text);
        let said = world.attempt(Some(&inside), "own-loopback", "");
        assert!(said.ok, "{}", said.text);
    }
}

#[test]
fn programs_of_programs_reach_it_at_the_same_time() {
    let (world, daemon, _other) = world();
    let inside = sandbox(&world);
    let path = world.at(SOCKET).display().to_string();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            let (world, inside, path) = (&world, &inside, &path);
            // Each from a world of its own: a runtime is for one thread.
            scope.spawn(move || {
                let said = world.beside().attempt(Some(inside), "relay-many", path);
                assert!(said.ok, "{}", said.text);
            });
        }
    });
    assert!(daemon.was_told_anything());
}

#[test]
fn no_other_socket_is_reached_by_any_way_of_asking() {
    let (world, daemon, other) = world();
    let runs = world.at("work/.ralph/runs/r");
    std::fs::create_dir_all(&runs).unwrap();
    let run = Server::in_file(&runs.join("socket"), "run");
    let outside = Server::in_file(&world.at("outside/docker.sock"), "outside");
    let hidden = format!("ralph-test-{}", std::process::id());
    let named = Server::at(&SocketAddr::from_abstract_name(&hidden).unwrap(), "abstract");
    std::os::unix::fs::symlink(world.at("work/other.sock"), world.at("work/link.sock")).unwrap();
    std::fs::create_dir_all(world.at("work/linked")).unwrap();
    std::os::unix::fs::symlink(world.at("work/other.sock"), world.at("work/linked/bd.sock")).unwrap();
    let inside = sandbox(&world);
    let show = |path: &str| world.at(path).display().to_string();
    for (name, about) in [
        ("relay-ask", show("work/other.sock")),
        ("relay-ask", show("work/link.sock")),
        ("relay-ask", show("work/linked/bd.sock")),
        ("relay-ask", show("outside/docker.sock")),
        ("relay-ask", show("work/.ralph/runs/r/socket")),
        ("relay-relative", show("work/other.sock")),
        ("relay-by-descriptor", show("work/other.sock")),
        ("relay-abstract", hidden.clone()),
        ("relay-datagram", show("work/other.sock")),
        ("relay-datagram", show(SOCKET)),
        ("relay-seqpacket", show("work/other.sock")),
        ("relay-send-to", show("work/other.sock")),
        ("relay-pair", show("work/other.sock")),
        ("relay-reconnect", show("work/other.sock")),
        ("relay-serve", show("work/new.sock")),
        ("serve", show("work/new.sock")),
        ("datagram-pair", String::new()),
    ] {
        let said = world.attempt(Some(&inside), name, &about);
        assert!(!said.ok && said.text.contains("refused: "), "{name} {about}: {}", said.text);
    }
    assert!(!world.at("work/new.sock").exists(), "nothing inside can listen");
    for (server, name) in [(&other, "other"), (&run, "run"), (&outside, "outside"), (&named, "abstract")] {
        assert!(!server.was_told_anything(), "{name}");
    }
    // The control: the same attempts work outside.
    for (name, about) in [
        ("relay-ask", show("work/other.sock")),
        ("relay-by-descriptor", show("work/other.sock")),
        ("relay-abstract", hidden),
        ("relay-serve", show("work/new.sock")),
    ] {
        let said = world.attempt(None, name, &about);
        assert!(said.ok, "{name}: {}", said.text);
    }
    assert!(other.was_told_anything() && named.was_told_anything());
    drop(daemon);
}

#[test]
fn a_path_that_changes_after_the_look_reaches_nobody_else() {
    let (world, _daemon, other) = world();
    let inside = sandbox(&world);
    let about = format!("{}|{}", world.at(SOCKET).display(), world.at("work/other.sock").display());
    let said = world.attempt(Some(&inside), "relay-changing-path", &about);
    assert!(said.ok, "{}", said.text);
    assert!(said.text.contains("reached the daemon"), "the race must be one: {}", said.text);
    assert!(!other.was_told_anything());
}

#[test]
fn sockets_that_are_moved_around_are_told_nothing() {
    let (world, _daemon, other) = world();
    let inside = sandbox(&world);
    let about = format!("{}|{}", world.at(SOCKET).display(), world.at("work/other.sock").display());
    let said = world.attempt(Some(&inside), "relay-moving", &about);
    assert!(said.ok, "{}", said.text);
    assert!(!other.was_told_anything());
    // Another socket in the daemon's place, made by somebody outside.
    std::fs::remove_file(world.at(SOCKET)).unwrap();
    let _ = std::fs::rename(world.at("work/other.sock"), world.at(SOCKET));
    refused(&world.attempt(Some(&inside), "relay-ask", &world.at(SOCKET).display().to_string()));
    assert!(!other.was_told_anything());
}

#[test]
fn descriptors_and_dangerous_requests_stay_inside() {
    let (world, _daemon, _other) = world();
    let inside = sandbox(&world);
    let path = world.at(SOCKET).display().to_string();
    let said = world.attempt(Some(&inside), "relay-descriptor", &path);
    assert!(said.ok, "{}", said.text);
    let said = world.attempt(Some(&inside), "relay-export", &path);
    assert!(said.ok && said.text.contains("\"success\":false") && said.text.contains("export"), "{}", said.text);
}

#[test]
fn sockets_that_are_never_connected_have_a_limit() {
    let (world, _daemon, _other) = world();
    let inside = sandbox(&world);
    let path = world.at(SOCKET).display().to_string();
    let said = world.attempt(Some(&inside), "relay-hoard", &path);
    assert!(said.ok && said.text.contains("daemon"), "{}", said.text);
}

/// What `World::attempt` starts; `None` for names that are not of this file.
pub fn attempt(name: &str, about: &str) -> Option<io::Result<()>> {
    let two = || about.split_once('|').unwrap();
    Some(match name {
        "relay-ask" => UnixStream::connect(about).and_then(ask),
        "relay-relative" => relative(Path::new(about)).and_then(ask),
        "relay-nonblocking" => stream(libc::SOCK_NONBLOCK).and_then(|fd| {
            connect(&fd, &address(about.as_bytes()))?;
            let stream = UnixStream::from(fd);
            stream.set_nonblocking(false)?;
            ask(stream)
        }),
        "relay-many" => (0..20).try_for_each(|_| UnixStream::connect(about).and_then(ask)),
        "relay-by-descriptor" => by_descriptor(about).and_then(ask),
        "relay-abstract" => UnixStream::connect_addr(&SocketAddr::from_abstract_name(about).unwrap()).and_then(ask),
        "relay-datagram" => UnixDatagram::unbound().and_then(|socket| socket.send_to(PING, about)).map(drop),
        "relay-seqpacket" => socket(libc::SOCK_SEQPACKET).and_then(|fd| connect(&fd, &address(about.as_bytes()))),
        "relay-send-to" => stream(0).and_then(|fd| send_to(&fd, about)),
        "relay-pair" => {
            let (one, _other) = UnixStream::pair().unwrap();
            connect(&one.into(), &address(about.as_bytes()))
        }
        "relay-reconnect" => reconnect(about),
        "relay-serve" => serve(about),
        "relay-changing-path" => changing_path(two().0, two().1),
        "relay-moving" => moving(two().0, two().1),
        "relay-descriptor" => UnixStream::connect(about).and_then(|stream| descriptor(&stream)),
        "relay-export" => UnixStream::connect(about).and_then(|mut stream| {
            stream.write_all(b"{\"operation\":\"export\",\"args\":{\"jsonl_path\":\"/etc/x\"}}\n")?;
            show_answer(stream)
        }),
        "relay-hoard" => hoard(about),
        _ => return None,
    })
}

fn ask(mut stream: UnixStream) -> io::Result<()> {
    stream.write_all(PING)?;
    show_answer(stream)
}

fn show_answer(stream: UnixStream) -> io::Result<()> {
    println!("{}", answer(stream)?);
    Ok(())
}

fn answer(stream: UnixStream) -> io::Result<String> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    if line.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(line) }
}

fn relative(path: &Path) -> io::Result<UnixStream> {
    std::env::set_current_dir(path.parent().unwrap())?;
    UnixStream::connect(path.file_name().unwrap())
}

/// By a path that means another file in the process that reads it.
fn by_descriptor(path: &str) -> io::Result<UnixStream> {
    use std::os::unix::fs::OpenOptionsExt as _;
    let place = std::fs::File::options().read(true).custom_flags(libc::O_PATH).open(path)?;
    UnixStream::connect(format!("/proc/self/fd/{}", place.as_raw_fd()))
}

#[expect(unsafe_code, reason = "the attempt is the call itself")]
fn socket(kind: i32) -> io::Result<OwnedFd> {
    // SAFETY: integers only.
    let fd = unsafe { libc::socket(libc::AF_UNIX, kind | libc::SOCK_CLOEXEC, 0) };
    // SAFETY: the kernel has just returned it.
    if fd < 0 { Err(io::Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(fd) }) }
}

fn stream(flags: i32) -> io::Result<OwnedFd> {
    socket(libc::SOCK_STREAM | flags)
}

#[expect(unsafe_code, reason = "plain C memory")]
fn address(name: &[u8]) -> libc::sockaddr_un {
    // SAFETY: an all-zero value is valid.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, from) in address.sun_path.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    address
}

fn size() -> libc::socklen_t {
    size_of::<libc::sockaddr_un>() as libc::socklen_t
}

fn checked(result: isize) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[expect(unsafe_code, reason = "the attempt is the call itself")]
fn connect(fd: &OwnedFd, address: &libc::sockaddr_un) -> io::Result<()> {
    // SAFETY: pointer and size belong to a live value.
    checked(unsafe { libc::connect(fd.as_raw_fd(), (&raw const *address).cast(), size()) } as isize)
}

#[expect(unsafe_code, reason = "the attempt is the call itself")]
fn send_to(fd: &OwnedFd, path: &str) -> io::Result<()> {
    let to = address(path.as_bytes());
    let sent = |fd: i32| {
        // SAFETY: pointers and sizes belong to live values.
        checked(unsafe { libc::sendto(fd, PING.as_ptr().cast(), PING.len(), 0, (&raw const to).cast(), size()) })
    };
    sent(fd.as_raw_fd())
}

/// A socket that has reached the daemon asks for another one.
fn reconnect(other: &str) -> io::Result<()> {
    let daemon = Path::new(other).with_file_name(".beads").join("bd.sock");
    let fd = OwnedFd::from(UnixStream::connect(daemon)?);
    connect(&fd, &address(other.as_bytes()))
}

#[expect(unsafe_code, reason = "the attempt is the call itself")]
fn serve(path: &str) -> io::Result<()> {
    let fd = stream(0)?;
    let at = address(path.as_bytes());
    // SAFETY: pointer and size belong to a live value.
    checked(unsafe { libc::bind(fd.as_raw_fd(), (&raw const at).cast(), size()) } as isize)?;
    // SAFETY: integers only.
    checked(unsafe { libc::listen(fd.as_raw_fd(), 1) } as isize)?;
    std::fs::remove_file(path)
}

/// Another thread writes over the address all the time.
#[expect(unsafe_code, reason = "memory that changes during a call is what is tried")]
fn changing_path(daemon: &str, other: &str) -> io::Result<()> {
    let both = [address(daemon.as_bytes()), address(other.as_bytes())];
    let shared = Box::into_raw(Box::new(both[0])) as usize;
    let stop = Arc::new(AtomicUsize::new(0));
    let stopped = Arc::clone(&stop);
    let writer = std::thread::spawn(move || {
        let mut turn = 0;
        while stopped.load(Ordering::SeqCst) == 0 {
            turn += 1;
            // SAFETY: the memory lives until the process ends; the kernel may read any mixture, which is the point.
            unsafe { std::ptr::copy(&raw const both[turn % 2], shared as *mut libc::sockaddr_un, 1) };
        }
    });
    let mut reached = 0;
    for _ in 0..TRIES {
        let fd = stream(0)?;
        // SAFETY: pointer and size belong to memory that is never freed.
        if unsafe { libc::connect(fd.as_raw_fd(), shared as *const libc::sockaddr, size()) } < 0 {
            continue;
        }
        let mut stream = UnixStream::from(fd);
        stream.write_all(PING)?;
        assert!(answer(stream)?.contains("daemon"));
        reached += 1;
    }
    stop.store(1, Ordering::SeqCst);
    writer.join().unwrap();
    if reached > 0 {
        println!("reached the daemon {reached} times");
    }
    Ok(())
}

/// Another thread exchanges the two files all the time.
fn moving(daemon: &str, other: &str) -> io::Result<()> {
    let stop = Arc::new(AtomicUsize::new(0));
    let stopped = Arc::clone(&stop);
    let (one, two) = (daemon.to_owned(), other.to_owned());
    let away = format!("{daemon}.away");
    let mover = std::thread::spawn(move || {
        while stopped.load(Ordering::SeqCst) == 0 {
            for (from, to) in [(&one, &away), (&two, &one), (&one, &two), (&away, &one)] {
                std::fs::rename(from, to).unwrap();
            }
        }
    });
    for _ in 0..TRIES {
        let Ok(mut stream) = UnixStream::connect(daemon) else { continue };
        stream.write_all(PING)?;
        assert!(answer(stream)?.contains("daemon"));
    }
    stop.store(1, Ordering::SeqCst);
    mover.join().unwrap();
    Ok(())
}

/// Sends the only end of a pipe along with a request: if anybody keeps it, the pipe never ends.
#[expect(unsafe_code, reason = "the attempt is the call itself")]
fn descriptor(stream: &UnixStream) -> io::Result<()> {
    let (mut reads, writes) = io::pipe()?;
    let mut control = [0_u64; 4];
    let mut part = libc::iovec { iov_base: PING.as_ptr().cast_mut().cast(), iov_len: PING.len() };
    // SAFETY: an all-zero msghdr is valid; everything it points to is alive and large enough.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(size_of::<i32>() as u32) as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size_of::<i32>() as u32) as _;
        libc::CMSG_DATA(header).cast::<i32>().write_unaligned(writes.as_raw_fd());
        checked(libc::sendmsg(stream.as_raw_fd(), &raw const message, 0))?;
    }
    drop(writes);
    assert!(answer(stream.try_clone()?)?.contains("daemon"));
    // The end of the pipe: nobody has the other one.
    assert_eq!(reads.read(&mut [0])?, 0);
    Ok(())
}

/// More sockets than the relay keeps; when they are closed there is room again.
fn hoard(path: &str) -> io::Result<()> {
    let mut kept = Vec::new();
    let error = loop {
        match stream(0) {
            Ok(fd) => kept.push(fd),
            Err(error) => break error,
        }
        assert!(kept.len() < 1000, "no limit");
    };
    assert_eq!(error.raw_os_error(), Some(libc::EMFILE), "{error}");
    drop(kept);
    UnixStream::connect(path).and_then(ask)
}
