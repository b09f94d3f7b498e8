//! Credentials of ours that must not leave by the back door: a command that prints its environment
//! would put them into the stream, the transcript and the conversation.

use crate::Options;
use config::Found;
use serde_json::Value;
use tools::{Content, Outcome};

/// Shorter values are no real credentials, and would be found in ordinary text.
const SHORTEST: usize = 8;

const HIDDEN: &str = "[secret]";

const VARIABLES: [&str; 4] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"];

pub struct Secrets(Vec<String>);

impl Secrets {
    pub fn of(options: &Options) -> Self {
        let from_env = options.env.iter().filter(|(name, _)| VARIABLES.iter().any(|known| name == known));
        let mut values: Vec<String> = from_env.filter_map(|(_, value)| value.to_str().map(str::to_owned)).collect();
        values.extend(options.access.credentials.chosen.iter().flat_map(|chosen| found(&chosen.found)));
        values.retain(|value| value.len() >= SHORTEST);
        values.sort();
        values.dedup();
        Self(values)
    }

    pub fn list(&self) -> Vec<String> {
        self.0.clone()
    }

    /// The outcome of a tool without them.
    pub fn hide(&self, mut outcome: Outcome) -> Outcome {
        match &mut outcome.content {
            Content::Text(text) => self.hide_in(text),
            Content::Blocks(blocks) => blocks.iter_mut().for_each(|block| self.hide_in_value(block)),
        }
        self.hide_in_value(&mut outcome.structured);
        outcome
    }

    pub fn hide_value(&self, mut value: Value) -> Value {
        self.hide_in_value(&mut value);
        value
    }

    fn hide_in(&self, text: &mut String) {
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), HIDDEN);
            }
        }
    }

    fn hide_in_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.hide_in(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in_value(item)),
            Value::Object(map) => map.values_mut().for_each(|item| self.hide_in_value(item)),
            _ => {}
        }
    }
}

fn found(found: &Found) -> Vec<String> {
    match found {
        Found::AuthToken(secret) | Found::ApiKey(secret) | Found::OAuthToken(secret) | Found::ApiKeyFile(secret) => {
            vec![secret.expose().to_owned()]
        }
        Found::OAuthFile(login) => {
            let refresh = login.refresh.as_ref().map(|secret| secret.expose().to_owned());
            std::iter::once(login.access.expose().to_owned()).chain(refresh).collect()
        }
        Found::Helper { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_part_of_an_outcome_shows_them() {
        let secrets = Secrets(vec!["sk-ant-very-secret".into()]);
        let hidden = secrets.hide(Outcome::text("KEY=sk-ant-very-secret\n", json!({"stdout": ["sk-ant-very-secret"]})));
        assert!(!format!("{hidden:?}").contains("very-secret"));
    }
}
