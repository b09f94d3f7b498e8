//! `session_state_changed`: running, waiting for a person, idle. Sent only to clients that asked for it,
//! because once they have seen one they wait for `idle` before they let go.

use crate::StateEvents;
use crate::shared::Shared;
use std::cell::Cell;
use wire::{Event, SessionStateChanged, System};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum State {
    #[default]
    Idle,
    Running,
    RequiresAction,
}

/// Where the session stands, as last told.
#[derive(Default)]
pub struct Told(Cell<State>);

pub async fn tell(shared: &Shared, state: State) {
    if shared.options.state_events == StateEvents::Off || shared.live.told.0.replace(state) == state {
        return;
    }
    let name = match state {
        State::Idle => "idle",
        State::Running => "running",
        State::RequiresAction => "requires_action",
    };
    let sdk_host_only = (shared.options.state_events == StateEvents::HostOnly).then_some(true);
    let changed = SessionStateChanged { state: name.into(), sdk_host_only, ..SessionStateChanged::default() };
    shared.emitter.send(Event::System(System::SessionStateChanged(changed))).await;
}

/// A person is being asked something.
pub struct Waiting<'a>(&'a Shared);

impl<'a> Waiting<'a> {
    pub async fn announce(shared: &'a Shared) -> Self {
        tell(shared, State::RequiresAction).await;
        Self(shared)
    }

    pub async fn over(self) {
        tell(self.0, State::Running).await;
    }
}
