//! One process: its description, its output so far, and the task that reads it until it ends.

use super::ProcessConfig;
use crate::time::now_ms;
use process::{Child, Exit, Pipes, RawTerminal, SpawnError, Spec, TerminalSize};
use sandbox::Sandbox;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, watch};

/// One read of its output.
const READ: usize = 16 * 1024;
/// Orders that wait: more means that the process does not read its input.
const ORDERS_MAX: usize = 64;
/// After the end, for output that is still on its way; only a process that was left behind holds a pipe longer.
const LAST_OUTPUT: Duration = Duration::from_millis(300);
/// Of a terminal whose size nobody has said.
const SIZE: TerminalSize = TerminalSize { cols: 80, rows: 24 };

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEntry {
    pub sequence: u64,
    pub stream: &'static str,
    pub at: u64,
    pub data: Vec<u8>,
}

#[derive(Debug)]
pub enum Order {
    Input(Vec<u8>),
    Resize(TerminalSize),
    /// Ask it to end, and kill it after so long.
    Stop(Duration),
}

#[derive(Debug)]
pub struct Process {
    pub id: String,
    pub command: String,
    pub args: Vec<String>,
    pub cwd: String,
    pub tty: bool,
    pub interactive: bool,
    pub pid: u32,
    created: u64,
    log_max: usize,
    log: Mutex<Log>,
    /// The last sequence number; sent again at the end.
    changed: watch::Sender<u64>,
    orders: mpsc::Sender<Order>,
}

#[derive(Debug, Default)]
struct Log {
    entries: VecDeque<LogEntry>,
    bytes: usize,
    next: u64,
    end: Option<(Exit, u64)>,
}

impl Process {
    /// Starts it in the sandbox.
    pub fn start(
        number: u64,
        spec: Spec,
        interactive: bool,
        tty: bool,
        sandbox: &Arc<Sandbox>,
        config: ProcessConfig,
    ) -> Result<Arc<Self>, SpawnError> {
        let text = |word: &std::ffi::OsString| word.to_string_lossy().into_owned();
        let (command, args) = (text(&spec.program), spec.args.iter().map(text).collect());
        let cwd = spec.cwd.display().to_string();
        let (child, ends) = if tty {
            let (child, terminal) = Child::on_raw_terminal(spec, Some(&**sandbox), SIZE)?;
            (child, Ends::Terminal(terminal))
        } else {
            let (child, pipes) = Child::with_pipes(spec, Some(&**sandbox))?;
            (child, Ends::Pipes(pipes))
        };
        let (orders, wanted) = mpsc::channel(ORDERS_MAX);
        let process = Arc::new(Self {
            id: format!("proc_{number}"),
            command,
            args,
            cwd,
            tty,
            interactive,
            pid: child.pid(),
            created: now_ms(),
            log_max: config.max_log_bytes_per_process,
            log: Mutex::default(),
            changed: watch::Sender::new(0),
            orders,
        });
        tokio::spawn(follow(process.clone(), child, ends, wanted, sandbox.clone()));
        Ok(process)
    }

    fn log(&self) -> std::sync::MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_running(&self) -> bool {
        self.log().end.is_none()
    }

    pub fn exit_code(&self) -> Option<i32> {
        self.log().end.map(|(exit, _)| exit.shell_code())
    }

    /// Told of every change.
    pub fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Fails where it takes no orders: it has ended, or does not read its input.
    pub fn order(&self, order: Order) -> Result<(), ()> {
        self.orders.try_send(order).map_err(drop)
    }

    /// Output behind a number; `stream` is one of `stdout`, `stderr`, `pty`, or everything.
    pub fn after(&self, sequence: u64, stream: &str) -> Vec<LogEntry> {
        let log = self.log();
        let wanted = |entry: &&LogEntry| stream == "combined" || entry.stream == stream;
        log.entries.iter().filter(|entry| entry.sequence > sequence).filter(wanted).cloned().collect()
    }

    pub fn json(&self) -> Value {
        let end = self.log().end;
        json!({
            "id": self.id,
            "command": self.command,
            "args": self.args,
            "cwd": self.cwd,
            "tty": self.tty,
            "interactive": self.interactive,
            "owner": "user",
            "status": if end.is_some() { "exited" } else { "running" },
            "pid": end.is_none().then_some(self.pid),
            "exitCode": end.map(|(exit, _)| exit.shell_code()),
            "createdAtMs": self.created,
            "exitedAtMs": end.map(|(_, at)| at),
        })
    }

    fn say(&self, stream: &'static str, data: &[u8]) {
        let mut log = self.log();
        log.next += 1;
        log.bytes += data.len();
        let entry = LogEntry { sequence: log.next, stream, at: now_ms(), data: data.to_owned() };
        log.entries.push_back(entry);
        while log.bytes > self.log_max {
            let Some(oldest) = log.entries.pop_front() else { break };
            log.bytes -= oldest.data.len();
        }
        let last = log.next;
        drop(log);
        self.changed.send_replace(last);
    }

    fn ended(&self, exit: Exit) {
        let mut log = self.log();
        log.end = Some((exit, now_ms()));
        let last = log.next;
        drop(log);
        self.changed.send_replace(last);
    }
}

enum Ends {
    Pipes(Pipes),
    Terminal(RawTerminal),
}

/// Reads its output and carries out orders until it ends. The sandbox must outlive it.
async fn follow(
    process: Arc<Process>,
    mut child: Child,
    ends: Ends,
    mut orders: mpsc::Receiver<Order>,
    _sandbox: Arc<Sandbox>,
) {
    let (input, mut reading, terminal) = match ends {
        Ends::Pipes(Pipes { mut stdin, stdout, stderr }) => {
            let (input, mut given) = mpsc::channel::<Vec<u8>>(ORDERS_MAX);
            // A process that never reads must not keep its output from being read.
            tokio::spawn(async move {
                while let Some(bytes) = given.recv().await {
                    if stdin.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
            });
            let (one, other) = (process.clone(), process.clone());
            let reading = tokio::spawn(async move {
                tokio::join!(pump(stdout, &one, "stdout"), pump(stderr, &other, "stderr"));
            });
            // Without an interactive wish there is no more input, and programs that read it to the end go on.
            (process.interactive.then_some(input), reading, None)
        }
        Ends::Terminal(terminal) => {
            let terminal = Arc::new(terminal);
            let (reader, process) = (terminal.clone(), process.clone());
            let reading = tokio::spawn(async move {
                let mut chunk = vec![0; READ];
                while let Ok(read @ 1..) = reader.read(&mut chunk).await {
                    process.say("pty", &chunk[..read]);
                }
            });
            (None, reading, Some(terminal))
        }
    };
    let exit = loop {
        tokio::select! {
            exit = child.wait() => break exit,
            order = orders.recv() => match order {
                Some(Order::Stop(grace)) => break child.stop(grace).await,
                Some(Order::Input(bytes)) => give(&bytes, input.as_ref(), terminal.as_deref()).await,
                Some(Order::Resize(size)) => {
                    // A terminal that is gone has no size.
                    let _ = terminal.as_ref().map(|terminal| terminal.resize(size));
                }
                None => break child.wait().await,
            },
        }
    };
    if tokio::time::timeout(LAST_OUTPUT, &mut reading).await.is_err() {
        reading.abort();
    }
    process.ended(exit);
}

/// How long a terminal may refuse input before it is thrown away.
const INPUT_TIME: Duration = Duration::from_secs(5);

async fn give(bytes: &[u8], input: Option<&mpsc::Sender<Vec<u8>>>, terminal: Option<&RawTerminal>) {
    if let Some(terminal) = terminal {
        let _ = tokio::time::timeout(INPUT_TIME, terminal.write_all(bytes)).await;
    } else if let Some(input) = input {
        // A full queue is a process that does not read: its input is lost, as the client is told by its silence.
        let _ = input.try_send(bytes.to_owned());
    }
}

async fn pump(mut pipe: impl AsyncRead + Unpin, process: &Process, stream: &'static str) {
    let mut chunk = vec![0; READ];
    while let Ok(read @ 1..) = pipe.read(&mut chunk).await {
        process.say(stream, &chunk[..read]);
    }
}
