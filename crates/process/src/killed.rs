//! Killed processes that may still run. A kill takes effect when the kernel next looks at the process, which on a busy
//! machine is later than the next line we write: so the end of a command is reported after that.

use crate::table::{self, Row};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// A killed process is gone in milliseconds; one stuck in the kernel is given up on.
pub(crate) const KILLED_WAIT: Duration = Duration::from_secs(1);

/// How often to look. Mostly the first look finds nobody.
const LOOK: Duration = Duration::from_millis(2);

/// Beyond this many the ones that are gone are forgotten at once: nobody may ever wait for them.
const REMEMBERED: usize = 256;

/// Killed by a drop, which cannot wait.
static KILLED: Mutex<Vec<Row>> = Mutex::new(Vec::new());

fn killed() -> MutexGuard<'static, Vec<Row>> {
    KILLED.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn remember(family: Vec<Row>) {
    let mut killed = killed();
    killed.extend(family);
    if killed.len() > REMEMBERED {
        *killed = remaining(&killed);
    }
}

/// Of these, who is still there and has not ended.
pub(crate) fn remaining(of: &[Row]) -> Vec<Row> {
    let still = |row: &Row| table::row(row.pid).is_some_and(|now| !now.zombie && now.same_process(row));
    of.iter().filter(|row| still(row)).copied().collect()
}

pub(crate) async fn gone(mut family: Vec<Row>) {
    let patience = Instant::now() + KILLED_WAIT;
    while Instant::now() < patience {
        family = remaining(&family);
        if family.is_empty() {
            return;
        }
        sleep(LOOK).await;
    }
}

/// Completes when every process that was killed by dropping its [`crate::Child`] is gone.
pub async fn killed_are_gone() {
    // Looked at, not taken: two calls that were cut off at once each wait for both.
    let family = killed().clone();
    gone(family.clone()).await;
    killed().retain(|row| !family.contains(row));
}
