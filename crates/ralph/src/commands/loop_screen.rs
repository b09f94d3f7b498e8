//! A run on the screen: events in, keys out. The screen has a thread of its own; nothing waits for it but
//! the very end, which it holds until somebody has looked.

use crate::say;
use cycle::{EventKind, LoopEvent, Verbatim};
use runner::{Command, Sink};
use rustix::process::{Signal, getpid, kill_process};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc as events;
use std::time::{Duration, Instant};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

/// All agents are stopped before the loop itself is. Where nothing can continue a process the kernel does not
/// stop it: then the screen comes back after this.
const STOPS_WITHIN: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// How often this process was continued.
static CONTINUED: AtomicU64 = AtomicU64::new(0);

pub struct Screen {
    pub sink: Box<dyn Sink>,
    /// Fires when somebody has left.
    pub left: oneshot::Receiver<()>,
}

/// With `stay`, the screen stays when the run is over, until somebody leaves.
pub fn open(commands: mpsc::Sender<Command>, stay: bool) -> Screen {
    open_with(commands, tui::Options { clock, suspend, hold: stay, attached: false })
}

/// For a run that works elsewhere.
pub fn open_attached(commands: mpsc::Sender<Command>, stay: bool) -> Screen {
    open_with(commands, tui::Options { clock, suspend: stop, hold: stay, attached: true })
}

fn open_with(commands: mpsc::Sender<Command>, options: tui::Options) -> Screen {
    let (sender, receiver) = events::channel::<LoopEvent>();
    let (gone, left) = oneshot::channel();
    tokio::spawn(count_continuations());
    std::thread::spawn(move || {
        // A full queue means that the loop is ending anyway.
        let tell = move |command| drop(commands.try_send(loop_command(command)));
        if let Err(error) = tui::run(receiver, tell, options) {
            say::err(&format!("error: the screen cannot be shown: {error}. Try --no-tui."));
        }
        let _ = gone.send(());
    });
    // The queue has no bound that could hold up the loop; the screen's fold takes an event in microseconds.
    // A screen that is gone needs none.
    let sink = move |event: &LoopEvent| drop(sender.send(for_screen(event)));
    Screen { sink: Box::new(sink), left }
}

/// The agent's own lines only say that it is alive: what is in them comes again in digests.
fn for_screen(event: &LoopEvent) -> LoopEvent {
    match &event.kind {
        EventKind::Agent { iteration, .. } => {
            EventKind::Agent { iteration: *iteration, line: Verbatim::new("null") }.at(event.at)
        }
        _ => event.clone(),
    }
}

async fn count_continuations() {
    let Ok(mut continued) = signal(SignalKind::from_raw(Signal::CONT.as_raw())) else { return };
    while continued.recv().await.is_some() {
        CONTINUED.fetch_add(1, Ordering::SeqCst);
    }
}

/// Stops this process, as Ctrl-Z does.
pub fn stop() {
    // A process that cannot be stopped goes on.
    let _ = kill_process(getpid(), Signal::TSTP);
}

/// Stops the loop with all its agents. That takes a moment, so the end of it is waited for.
fn suspend() {
    let before = CONTINUED.load(Ordering::SeqCst);
    let until = Instant::now() + STOPS_WITHIN;
    stop();
    while CONTINUED.load(Ordering::SeqCst) == before && Instant::now() < until {
        std::thread::sleep(LOOK_AGAIN);
    }
}

fn clock() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
}

fn loop_command(command: tui::Command) -> Command {
    match command {
        tui::Command::Pause => Command::Pause,
        tui::Command::Resume => Command::Resume,
        tui::Command::Finish => Command::Stop,
        tui::Command::Stop => Command::StopNow,
        tui::Command::Steer(text) => Command::Steer(text),
        tui::Command::Answer(text) => Command::Answer(text),
    }
}
