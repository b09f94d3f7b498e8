//! Questions to the user as forms: the agent's own (`AskUserQuestion`), and those of MCP servers.

use super::Capabilities;
use serde_json::{Map, Value, json};
use wire::{Elicitation, ElicitationAnswer, PermissionAllow, PermissionAnswer, PermissionDeny};

/// The params of `elicitation/create` for the agent's questions.
pub(crate) fn form(session: &str, call: &str, input: &Value) -> Value {
    let mut properties = Map::new();
    for (index, question) in questions(input).enumerate() {
        let title = question["header"].as_str().unwrap_or("Question");
        let text = question["question"].as_str().unwrap_or_default();
        let options: Vec<Value> = question["options"].as_array().into_iter().flatten().map(option).collect();
        let mut property = json!({"title": title, "description": text});
        if question["multiSelect"] == true {
            property["type"] = "array".into();
            property["items"] = json!({"anyOf": options});
        } else {
            property["type"] = "string".into();
            property["oneOf"] = options.into();
        }
        properties.insert(format!("question_{index}"), property);
        let custom = json!({"type": "string", "title": format!("{title}: another answer")});
        properties.insert(format!("question_{index}_custom"), custom);
    }
    let message = questions(input).filter_map(|question| question["question"].as_str()).collect::<Vec<_>>().join("\n");
    json!({
        "mode": "form",
        "sessionId": session,
        "toolCallId": call,
        "message": if message.is_empty() { "The agent has a question." } else { &message },
        "requestedSchema": {"type": "object", "properties": properties},
    })
}

fn questions(input: &Value) -> impl Iterator<Item = &Value> {
    input["questions"].as_array().into_iter().flatten()
}

fn option(option: &Value) -> Value {
    let label = option["label"].as_str().unwrap_or_default();
    let title = match option["description"].as_str().filter(|description| !description.is_empty()) {
        Some(description) => format!("{label}: {description}"),
        None => label.to_owned(),
    };
    json!({"const": label, "title": title})
}

/// The client's answer to [`form`]. `None`: it answered with an error.
pub(crate) fn answered(response: Option<&Value>, input: &Value) -> PermissionAnswer {
    let deny =
        |message: &str| PermissionAnswer::Deny(PermissionDeny { message: message.into(), ..PermissionDeny::default() });
    let Some(response) = response else { return deny("The client could not ask the user.") };
    if response["action"] != "accept" {
        return deny("The user did not answer.");
    }
    let content = &response["content"];
    let mut answers = Map::new();
    for (index, question) in questions(input).enumerate() {
        let custom = content[format!("question_{index}_custom")].as_str().filter(|text| !text.trim().is_empty());
        let chosen = match &content[format!("question_{index}")] {
            Value::String(text) => text.clone(),
            Value::Array(list) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
            _ => String::new(),
        };
        let answer = custom.map_or(chosen, str::to_owned);
        if let Some(text) = question["question"].as_str().filter(|_| !answer.is_empty()) {
            answers.insert(text.to_owned(), answer.into());
        }
    }
    if answers.is_empty() {
        return deny("The user did not answer.");
    }
    let mut updated = input.clone();
    updated["answers"] = answers.into();
    PermissionAnswer::Allow(PermissionAllow { updated_input: Some(updated), ..PermissionAllow::default() })
}

/// The params of `elicitation/create` for a server's question; `None` where the client does not take its kind.
pub(crate) fn of_server(session: &str, asked: &Elicitation, client: &Capabilities) -> Option<Value> {
    let message = asked.message.clone().unwrap_or_else(|| format!("{} has a question.", asked.mcp_server_name));
    match asked.mode.as_deref() {
        Some("url") => {
            let (url, id) = (asked.url.as_ref()?, asked.elicitation_id.as_ref()?);
            let params =
                json!({"mode": "url", "sessionId": session, "message": message, "url": url, "elicitationId": id});
            client.url_elicitation.then_some(params)
        }
        _ => {
            let schema = asked.requested_schema.as_ref().filter(|schema| schema.is_object())?;
            let params = json!({"mode": "form", "sessionId": session, "message": message, "requestedSchema": schema});
            client.form_elicitation.then_some(params)
        }
    }
}

/// The client's answer to [`of_server`], as the agent takes it.
pub(crate) fn server_answer(response: Option<&Value>) -> ElicitationAnswer {
    let Some(response) = response else {
        return ElicitationAnswer { action: "cancel".into(), ..ElicitationAnswer::default() };
    };
    let action = match response["action"].as_str() {
        Some("accept") => "accept",
        Some("decline") => "decline",
        _ => "cancel",
    };
    let content = response.get("content").filter(|content| action == "accept" && content.is_object()).cloned();
    ElicitationAnswer { action: action.into(), content, ..ElicitationAnswer::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> Value {
        json!({"questions": [
            {"question": "Which?", "header": "Which", "options": [{"label": "A", "description": "first"}, {"label": "B"}]},
            {"question": "What all?", "header": "All", "multiSelect": true, "options": [{"label": "X"}, {"label": "Y"}]},
        ]})
    }

    #[test]
    fn questions_become_a_form() {
        let form = form("s", "t", &input());
        let properties = &form["requestedSchema"]["properties"];
        assert_eq!(properties["question_0"]["oneOf"][0], json!({"const": "A", "title": "A: first"}));
        assert_eq!(properties["question_1"]["items"]["anyOf"][1], json!({"const": "Y", "title": "Y"}));
        assert_eq!(properties["question_1_custom"]["type"], "string");
        assert_eq!(form["message"], "Which?\nWhat all?");
    }

    #[test]
    fn answers_are_told_by_question() {
        let accept = |content: Value| json!({"action": "accept", "content": content});
        for (response, answers) in [
            (
                Some(accept(json!({"question_0": "B", "question_1": ["X", "Y"]}))),
                json!({"Which?": "B", "What all?": "X, Y"}),
            ),
            (Some(accept(json!({"question_0": "B", "question_0_custom": "C"}))), json!({"Which?": "C"})),
            (Some(accept(json!({}))), Value::Null),
            (Some(json!({"action": "decline"})), Value::Null),
            (None, Value::Null),
        ] {
            match answered(response.as_ref(), &input()) {
                PermissionAnswer::Allow(allow) => assert_eq!(allow.updated_input.unwrap()["answers"], answers),
                _ => assert_eq!(answers, Value::Null, "{response:?}"),
            }
        }
    }

    #[test]
    fn a_server_may_ask_only_what_the_client_can_show() {
        let asked = Elicitation {
            mcp_server_name: "s".into(),
            requested_schema: Some(json!({"type": "object", "properties": {}})),
            ..Elicitation::default()
        };
        assert!(of_server("s", &asked, &Capabilities::default()).is_none());
        let client = Capabilities { form_elicitation: true, ..Capabilities::default() };
        assert_eq!(of_server("s", &asked, &client).unwrap()["mode"], "form");
        let url = Elicitation { mode: Some("url".into()), url: Some("http://x".into()), ..asked };
        assert!(of_server("s", &url, &client).is_none());
        assert_eq!(server_answer(None).action, "cancel");
        assert_eq!(
            server_answer(Some(&json!({"action": "accept", "content": {"a": 1}}))).content,
            Some(json!({"a": 1}))
        );
    }
}
