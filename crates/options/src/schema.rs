//! `--json-schema`: the shape a result must have, checked before the run and after each try.

use serde_json::Value;

/// A validated draft-07 schema, compiled once.
pub struct Schema {
    pub source: Value,
    validator: jsonschema::Validator,
}

/// Problems listed for the model; more would only bury the first.
const PROBLEMS_MAX: usize = 8;

/// One problem's length: a huge offending value must not flood the conversation.
const PROBLEM_CHARS: usize = 400;

/// Why a text is not a schema. The message is the rest of the contract's line on stderr.
#[derive(Debug, thiserror::Error)]
pub enum SchemaError {
    #[error("not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    #[error("a schema must be a JSON object")]
    NotAnObject,
    #[error("\"$schema\" is {0}, only draft-07 is understood")]
    Dialect(String),
    #[error("{0}")]
    Invalid(String),
}

impl Schema {
    /// Accepts what draft-07 accepts.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        let source: Value = serde_json::from_str(text)?;
        if !source.is_object() {
            return Err(SchemaError::NotAnObject);
        }
        if let Some(dialect) = source.get("$schema").and_then(Value::as_str)
            && !dialect.contains("draft-07")
        {
            return Err(SchemaError::Dialect(dialect.to_owned()));
        }
        if let Err(error) = jsonschema::draft7::meta::validate(&source) {
            return Err(SchemaError::Invalid(format!("{} at '{}'", error, error.instance_path())));
        }
        let validator = jsonschema::options()
            .with_draft(jsonschema::Draft::Draft7)
            .should_validate_formats(false)
            .with_pattern_options(jsonschema::PatternOptions::regex())
            .build(&source)
            .map_err(|error| SchemaError::Invalid(error.to_string()))?;
        Ok(Self { source, validator })
    }

    /// What is wrong with `value`, one line each; empty when it fits.
    pub fn problems(&self, value: &Value) -> Vec<String> {
        self.validator
            .iter_errors(value)
            .take(PROBLEMS_MAX)
            .map(|error| {
                let place = error.instance_path().to_string();
                let place = if place.is_empty() { "root".to_owned() } else { place };
                let text = error.to_string();
                format!("{place}: {}", text.chars().take(PROBLEM_CHARS).collect::<String>())
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bad_schemas_are_told_before_the_run() {
        for text in [
            "",
            "[]",
            "{\"type\":\"objekt\"}",
            "{\"properties\":5}",
            "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\"}",
            "{\"$ref\":\"http://127.0.0.1:9/x.json\"}",
        ] {
            assert!(Schema::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_checked_and_formats_are_not() {
        let schema = Schema::parse(
            r#"{"type":"object","properties":{"a-b":{"type":"array"},"when":{"format":"date"}},"required":["a-b"]}"#,
        )
        .unwrap();
        assert!(schema.problems(&json!({"a-b":[],"when":"never"})).is_empty());
        assert_eq!(schema.problems(&json!({"a-b":0})).len(), 1);
        assert_eq!(schema.problems(&json!(null)).len(), 1);
    }
}
