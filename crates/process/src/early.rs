//! Children that are collected before their owner asks. At the end of the run everything below us has ended, and an owner
//! that did not get its turn would leave its child for process 1 to collect. That takes seconds on some machines, and in a
//! container it often never happens; until then the process still has its number, and whoever looks takes it for alive.

use crate::spec::Exit;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// No more than were owned at the end of the run.
static EXITS: Mutex<BTreeMap<i32, Exit>> = Mutex::new(BTreeMap::new());

fn exits() -> MutexGuard<'static, BTreeMap<i32, Exit>> {
    EXITS.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn keep(pid: i32, exit: Exit) {
    exits().insert(pid, exit);
}

/// The exit of an owner's child that was collected here. Its number may belong to another process by now.
pub(crate) fn take(pid: i32) -> Option<Exit> {
    exits().remove(&pid)
}

pub(crate) fn has(pid: i32) -> bool {
    exits().contains_key(&pid)
}
