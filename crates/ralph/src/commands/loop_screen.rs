//! A run on the screen: events in, keys out. The screen has a thread of its own; nothing waits for it but
//! the very end, which it holds until somebody has looked.

use crate::say;
use cycle::LoopEvent;
use runner::{Command, Sink};
use std::sync::mpsc as events;
use tokio::sync::{mpsc, oneshot};

pub struct Screen {
    pub sink: Box<dyn Sink>,
    /// Fires when somebody has left.
    pub left: oneshot::Receiver<()>,
}

pub fn open(commands: mpsc::Sender<Command>) -> Screen {
    let (sender, receiver) = events::channel::<LoopEvent>();
    let (gone, left) = oneshot::channel();
    std::thread::spawn(move || {
        // A full queue means that the loop is ending anyway.
        let tell = move |command| drop(commands.try_send(meant(command)));
        if let Err(error) = tui::run(receiver, tell, tui::Options { clock, hold: true }) {
            say::err(&format!("error: the screen cannot be shown: {error}. Try --no-tui."));
        }
        let _ = gone.send(());
    });
    // A screen that is gone needs no events.
    let sink = move |event: &LoopEvent| drop(sender.send(event.clone()));
    Screen { sink: Box::new(sink), left }
}

fn clock() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
}

fn meant(command: tui::Command) -> Command {
    match command {
        tui::Command::Pause => Command::Pause,
        tui::Command::Resume => Command::Resume,
        tui::Command::Finish => Command::Stop,
        tui::Command::Stop => Command::StopNow,
        tui::Command::Steer(text) => Command::Steer(text),
        tui::Command::Answer(text) => Command::Answer(text),
    }
}
