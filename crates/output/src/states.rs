//! `session_state_changed`: running, waiting for a person, idle. Sent only to clients that asked for it,
//! because once they have seen one they wait for `idle` before they let go.

use crate::output::Output;
use options::StateEvents;
use std::cell::Cell;
use std::rc::Rc;
use wire::{Event, SessionStateChanged, System};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    #[default]
    Idle,
    Running,
    RequiresAction,
}

/// Where the session stands, as last told.
pub struct States {
    output: Rc<Output>,
    wanted: StateEvents,
    told: Cell<State>,
}

impl States {
    pub fn new(output: Rc<Output>, wanted: StateEvents) -> Self {
        Self { output, wanted, told: Cell::default() }
    }

    pub async fn tell(&self, state: State) {
        if self.wanted == StateEvents::Off || self.told.replace(state) == state {
            return;
        }
        let name = match state {
            State::Idle => "idle",
            State::Running => "running",
            State::RequiresAction => "requires_action",
        };
        let sdk_host_only = (self.wanted == StateEvents::HostOnly).then_some(true);
        let changed = SessionStateChanged { state: name.into(), sdk_host_only, ..SessionStateChanged::default() };
        self.output.send(Event::System(System::SessionStateChanged(changed))).await;
    }

    /// A person is asked something meanwhile.
    pub async fn while_asked<T>(&self, question: impl Future<Output = T>) -> T {
        self.tell(State::RequiresAction).await;
        let answer = question.await;
        self.tell(State::Running).await;
        answer
    }
}
