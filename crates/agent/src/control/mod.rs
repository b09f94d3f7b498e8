//! What a client asks of a session beside its prompts, at any moment. Each file answers a group of requests and holds the
//! handles that these need; nothing here knows more than who answers and who waits.
//!
//! Deliberately absent: the lines that carry requests and answers (`stdio`), and our own questions to the client (`output::ClientAsker`).

mod error;
mod group;
mod plugins;
mod roots;

pub mod aside;
pub mod files;
pub mod initialize;
pub mod permissions;
pub mod reload;
pub mod server_access;
pub mod servers;
pub mod session;
pub mod settings;
pub mod tasks;
pub mod turns;
pub mod usage;
pub mod workspace;

pub use group::Group;

use conversation::{HookRunner, MainMachine};
use group::{Answer, Reply};
use output::Output;
use serde_json::Value;
use std::rc::Rc;
use wire::{ControlResponse, Event};

pub struct Requests {
    pub output: Rc<Output>,
    /// For what turns wait for.
    pub hooks: Rc<HookRunner>,
    /// For events that come after an answer.
    pub machine: Rc<MainMachine>,
    pub groups: Vec<Rc<dyn Group>>,
}

impl Requests {
    /// Answers one request. Exactly one response goes out for it, at once or when the work is done.
    pub async fn handle(&self, request_id: String, request: Value) {
        let request = Rc::new(request);
        let subtype = request["subtype"].as_str().unwrap_or_default();
        let find = |group: &Rc<dyn Group>| Rc::clone(group).answer(subtype, Rc::clone(&request));
        let answer = match self.groups.iter().find_map(find) {
            None => return self.refuse(&request_id, subtype).await,
            Some(Reply::Beside(answer)) => {
                let output = Rc::clone(&self.output);
                tokio::task::spawn_local(async move { respond(&output, &request_id, answer.await).await });
                return;
            }
            Some(Reply::BeforeTurn(answer)) => {
                let (output, hooks) = (Rc::clone(&self.output), Rc::clone(&self.hooks));
                hooks.between.begin();
                tokio::task::spawn_local(async move {
                    let answer = answer.await;
                    hooks.between.end();
                    respond(&output, &request_id, answer).await;
                });
                return;
            }
            Some(Reply::Now(answer)) => answer,
            Some(Reply::Soon(answer)) => answer.await,
        };
        respond(&self.output, &request_id, answer).await;
        // Clients take the answer first, then the event that tells everybody.
        self.machine.send_waiting().await;
    }

    /// Clients tell it from other errors by its form.
    async fn refuse(&self, request_id: &str, subtype: &str) {
        let words = format!("Unsupported control request subtype: {subtype}");
        self.output.send(Event::control_response(ControlResponse::unsupported(request_id, words))).await;
        self.machine.send_waiting().await;
    }
}

async fn respond(output: &Output, request_id: &str, answer: Answer) {
    let response = match answer {
        Ok(payload) => ControlResponse::success(request_id, payload),
        Err(error) => ControlResponse::error(request_id, error.to_string()),
    };
    output.send(Event::control_response(response)).await;
}
