//! The life of one server's connection: keeping its tools current, noticing its end, ending it well.

use crate::config::{ServerConfig, Transport};
use crate::connect::{Connected, GRACE, LAST_MOMENTS, connect, last_words, offers};
use crate::deps::Deps;
use crate::error::{ended, said};
use crate::hide;
use crate::notes::Notes;
use crate::table::{Connection, Table};
use futures_util::FutureExt as _;
use futures_util::future::FusedFuture as _;
use process::Piped;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// Tries to get a lost remote server back.
const RECONNECT_TRIES: u32 = 5;

/// Before the first of them; doubled before each other.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// Between two readings of a list that a server says has changed: it may say so all the time.
const REFRESH_PAUSE: Duration = Duration::from_millis(200);

/// For a server to take its leave when its connection is closed on purpose.
const LEAVE: Duration = Duration::from_millis(100);

/// Which life of which server: what is told of an earlier one is out of date.
#[derive(Clone)]
pub(crate) struct Life {
    pub(crate) config: Rc<ServerConfig>,
    pub(crate) number: u64,
    pub(crate) table: Weak<Table>,
    /// Rung to end it.
    pub(crate) close: Rc<Notify>,
}

impl Life {
    /// Connects, stays until the end, and gets a lost remote server back.
    pub(crate) async fn run(self, deps: Rc<Deps>) {
        let mut tries = RECONNECT_TRIES;
        loop {
            match connect(&self.config, &deps).await {
                Ok(connected) => {
                    let Some(reason) = self.stay(connected, &deps).await else { return };
                    let reason = hide::secrets(&reason, &self.config, &deps.env);
                    self.tell(|table| table.lost(&self, reason));
                    tries = 0;
                }
                Err(error) => {
                    let reason = hide::secrets(&error.to_string(), &self.config, &deps.env);
                    self.tell(|table| table.failed(&self, reason, error.needs_auth()));
                }
            }
            let remote = matches!(self.config.transport, Transport::Http { .. } | Transport::Sse { .. });
            if !remote || tries == RECONNECT_TRIES {
                return;
            }
            sleep(RECONNECT_PAUSE * 2_u32.pow(tries)).await;
            tries += 1;
        }
    }

    fn tell(&self, what: impl FnOnce(&Table)) {
        if let Some(table) = self.table.upgrade() {
            what(&table);
        }
    }

    /// Until the connection ends: why, or `None` when it was ended on purpose.
    async fn stay(&self, connected: Connected, deps: &Deps) -> Option<String> {
        let Connected { running, offers: listed, changed, mut process, incoming, besides, notes } = connected;
        let peer = running.peer().clone();
        let info = peer.peer_info();
        let connection = Connection { peer: peer.clone(), info, incoming };
        self.tell(|table| table.connected(self, connection, listed));
        let stop = running.cancellation_token();
        let mut over = pin!(running.waiting().fuse());
        let refreshing = async {
            loop {
                changed.notified().await;
                if let Ok(Ok(listed)) = timeout(deps.start_timeout, offers(&self.config, &peer)).await {
                    self.tell(|table| table.listed(self, listed));
                }
                sleep(REFRESH_PAUSE).await;
            }
        };
        let on_purpose = tokio::select! {
            _ = &mut over => false,
            () = gone(process.as_mut()) => {
                // What it said last may still be on its way.
                let _ = timeout(LAST_MOMENTS, &mut over).await;
                false
            }
            () = self.close.notified() => true,
            () = refreshing => false,
        };
        stop.cancel();
        if !over.is_terminated() {
            let _ = timeout(LEAVE, &mut over).await;
        }
        drop(besides);
        let patience = if on_purpose { LEAVE } else { LAST_MOMENTS };
        let how = end(process.as_mut(), &notes, patience).await;
        (!on_purpose).then(|| format!("{}{how}", notes.reason().unwrap_or_else(|| "its connection ended".into())))
    }
}

async fn gone(process: Option<&mut Piped>) {
    match process {
        Some(process) => drop(process.wait().await),
        None => std::future::pending().await,
    }
}

/// Its pipes are closed: waits for the process to end, and ends it. Tells how it went.
async fn end(process: Option<&mut Piped>, notes: &Notes, patience: Duration) -> String {
    let Some(process) = process else { return String::new() };
    let exit = timeout(patience, process.wait()).await.ok();
    if exit.is_none() {
        process.stop(GRACE).await;
    }
    format!("{}{}", exit.map(ended).unwrap_or_default(), said(&last_words(process, notes)))
}
