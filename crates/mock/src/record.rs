//! A request as it arrived, for tests to look at and for the log.

use crate::redact::{REDACTED, Redactor};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Headers whose value is a credential; a log shows only that they were there.
pub(crate) const SECRET_HEADERS: [&str; 4] = ["x-api-key", "authorization", "proxy-authorization", "cookie"];

#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case; repeated headers are joined with `, `.
    pub headers: BTreeMap<String, String>,
    /// Null if there was none; a string if it was not JSON.
    pub body: Value,
    /// Since the server started.
    pub at_ms: u64,
}

impl Recorded {
    /// True for a request that offers tools, which is what uses up a turn of the script.
    pub fn has_tools(&self) -> bool {
        self.body.get("tools").and_then(Value::as_array).is_some_and(|tools| !tools.is_empty())
    }

    /// One line of the request log, newline included, without secrets.
    pub fn log_line(&self, redactor: &Redactor) -> String {
        let headers: BTreeMap<&str, &str> = self
            .headers
            .iter()
            .map(|(name, value)| (&**name, if SECRET_HEADERS.contains(&&**name) { REDACTED } else { value }))
            .collect();
        let mut line = json!({
            "at_ms": self.at_ms, "method": self.method, "path": self.path, "headers": headers, "body": self.body,
        });
        redactor.value(&mut line);
        format!("{line}\n")
    }

    pub(crate) fn route(&self) -> &str {
        self.path.split_once('?').map_or(&*self.path, |(route, _)| route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_holds_no_credentials() {
        let headers = [("x-api-key", "sk-1"), ("authorization", "Bearer sk-2"), ("accept", "*/*")];
        let recorded = Recorded {
            method: "POST".into(),
            path: "/v1/messages?beta=true".into(),
            headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            body: json!({"tools": [], "text": format!("sk-{}", "7".repeat(20))}),
            at_ms: 3,
        };
        let line = recorded.log_line(&Redactor::new([]));
        assert!(!line.contains("sk-") && line.contains("*/*") && line.ends_with("}\n"), "{line}");
        assert_eq!((recorded.route(), recorded.has_tools()), ("/v1/messages", false));
    }
}
