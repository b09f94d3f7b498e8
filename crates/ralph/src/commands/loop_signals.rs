//! Signals to a loop: what they ask for, and that it happens.
//!
//! A thread of its own receives signals. The reader of the loop's output may hold up the loop (a terminal after Ctrl-S, a
//! pipe that nobody empties); a loop that is told to end ends all the same.

use resolve::hangup_is_ignored;
use runner::Command;
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use wire::ExitCode;

/// An end in order takes an agent's grace, that of everything else and a moment for the screen: 9 s at most.
/// A run that ends later can be resumed like one that was killed.
const ENDS_WITHIN: Duration = Duration::from_secs(15);

/// A loop that takes no commands is held up, or over.
const TAKES_WITHIN: Duration = Duration::from_secs(1);

/// Starting a thread takes microseconds; a machine that cannot is not waited for.
const HEARS_WITHIN: Duration = Duration::from_secs(2);

struct SignalStreams {
    interrupt: Signal,
    terminate: Signal,
    /// None where the loop was started to outlive its terminal.
    hangup: Option<Signal>,
}

/// When this returns the process receives signals, until it ends. Where that cannot be, signals do what they do to
/// any process, and the run can be resumed.
pub fn listen(commands: mpsc::Sender<Command>) {
    let (ready_sender, ready) = std::sync::mpsc::channel::<()>();
    let follow = move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        runtime.block_on(async {
            if let Ok(streams) = SignalStreams::open() {
                drop(ready_sender);
                streams.follow(commands).await;
            }
        });
    };
    if std::thread::Builder::new().name("signals".into()).spawn(follow).is_ok() {
        // Nothing is ever sent: ready, or in vain, it closes.
        let _ = ready.recv_timeout(HEARS_WITHIN);
    }
}

impl SignalStreams {
    fn open() -> std::io::Result<Self> {
        // Asked first: from the moment we listen for it, it is not ignored any more.
        let stays = hangup_is_ignored();
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: (!stays).then(|| signal(SignalKind::hangup())).transpose()?,
        })
    }

    /// Ctrl-C once finishes the iteration, twice stops it; the others end everything.
    async fn follow(mut self, commands: mpsc::Sender<Command>) {
        let mut asked_before = false;
        loop {
            let (command, exit) = self.next().await;
            // Not taken: then only the end by force is left.
            let _ = timeout(TAKES_WITHIN, commands.send(command.clone())).await;
            if asked_before || command == Command::Terminate {
                tokio::task::spawn(end_by_force(exit));
            }
            asked_before = true;
        }
    }

    async fn next(&mut self) -> (Command, ExitCode) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => (Command::Stop, ExitCode::Interrupted),
            _ = self.terminate.recv() => (Command::Terminate, ExitCode::Terminated),
            _ = hangup => (Command::Terminate, ExitCode::Terminated),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the loop cannot return: it is held up by its reader")]
async fn end_by_force(exit: ExitCode) {
    sleep(ENDS_WITHIN).await;
    process::end_all(Duration::ZERO).await;
    tui::restore();
    std::process::exit(i32::from(exit.code()));
}
