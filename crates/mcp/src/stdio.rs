//! A server that is a process of ours: one message a line on its pipes.
//!
//! Lines that are no messages are skipped (many servers greet on stdout), a line without end costs the
//! connection. Starting and ending the process is `proc`'s; here it is only spoken with.

use crate::error::ConnectError;
use crate::message::{self, MESSAGE_MAX};
use crate::notes::Notes;
use bytes::BytesMut;
use memchr::memchr;
use process::{Env, Output, Piped, Spec, Stdin};
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use std::future::Future;
use std::io;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Mutex;

/// One read; pipes hold 64 KiB.
const READ: usize = 64 * 1024;

/// Starts the process; its own variables win over the common ones.
pub(crate) fn start(
    command: &str,
    args: &[String],
    own: &[(String, String)],
    common: &Env,
    cwd: &Path,
) -> Result<Piped, ConnectError> {
    let mut env: Env = common.iter().filter(|(name, _)| own.iter().all(|(mine, _)| *name != **mine)).cloned().collect();
    env.extend(own.iter().map(|(name, value)| (name.into(), value.into())));
    let spec = Spec {
        program: command.into(),
        args: args.iter().map(Into::into).collect(),
        cwd: cwd.to_owned(),
        env,
        stdin: Stdin::Pipe,
        output: Output::Pipes,
        arg0: None,
    };
    Ok(Piped::spawn(spec)?)
}

pub(crate) struct Lines {
    stdin: Arc<Mutex<Option<Sender>>>,
    stdout: Receiver,
    /// What was read and is no whole line yet, and how far it was searched for an end. Here and not in
    /// `receive`, which may be dropped at any await.
    read: BytesMut,
    searched: usize,
    /// Nothing was sent yet.
    greeting: bool,
    notes: Notes,
}

impl Lines {
    pub(crate) fn new((stdin, stdout): (Sender, Receiver), notes: Notes) -> Self {
        let stdin = Arc::new(Mutex::new(Some(stdin)));
        Self { stdin, stdout, read: BytesMut::new(), searched: 0, greeting: true, notes }
    }

    fn line(&mut self) -> Option<BytesMut> {
        let Some(end) = memchr(b'\n', &self.read[self.searched..]) else {
            self.searched = self.read.len();
            return None;
        };
        let line = self.read.split_to(self.searched + end + 1);
        self.searched = 0;
        Some(line)
    }
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let stdin = self.stdin.clone();
        let greeting = std::mem::take(&mut self.greeting);
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            match stdin.lock().await.as_mut() {
                Some(stdin) => match stdin.write_all(&line).await {
                    // It ended at once: what it said before tells why, so go on and read that.
                    Err(error) if greeting && error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                    sent => sent,
                },
                None => Err(io::ErrorKind::NotConnected.into()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            while let Some(line) = self.line() {
                match message::read(line.trim_ascii()) {
                    Some(message) => return Some(message),
                    None => self.notes.noise(&line),
                }
            }
            if self.read.len() > MESSAGE_MAX {
                self.notes.trouble(format!("it sent a message of more than {MESSAGE_MAX} bytes"));
                return None;
            }
            self.read.reserve(READ);
            if !matches!(self.stdout.read_buf(&mut self.read).await, Ok(1..)) {
                return None;
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // Held by a write to a server that does not read: it ends with the transport.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            stdin.take();
        }
        Ok(())
    }
}
