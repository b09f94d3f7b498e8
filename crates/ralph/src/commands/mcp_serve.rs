//! `mcp serve`: our built-in tools for another client, over MCP on stdin and stdout.
//!
//! Nobody can be asked here: what the settings, the rules and the hooks allow runs, everything else is denied. There is no model
//! and no conversation, and no server of others is started.

use crate::failure::{Ended, Failure};
use crate::say;
use agent::session::Session;
use agent::{Options, Writer};
use arguments::Arguments;
use mcp::{ServerFace, ServerInput, call_answer};
use resolve::{Environment, runtime};
use serde_json::Value;
use std::cell::RefCell;
use std::future::{pending, ready};
use std::io::{BufRead as _, Read as _};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::task::{AbortHandle, LocalSet};
use wire::ExitCode;

/// A message of a client; a file that is written is the longest.
const LINE_MAX: u64 = 16 * 1024 * 1024;
/// Messages that wait while calls are begun.
const WAITING: usize = 16;
/// Calls at the same time; more wait for their turn in the pipe.
const CALLS_MAX: usize = 16;

pub fn run(typed: &Arguments, environment: &Environment) -> Ended {
    let mut environment = environment.clone();
    let mut resolved = resolve::options(typed, &mut environment)?;
    for warning in &resolved.warnings {
        say::err(warning);
    }
    // Calls are no conversation that somebody could go on with.
    resolved.options.session.persist = false;
    resolved.options.outside.servers.clear();
    process::adopt_orphans();
    process::watch_over();
    process::harden();
    let sandbox = resolved.options.tools.shell.sandbox.clone();
    let runtime = runtime()?;
    let exit = runtime.block_on(LocalSet::new().run_until(serve(resolved.options)));
    // A thread may still sit in a read of stdin; nothing waits for it.
    runtime.shutdown_background();
    if let Some(sandbox) = sandbox {
        sandbox.close();
    }
    exit
}

async fn serve(options: Options) -> Ended {
    let (session, _turns) = Session::open(options, Rc::new(Nowhere)).map_err(|not| Failure::agent(not.message))?;
    let tools = session.prepare_calls().await;
    let mut lines = lines();
    let running: Rc<RefCell<Vec<(Value, AbortHandle)>>> = Rc::default();
    let room = Arc::new(Semaphore::new(CALLS_MAX));
    let face = ServerFace { name: "ralph", version: env!("CARGO_PKG_VERSION"), tools: &tools };
    let mut ended = std::pin::pin!(signal());
    let exit = loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            exit = &mut ended => break exit,
        };
        let Some(line) = line else { break ExitCode::Success };
        match face.read(&line) {
            ServerInput::Answer(answer) => tell(&answer),
            ServerInput::Nothing => {}
            ServerInput::Cancel(id) => {
                for (_, call) in running.borrow().iter().filter(|(known, _)| *known == id) {
                    call.abort();
                }
            }
            ServerInput::Call { id, name, arguments } => {
                let Ok(room) = Arc::clone(&room).acquire_owned().await else { continue };
                let session = Rc::clone(&session);
                let done = Rc::clone(&running);
                let key = id.clone();
                let call = tokio::task::spawn_local(async move {
                    let (content, is_error) = session.call_tool(&name, arguments).await;
                    tell(&call_answer(&id, &content, is_error));
                    done.borrow_mut().retain(|(known, _)| *known != id);
                    drop(room);
                });
                running.borrow_mut().push((key, call.abort_handle()));
            }
        }
    };
    for (_, call) in running.take() {
        call.abort();
    }
    session.end_helpers().await;
    session.end_tasks().await;
    Ok(exit)
}

fn tell(message: &Value) {
    say::out(&format!("{message}\n"));
}

/// Lines of stdin, from a thread of their own.
fn lines() -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel(WAITING);
    std::thread::spawn(move || {
        let mut stdin = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let read = (&mut stdin).take(LINE_MAX).read_until(b'\n', &mut line);
            match read {
                Ok(0) | Err(_) => return,
                Ok(_) if line.iter().all(u8::is_ascii_whitespace) => {}
                // Longer than every bound: what follows would be read as another message.
                Ok(_) if line.len() as u64 == LINE_MAX && line.last() != Some(&b'\n') => return,
                Ok(_) => {
                    if sender.blocking_send(line).is_err() {
                        return;
                    }
                }
            }
        }
    });
    receiver
}

async fn signal() -> ExitCode {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut interrupt), Ok(mut terminate)) = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return pending().await;
    };
    tokio::select! {
        _ = interrupt.recv() => ExitCode::Interrupted,
        _ = terminate.recv() => ExitCode::Terminated,
    }
}

type Done<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Events of a session have no reader here: stdout is the protocol's.
struct Nowhere;

impl Writer for Nowhere {
    fn try_line(&self, _line: Vec<u8>) -> Option<Vec<u8>> {
        None
    }

    fn wait_line(&self, _line: Vec<u8>) -> Done<'_> {
        Box::pin(ready(()))
    }

    fn line_now(&self, _line: Vec<u8>) {}

    fn is_terminal(&self) -> bool {
        false
    }

    fn reader_left(&self) -> Done<'_> {
        Box::pin(pending())
    }

    fn drain(&self) -> Done<'_> {
        Box::pin(ready(()))
    }
}
