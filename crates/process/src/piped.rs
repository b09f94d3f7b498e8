//! A helper that stays and talks on its pipes: for tool servers.
//!
//! Deliberately absent: any idea of what is said on stdin and stdout. Standard error is listened to
//! all the time, so that a talkative helper never blocks, and only its end is kept: it tells why a
//! helper died.

use crate::capture::{PIPES_HELD, receiver};
use crate::child::Child;
use crate::confine::Confine;
use crate::spec::{Exit, Output, SpawnError, Spec, Stdin};
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Of standard error: enough for a stack trace, little enough to put into a message.
const WORDS_KEPT: usize = 4 * 1024;

/// One read.
const READ: usize = 4 * 1024;

/// A process with both its pipes in our hands, or the other end of its terminal. Dropping it kills it and
/// all it started.
#[derive(Debug)]
pub struct Piped {
    child: Child,
    pipes: Option<(Sender, Receiver)>,
    words: Arc<Mutex<VecDeque<u8>>>,
    listening: JoinHandle<()>,
}

impl Piped {
    /// Starts it; what `spec` says of stdin and output is not looked at. Needs a running tokio.
    pub fn spawn(spec: Spec) -> Result<Self, SpawnError> {
        Self::start(spec, None)
    }

    /// The same in a sandbox, where there is one.
    pub fn start(mut spec: Spec, sandbox: Option<&dyn Confine>) -> Result<Self, SpawnError> {
        spec.stdin = Stdin::Pipe;
        spec.output = Output::Pipes;
        let (program, cwd) = (spec.program.clone(), spec.cwd.clone());
        let mut child = Child::start(spec, sandbox.map(|sandbox| (sandbox, &[][..])))?;
        let (pipes, stderr) = connect(&mut child).map_err(|cause| SpawnError::new(program, cwd, cause))?;
        Ok(Self::listening(child, Some(pipes), stderr))
    }

    pub(crate) fn listening(child: Child, pipes: Option<(Sender, Receiver)>, stderr: Receiver) -> Self {
        let words = Arc::new(Mutex::new(VecDeque::new()));
        let listening = tokio::spawn(listen(stderr, words.clone()));
        Self { child, pipes, words, listening }
    }

    /// Its stdin and its stdout, once; never of one on a terminal.
    pub fn take_pipes(&mut self) -> Option<(Sender, Receiver)> {
        self.pipes.take()
    }

    pub fn pid(&self) -> u32 {
        self.child.pid()
    }

    /// The end of what it said on standard error.
    pub fn stderr_tail(&self) -> String {
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(words.make_contiguous()).trim().to_owned()
    }

    /// Waits for the end; then [`Self::stderr_tail`] is complete. May be cancelled and called again.
    pub async fn wait(&mut self) -> Exit {
        let exit = self.child.wait().await;
        self.hear_out().await;
        exit
    }

    /// Asks it and all it started to end, and kills what is left after `grace`.
    pub async fn stop(&mut self, grace: Duration) -> Exit {
        let exit = self.child.stop(grace).await;
        self.hear_out().await;
        exit
    }

    /// A process left behind may hold standard error open: not waited for.
    async fn hear_out(&mut self) {
        if !self.listening.is_finished() {
            let _ = timeout(PIPES_HELD, &mut self.listening).await;
        }
    }
}

/// The three pipes of a process, in the caller's hands.
#[derive(Debug)]
pub struct Pipes {
    pub stdin: Sender,
    pub stdout: Receiver,
    pub stderr: Receiver,
}

impl Child {
    /// Starts a process whose pipes the caller reads and writes, in a sandbox where there is one; what `spec` says of
    /// stdin and output is not looked at. Needs a running tokio.
    pub fn with_pipes(mut spec: Spec, sandbox: Option<&dyn Confine>) -> Result<(Self, Pipes), SpawnError> {
        spec.stdin = Stdin::Pipe;
        spec.output = Output::Pipes;
        let (program, cwd) = (spec.program.clone(), spec.cwd.clone());
        let mut child = Self::start(spec, sandbox.map(|sandbox| (sandbox, &[][..])))?;
        let (pipes, stderr) = connect(&mut child).map_err(|cause| SpawnError::new(program, cwd, cause))?;
        Ok((child, Pipes { stdin: pipes.0, stdout: pipes.1, stderr }))
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

fn connect(child: &mut Child) -> io::Result<((Sender, Receiver), Receiver)> {
    let stdin = child.stdin.take().ok_or_else(|| io::Error::other("the child has no stdin"))?;
    let stdin = Sender::from_owned_fd(stdin.into())?;
    Ok(((stdin, receiver(child.stdout.take())?), receiver(child.stderr.take())?))
}

async fn listen(mut stderr: Receiver, words: Arc<Mutex<VecDeque<u8>>>) {
    let mut chunk = vec![0; READ];
    while let Ok(read @ 1..) = stderr.read(&mut chunk).await {
        let mut words = words.lock().unwrap_or_else(PoisonError::into_inner);
        words.extend(&chunk[..read]);
        let surplus = words.len().saturating_sub(WORDS_KEPT);
        words.drain(..surplus);
    }
}
