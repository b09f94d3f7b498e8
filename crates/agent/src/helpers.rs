//! What hooks need of others: the client's own functions, a model's judgement, an MCP server's tool.

use crate::ask::{self, NoReply};
use crate::own::errand::{self, Errand};
use crate::shared::{Lane, Role, Shared};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use hooks::{Hooks, Judge, Question};
use project::AgentDef;
use serde_json::{Value, json};
use std::rc::Rc;
use std::time::Duration;
use wire::{AgentRequest, HookCallback};

/// Agents that answer for a hook go by this name. Hooks that ask a model are not asked about them: one could
/// ask for ever.
pub const HOOK_AGENT: &str = "hook";

/// What an agent may look around with before it judges.
const TOOLS: [&str; 4] = ["Read", "Glob", "Grep", "Bash"];

/// The contract's number.
const MOST_TURNS: u64 = 50;

/// Help for one event.
pub struct Help<'a> {
    pub shared: &'a Shared,
    /// Where it happens in a conversation.
    pub lane: Option<&'a Lane>,
    pub tool_use_id: Option<&'a str>,
}

/// Whether this lane is an agent that answers for a hook.
pub fn answers_a_hook(lane: &Lane) -> bool {
    matches!(&lane.role, Role::Sub(sub) if sub.agent_type == HOOK_AGENT)
}

impl Help<'_> {
    pub fn is_for_a_hook(&self) -> bool {
        self.lane.is_some_and(answers_a_hook)
    }

    async fn ask_model(&self, question: Question) -> Result<String, String> {
        let asking = &self.shared.options.asking;
        let named = question.model.as_deref();
        let model = named.map_or_else(|| asking.small_model.clone(), |named| model::resolve(named, &asking.model_env));
        let messages = vec![json!({"role": "user", "content": question.words})];
        match ask::aside(self.shared, &model, question.system, messages).await {
            Ok(reply) => {
                Ok(reply.blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"))
            }
            Err(NoReply::Cancelled) => Err("interrupted".into()),
            Err(NoReply::Failed(failure)) => Err(failure.message.clone()),
        }
    }

    async fn ask_agent(&self, question: Question) -> Result<String, String> {
        let shared = self.shared.live.ear.me.get().and_then(std::rc::Weak::upgrade).ok_or("the session is over")?;
        let lane = self.lane.ok_or("there is no conversation for an agent to look at")?;
        errand::within_limits(&shared, lane)?;
        let agent = AgentDef {
            name: HOOK_AGENT.into(),
            description: "judges a condition".into(),
            prompt: question.system.into(),
            tools: Some(TOOLS.map(str::to_owned).to_vec()),
            max_turns: Some(MOST_TURNS),
            source: "builtin",
            ..AgentDef::default()
        };
        let small = shared.options.asking.small_model.clone();
        let errand = Errand {
            agent: &agent,
            task: &question.words,
            description: "judge a hook's condition",
            tool_use_id: self.tool_use_id.unwrap_or(HOOK_AGENT),
            model: question.model.as_deref().or(Some(&small)),
            isolated: false,
            hooks: Hooks::default(),
        };
        let ready = errand::prepare(&shared, lane, &errand, Rc::clone(&lane.cancel)).await?;
        let finished = errand::carry_out(&shared, ready).await;
        let text = crate::after::text_of(&finished.outcome);
        if finished.outcome.is_error() { Err(text) } else { Ok(text) }
    }
}

impl hooks::Helpers for Help<'_> {
    /// Boxed, because an agent runs the machine that asked.
    fn judge(&self, question: Question) -> LocalBoxFuture<'_, Result<String, String>> {
        match question.who {
            Judge::Model => self.ask_model(question).boxed_local(),
            Judge::Agent => self.ask_agent(question).boxed_local(),
        }
    }

    fn call_tool<'a>(
        &'a self,
        server: &'a str,
        tool: &'a str,
        input: Value,
    ) -> LocalBoxFuture<'a, Result<String, String>> {
        crate::outside::call_named(self.shared, server, tool, input).boxed_local()
    }
}

impl hooks::Callbacks for Help<'_> {
    fn call(
        &self,
        callback_id: &str,
        input: Value,
        tool_use_id: Option<&str>,
        timeout: Duration,
    ) -> LocalBoxFuture<'_, Result<Value, String>> {
        let request = AgentRequest::HookCallback(HookCallback {
            callback_id: callback_id.to_owned(),
            input,
            tool_use_id: tool_use_id.map(str::to_owned),
            ..HookCallback::default()
        });
        async move {
            match tokio::time::timeout(timeout, self.shared.link.ask(&self.shared.emitter, request)).await {
                Ok(answer) => answer.map_err(|error| error.to_string()),
                Err(_) => Err(format!("the client's hook did not answer within {} s", timeout.as_secs())),
            }
        }
        .boxed_local()
    }
}
