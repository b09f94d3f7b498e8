//! Sessions on disk, for the requests that are about them.

use acp::{ChildKey, DeleteError, PastSession, ServerInput};
use resolve::Environment;
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

pub(super) fn find(child: ChildKey, session: &str, cwd: &Path, environment: &Environment) -> ServerInput {
    ServerInput::Found { child, messages: messages(session, cwd, environment) }
}

pub(super) fn delete(id: Value, session: &str, environment: &Environment) -> ServerInput {
    let result = store(&environment.cwd, environment).remove(session);
    let result = result.map_err(|error| DeleteError(format!("session {session} cannot be deleted: {error}")));
    ServerInput::Deleted { id, result }
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

pub(super) fn list(id: Value, cwd: Option<&Path>, cursor: Option<&str>, environment: &Environment) -> ServerInput {
    let offset = cursor.and_then(|cursor| cursor.strip_prefix(CURSOR)?.parse().ok()).unwrap_or(0);
    let page = store(cwd.unwrap_or(&environment.cwd), environment).list(cwd.is_none(), offset, PAGE);
    let fallback = cwd.map_or_else(|| PathBuf::from("/"), Path::to_owned);
    let one = |listed: session::Listed| PastSession {
        id: listed.id,
        cwd: listed.cwd.filter(|cwd| cwd.is_absolute()).unwrap_or_else(|| fallback.clone()),
        title: listed.title.map(|title| title.chars().take(TITLE_MAX).collect()),
        updated_at: time(listed.modified),
    };
    let sessions = page.sessions.into_iter().map(one).collect();
    ServerInput::Listed { id, sessions, next: page.next.map(|next| format!("{CURSOR}{next}")) }
}

fn time(time: SystemTime) -> Option<String> {
    jiff::Timestamp::try_from(time).ok().map(|time| format!("{time:.3}"))
}
