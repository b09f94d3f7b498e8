//! The removal of secrets from recordings: known credentials, and texts that look like one.
//!
//! A recording is replayed, so ordinary code has to come through unharmed: only forms that are nothing but
//! credentials are looked for. Deliberately absent: any guess by how random a text looks.

use regex::Regex;
use serde_json::Value;

pub(crate) const REDACTED: &str = "[redacted]";

/// A shorter value is a word of its own somewhere, and says little.
const KNOWN_MIN: usize = 8;

/// Keys of services that mark theirs, private keys, and tokens of three parts.
const FORMS: [&str; 8] = [
    r"\bsk-[A-Za-z0-9_-]{16,}",
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{20,})",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    r"\bAIza[0-9A-Za-z_-]{35}",
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?s:.*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    r"\bnpm_[A-Za-z0-9]{30,}",
];

/// What follows a name that says "secret": in a header, a line of an environment, a JSON text.
const NAMED: [&str; 3] = [
    r"(?i)(\b(?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{16,}",
    r"(\b[A-Z0-9_]*(?:KEY|SECRET|TOKEN|PASSWORD|PASSWD)=)[^\s;&|]{8,}",
    r#"(?i)("[a-z0-9_-]*(?:api[_-]?key|secret|token|password)"\s*:\s*)"[^"\\]{8,}""#,
];

/// Members of a JSON object whose value is a credential, by the end of their name.
const MEMBERS: [&str; 8] =
    ["apikey", "api_key", "password", "secret", "access_token", "auth_token", "refresh_token", "authorization"];

/// Members that hold the API's own sealed texts: long, random, and of no use to anybody else.
const SEALED: [&str; 3] = ["signature", "data", "encrypted_content"];

/// Takes secrets out of texts.
#[derive(Debug, Clone)]
pub struct Redactor {
    known: Vec<String>,
    forms: Vec<Regex>,
    named: Vec<Regex>,
}

impl Redactor {
    /// `known` are values that are secret wherever they stand.
    pub fn new(known: impl IntoIterator<Item = String>) -> Self {
        // Patterns are constants; a test compiles each of them.
        let compile = |list: &[&str]| list.iter().filter_map(|form| Regex::new(form).ok()).collect();
        let mut redactor = Self { known: Vec::new(), forms: compile(&FORMS), named: compile(&NAMED) };
        known.into_iter().for_each(|secret| redactor.learn(&secret));
        redactor
    }

    /// One more secret. Longer ones are taken out first, so that none leaves a rest.
    pub fn learn(&mut self, secret: &str) {
        let secret = secret.trim();
        if secret.len() >= KNOWN_MIN && !self.known.iter().any(|known| known == secret) {
            self.known.push(secret.to_owned());
            self.known.sort_by_key(|known| std::cmp::Reverse(known.len()));
        }
    }

    pub fn text(&self, text: &str) -> String {
        let mut text = self.without_known(text);
        for form in &self.forms {
            text = form.replace_all(&text, REDACTED).into_owned();
        }
        for named in &self.named {
            let quoted = named.as_str().ends_with('"');
            let instead = if quoted { format!("${{1}}\"{REDACTED}\"") } else { format!("${{1}}{REDACTED}") };
            text = named.replace_all(&text, instead).into_owned();
        }
        text
    }

    fn without_known(&self, text: &str) -> String {
        self.known.iter().fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED))
    }

    /// Every text of a value.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => map.iter_mut().for_each(|(name, item)| self.member(name, item)),
            _ => {}
        }
    }

    fn member(&self, name: &str, item: &mut Value) {
        match item {
            Value::String(text) if SEALED.contains(&name) => *text = self.without_known(text),
            Value::String(text) if is_secret(name) && !text.is_empty() => REDACTED.clone_into(text),
            other => self.value(other),
        }
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    MEMBERS.iter().any(|member| name.ends_with(member))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn adversary_36_credentials_of_every_form_go() {
        let redactor = Redactor::new(["hunter2-hunter2".to_owned()]);
        assert_eq!((redactor.forms.len(), redactor.named.len()), (FORMS.len(), NAMED.len()), "all compile");
        // Made here, so that no search for leaked keys finds one in this file.
        let body = "ABCDEFGH12".repeat(4);
        for text in [
            format!("key sk-ant-{body} end"),
            format!("ghp_{body} end"),
            format!("AKIA{} end", &"IOSFODNN7".repeat(2)[..16]),
            format!("xoxb-{body} end"),
            format!("eyJ{body}.eyJ{body}.{body} end"),
            format!("-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY----- end"),
            format!("Authorization: Bearer {body} end"),
            "export DB_PASSWORD=correcthorse end".into(),
            r#"{"clientSecret": "correct horse"} end"#.into(),
            "the password is hunter2-hunter2 end".into(),
        ] {
            let shown = redactor.text(&text);
            assert!(shown.contains(REDACTED) && shown.ends_with(" end"), "{text}: {shown}");
            for rest in ["ABCDEFGH", "IOSFODNN", "correct", "hunter2"] {
                assert!(!shown.contains(rest), "{text}: {shown}");
            }
        }
    }

    #[test]
    fn ordinary_code_comes_through() {
        let redactor = Redactor::new([]);
        for text in [
            "let token = tokenizer.next_token();",
            "max_tokens=64000, TOKENS=5",
            "fn password(&self) -> &str { &self.password }",
            "git commit -m 'key: value'",
            "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB",
            "task-runner-and-some-more-words",
        ] {
            assert_eq!(redactor.text(text), text);
        }
    }

    #[test]
    fn members_named_like_secrets_go_and_sealed_ones_stay() {
        let redactor = Redactor::new(["known-secret".to_owned()]);
        let key = format!("sk-{}", "0123456789".repeat(2));
        let mut value = json!({
            "input": {"api_key": "abc", "X-Api-Key": "abc", "list": [key], "token_count": "7"},
            "signature": format!("{key} known-secret")
        });
        redactor.value(&mut value);
        assert_eq!(
            value,
            json!({
                "input": {"api_key": REDACTED, "X-Api-Key": REDACTED, "list": [REDACTED], "token_count": "7"},
                "signature": format!("{key} [redacted]")
            })
        );
    }
}
