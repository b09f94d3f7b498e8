//! Asking for a permission: a hook that answers for people, the client, or a tool of the client's.

use super::{Permitted, Refused, Request, suggest, updates, words};
use crate::Prompter;
use crate::cancel::Why;
use hooks::PermissionRequest;
use policy::Decision;
use serde_json::{Value, json};

/// Asks whoever is there.
pub async fn ask(request: &Request<'_>, call: Permitted, decision: &Decision) -> Result<Permitted, Refused> {
    let suggestions = suggest::suggestions(request, &call, decision);
    if let Some(answer) = from_hook(request, &call, &suggestions).await {
        return settle(request, call, &answer).await;
    }
    let answer = match &request.shared.options.permissions.prompter {
        Prompter::Nobody => None,
        Prompter::Client => notified(request, from_client(request, &call, decision, &suggestions)).await,
        // A program is no person.
        Prompter::Tool(_) if crate::outside::wants_a_person(request.shared, request.name) => None,
        Prompter::Tool(tool) => {
            if let Some(missing) = crate::outside::missing_prompter(request.shared, tool) {
                let refused = request.deny(&call.input, &missing, Some(decision)).await;
                request.shared.live.no_prompter.replace(Some(missing));
                return Err(refused);
            }
            Some(notified(request, from_tool(request, &call, tool)).await)
        }
    };
    match answer {
        Some(answer) => settle(request, call, &answer).await,
        None => Err(request.deny(&call.input, &words(request.name, decision), Some(decision)).await),
    }
}

/// Hooks hear that somebody is asked, while they are.
async fn notified<T>(request: &Request<'_>, asked: impl Future<Output = T>) -> T {
    let message = format!("A permission is needed to use {}", request.name);
    let told = crate::moments::notify(request.shared, Some(request.lane), "permission_prompt", &message);
    futures_util::future::join(asked, told).await.0
}

async fn from_hook(request: &Request<'_>, call: &Permitted, suggestions: &[Value]) -> Option<Value> {
    let payload = PermissionRequest {
        tool_name: request.name,
        tool_input: &call.input,
        permission_suggestions: suggestions,
        tool_use_id: request.tool_use_id,
    };
    crate::hearing::fire(request.shared, request.lane, &payload).await.permission
}

/// `None` where the client is gone: then nobody was there.
async fn from_client(
    request: &Request<'_>,
    call: &Permitted,
    decision: &Decision,
    suggestions: &[Value],
) -> Option<Value> {
    let mut question = json!({
        "subtype": "can_use_tool",
        "tool_name": request.name,
        "display_name": request.name,
        "input": call.input,
        "tool_use_id": request.tool_use_id,
        "description": description(request.name, &call.input),
        "permission_suggestions": suggestions,
        "decision_reason": decision.reason,
        "decision_reason_type": decision.reason_type,
    });
    if let Some(path) = &decision.blocked_path {
        question["blocked_path"] = json!(path);
    }
    if let Some(agent) = request.lane.role.agent_id() {
        question["agent_id"] = json!(agent);
    }
    let waiting = crate::state::Waiting::announce(request.shared).await;
    let answer = request.shared.link.ask(&request.shared.emitter, question).await;
    waiting.over().await;
    match answer {
        Ok(answer) => Some(answer),
        Err(crate::control::LinkError::Closed) => None,
        Err(error) => Some(json!({"behavior": "deny", "message": error.to_string()})),
    }
}

fn description(name: &str, input: &Value) -> String {
    let said = ["description", "command", "file_path", "notebook_path", "pattern", "url", "query", "skill"];
    said.iter().find_map(|key| input[*key].as_str()).unwrap_or(name).to_owned()
}

/// An MCP tool that answers permission questions, with JSON in its text.
async fn from_tool(request: &Request<'_>, call: &Permitted, tool: &str) -> Value {
    let arguments = json!({"tool_name": request.name, "input": call.input, "tool_use_id": request.tool_use_id});
    let answer = crate::outside::call_for_text(request.shared, tool, arguments).await;
    let answer =
        answer.and_then(|text| serde_json::from_str(&text).map_err(|_| format!("{tool} did not answer with JSON")));
    answer.unwrap_or_else(|problem: String| json!({"behavior": "deny", "message": problem}))
}

/// Does what the answer says.
async fn settle(request: &Request<'_>, mut call: Permitted, answer: &Value) -> Result<Permitted, Refused> {
    if answer["behavior"] != "allow" {
        request.record(&call.input);
        let interrupt = answer["interrupt"] == true;
        if interrupt {
            request.lane.cancel.cancel(Why::Client);
        }
        let said = answer["message"].as_str().filter(|message| !message.is_empty());
        let words = said.unwrap_or("The user did not permit this call.").to_owned();
        return Err(Refused { words, interrupt, stop: None, deferred: false });
    }
    if let Some(list) = answer["updatedPermissions"].as_array() {
        for update in list {
            updates::apply(request.shared, update).await;
        }
    }
    if answer["updatedInput"].is_object() && answer["updatedInput"] != call.input {
        request.replace_input(&mut call, answer["updatedInput"].clone()).await?;
    }
    Ok(call)
}
