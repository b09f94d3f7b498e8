//! Why an agent does not start.

/// A reason not to start. The text is the whole line.
#[derive(Debug, thiserror::Error)]
#[error("{text}")]
pub struct Refusal {
    pub text: String,
    /// Clients that read events wait for a result; bad usage gives them none, a failed resume does.
    pub as_result: bool,
}

impl Refusal {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), as_result: false }
    }

    pub(crate) fn with_result(text: impl Into<String>) -> Self {
        Self { text: text.into(), as_result: true }
    }
}

pub(crate) fn one_of(flag: &str, value: &str, known: &str) -> Refusal {
    Refusal::new(format!("error: option '--{flag}' is '{value}'; allowed are {known}"))
}
