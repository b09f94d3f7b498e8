//! The loop that looks at the files which hooks want to hear of, and tells the hooks.

use crate::hearing;
use crate::moments;
use crate::shared::Shared;
use hooks::HookEvent;
use hooks::file_watch::PAUSE;
use std::rc::{Rc, Weak};

/// Begins to watch, where any hook wants to hear of it. Once for a session.
pub fn begin(shared: &Rc<Shared>) {
    let watched = &shared.live.ear.watched;
    if !hearing::wants(shared, HookEvent::FileChanged) || !watched.begin() {
        return;
    }
    let names = shared.live.hooks.borrow().watched_names();
    watched.add(&shared.options.cwd, names.into_iter());
    tokio::task::spawn_local(watch(Rc::downgrade(shared)));
}

async fn watch(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(PAUSE).await;
        let Some(shared) = shared.upgrade() else { return };
        for change in shared.live.ear.watched.changes() {
            moments::file_changed(&shared, &change).await;
        }
    }
}
