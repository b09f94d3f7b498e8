//! The border to a sandbox: the trait that a sandbox implements to confine a child.
//!
//! Deliberately absent: any confinement. The `sandbox` crate implements [`Confine`].

use crate::spec::Spec;
use std::fmt::Debug;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

/// A sandbox that children can be started in.
pub trait Confine: Debug + Send + Sync {
    /// Changes `spec`, or returns steps for the child, so that the command starts inside. `also` are files that the
    /// command writes for us, in addition to what the sandbox allows.
    fn prepare(&self, spec: &mut Spec, also: &[PathBuf]) -> io::Result<Entry>;
}

impl<C: Confine + ?Sized> Confine for Arc<C> {
    fn prepare(&self, spec: &mut Spec, also: &[PathBuf]) -> io::Result<Entry> {
        self.as_ref().prepare(spec, also)
    }
}

/// How one child enters its sandbox. Kept until the child runs.
pub struct Entry {
    /// What the child does between fork and exec; none where another program confines it.
    pub steps: Option<Box<dyn EntrySteps>>,
    /// The pipe on which the process that was started writes the number of the one that it started inside.
    pub pid_pipe: Option<OwnedFd>,
    /// Words for an error of the steps.
    pub explain: fn(io::Error) -> io::Error,
}

/// The child's own steps into its sandbox.
///
/// # Safety
///
/// The methods run between fork and exec: they must neither allocate nor take locks, and may call only
/// async-signal-safe functions on memory that was prepared before.
#[expect(unsafe_code, reason = "an implementation promises what the compiler cannot check")]
pub unsafe trait EntrySteps: Send + Sync {
    /// The first thing that the child does.
    fn enter(&self) -> io::Result<()>;
    /// Whether the process that was started only starts another, in a namespace of processes.
    fn is_namespaced(&self) -> bool;
    /// Called when every descriptor has been marked to be closed.
    fn keep_open(&self) -> io::Result<()>;
}
