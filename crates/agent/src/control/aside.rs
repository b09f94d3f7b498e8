//! Questions of a client that are answered beside the conversation, by a model: a title, a question about the session.

use super::Requests;
use super::error::RequestError;
use context::texts;
use serde_json::{Value, json};
use std::time::Duration;

/// As much of a description as a title is made from.
const DESCRIPTION_CHARS: usize = 4_000;
/// Titles are shown in lists.
const TITLE_CHARS: usize = 80;
/// A client waits for the answer; a model that takes longer is not answering.
const PATIENCE: Duration = Duration::from_mins(5);

/// Whether a request is one of these. They take as long as a model does.
pub fn is_aside(subtype: &str) -> bool {
    matches!(subtype, "generate_session_title" | "side_question")
}

pub async fn answer(requests: &Requests, request: &Value) -> Result<Value, RequestError> {
    let answered = async {
        match request["subtype"].as_str().unwrap_or_default() {
            "generate_session_title" => title(requests, request).await,
            "side_question" => side_question(requests, request).await,
            other => Err(RequestError::Unsupported(other.to_owned())),
        }
    };
    let late = || format!("no model answered within {} s; ask again", PATIENCE.as_secs());
    tokio::time::timeout(PATIENCE, answered).await.unwrap_or_else(|_| Err(late().into()))
}

/// A title for what is described; with `persist` the session is called so.
async fn title(requests: &Requests, request: &Value) -> Result<Value, RequestError> {
    let about = text(request, "description")?;
    let about: String = about.chars().take(DESCRIPTION_CHARS).collect();
    let said = requests.model.ask_small(None, texts::TITLE, about).await?;
    let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let title: String = line.trim_matches(['"', '\'', '#', ' ']).chars().take(TITLE_CHARS).collect();
    if title.is_empty() {
        return Err("the model gave no title; ask again".to_owned().into());
    }
    if request["persist"] == true {
        requests.transcripts.name_session(&title);
    }
    Ok(json!({"title": title}))
}

/// A question about the conversation, which does not hear of it.
async fn side_question(requests: &Requests, request: &Value) -> Result<Value, RequestError> {
    let question = text(request, "question")?;
    let mut messages = requests.machine.messages().to_vec();
    messages.extend(request["history"].as_array().into_iter().flatten().cloned());
    let messages = turn::asked_aside(&messages, question);
    let model = requests.choices.model();
    let reply = requests.model.ask_aside(&model, texts::ASIDE, messages).await;
    let reply = reply.map_err(|failure| failure.message.clone())?;
    let texts: Vec<&str> = reply.blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    Ok(json!({"response": texts.join("\n"), "synthetic": false}))
}

fn text<'a>(request: &'a Value, key: &str) -> Result<&'a str, String> {
    let given = request[key].as_str().filter(|text| !text.trim().is_empty());
    let subtype = request["subtype"].as_str().unwrap_or_default();
    given.ok_or_else(|| format!("{subtype} needs {key:?}, a string"))
}
