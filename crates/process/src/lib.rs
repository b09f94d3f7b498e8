//! The only crate that starts processes, and the one that makes sure they end.
//!
//! Every child gets its own session (so no controlling terminal, unless it is given a [`Terminal`] of its
//! own), an explicit environment, no inherited descriptors and no inherited stdin. A [`Child`] that is dropped takes everything it
//! started with it; [`end_all`] ends what slipped away by forking twice, because [`adopt_orphans`]
//! makes such processes ours again; and after [`watch_over`] even our own death by a signal ends all of them.
//! The one exception has a name: [`start_detached`].
//!
//! A sandbox confines a child through [`Confine`].
//!
//! Deliberately absent: which command to run and whether it may run (`tools`, `policy`), shells and
//! their quoting, and any reading of our own environment.

mod spec;
mod confine;
mod early;
pub mod scrub;
mod environ;
pub mod table;
mod killed;
mod capture;
mod git;
pub mod tree;
mod suspend;
mod watcher;
mod end_all;
mod launch;
mod timed;
mod detached;
mod child;
mod peer;
mod piped;
mod pty;

pub use capture::{CaptureLimits, Captured, capture, capture_inside, capture_telling};
pub use child::Child;
pub use confine::{Confine, Entry, EntrySteps};
pub use detached::{Detached, start_detached};
pub use end_all::end_all;
pub use environ::hide_credentials;
pub use git::{Git, GitError};
pub use killed::killed_are_gone;
pub use peer::{PeerRefusal, judge_peer};
pub use piped::{Piped, Pipes};
pub use pty::{RawTerminal, Terminal, TerminalSize};
pub use spec::{Env, Exit, Output, SpawnError, Spec, Stdin};
pub use suspend::follow_suspensions;
pub use timed::{Timed, timed};
pub use tree::{adopt_orphans, end_orphans, harden, outlive_file_limits};
pub use watcher::{sweep, watch_over};
