//! Requests about the session as a whole.

use super::error::{FieldError, text};
use super::group::{Group, Reply};
use crate::Options;
use output::{Output, Transcripts};
use serde_json::{Value, json};
use std::rc::Rc;

pub struct SessionRequests {
    pub options: Rc<Options>,
    pub output: Rc<Output>,
    pub transcripts: Rc<Transcripts>,
}

#[derive(Debug, thiserror::Error)]
enum RenameError {
    #[error(transparent)]
    Field(#[from] FieldError),
    #[error("the session with this id is over; another one has begun since")]
    OtherSession,
    #[error("the title is empty")]
    NoTitle,
}

impl Group for SessionRequests {
    fn answer(self: Rc<Self>, subtype: &str, request: Rc<Value>) -> Option<Reply> {
        Some(match subtype {
            "rename_session" => Reply::now(self.rename(&request)),
            "get_binary_version" => Reply::value(json!({"version": self.options.version})),
            _ => return None,
        })
    }
}

impl SessionRequests {
    fn rename(&self, request: &Value) -> Result<Value, RenameError> {
        let title = text(request, "title")?;
        let is_meant = request["session_id"].as_str().is_none_or(|id| id == self.output.session_id());
        if !is_meant {
            return Err(RenameError::OtherSession);
        }
        self.transcripts.name_session(title).ok_or(RenameError::NoTitle)?;
        Ok(json!({}))
    }
}
