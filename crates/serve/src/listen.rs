//! The sockets: accepting connections, the deadlines of each, and an orderly end.

use crate::write_timeout::{STALL, WriteTimeout};
use axum::Router;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;

/// For the head of a request, and between two requests of one connection.
const HEAD_TIME: Duration = Duration::from_secs(15);
/// Of a request's head. Browsers send a kilobyte or two.
const HEAD_MAX: usize = 64 * 1024;
/// Connections that are no streams: a browser opens six for a page.
const CONNECTIONS_BESIDE_STREAMS: usize = 256;
/// For requests that are being answered when the server ends.
const GOODBYE: Duration = Duration::from_secs(2);
/// After a failed accept (out of descriptors, say).
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Where the server listens.
#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

/// A socket's file; removed when dropped.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Somebody else may have removed it.
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Listener {
    pub async fn tcp(address: SocketAddr) -> io::Result<Self> {
        TcpListener::bind(address).await.map(Self::Tcp)
    }

    /// A socket that only this user can open. One that a killed server left is replaced; a file that is no socket, or
    /// one that somebody answers on, is an error.
    pub fn unix(path: &Path) -> io::Result<Self> {
        use std::os::unix::fs::FileTypeExt as _;
        match path.symlink_metadata() {
            Ok(data) if !data.file_type().is_socket() => return Err(io::ErrorKind::AlreadyExists.into()),
            Ok(_) if std::os::unix::net::UnixStream::connect(path).is_ok() => {
                return Err(io::ErrorKind::AddrInUse.into());
            }
            Ok(_) => std::fs::remove_file(path)?,
            Err(_) => {}
        }
        let listener = bind_private(path)?;
        Ok(Self::Unix(listener, SocketFile(path.to_owned())))
    }

    pub fn port(&self) -> Option<u16> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok().map(|address| address.port()),
            Self::Unix(..) => None,
        }
    }
}

/// Nobody else may connect in the moment before the mode is set: the socket is made in a folder of our own and moved.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::PermissionsExt as _;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = tempfile::Builder::new().prefix(".ralph-").tempdir_in(parent)?;
    let made = folder.path().join("s");
    let listener = UnixListener::bind(&made)?;
    std::fs::set_permissions(&made, std::fs::Permissions::from_mode(0o600))?;
    std::fs::rename(&made, path)?;
    Ok(listener)
}

/// Files and sockets of one stream: its connection, and the recording that it reads.
const DESCRIPTORS_OF_A_STREAM: usize = 2;
/// Of the rest of the process: the store, the pipes of agents and commands.
const OTHER_DESCRIPTORS: usize = 512;

/// Lets this process open as many files as so many streams need, as far as the system lets it. Many systems begin with a thousand.
pub fn allow_descriptors(streams: usize) {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let needed = streams.saturating_mul(DESCRIPTORS_OF_A_STREAM) + CONNECTIONS_BESIDE_STREAMS + OTHER_DESCRIPTORS;
    let mut limit = getrlimit(Resource::Nofile);
    let needed = u64::try_from(needed).unwrap_or(u64::MAX);
    if limit.current.is_some_and(|current| current < needed) {
        limit.current = Some(limit.maximum.map_or(needed, |maximum| maximum.min(needed)));
        // Without more, the last readers wait in the kernel's queue.
        let _ = setrlimit(Resource::Nofile, limit);
    }
}

/// Serves until `stop` completes. `closing` is told first, so that streams end by themselves.
pub async fn accept(
    listener: Listener,
    router: Router,
    streams: usize,
    closing: &watch::Sender<bool>,
    stop: impl Future<Output = ()>,
) {
    let places = Arc::new(Semaphore::new(streams + CONNECTIONS_BESIDE_STREAMS));
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        // No place: the next connection waits in the kernel's queue.
        let place = tokio::select! {
            Ok(place) = places.clone().acquire_owned() => place,
            () = &mut stop => break,
        };
        tokio::select! {
            accepted = accept_one(&listener) => match accepted {
                Ok(Accepted::Tcp(stream)) => { connections.spawn(serve_one(stream, router.clone(), place)); }
                Ok(Accepted::Unix(stream)) => { connections.spawn(serve_one(stream, router.clone(), place)); }
                Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
            },
            () = &mut stop => break,
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    closing.send_replace(true);
    let _ = tokio::time::timeout(GOODBYE, async { while connections.join_next().await.is_some() {} }).await;
}

enum Accepted {
    Tcp(tokio::net::TcpStream),
    Unix(tokio::net::UnixStream),
}

async fn accept_one(listener: &Listener) -> io::Result<Accepted> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, _) = listener.accept().await?;
            // Events are small and wanted at once.
            stream.set_nodelay(true)?;
            Ok(Accepted::Tcp(stream))
        }
        Listener::Unix(listener, _) => Ok(Accepted::Unix(listener.accept().await?.0)),
    }
}

async fn serve_one<S>(stream: S, router: Router, place: OwnedSemaphorePermit)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let io = TokioIo::new(WriteTimeout::new(stream, STALL));
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_MAX);
    // A connection that breaks is the client's business.
    let _ = builder.serve_connection(io, TowerToHyperService::new(router)).with_upgrades().await;
    drop(place);
}
