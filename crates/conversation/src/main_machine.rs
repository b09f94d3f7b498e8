//! The main conversation's machine, for changes and news that come from beside it.

use output::Output;
use serde_json::Value;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::mpsc::Sender;
use turn::{Change, Effect, Input, InterruptCause, Now, Recall, Report, Turn, step};
use wire::{Event, UserInput};

pub struct MainMachine {
    turn: Rc<RefCell<Turn>>,
    output: Rc<Output>,
    inbox: Sender<Input>,
    waiting: RefCell<Vec<Event>>,
}

impl MainMachine {
    pub fn new(turn: Rc<RefCell<Turn>>, output: Rc<Output>, inbox: Sender<Input>) -> Self {
        Self { turn, output, inbox, waiting: RefCell::default() }
    }

    /// What these inputs lead to is events at most.
    fn step(&self, input: Input) -> Vec<Effect> {
        step(&mut self.turn.borrow_mut(), input, Now::default())
    }

    /// The events that tell of the change.
    pub fn change(&self, change: Change) -> Vec<Event> {
        let events = self.step(Input::Changed(change)).into_iter().filter_map(|effect| match effect {
            Effect::Emit { event, .. } => Some(*event),
            _ => None,
        });
        events.collect()
    }

    /// Events that follow the answer to the request that led to them.
    pub fn let_wait(&self, events: Vec<Event>) {
        self.waiting.borrow_mut().extend(events);
    }

    pub async fn send_waiting(&self) {
        let events = self.waiting.take();
        self.send(events).await;
    }

    pub async fn send(&self, events: Vec<Event>) {
        for event in events {
            self.output.send(event).await;
        }
    }

    /// The same for a change that nobody is told of.
    pub fn set(&self, change: Change) {
        self.step(Input::Changed(change));
    }

    /// News of a sub-agent.
    pub fn report(&self, report: Report) {
        self.step(Input::Reported(report));
    }

    pub fn prompt(&self, prompt: Box<UserInput>) {
        self.step(Input::Prompt(prompt));
    }

    pub fn notice(&self, text: String) {
        self.step(Input::Notice { text });
    }

    /// Goes on with the call that was put off.
    pub fn go_on(&self) {
        self.step(Input::GoOn);
    }

    /// Prompts that wait: which still do, and which were taken back.
    pub fn recall(&self, which: Recall) -> (Vec<String>, Vec<String>) {
        let recalled = self.step(Input::Recall(which)).into_iter().find_map(|effect| match effect {
            Effect::Recalled { waiting, taken_back } => Some((waiting, taken_back)),
            _ => None,
        });
        recalled.unwrap_or_default()
    }

    /// Ends the running turn. Where more wait than are taken, one of them does so already.
    pub fn interrupt(&self, cause: InterruptCause) {
        let _ = self.inbox.try_send(Input::Interrupt(cause));
    }

    pub fn has_next(&self) -> bool {
        self.turn.borrow().has_next()
    }

    pub fn has_room(&self) -> bool {
        self.turn.borrow().has_room()
    }

    pub fn is_deferred(&self) -> bool {
        self.turn.borrow().deferred().is_some()
    }

    pub fn messages(&self) -> Arc<Vec<Value>> {
        self.turn.borrow().messages()
    }

    /// Size of the context when the model last answered.
    pub fn context_tokens(&self) -> u64 {
        self.turn.borrow().context_tokens()
    }
}
