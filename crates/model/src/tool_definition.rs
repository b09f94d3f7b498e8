//! A tool as requests offer it. Its text is written once: every request of a conversation has the same bytes there, and
//! the definitions are most of what a short request consists of.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::{Arc, OnceLock};

pub(crate) const CACHE_KEY: &str = "cache_control";

/// Shared: a clone costs nothing.
#[derive(Debug, Clone)]
pub struct ToolDefinition(Arc<Definition>);

#[derive(Debug)]
struct Definition {
    text: Box<RawValue>,
    /// The same, parsed when a format needs its parts.
    value: OnceLock<Value>,
    is_deferred: bool,
}

#[derive(Serialize)]
struct Fields<'a, S: Serialize> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a S,
}

impl ToolDefinition {
    pub fn new(name: &str, description: &str, input_schema: &impl Serialize) -> Self {
        // Writing texts and a schema in memory cannot fail.
        let text = to_raw_value(&Fields { name, description, input_schema }).unwrap_or_default();
        Self(Arc::new(Definition { text, value: OnceLock::new(), is_deferred: false }))
    }

    /// The JSON that a request has for the tool.
    pub fn text(&self) -> &str {
        self.0.text.get()
    }

    pub(crate) fn raw(&self) -> &RawValue {
        &self.0.text
    }

    /// The JSON with a cache mark at its end.
    pub(crate) fn marked(&self, mark: &Value) -> Result<Box<RawValue>, serde_json::Error> {
        match self.text().strip_suffix('}') {
            Some("{") => RawValue::from_string(format!("{{\"{CACHE_KEY}\":{mark}}}")),
            Some(open) => RawValue::from_string(format!("{open},\"{CACHE_KEY}\":{mark}}}")),
            None => Ok(self.0.text.clone()),
        }
    }

    /// The same, which the API loads when a search has found it.
    #[must_use]
    pub fn deferred(&self) -> Self {
        let open = self.text().strip_suffix('}').unwrap_or_default();
        match RawValue::from_string(format!("{open},\"defer_loading\":true}}")) {
            Ok(text) => Self(Arc::new(Definition { text, value: OnceLock::new(), is_deferred: true })),
            Err(_) => self.clone(),
        }
    }

    /// Whether the API loads the schema later.
    pub fn is_deferred(&self) -> bool {
        self.0.is_deferred
    }

    pub fn value(&self) -> &Value {
        self.0.value.get_or_init(|| serde_json::from_str(self.text()).unwrap_or_default())
    }
}

/// A definition that somebody else wrote; a cache mark in it is left out.
impl From<Value> for ToolDefinition {
    fn from(mut value: Value) -> Self {
        if let Some(fields) = value.as_object_mut() {
            fields.shift_remove(CACHE_KEY);
        }
        let is_deferred = value["defer_loading"] == true;
        let text = to_raw_value(&value).unwrap_or_default();
        Self(Arc::new(Definition { text, value: OnceLock::from(value), is_deferred }))
    }
}

#[cfg(test)]
#[path = "tool_definition_tests.rs"]
mod tests;
