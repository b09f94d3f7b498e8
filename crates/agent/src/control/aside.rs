//! Questions of a client that are answered beside the conversation, by a model: a title, a question about the session.

use super::error::FieldError;
use super::group::{Group, Reply};
use crate::model_asker::ModelAsker;
use context::texts;
use conversation::MainMachine;
use model::Failure;
use options::Choices;
use output::Transcripts;
use serde_json::{Value, json};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

/// As much of a description as a title is made from.
const DESCRIPTION_CHARS: usize = 4_000;
/// Titles are shown in lists.
const TITLE_CHARS: usize = 80;
/// A client waits for the answer; a model that takes longer is not answering.
const PATIENCE: Duration = Duration::from_mins(5);

pub struct AsideRequests {
    pub choices: Rc<Choices>,
    pub machine: Rc<MainMachine>,
    pub model: Rc<ModelAsker>,
    pub transcripts: Rc<Transcripts>,
}

#[derive(Debug, thiserror::Error)]
enum AsideError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("no model answered within {} s; ask again", PATIENCE.as_secs())]
    Slow,
    #[error(transparent)]
    Model(#[from] Box<Failure>),
    #[error("the model gave no title; ask again")]
    NoTitle,
}

impl Group for AsideRequests {
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply> {
        Some(match subtype {
            "generate_session_title" => Reply::beside(in_time(async move { title(&self, &request).await })),
            "side_question" => Reply::beside(in_time(async move { side_question(&self, &request).await })),
            _ => return None,
        })
    }
}

async fn in_time(answer: impl Future<Output = Result<Value, AsideError>>) -> Result<Value, AsideError> {
    tokio::time::timeout(PATIENCE, answer).await.unwrap_or(Err(AsideError::Slow))
}

/// A title for what is described; with `persist` the session is called so.
async fn title(requests: &AsideRequests, request: &Value) -> Result<Value, AsideError> {
    let about = text(request, "description")?;
    let about: String = about.chars().take(DESCRIPTION_CHARS).collect();
    let said = requests.model.ask_small(None, texts::TITLE, about).await?;
    let line = said.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let title: String = line.trim_matches(['"', '\'', '#', ' ']).chars().take(TITLE_CHARS).collect();
    if title.is_empty() {
        return Err(AsideError::NoTitle);
    }
    if request["persist"] == true {
        requests.transcripts.name_session(&title);
    }
    Ok(json!({"title": title}))
}

/// A question about the conversation, which does not hear of it.
async fn side_question(requests: &AsideRequests, request: &Value) -> Result<Value, AsideError> {
    let question = text(request, "question")?;
    let mut messages = requests.machine.messages().to_vec();
    messages.extend(request["history"].as_array().into_iter().flatten().cloned());
    let messages = turn::asked_aside(&messages, question);
    let model = requests.choices.model();
    let reply = requests.model.ask_aside(&model, texts::ASIDE, messages).await?;
    let texts: Vec<&str> = reply.blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    Ok(json!({"response": texts.join("\n"), "synthetic": false}))
}

/// A text of blanks is none.
fn text<'a>(request: &'a Value, key: &'static str) -> Result<&'a str, FieldError> {
    let given = request[key].as_str().filter(|text| !text.trim().is_empty());
    given.ok_or_else(|| FieldError::no_text(request, key))
}
