//! Which credential is used and why the others are not.
//!
//! Absent: running the helper, refreshing a login, asking a server. A file is read only when nothing before it
//! in the order gave a credential.

use std::fmt;
use std::path::Path;

use serde_json::{Map, Value};

use crate::oauth::{self, NoLogin, OAuth};
use crate::{Places, Settings, SourceKind, files};

/// Fields of the key files, first match first.
const KEY_FIELDS: [&str; 4] = ["primaryApiKey", "apiKey", "anthropicApiKey", "customApiKey"];
const KEY_PREFIX: &str = "sk-ant-";

/// Text that never shows up in logs or panics.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

pub struct CredentialInputs<'a> {
    /// The process environment with the settings' `env` laid over it.
    pub env: &'a dyn Fn(&str) -> Option<String>,
    pub settings: &'a Settings,
    pub places: &'a Places,
    pub now_ms: i64,
    pub bare: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    AuthToken(Secret),
    /// Both are set: gateways want the one, what is behind them the other.
    TokenAndKey {
        token: Secret,
        key: Secret,
    },
    ApiKey(Secret),
    Helper {
        command: String,
    },
    OAuthToken(Secret),
    ApiKeyFile(Secret),
    /// May be expired, then it has a refresh token: refresh it before the first request.
    OAuthFile(OAuth),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    pub found: Found,
    /// What `system/init` reports as `apiKeySource`; clients know a closed set of values.
    pub source: String,
    /// For people.
    pub label: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Considered {
    pub name: String,
    pub verdict: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolution {
    pub chosen: Option<Chosen>,
    /// Every place in order, each with its verdict.
    pub considered: Vec<Considered>,
}

/// What one place offers.
enum Offer {
    Use(Found),
    Refuse(String),
}

pub fn credentials(inputs: &CredentialInputs) -> Resolution {
    let mut survey = Survey { bare: inputs.bare, chosen: None, considered: Vec::new() };
    let variable = |name: &'static str, wrap: fn(Secret) -> Found| {
        move || match (inputs.env)(name).as_deref().map(str::trim) {
            None => Offer::Refuse("not set".to_owned()),
            Some("") => Offer::Refuse("empty".to_owned()),
            Some(value) => Offer::Use(wrap(Secret::new(value))),
        }
    };
    survey.consider("ANTHROPIC_AUTH_TOKEN", "none", Bare::No, variable("ANTHROPIC_AUTH_TOKEN", Found::AuthToken));
    for name in ["ANTHROPIC_API_KEY", "CLAUDE_API_KEY"] {
        let look = variable(name, Found::ApiKey);
        if name == "ANTHROPIC_API_KEY" && survey.adds_key(name, &look) {
            continue;
        }
        survey.consider(name, "ANTHROPIC_API_KEY", Bare::Yes, look);
    }
    survey.consider("apiKeyHelper", "apiKeyHelper", Bare::Yes, || helper(inputs));
    let oauth_variable = "CLAUDE_CODE_OAUTH_TOKEN";
    survey.consider(oauth_variable, "none", Bare::No, variable(oauth_variable, Found::OAuthToken));
    for file in inputs.places.key_files() {
        let name = file.display().to_string();
        survey.consider(&name, "/login managed key", Bare::No, || key_in(&file));
    }
    survey.consider_logins(inputs);
    Resolution { chosen: survey.chosen, considered: survey.considered }
}

/// Whether `--bare` still looks at a place.
#[derive(Clone, Copy, PartialEq)]
enum Bare {
    Yes,
    No,
}

struct Survey {
    bare: bool,
    chosen: Option<Chosen>,
    considered: Vec<Considered>,
}

impl Survey {
    fn consider(&mut self, name: &str, source: &str, in_bare: Bare, look: impl FnOnce() -> Offer) {
        if let Some(verdict) = self.not_looked_at(in_bare) {
            return self.note(name, verdict);
        }
        match look() {
            Offer::Refuse(verdict) => self.note(name, verdict),
            Offer::Use(found) => self.choose(name, source, found, "used"),
        }
    }

    /// Adds a key to the token that was found before it. False where there is no such token, or no key.
    fn adds_key(&mut self, name: &str, look: &impl Fn() -> Offer) -> bool {
        let Some(Chosen { found, label, .. }) = &mut self.chosen else { return false };
        let (Found::AuthToken(token), Offer::Use(Found::ApiKey(key))) = (&*found, look()) else { return false };
        let verdict = format!("sent beside {label}");
        *found = Found::TokenAndKey { token: token.clone(), key };
        self.note(name, verdict);
        true
    }

    fn not_looked_at(&self, in_bare: Bare) -> Option<String> {
        if self.bare && in_bare == Bare::No {
            return Some("not used with --bare".to_owned());
        }
        self.chosen.as_ref().map(|chosen| format!("shadowed by {}", chosen.label))
    }

    fn note(&mut self, name: &str, verdict: impl Into<String>) {
        self.considered.push(Considered { name: name.to_owned(), verdict: verdict.into() });
    }

    fn choose(&mut self, name: &str, source: &str, found: Found, verdict: &str) {
        self.note(name, verdict);
        self.chosen = Some(Chosen { found, source: source.to_owned(), label: name.to_owned() });
    }

    /// A login that still lives beats one that must be refreshed first.
    fn consider_logins(&mut self, inputs: &CredentialInputs) {
        let mut refreshable: Option<(usize, OAuth)> = None;
        for file in inputs.places.login_files() {
            let name = file.display().to_string();
            if let Some(verdict) = self.not_looked_at(Bare::No) {
                self.note(&name, verdict);
                continue;
            }
            match oauth::read(&file) {
                Err(NoLogin::Missing) => self.note(&name, "no such file"),
                Err(NoLogin::Because(reason)) => self.note(&name, reason),
                Ok(login) if !login.is_expired(inputs.now_ms) => {
                    self.choose(&name, "none", Found::OAuthFile(login), "used");
                }
                Ok(login) => {
                    self.note(&name, expired(&login, inputs.now_ms));
                    if login.refresh.is_some() && refreshable.is_none() {
                        refreshable = Some((self.considered.len() - 1, login));
                    }
                }
            }
        }
        if let (None, Some((index, login))) = (&self.chosen, refreshable) {
            let entry = &mut self.considered[index];
            entry.verdict.push_str(", used after a refresh");
            let label = entry.name.clone();
            self.chosen = Some(Chosen { found: Found::OAuthFile(login), source: "none".to_owned(), label });
        }
    }
}

/// In bare mode the helper counts only where the caller itself passed it.
fn helper(inputs: &CredentialInputs) -> Offer {
    match &inputs.settings.api_key_helper {
        None => Offer::Refuse("not set".to_owned()),
        Some(helper) if inputs.bare && helper.source != SourceKind::Flag => {
            Offer::Refuse("not used with --bare unless given with --settings".to_owned())
        }
        Some(helper) => Offer::Use(Found::Helper { command: helper.value.clone() }),
    }
}

fn key_in(file: &Path) -> Offer {
    let text = match files::read_text(file, files::STATE_MAX) {
        Ok(Some(text)) => text,
        Ok(None) => return Offer::Refuse("no such file".to_owned()),
        Err(failure) => return Offer::Refuse(failure.to_string()),
    };
    let Ok(state) = serde_json::from_str::<Map<String, Value>>(&text) else {
        return Offer::Refuse("it is not a JSON object".to_owned());
    };
    let mut verdict = "holds no key".to_owned();
    for field in KEY_FIELDS {
        match state.get(field).and_then(Value::as_str).map(str::trim) {
            None | Some("") => {}
            Some(key) if key.starts_with(KEY_PREFIX) => return Offer::Use(Found::ApiKeyFile(Secret::new(key))),
            Some(_) => verdict = format!("{field} has no {KEY_PREFIX} prefix"),
        }
    }
    Offer::Refuse(verdict)
}

fn expired(login: &OAuth, now_ms: i64) -> String {
    let minutes = now_ms.saturating_sub(login.expires_at_ms.unwrap_or(now_ms)) / 60_000;
    let ago = match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..2880 => format!("{} h ago", minutes / 60),
        _ => format!("{} days ago", minutes / 1440),
    };
    format!("expired {ago}")
}

#[cfg(test)]
#[path = "credentials_tests.rs"]
mod tests;
