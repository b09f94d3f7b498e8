//! What a configuration says: which servers there are and how each is reached. Pure.
//!
//! A bad entry is a [`Problem`] and never hides the others. Deliberately absent: where configurations
//! are found, which of two files wins, and whether a project's servers may run (`config`, `agent`).

use crate::expand::expand;
use serde_json::{Map, Value};
use std::time::Duration;

/// Names that features of the reference own; a server under one of them would be taken for it.
const RESERVED: [&str; 5] = ["workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser"];

/// The shortest time limit an entry may set for a call: below, it is a mistaken unit.
const TIMEOUT_MIN_MS: u64 = 1_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// A process of ours, spoken to on its pipes.
    Stdio { command: String, args: Vec<String>, env: Vec<(String, String)> },
    /// Streamable HTTP.
    Http { url: String, headers: Vec<(String, String)> },
    /// The HTTP transport of before March 2025.
    Sse { url: String, headers: Vec<(String, String)> },
    /// In the client's own process.
    Sdk,
}

/// What a server's process inherits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inherits {
    Everything,
    /// The variables of [`process::scrub::BASIC_ENV`]: whoever wrote the entry is not trusted with the others.
    Basics,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ServerConfig {
    pub name: String,
    pub transport: Transport,
    /// Of one call, where the entry sets its own.
    pub timeout: Option<Duration>,
    pub always_load: bool,
    /// A command that tells more headers, for a remote server. Whoever does not trust the entry takes it out.
    pub headers_helper: Option<String>,
    /// Whether its process gets our environment, or only what a program needs to run at all.
    pub inherits: Inherits,
    /// Where it was configured: project, user, local, dynamic, plugin, …
    pub scope: String,
    /// `sdk` for a server of the client, as clients expect it in `init`.
    pub source: Option<String>,
    /// The entry as it was written: variables are not filled in, so it may be shown.
    pub raw: Value,
}

impl ServerConfig {
    /// A server that the client announced by its name alone.
    pub fn sdk(name: &str, scope: &str) -> Self {
        Self {
            name: name.to_owned(),
            transport: Transport::Sdk,
            timeout: None,
            always_load: false,
            headers_helper: None,
            inherits: Inherits::Everything,
            scope: scope.to_owned(),
            source: Some("sdk".to_owned()),
            raw: serde_json::json!({"type": "sdk", "name": name}),
        }
    }
}

/// Something wrong with an entry. Where it can be used all the same, it is also among the servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    pub name: String,
    pub kind: &'static str,
    pub message: String,
}

/// Reads `{"mcpServers": {…}}` or the map inside it. `var` looks up a variable of the environment.
pub fn parse(config: &Value, scope: &str, var: &dyn Fn(&str) -> Option<String>) -> (Vec<ServerConfig>, Vec<Problem>) {
    let mut problems = Vec::new();
    let Some(entries) = config.get("mcpServers").unwrap_or(config).as_object() else {
        let message = "\"mcpServers\" must be an object that maps names to servers".to_owned();
        return (Vec::new(), vec![Problem { name: String::new(), kind: "invalid_config", message }]);
    };
    let mut servers = Vec::new();
    for (name, entry) in entries {
        let mut reader = Reader { name, var, problems: &mut problems };
        servers.extend(reader.server(entry, scope));
    }
    (servers, problems)
}

struct Reader<'a> {
    name: &'a str,
    var: &'a dyn Fn(&str) -> Option<String>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn problem(&mut self, kind: &'static str, message: impl Into<String>) {
        self.problems.push(Problem { name: self.name.to_owned(), kind, message: message.into() });
    }

    fn server(&mut self, entry: &Value, scope: &str) -> Option<ServerConfig> {
        let Some(fields) = entry.as_object() else {
            self.problem("invalid_config", "a server must be an object");
            return None;
        };
        let transport = self.transport(fields)?;
        let sdk = transport == Transport::Sdk;
        if !self.may_be_called_that(sdk) {
            return None;
        }
        Some(ServerConfig {
            name: self.name.to_owned(),
            transport,
            timeout: self.timeout(fields),
            always_load: fields.get("alwaysLoad").and_then(Value::as_bool).unwrap_or(false),
            headers_helper: self.helper(fields),
            inherits: Inherits::Everything,
            scope: scope.to_owned(),
            source: sdk.then(|| "sdk".to_owned()),
            raw: entry.clone(),
        })
    }

    /// A client may call its own servers anything; other names come from files and end in tool names.
    fn may_be_called_that(&mut self, sdk: bool) -> bool {
        if RESERVED.contains(&self.name) {
            self.problem("reserved_name", "this name is reserved; give the server another one");
            return false;
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let fits = !self.name.is_empty() && (sdk || self.name.chars().all(plain));
        if !fits {
            self.problem("invalid_name", "a server's name may hold letters, digits, \"_\" and \"-\"");
        }
        fits
    }

    fn transport(&mut self, fields: &Map<String, Value>) -> Option<Transport> {
        match fields.get("type").map(|kind| kind.as_str().unwrap_or_default()) {
            None if fields.contains_key("url") && !fields.contains_key("command") => {
                self.problem("url_missing_type", "a server with \"url\" needs \"type\": \"http\" or \"sse\"");
                None
            }
            None | Some("stdio") => self.stdio(fields),
            Some("http" | "streamable-http") => {
                self.remote(fields).map(|(url, headers)| Transport::Http { url, headers })
            }
            Some("sse") => self.remote(fields).map(|(url, headers)| Transport::Sse { url, headers }),
            Some("sdk") => Some(Transport::Sdk),
            Some(other) => {
                let message = format!("type {other:?} is not supported; use stdio, http or sse");
                self.problem("unsupported_type", message);
                None
            }
        }
    }

    fn stdio(&mut self, fields: &Map<String, Value>) -> Option<Transport> {
        let Some(command) = fields.get("command").and_then(Value::as_str).filter(|text| !text.is_empty()) else {
            self.problem("missing_command", "a stdio server needs \"command\"");
            return None;
        };
        let command = self.filled(command);
        let args = match fields.get("args") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(args)) if args.iter().all(Value::is_string) => {
                args.iter().filter_map(Value::as_str).map(|arg| self.filled(arg)).collect()
            }
            Some(_) => {
                self.problem("invalid_config", "\"args\" must be a list of strings");
                return None;
            }
        };
        Some(Transport::Stdio { command, args, env: self.pairs(fields, "env")? })
    }

    fn remote(&mut self, fields: &Map<String, Value>) -> Option<(String, Vec<(String, String)>)> {
        let Some(url) = fields.get("url").and_then(Value::as_str) else {
            self.problem("missing_url", "a remote server needs \"url\"");
            return None;
        };
        let url = self.filled(url);
        let web = url::Url::parse(&url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !web {
            self.problem("invalid_url", "\"url\" must be an http or https address");
            return None;
        }
        Some((url, self.pairs(fields, "headers")?))
    }

    fn helper(&mut self, fields: &Map<String, Value>) -> Option<String> {
        match fields.get("headersHelper").filter(|given| !given.is_null())? {
            Value::String(command) if !command.trim().is_empty() => Some(command.clone()),
            _ => {
                self.problem("invalid_headers_helper", "\"headersHelper\" must be a command; it is ignored");
                None
            }
        }
    }

    fn pairs(&mut self, fields: &Map<String, Value>, key: &str) -> Option<Vec<(String, String)>> {
        let text = |value: &Value| match value {
            Value::String(text) => Some(text.clone()),
            Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
            _ => None,
        };
        let pairs = match fields.get(key) {
            None | Some(Value::Null) => return Some(Vec::new()),
            Some(Value::Object(map)) => {
                map.iter().map(|(name, value)| Some((name.clone(), text(value)?))).collect::<Option<Vec<_>>>()
            }
            Some(_) => None,
        };
        let Some(pairs) = pairs else {
            self.problem("invalid_config", format!("{key:?} must map names to strings"));
            return None;
        };
        Some(pairs.into_iter().map(|(name, value)| (name, self.filled(&value))).collect())
    }

    fn timeout(&mut self, fields: &Map<String, Value>) -> Option<Duration> {
        let given = fields.get("timeout").filter(|value| !value.is_null())?;
        match given.as_u64() {
            Some(ms) if ms >= TIMEOUT_MIN_MS => Some(Duration::from_millis(ms)),
            _ => {
                let message = format!("\"timeout\" must be at least {TIMEOUT_MIN_MS} milliseconds; it is ignored");
                self.problem("invalid_timeout", message);
                None
            }
        }
    }

    fn filled(&mut self, text: &str) -> String {
        let (filled, missing) = expand(text, self.var);
        for variable in missing {
            let message = format!("the variable {variable} is not set; set it, or write ${{{variable}:-default}}");
            self.problem("missing_variable", message);
        }
        filled
    }
}

#[cfg(test)]
#[path = "config_tests.rs"]
mod tests;
