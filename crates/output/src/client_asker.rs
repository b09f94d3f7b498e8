//! Our questions to the client, and its answers.

use crate::output::Output;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use tokio::sync::oneshot;
use wire::{AgentRequest, ControlResponse, Event};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClientError {
    #[error("the client has closed its end of the conversation")]
    Closed,
    #[error("{0}")]
    Refused(String),
}

type Answer = Result<Value, ClientError>;

/// Open while stdin is: afterwards nobody can answer.
pub struct ClientAsker {
    output: Rc<Output>,
    pending: RefCell<HashMap<String, oneshot::Sender<Answer>>>,
    open: Cell<bool>,
    asked: Cell<u64>,
}

impl ClientAsker {
    pub fn new(output: Rc<Output>, open: bool) -> Self {
        Self { output, pending: RefCell::default(), open: Cell::new(open), asked: Cell::new(0) }
    }

    /// Asks and waits as long as it takes. Dropped before the answer, the request is withdrawn and a
    /// late answer ignored.
    pub async fn ask(&self, request: impl Into<AgentRequest>) -> Answer {
        if !self.open.get() {
            return Err(ClientError::Closed);
        }
        let number = self.asked.get() + 1;
        self.asked.set(number);
        let request_id = format!("ralph_{number}_{}", &self.output.ids().next()[..8]);
        let (sender, answer) = oneshot::channel();
        self.pending.borrow_mut().insert(request_id.clone(), sender);
        let withdrawal = Withdrawal { link: self, request_id: &request_id };
        self.output.send(Event::control_request(request_id.clone(), request.into())).await;
        let answer = answer.await.unwrap_or(Err(ClientError::Closed));
        std::mem::forget(withdrawal);
        answer
    }

    /// Takes a `control_response` line. One that nobody waits for is ignored.
    pub fn answer(&self, response: ControlResponse) {
        let Some(request_id) = response.request_id() else { return };
        let Some(waiting) = self.pending.borrow_mut().remove(request_id) else { return };
        let refused = |error: Option<String>| error.unwrap_or_else(|| "the client gave no reason".to_owned());
        let _ = waiting.send(response.into_result().map_err(|error| ClientError::Refused(refused(error))));
    }

    /// End of stdin: whoever still waits is told.
    pub fn close(&self) {
        self.open.set(false);
        self.pending.borrow_mut().clear();
    }
}

struct Withdrawal<'a> {
    link: &'a ClientAsker,
    request_id: &'a str,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        if self.link.pending.borrow_mut().remove(self.request_id).is_some() {
            self.link.output.send_now(&Event::control_cancel(self.request_id));
        }
    }
}
