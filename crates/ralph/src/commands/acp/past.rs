//! Sessions on disk, for the requests that are about them.

use crate::environment::Environment;
use crate::resolve;
use acp::{PastSession, ServerInput, ServerOutput};
use serde_json::Value;
use session::Store;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Sessions on one page of a list.
const PAGE: usize = 50;

/// Longer titles are cut.
const TITLE_MAX: usize = 256;

/// How a cursor begins; the number of sessions before the page follows.
const CURSOR: &str = "offset:";

/// `None` for an output that is about something else.
pub(super) fn look_up(output: ServerOutput, environment: &Environment) -> Option<ServerInput> {
    match output {
        ServerOutput::Find { child, session, cwd } => {
            Some(ServerInput::Found { child, messages: messages(&session, &cwd, environment) })
        }
        ServerOutput::List { id, cwd, cursor } => {
            let (sessions, next) = list(cwd.as_deref(), cursor.as_deref(), environment);
            Some(ServerInput::Listed { id, sessions, next })
        }
        ServerOutput::Delete { id, session } => {
            let result = store(&environment.cwd, environment).remove(&session);
            let result = result.map_err(|error| format!("session {session} cannot be deleted: {error}"));
            Some(ServerInput::Deleted { id, result })
        }
        _ => None,
    }
}

fn store(cwd: &Path, environment: &Environment) -> Store {
    let places = resolve::places(environment);
    let name = environment.get("CLAUDE_CODE_PROJECT_DIR_NAME").filter(|_| places.config_dir_is_custom);
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    Store::new(&places.config_dir, &cwd, name)
}

/// Only an id names a session here, never a title.
fn messages(session: &str, cwd: &Path, environment: &Environment) -> Option<Vec<Value>> {
    let path = store(cwd, environment).find(session).filter(|_| session::is_session_id(session))?;
    session::load(&path).ok().map(|loaded| loaded.messages)
}

fn list(cwd: Option<&Path>, cursor: Option<&str>, environment: &Environment) -> (Vec<PastSession>, Option<String>) {
    let offset = cursor.and_then(|cursor| cursor.strip_prefix(CURSOR)?.parse().ok()).unwrap_or(0);
    let page = store(cwd.unwrap_or(&environment.cwd), environment).list(cwd.is_none(), offset, PAGE);
    let fallback = cwd.map_or_else(|| PathBuf::from("/"), Path::to_owned);
    let one = |listed: session::Listed| PastSession {
        id: listed.id,
        cwd: listed.cwd.filter(|cwd| cwd.is_absolute()).unwrap_or_else(|| fallback.clone()),
        title: listed.title.map(|title| title.chars().take(TITLE_MAX).collect()),
        updated_at: time(listed.modified),
    };
    (page.sessions.into_iter().map(one).collect(), page.next.map(|next| format!("{CURSOR}{next}")))
}

fn time(time: SystemTime) -> Option<String> {
    jiff::Timestamp::try_from(time).ok().map(|time| format!("{time:.3}"))
}
