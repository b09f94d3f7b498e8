//! Requests about the turn that runs and the prompts that wait.

use super::group::{Group, Reply};
use conversation::MainMachine;
use serde_json::{Value, json};
use std::rc::Rc;
use turn::{InterruptCause, Recall};

pub struct TurnRequests {
    pub machine: Rc<MainMachine>,
}

impl Group for TurnRequests {
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply> {
        Some(match subtype {
            "interrupt" => Reply::value(self.interrupt(&request)),
            "cancel_async_message" => Reply::value(self.take_back(&request)),
            _ => return None,
        })
    }
}

impl TurnRequests {
    /// Ends the running turn, and says which prompts still wait.
    fn interrupt(&self, request: &Value) -> Value {
        let answer = if request["cancel_queued"] == true {
            let (_, taken_back) = self.machine.recall(Recall::All);
            json!({"still_queued": [], "cancelled": taken_back})
        } else {
            json!({"still_queued": self.machine.recall(Recall::List).0})
        };
        self.machine.interrupt(InterruptCause::Client);
        answer
    }

    fn take_back(&self, request: &Value) -> Value {
        let named = request["message_uuid"].as_str().map(|id| self.machine.recall(Recall::One(id.to_owned())).1);
        json!({"cancelled": named.is_some_and(|taken_back| !taken_back.is_empty())})
    }
}
