//! Why a request of a client is not done. Each file of requests has an error of its own; here is what they share.

use serde_json::Value;
use std::error::Error;
use std::fmt;

/// The error of any request. Only its words leave, so its kind is nobody's business but the file's.
///
/// It is no [`Error`] itself, so that every error becomes one by `?`. A bare text does not.
#[derive(Debug)]
pub struct RequestError(Box<dyn Error>);

impl<E: Error + 'static> From<E> for RequestError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What is wrong with a field of a request.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldError {
    #[error("{request} needs {key:?}, a string")]
    NoText { request: String, key: &'static str },
    #[error("{key} must be {wanted}")]
    Value { key: &'static str, wanted: &'static str },
}

impl FieldError {
    pub fn no_text(request: &Value, key: &'static str) -> Self {
        Self::NoText { request: request["subtype"].as_str().unwrap_or_default().to_owned(), key }
    }
}

/// A field that must be there.
pub fn text<'a>(request: &'a Value, key: &'static str) -> Result<&'a str, FieldError> {
    request[key].as_str().ok_or_else(|| FieldError::no_text(request, key))
}
