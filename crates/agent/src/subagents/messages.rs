//! Agents that can be spoken to after their start: one at work reads a message before its next question, one that has
//! ended goes on with its conversation, in the background.
//!
//! Deliberately absent: agents that were stopped in the middle of something, and those whose checkout is gone.

use super::{Assignment, Launch, Ready, Subagents};
use conversation::{Active, Conversation, KnownAgent};
use serde_json::{Value, json};
use std::cell::Cell;
use std::rc::Rc;
use turn::{CallResult, SubagentTask};

impl Subagents {
    /// The main conversation may speak to this agent from now on.
    pub fn remember(&self, ready: &Ready, assignment: &Assignment) -> Active {
        self.known.add(KnownAgent {
            id: ready.agent_id.clone(),
            name: assignment.name.clone().filter(|name| !name.trim().is_empty()),
            agent_type: assignment.agent.name.clone(),
            description: assignment.description.clone(),
            transcript_file: ready.transcript_file.clone(),
            conversation: Rc::clone(&ready.conversation),
            is_isolated: ready.worktree.is_some(),
            is_active: Rc::new(Cell::new(false)),
        })
    }

    /// The newest agent of that id or name gets the message.
    pub async fn say(self: &Rc<Self>, parent: &Conversation, tool_use_id: &str, input: &Value) -> CallResult {
        let to = input["to"].as_str().unwrap_or_default().trim();
        let message = input["message"].as_str().unwrap_or_default();
        let Some(agent) = self.known.find(to) else {
            return CallResult::error(format!("There is no agent \"{to}\". Known: {}", self.known.ids()));
        };
        if agent.is_active.get() {
            agent.conversation.tell(format!("<message from=\"main\">\n{message}\n</message>"));
            return sent(&agent, "reads the message before its next step", input);
        }
        if !agent.can_go_on() {
            return CallResult::error(format!("The agent {to} was stopped, or its checkout is gone. Start a new one."));
        }
        if let Err(problem) = self.may_start(parent) {
            return CallResult::error(problem.to_string());
        }
        if !self.options.tools.shell.background_allowed {
            return CallResult::error("Background tasks are switched off, so an agent that has finished cannot go on.");
        }
        let ready = Ready {
            agent_id: agent.id.clone(),
            transcript_file: agent.transcript_file.clone(),
            conversation: Rc::clone(&agent.conversation),
            task: SubagentTask { task: message.to_owned(), skills: Vec::new() },
            worktree: None,
            _servers: None,
            _counted: self.count_one(),
        };
        let active = agent.begin();
        let launch = Launch {
            task_id: self.output.ids().short('a'),
            agent_type: agent.agent_type.clone(),
            description: agent.description.clone(),
            prompt: message.to_owned(),
            tool_use_id: tool_use_id.to_owned(),
        };
        match self.start(ready, active, &launch).await {
            Ok(_) => sent(&agent, "goes on in the background; you are told when it has finished", input),
            Err(problem) => CallResult::error(problem.to_string()),
        }
    }
}

fn sent(agent: &KnownAgent, what: &str, input: &Value) -> CallResult {
    let message = format!("The agent {} {what}.", agent.id);
    let display = input["summary"].as_str().unwrap_or(&message).to_owned();
    let structured = json!({"success": true, "message": message, "display": display});
    CallResult::text(structured.to_string(), structured)
}
