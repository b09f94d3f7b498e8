//! The rim: sockets, and the thread that a mock runs on inside a test.

use crate::http::{Request, read_request, write_reply};
use crate::reply::End;
use crate::script_player::ScriptPlayer;
use crate::{Recorded, Script, ScriptedAnswer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::io::BufStream;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

/// Some failures to accept (no file descriptors left) last a while; trying again at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

type Listener = dyn Fn(&Recorded) + Send + Sync;

/// A mock API that has its address and waits to be run: `ralph mock` prints the address in between.
pub struct Server {
    listener: StdListener,
    playbook: Arc<Mutex<ScriptPlayer>>,
}

impl Server {
    pub fn bind(script: Script, addr: SocketAddr) -> io::Result<Self> {
        let listener = StdListener::bind(addr)?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, playbook: Arc::new(Mutex::new(ScriptPlayer::new(script))) })
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Answers until dropped. `log` sees every request before it is answered.
    pub async fn run(self, log: impl Fn(&Recorded) + Send + Sync + 'static) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let stage = Arc::new(ServerState { playbook: self.playbook, started: Instant::now(), log: Box::new(log) });
        // Owned here so that dropping the server drops its connections, stalled ones included.
        let mut connections = tokio::task::JoinSet::new();
        loop {
            match listener.accept().await {
                Ok((stream, _)) => {
                    let stage = Arc::clone(&stage);
                    connections.spawn(async move { stage.converse(stream).await });
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            }
            while connections.try_join_next().is_some() {}
        }
    }
}

/// Binds and answers until dropped.
pub async fn serve(
    script: Script,
    addr: SocketAddr,
    log: impl Fn(&Recorded) + Send + Sync + 'static,
) -> io::Result<()> {
    Server::bind(script, addr)?.run(log).await
}

struct ServerState {
    playbook: Arc<Mutex<ScriptPlayer>>,
    started: Instant,
    log: Box<Listener>,
}

impl ServerState {
    /// One connection, request by request. A client that breaks off or talks nonsense loses its connection.
    async fn converse(&self, stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let mut stream = BufStream::new(stream);
        while let Some(request) = read_request(&mut stream).await? {
            let closes = request.closes();
            let reply = {
                // One lock around both: the order of the log is the order of the turns.
                let mut playbook = lock(&self.playbook);
                let recorded = self.record(request);
                (self.log)(&recorded);
                playbook.reply(&recorded)
            };
            let stays = write_reply(&mut stream, &reply).await?;
            if reply.end == End::Reset {
                stream.get_ref().set_zero_linger()?;
            }
            if !stays || closes {
                break;
            }
        }
        Ok(())
    }

    fn record(&self, request: Request) -> Recorded {
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in request.headers {
            headers
                .entry(name)
                .and_modify(|joined| {
                    joined.push_str(", ");
                    joined.push_str(&value);
                })
                .or_insert(value);
        }
        let body = match &*request.body {
            [] => Value::Null,
            bytes => serde_json::from_slice(bytes)
                .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned())),
        };
        let at_ms = self.started.elapsed().as_millis() as u64;
        Recorded { method: request.method, path: request.path, headers, body, at_ms }
    }
}

/// A mock API on a thread of its own, for tests and demos. Dropping it stops it.
pub struct Mock {
    addr: SocketAddr,
    playbook: Arc<Mutex<ScriptPlayer>>,
    journal: Arc<Journal>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Journal {
    requests: Mutex<Vec<Recorded>>,
    arrived: Condvar,
}

impl Mock {
    /// On a free port of loopback.
    pub fn start(script: Script) -> io::Result<Self> {
        Self::start_on(script, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    pub fn start_on(script: Script, addr: SocketAddr) -> io::Result<Self> {
        let server = Server::bind(script, addr)?;
        let (addr, playbook) = (server.local_addr()?, Arc::clone(&server.playbook));
        let journal = Arc::new(Journal::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let log = {
            let journal = Arc::clone(&journal);
            move |recorded: &Recorded| {
                lock(&journal.requests).push(recorded.clone());
                journal.arrived.notify_all();
            }
        };
        let thread = std::thread::Builder::new().name("mock-api".into()).spawn(move || {
            runtime.block_on(async move {
                tokio::select! {
                    _ = server.run(log) => {}
                    _ = stopped => {}
                }
            });
        })?;
        Ok(Self { addr, playbook, journal, stop: Some(stop), thread: Some(thread) })
    }

    /// What to give as `ANTHROPIC_BASE_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// The next request that offers tools gets this; then the script goes on.
    pub fn interpose(&self, turn: ScriptedAnswer) {
        lock(&self.playbook).interpose(turn);
    }

    /// How far the script was played, for [`Self::seek`].
    pub fn position(&self) -> (usize, usize) {
        lock(&self.playbook).position()
    }

    /// Goes on with the script from there, as after an earlier process that played its beginning.
    pub fn seek(&self, position: (usize, usize)) {
        lock(&self.playbook).seek(position);
    }

    /// Every request so far, in the order in which they were answered.
    pub fn requests(&self) -> Vec<Recorded> {
        lock(&self.journal.requests).clone()
    }

    /// Waits until `count` requests have arrived; `false` if they have not within `limit`.
    pub fn wait_for_requests(&self, count: usize, limit: Duration) -> bool {
        let requests = lock(&self.journal.requests);
        let waited = self.journal.arrived.wait_timeout_while(requests, limit, |requests| requests.len() < count);
        waited.unwrap_or_else(PoisonError::into_inner).0.len() >= count
    }

    /// Stops it now rather than at the end of the scope.
    pub fn shutdown(self) {
        drop(self);
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // A panic over there has been reported by its own thread.
            let _ = thread.join();
        }
    }
}

/// A panic while the lock was held leaves plain data behind, so it stays usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
