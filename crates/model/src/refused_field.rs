//! A request without what the server has refused by name. Pure.
//!
//! Gateways and clouds know some fields and betas later than the API. Left out is only what the answer names and what we
//! sent ourselves; nothing is guessed. A limit on the sum of prompt and answer is kept by a shorter answer.

use crate::failure::Failure;
use serde_json::{Value, json};

/// How servers say that they do not know a field.
const REFUSALS: [&str; 9] = [
    "not permitted",
    "extra inputs",
    "extra fields",
    "unexpected",
    "unknown",
    "unrecognized",
    "not supported",
    "unsupported",
    "not allowed",
];
/// Fields of ours that can be done without, the more specific ones first.
const FIELDS: [&[&str]; 7] = [
    &["thinking", "display"],
    &["thinking"],
    &["output_config"],
    &["metadata"],
    &["reasoning_effort"],
    &["stream_options"],
    &["parallel_tool_calls"],
];
/// Left between the prompt and the end of the context, since counts differ a little.
const MARGIN: u64 = 1000;

/// What a request goes without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Reduction {
    Field(&'static [&'static str]),
    /// The model wants to decide for itself how much it thinks.
    AdaptiveThinking,
    Beta(String),
    MaxTokens(u64),
}

impl Reduction {
    /// Whether it holds for later requests as well: the length of the answer is this request's.
    pub(crate) fn is_lasting(&self) -> bool {
        !matches!(self, Self::MaxTokens(_))
    }
}

/// What the failure asks to leave out; `betas` is the header's value.
pub(crate) fn asked_for(failure: &Failure, betas: &str, body: &[u8]) -> Option<Reduction> {
    if !matches!(failure.status, Some(400 | 422)) {
        return None;
    }
    let said = failure.message.to_ascii_lowercase();
    let sent: Value = serde_json::from_slice(body).ok()?;
    if let Some(most) = room(&said) {
        let is_less = sent["max_tokens"].as_u64().is_some_and(|asked| most < asked);
        return is_less.then_some(Reduction::MaxTokens(most));
    }
    if said.contains("thinking.type.enabled") && sent["thinking"]["type"] == "enabled" {
        return Some(Reduction::AdaptiveThinking);
    }
    let in_body = sent["anthropic_beta"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let mut known = betas.split(',').map(str::trim).chain(in_body).filter(|beta| !beta.is_empty());
    if let Some(beta) = known.find(|beta| said.contains(*beta)) {
        return Some(Reduction::Beta(beta.to_owned()));
    }
    // What a message of the conversation holds is not ours to leave out.
    let is_refusal = REFUSALS.iter().any(|words| said.contains(words)) && !said.contains("messages.");
    let is_sent = |path: &&&[&str]| path.iter().try_fold(&sent, |value, key| value.get(key)).is_some();
    let named = FIELDS.iter().filter(is_sent).find(|path| is_named(&said, &path.join(".")));
    named.filter(|_| is_refusal).map(|path| Reduction::Field(path))
}

/// What is left for the answer, where the sum was too much: `…context limit: PROMPT + ANSWER > LIMIT`.
fn room(said: &str) -> Option<u64> {
    let (_, sum) = said.split_once("exceed context limit:")?;
    let mut numbers = sum.split(|sign: char| !sign.is_ascii_digit()).filter_map(|digits| digits.parse::<u64>().ok());
    let (prompt, _, limit) = (numbers.next()?, numbers.next()?, numbers.next()?);
    limit.checked_sub(prompt)?.checked_sub(MARGIN).filter(|left| *left >= MARGIN)
}

/// Whether a name stands in a text as a word of its own.
fn is_named(said: &str, name: &str) -> bool {
    let is_part = |sign: Option<char>| sign.is_some_and(|sign| sign.is_ascii_alphanumeric() || sign == '_');
    said.match_indices(name)
        .any(|(at, _)| !is_part(said[..at].chars().next_back()) && !is_part(said[at + name.len()..].chars().next()))
}

/// The body without it; `None` where there is nothing to change.
pub(crate) fn reduced_body(body: &[u8], reduction: &Reduction) -> Option<Vec<u8>> {
    let mut value: Value = serde_json::from_slice(body).ok()?;
    match reduction {
        Reduction::Field(path) => {
            let (last, above) = path.split_last()?;
            let parent = above.iter().try_fold(&mut value, |value, key| value.get_mut(key))?;
            parent.as_object_mut()?.shift_remove(*last)?;
        }
        Reduction::AdaptiveThinking => *value.get_mut("thinking")? = json!({"type": "adaptive"}),
        Reduction::Beta(beta) => {
            value.get_mut("anthropic_beta")?.as_array_mut()?.retain(|one| one != beta.as_str());
        }
        Reduction::MaxTokens(most) => *value.get_mut("max_tokens")? = json!(most),
    }
    serde_json::to_vec(&value).ok()
}

/// The header's betas without it.
pub(crate) fn reduced_betas(betas: &str, reduction: &Reduction) -> String {
    let without = match reduction {
        Reduction::Beta(beta) => beta.as_str(),
        Reduction::Field(path) if *path == ["output_config"] => crate::thinking::EFFORT_BETA,
        _ => return betas.to_owned(),
    };
    betas.split(',').map(str::trim).filter(|beta| *beta != without).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FailureKind;

    const BODY: &str = r#"{"model":"m","max_tokens":32000,"thinking":{"type":"adaptive","display":"omitted"},"output_config":{"effort":"high"},"metadata":{"user_id":"u"},"messages":[]}"#;
    const BETAS: &str = "effort-2025-11-24,interleaved-thinking-2025-05-14";

    fn asked(status: u16, message: &str) -> Option<Reduction> {
        let failure = Failure { status: Some(status), ..Failure::new(FailureKind::Http, message) };
        asked_for(&failure, BETAS, BODY.as_bytes())
    }

    #[test]
    fn only_what_is_named_and_was_sent_is_left_out() {
        let field = |path: &'static [&'static str]| Some(Reduction::Field(path));
        let beta = |name: &str| Some(Reduction::Beta(name.to_owned()));
        for (status, message, expected) in [
            (400, "thinking.adaptive.display: Extra inputs are not permitted", field(&["thinking"])),
            (400, "thinking.display: Extra inputs are not permitted", field(&["thinking", "display"])),
            (422, "output_config: Extra inputs are not permitted", field(&["output_config"])),
            (400, "Unknown parameter: 'metadata'.", field(&["metadata"])),
            (400, "Unexpected value(s) `effort-2025-11-24` for the `anthropic-beta` header", beta("effort-2025-11-24")),
            (400, "messages.1.content.0.thinking: Extra inputs are not permitted", None),
            (400, "thinking is too short", None),
            (400, "Unknown parameter: 'context_management'", None),
            (500, "output_config: Extra inputs are not permitted", None),
            (
                400,
                "input length and `max_tokens` exceed context limit: 180000 + 32000 > 200000",
                Some(Reduction::MaxTokens(19_000)),
            ),
            (400, "input length and `max_tokens` exceed context limit: 199500 + 32000 > 200000", None),
            (400, "input length and `max_tokens` exceed context limit: 1 + 2 > 3", None),
        ] {
            assert_eq!(asked(status, message), expected, "{message}");
        }
        let budget = br#"{"thinking":{"type":"enabled","budget_tokens":2000}}"#;
        let said = "thinking.type.enabled is not supported for this model";
        let failure = Failure { status: Some(400), ..Failure::new(FailureKind::Http, said) };
        assert_eq!(asked_for(&failure, "", budget), Some(Reduction::AdaptiveThinking));
    }

    #[test]
    fn the_rest_stays_as_it_is() {
        let without = |reduction: &Reduction| -> Value {
            serde_json::from_slice(&reduced_body(BODY.as_bytes(), reduction).unwrap()).unwrap()
        };
        let whole: Value = serde_json::from_str(BODY).unwrap();
        let display = without(&Reduction::Field(&["thinking", "display"]));
        assert_eq!(display["thinking"], json!({"type": "adaptive"}));
        assert_eq!((&display["output_config"], &display["messages"]), (&whole["output_config"], &whole["messages"]));
        assert_eq!(without(&Reduction::MaxTokens(7))["max_tokens"], 7);
        assert_eq!(reduced_betas(BETAS, &Reduction::Field(&["output_config"])), "interleaved-thinking-2025-05-14");
        assert_eq!(reduced_betas(BETAS, &Reduction::Field(&["metadata"])), BETAS);
        assert_eq!(reduced_body(b"{}", &Reduction::Field(&["metadata"])), None);
    }
}
