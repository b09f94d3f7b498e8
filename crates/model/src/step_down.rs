//! The model to try next when the provider refuses the default model. Pure, and only data.
//!
//! A model that the user named is never replaced. Nothing is probed beforehand: the real request is refused first.

use crate::catalog::{canonical, info};
use crate::{Failure, ModelEnv, resolve};

/// From the newest to the oldest, each in Anthropic's spelling.
const LADDER: [&str; 9] = [
    "claude-opus-5-5",
    "claude-opus-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
    "claude-opus-4-6",
    "claude-opus-4-5-20251101",
    "claude-opus-4-1-20250805",
    "claude-opus-4-20250514",
    "claude-sonnet-4-5-20250929",
];

/// What `system/model_fallback` says about the reason.
pub const TRIGGER: &str = "permission_denied";

/// The id to ask for next, in the provider's spelling; `None` where the failure stays.
pub fn step_down(refused: &str, was_named: bool, failure: &Failure, env: &ModelEnv) -> Option<String> {
    // Only clouds give accounts some models and not others.
    if was_named || env.endpoint.is_none() || !is_refusal(failure) {
        return None;
    }
    let place = LADDER.iter().position(|id| canonical(id) == canonical(refused))?;
    let next = LADDER.get(place + 1)?;
    Some(resolve(next, env))
}

/// The words of the event.
pub fn step_down_words(refused: &str, next: &str) -> String {
    if canonical(refused) == canonical(next) {
        return format!("This account has {} under another profile; going on with {next}.", info(refused).name);
    }
    format!("{} is not available to this account; going on with {}.", info(refused).name, info(next).name)
}

/// Whether the account may not use this model, as opposed to a refused credential.
pub fn is_refusal(failure: &Failure) -> bool {
    let said = failure.message.to_ascii_lowercase();
    match failure.status {
        Some(404) => true,
        Some(403) => said.contains("access") && !said.contains("token"),
        Some(400) => said.contains("model identifier") || said.contains("inference profile"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;
    use crate::{Choice, Variables};
    use std::sync::Arc;

    fn env(switch: &str) -> ModelEnv {
        let lookup = |name: &str| (name == switch).then(|| "1".to_owned());
        let variables = Variables::new(&lookup);
        let endpoint = Choice::from_switches(&variables).endpoint(&variables).unwrap();
        ModelEnv { endpoint: Some(Arc::new(endpoint)), ..ModelEnv::default() }
    }

    fn failure(status: u16, message: &str) -> Failure {
        Failure { status: Some(status), ..Failure::new(FailureKind::Http, message) }
    }

    #[test]
    fn a_refused_default_steps_down_and_a_named_model_does_not() {
        let bedrock = env("CLAUDE_CODE_USE_BEDROCK");
        let denied = failure(403, "You don't have access to the model with the specified model ID.");
        let mut id = "us.anthropic.claude-opus-5-5".to_owned();
        let mut steps = Vec::new();
        while let Some(next) = step_down(&id, false, &denied, &bedrock) {
            steps.push(next.clone());
            id = next;
        }
        assert_eq!(steps.len(), LADDER.len() - 1, "{steps:?}");
        assert_eq!(steps[0], "us.anthropic.claude-opus-5");
        assert_eq!(steps.last().map(String::as_str), Some("us.anthropic.claude-sonnet-4-5-20250929-v1:0"));
        let first = "us.anthropic.claude-opus-5-5";
        assert_eq!(step_down(first, true, &denied, &bedrock), None, "the user named it");
        assert_eq!(step_down(first, false, &denied, &ModelEnv::default()), None, "not a cloud");
        for (status, words, steps) in [
            (404, "not found", true),
            (400, "The provided model identifier is invalid.", true),
            (400, "messages: at least one is required", false),
            (403, "The security token included in the request is expired", false),
            (429, "slow down", false),
        ] {
            assert_eq!(step_down(first, false, &failure(status, words), &bedrock).is_some(), steps, "{words}");
        }
        assert!(step_down_words(first, "us.anthropic.claude-opus-5").contains("is not available"));
        let other = "global.anthropic.claude-opus-5-5";
        assert!(step_down_words(first, other).ends_with(&format!("going on with {other}.")));
    }
}
