//! Requests about what was used: the window, tokens, money.

use super::group::{Group, Reply};
use crate::Options;
use context::Tool;
use conversation::{Conversation, Memories, context_usage};
use mcp::SessionServers;
use model::Ledger;
use options::Choices;
use serde_json::{Value, json};
use std::rc::Rc;

pub struct UsageRequests {
    pub options: Rc<Options>,
    pub choices: Rc<Choices>,
    pub servers: Rc<SessionServers>,
    pub memories: Rc<Memories>,
    pub main: Rc<Conversation>,
    pub ledger: Rc<Ledger>,
}

impl Group for UsageRequests {
    fn answer(self: Rc<Self>, subtype: &str, _request: Rc<Value>) -> Option<Reply> {
        Some(match subtype {
            "get_context_usage" => Reply::value(self.context()),
            "get_usage" => Reply::value(self.ledger.shown()),
            "get_session_cost" => Reply::value(json!({"total_cost_usd": self.ledger.total_usd()})),
            _ => return None,
        })
    }
}

impl UsageRequests {
    /// How full the window is.
    fn context(&self) -> Value {
        let servers: Vec<Tool> = self.servers.tools().iter().map(Tool::of_server).collect();
        context_usage(&self.options, &self.choices, &servers, &self.memories, &self.main)
    }
}
