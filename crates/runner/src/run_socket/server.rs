//! The run's side of its socket. A thread of its own accepts clients, so a loop that is held up by its output can still be asked and
//! stopped; commands come to the loop through a queue.

use super::SocketError;
use super::address::Bound;
use super::connection;
use super::follower::Follower;
use super::protocol::{Failure, FailureKind};
use super::status::{Status, StatusFold};
use crate::{Command, Folder};
use cycle::{LoopEvent, Price};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::UnixListener;
use tokio::sync::{mpsc, watch};

/// Screens, a server, a few scripts. More are a mistake.
const CLIENTS_MAX: usize = 32;
/// Commands that wait for the loop; nobody types faster.
const COMMANDS_MAX: usize = 16;
/// At the end of a run, for clients to take the verdict.
const FLUSH: Duration = Duration::from_secs(1);
/// After an error of `accept` (out of descriptors, say).
const ACCEPT_AGAIN: Duration = Duration::from_millis(200);

/// What connections know of the run.
pub(super) struct Shared {
    pub(super) run: String,
    pub(super) events: PathBuf,
    pub(super) price: Price,
    pub(super) commands: mpsc::Sender<Command>,
    pub(super) changes: watch::Sender<Change>,
    fold: Mutex<StatusFold>,
    clients: AtomicUsize,
}

/// Something happened, or the run is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Change {
    count: u64,
    pub(super) is_over: bool,
}

impl Shared {
    fn fold(&self) -> MutexGuard<'_, StatusFold> {
        self.fold.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn status(&self) -> Status {
        self.fold().status().clone()
    }
}

/// The socket of a run. It is removed when this is dropped.
pub struct Server {
    shared: Arc<Shared>,
    commands: mpsc::Receiver<Command>,
    /// Closed when the thread has ended.
    ended: std::sync::mpsc::Receiver<()>,
    bound: Option<Bound>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("run", &self.shared.run).finish_non_exhaustive()
    }
}

impl Server {
    /// The caller holds the folder's lock. `runtime` is the user's runtime folder, for long paths.
    pub fn open(folder: &Folder, run: &str, price: Price, runtime: Option<&Path>) -> Result<Self, SocketError> {
        let bound = Bound::new(folder, run, runtime)?;
        let fail = |source| SocketError::Io { path: folder.run(run), source };
        let listener = bound.listener.try_clone().map_err(fail)?;
        let (sender, commands) = mpsc::channel(COMMANDS_MAX);
        let shared = Arc::new(Shared {
            run: run.to_owned(),
            events: folder.events(run),
            price,
            commands: sender,
            changes: watch::Sender::default(),
            fold: Mutex::new(StatusFold::new(run)),
            clients: AtomicUsize::new(0),
        });
        let (ending, ended) = std::sync::mpsc::channel::<()>();
        let serving = Arc::clone(&shared);
        let serve = move || {
            // Dropped with the thread.
            let _ending = ending;
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            runtime.block_on(accept_all(listener, serving));
        };
        std::thread::Builder::new().name("run-socket".into()).spawn(serve).map_err(fail)?;
        Ok(Self { shared, commands, ended, bound: Some(bound) })
    }

    /// The way to a loop that waits for new work after a run.
    pub fn watching(folder: &Folder, run: &str, price: Price, runtime: Option<&Path>) -> Result<Self, SocketError> {
        let server = Self::open(folder, run, price, runtime)?;
        let fail = |source| SocketError::Io { path: folder.events(run), source };
        let mut past = Follower::open(&folder.events(run), price, (1, 0)).map_err(fail)?;
        while let Some(numbered) = past.next_event().map_err(fail)? {
            server.note(&numbered.event, numbered.seq, true);
        }
        server.shared.fold().watch();
        Ok(server)
    }

    /// What a client wants next. Waits for ever where nobody wants anything.
    pub async fn next_command(&mut self) -> Command {
        match self.commands.recv().await {
            Some(command) => command,
            None => std::future::pending().await,
        }
    }

    /// An event was published; `seq` is the last line of the recording, which is written to only where `recorded`.
    pub fn note(&self, event: &LoopEvent, seq: u64, recorded: bool) {
        {
            let mut fold = self.shared.fold();
            fold.fold(event);
            fold.recorded(seq, recorded);
        }
        self.shared.changes.send_modify(|change| change.count += 1);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.changes.send_modify(|change| change.is_over = true);
        // Nobody new: the files go first.
        self.bound = None;
        // Nothing is ever sent: the channel closes when all clients have had their end.
        let _ = self.ended.recv_timeout(FLUSH);
    }
}

async fn accept_all(listener: std::os::unix::net::UnixListener, shared: Arc<Shared>) {
    let Ok(listener) = UnixListener::from_std(listener) else { return };
    let mut changes = shared.changes.subscribe();
    let mut clients = tokio::task::JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = changes.wait_for(|change| change.is_over) => break,
            Some(_) = clients.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) if shared.clients.load(Ordering::Relaxed) >= CLIENTS_MAX => {
                    let busy = Failure::new(FailureKind::Busy, format!("{CLIENTS_MAX} clients are connected to this run"));
                    connection::turn_away(&stream, &busy);
                }
                Ok((stream, _)) => {
                    let shared = Arc::clone(&shared);
                    clients.spawn(async move {
                        shared.clients.fetch_add(1, Ordering::Relaxed);
                        let _counted = ClientCount(&shared.clients);
                        connection::serve(stream, &shared).await;
                    });
                }
                Err(_) => tokio::time::sleep(ACCEPT_AGAIN).await,
            }
        }
    }
    drop(listener);
    while clients.join_next().await.is_some() {}
}

struct ClientCount<'a>(&'a AtomicUsize);

impl Drop for ClientCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
