//! ACP over HTTP as sandbox-agent has it: a client names a server, the first message starts its agent, messages go in by
//! POST and come out on the POST's own response and on an event stream with numbers.
//!
//! An agent is a process that speaks JSON-RPC on its pipes; for ours that is `ralph acp`. Nothing here knows what is said,
//! but for which message answers which, and which folder a session is for.

pub mod draft;
mod http;
mod server;

pub use http::{list, post, remove, stream};

use crate::problem::Problem;
use server::AcpServer;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Agents at the same time; each is a process with a conversation.
const SERVERS_MAX: usize = 32;

#[derive(Debug, Default)]
pub struct AcpServers {
    all: Mutex<BTreeMap<String, Arc<AcpServer>>>,
}

impl AcpServers {
    fn all(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<AcpServer>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, id: &str) -> Option<Arc<AcpServer>> {
        self.all().get(id).cloned()
    }

    /// Adds what `start` makes, unless another request was faster.
    fn find_or_add(
        &self,
        id: &str,
        start: impl FnOnce() -> Result<Arc<AcpServer>, Problem>,
    ) -> Result<Arc<AcpServer>, Problem> {
        let mut all = self.all();
        if let Some(found) = all.get(id) {
            return Ok(found.clone());
        }
        if all.len() >= SERVERS_MAX {
            return Err(Problem::unavailable(format!("{SERVERS_MAX} agents are at work; DELETE one first")));
        }
        let started = start()?;
        all.insert(id.to_owned(), started.clone());
        Ok(started)
    }

    fn take(&self, id: &str) -> Option<Arc<AcpServer>> {
        self.all().remove(id)
    }

    /// Whether an agent of this name is at work, and since when.
    pub fn since(&self, agent: &str) -> Option<u64> {
        self.all().values().filter(|server| server.agent == agent).map(|server| server.created).min()
    }
}
