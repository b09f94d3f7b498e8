//! Ending a turn from outside: an interrupt, something that broke.

use crate::effect::Effect;
use crate::fault::Fault;
use crate::input::InterruptCause;
use crate::result::End;
use crate::state::{Call, CallState, Owner};
use crate::turn::{Cx, Turn};

/// Work that was told to stop gets this long to be gone. Killing a process tree takes milliseconds; what is still there after
/// this is not waited for any more, because somebody waits for the result.
const STOP_WAIT_MS: u64 = 10_000;

impl Turn {
    /// Everything that runs is stopped; the turn ends when it is gone. Hooks between two steps are waited for.
    pub(crate) fn interrupt(&mut self, cause: InterruptCause, cx: &mut Cx) {
        if !self.is_running {
            return;
        }
        // A signal counts more than a client that interrupts.
        if self.interrupt.is_none_or(|known| known == InterruptCause::Client) {
            self.interrupt = Some(cause);
        }
        if self.has_fault(Fault::LosesQueuedPrompt) {
            self.queue.pop_front();
        }
        let mut tickets = Vec::new();
        if let Some(waiting) = self.waiting.as_mut().filter(|waiting| waiting.step.is_stopped_by_interrupt())
            && !std::mem::replace(&mut waiting.is_cancelled, true)
        {
            tickets.push(waiting.ticket);
        }
        tickets.extend(self.stop_calls());
        if tickets.is_empty() {
            return;
        }
        cx.effects.extend(tickets.into_iter().map(|ticket| Effect::Cancel { ticket }));
        if self.timer.is_none() {
            let ticket = self.ticket();
            self.timer = Some(ticket);
            cx.push(Effect::SetTimer { ticket, after_ms: STOP_WAIT_MS });
        }
    }

    /// Calls that are on their way. A call whose result is there keeps it.
    fn stop_calls(&mut self) -> Vec<crate::input::Ticket> {
        let (ignores, spares) =
            (self.has_fault(Fault::IgnoresInterrupt), self.has_fault(Fault::SubagentOutlivesInterrupt));
        let mut tickets = Vec::new();
        for call in &mut self.calls {
            let is_agent = call.facts.is_some_and(|facts| facts.starts_subagent);
            if ignores && matches!(call.state, CallState::Running(_)) {
                continue;
            }
            if matches!(call.state, CallState::Hiding(_) | CallState::Cancelling(_)) {
                continue;
            }
            if let Some(ticket) = call.state.ticket() {
                let is_running = matches!(call.state, CallState::Running(_));
                call.state = CallState::Cancelling(ticket);
                if !(spares && is_agent && is_running) {
                    tickets.push(ticket);
                }
            }
        }
        tickets
    }

    /// What was told to stop has not gone in time.
    pub(crate) fn give_up_waiting(&mut self, cx: &mut Cx) {
        if let Some(waiting) = self.waiting.take_if(|waiting| waiting.is_cancelled) {
            return self.mainline_stopped(waiting.step, cx);
        }
        let is_stuck = |call: &&Call| matches!(call.state, CallState::Cancelling(_));
        let stuck: Vec<u64> = self.calls.iter().filter(is_stuck).map(|call| call.key).collect();
        for key in stuck {
            self.cancelled(key, cx);
        }
    }

    /// Something broke: the turn still ends with its one result, and every call with one of its own.
    pub(crate) fn break_off(&mut self, message: String, cx: &mut Cx) {
        if !self.is_running {
            return;
        }
        self.cancel_everything(cx);
        self.abandon_batch("The call was cut off by an internal error; it may or may not have run.", cx);
        self.finish(End::Internal(message), cx);
    }

    /// Wants all work stopped, and waits for none of it.
    pub(crate) fn cancel_everything(&mut self, cx: &mut Cx) {
        let waiting = self.waiting.take().map(|waiting| waiting.ticket);
        let calls = self.calls.iter().filter_map(|call| call.state.ticket());
        let tickets: Vec<_> = waiting.into_iter().chain(calls).chain(self.timer.take()).collect();
        cx.effects.extend(tickets.into_iter().map(|ticket| Effect::Cancel { ticket }));
        self.calls.retain(|call| call.owner == Owner::Answer);
    }
}
