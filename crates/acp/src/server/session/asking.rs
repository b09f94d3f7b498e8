//! The agent's questions to the client, and the client's answers.

use super::{Context, PendingQuestion, Session};
use crate::rpc::{notification, request};
use crate::server::permission::{self, Choice};
use crate::server::{ServerOutput, questions};
use serde_json::{Value, json};
use wire::{
    AgentControlRequest, AgentRequest, CanUseTool, ControlResponse, Elicitation, Input, PermissionAnswer,
    PermissionDeny,
};

/// What the client was asked.
#[derive(Debug)]
pub(super) enum ClientQuestion {
    Permission {
        choices: Vec<Choice>,
        input: Value,
    },
    /// `AskUserQuestion`, with its input.
    Questions(Value),
    Elicitation,
}

impl Session {
    pub(super) fn agent_asks(&mut self, asked: AgentControlRequest, context: &mut Context<'_>) {
        let id = asked.request_id;
        match asked.request {
            AgentRequest::CanUseTool(tool) => self.ask_permission(id, &tool, context),
            AgentRequest::Elicitation(elicitation) => self.ask_elicitation(id, &elicitation, context),
            _ => self.tell_child(ControlResponse::unsupported(id, "this client has no such request"), context),
        }
    }

    fn ask_permission(&mut self, id: String, tool: &CanUseTool, context: &mut Context<'_>) {
        if self.is_cancelled() {
            let answer = PermissionDeny {
                message: "Tool use aborted".into(),
                interrupt: Some(true),
                ..PermissionDeny::default()
            };
            return self.tell_answer(id, &PermissionAnswer::Deny(answer), context);
        }
        for update in self.updates.asked_call(&tool.tool_use_id, &tool.tool_name, &tool.input) {
            self.send(update, context.out);
        }
        if tool.tool_name == "AskUserQuestion" && context.client.form_elicitation {
            let params = questions::form(&self.id, &tool.tool_use_id, &tool.input);
            return self.ask("elicitation/create", params, id, ClientQuestion::Questions(tool.input.clone()), context);
        }
        let choices = permission::choices(tool, context.options.may_bypass);
        let params = json!({
            "sessionId": self.id,
            "toolCall": self.updates.call_for_question(&tool.tool_use_id, &tool.tool_name, &tool.input),
            "options": permission::options(&choices),
        });
        let what = ClientQuestion::Permission { choices, input: tool.input.clone() };
        self.ask("session/request_permission", params, id, what, context);
    }

    fn ask_elicitation(&mut self, id: String, asked: &Elicitation, context: &mut Context<'_>) {
        match questions::of_server(&self.id, asked, context.client).filter(|_| !self.is_cancelled()) {
            Some(params) => self.ask("elicitation/create", params, id, ClientQuestion::Elicitation, context),
            None => self.tell_answer(id, &questions::server_answer(None), context),
        }
    }

    fn ask(&mut self, method: &str, params: Value, id: String, what: ClientQuestion, context: &mut Context<'_>) {
        let asked = PendingQuestion { child: self.child, request: id.clone(), what };
        match context.asked.add(asked) {
            Some(number) => context.out.push(ServerOutput::ToClient(request(number, method, params))),
            None => self.tell_child(ControlResponse::error(id, "the client answers no questions"), context),
        }
    }

    /// `result` is `None` where the client answered with an error.
    pub(crate) fn client_answered(
        &mut self,
        asked: PendingQuestion,
        result: Option<&Value>,
        context: &mut Context<'_>,
    ) {
        match asked.what {
            ClientQuestion::Permission { choices, input } => {
                let chosen = permission::chosen(result, &choices, &input);
                self.tell_answer(asked.request, &chosen.answer, context);
                if chosen.ends_turn {
                    self.end_turn(context);
                }
            }
            ClientQuestion::Questions(input) => {
                self.tell_answer(asked.request, &questions::answered(result, &input), context);
            }
            ClientQuestion::Elicitation => self.tell_answer(asked.request, &questions::server_answer(result), context),
        }
    }

    /// The agent does not want to know any more.
    pub(super) fn agent_withdraws(&mut self, id: &str, context: &mut Context<'_>) {
        let child = self.child;
        for (number, _) in context.asked.take_all(|asked| asked.child == child && asked.request == id) {
            cancel_request(number, context);
        }
    }

    /// Nobody waits for the answers any more.
    pub(super) fn withdraw_questions(&mut self, context: &mut Context<'_>) {
        let child = self.child;
        for (number, _) in context.asked.take_all(|asked| asked.child == child) {
            cancel_request(number, context);
        }
    }

    fn tell_answer(&self, id: String, answer: &impl serde::Serialize, context: &mut Context<'_>) {
        let answer = serde_json::to_value(answer).unwrap_or_default();
        self.tell_child(ControlResponse::success(id, answer), context);
    }

    fn tell_child(&self, answer: ControlResponse, context: &mut Context<'_>) {
        context.out.push(ServerOutput::ToChild { child: self.child, line: Input::response(answer).to_line() });
    }
}

fn cancel_request(number: u64, context: &mut Context<'_>) {
    let message = notification("$/cancel_request", json!({"requestId": number}));
    context.out.push(ServerOutput::ToClient(message));
}
