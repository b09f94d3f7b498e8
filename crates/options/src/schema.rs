//! `--json-schema`: the shape a result must have, checked before the run and after each try.
//!
//! Draft-07 alone, and nothing but the given text: a reference to another document is refused, whether it is a file or an address.
//! Formats are not checked, with one exception that the validator does not leave to us: `regex`.

use boon::{Compiler, Draft, ErrorKind, Format, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde_json::Value;
use std::error::Error;

/// A validated draft-07 schema, compiled once.
pub struct Schema {
    pub source: Value,
    compiled: Schemas,
    root: SchemaIndex,
}

/// Problems listed for the model; more would only bury the first.
const PROBLEMS_MAX: usize = 8;

/// One problem's length: a huge offending value must not flood the conversation.
const PROBLEM_CHARS: usize = 400;

/// How far a division of two numbers may miss the whole one that it should be, as a part of it.
const ROUNDING: f64 = 4.0 * f64::EPSILON;

/// What the given schema is called among documents. Nothing can be loaded by it, and nobody sees it.
const NAME: &str = "schema:given";

/// The formats that the validator would check.
const FORMATS: [&str; 19] = [
    "ipv4",
    "ipv6",
    "hostname",
    "idn-hostname",
    "email",
    "idn-email",
    "date",
    "time",
    "date-time",
    "duration",
    "period",
    "json-pointer",
    "relative-json-pointer",
    "uuid",
    "uri",
    "iri",
    "uri-reference",
    "iri-reference",
    "uri-template",
];

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

/// Refuses every other document. The validator's own loader would read files.
struct NoOtherDocument;

impl UrlLoader for NoOtherDocument {
    fn load(&self, _: &str) -> Result<Value, Box<dyn Error>> {
        Err("a schema may refer only to itself".into())
    }
}

impl Schema {
    /// Accepts what draft-07 accepts.
    pub fn parse(text: &str) -> Result<Self, SchemaError> {
        let source: Value = serde_json::from_str(text)?;
        let Some(members) = source.as_object() else { return Err(SchemaError::NotAnObject) };
        if let Some(dialect) = members.get("$schema").and_then(Value::as_str)
            && !dialect.contains("draft-07")
        {
            return Err(SchemaError::Dialect(dialect.to_owned()));
        }
        // Decided above; the validator would look for other spellings of its address elsewhere.
        let mut members = members.clone();
        members.shift_remove("$schema");
        let mut compiled = Schemas::new();
        let mut compiler = compiler();
        compiler.add_resource(NAME, Value::Object(members)).map_err(|error| refused(&error))?;
        let root = compiler.compile(NAME, &mut compiled).map_err(|error| refused(&error))?;
        Ok(Self { source, compiled, root })
    }

    /// What is wrong with `value`, one line each; empty when it fits.
    pub fn problems(&self, value: &Value) -> Vec<String> {
        let Err(error) = self.compiled.validate(value, self.root) else { return Vec::new() };
        let mut problems = Vec::new();
        list(&error, &mut problems);
        problems
    }
}

fn compiler() -> Compiler {
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V7);
    compiler.use_loader(Box::new(NoOtherDocument));
    for name in FORMATS {
        compiler.register_format(Format { name, func: |_| Ok(()) });
    }
    compiler
}

/// One line for why a schema is none; the validator's own text has many.
fn refused(error: &boon::CompileError) -> SchemaError {
    let text = match error {
        boon::CompileError::ValidationError { src, .. } => {
            let mut problems = Vec::new();
            list(src, &mut problems);
            problems.join("; ")
        }
        boon::CompileError::LoadUrlError { url, src } => format!("{url}: {src}"),
        other => other.to_string(),
    };
    SchemaError::Invalid(text.replace('\n', " ").replace(NAME, ""))
}

/// The problems below an error that only says that there are some; else the error itself.
fn list(error: &ValidationError, problems: &mut Vec<String>) {
    if problems.len() >= PROBLEMS_MAX {
        return;
    }
    let is_group = matches!(
        error.kind,
        ErrorKind::Group | ErrorKind::Schema { .. } | ErrorKind::Reference { .. } | ErrorKind::AllOf
    );
    if is_group && !error.causes.is_empty() {
        return error.causes.iter().for_each(|cause| list(cause, problems));
    }
    if is_rounding(&error.kind) {
        return;
    }
    let place = error.instance_location.to_string();
    let place = if place.is_empty() { "root" } else { &place };
    let text: String = reason(error).chars().take(PROBLEM_CHARS).collect();
    problems.push(format!("{place}: {text}"));
}

/// 19.99 is a multiple of 0.01, but not for who divides the one by the other.
fn is_rounding(kind: &ErrorKind) -> bool {
    let ErrorKind::MultipleOf { got, want } = kind else { return false };
    let times = got.as_f64().zip(want.as_f64()).map_or(f64::NAN, |(got, want)| got / want);
    (times - times.round()).abs() <= times.abs() * ROUNDING
}

/// Of a choice also what each of its cases wanted.
fn reason(error: &ValidationError) -> String {
    let mut cases = Vec::new();
    error.causes.iter().for_each(|cause| list(cause, &mut cases));
    let own = match error.kind {
        ErrorKind::AnyOf | ErrorKind::OneOf(None) => "fits none of the allowed cases".to_owned(),
        ErrorKind::OneOf(Some((one, other))) => format!("fits more than one case (numbers {one} and {other})"),
        ErrorKind::Not => "is what the schema forbids".to_owned(),
        ErrorKind::FalseSchema => "nothing is allowed here".to_owned(),
        _ => error.kind.to_string(),
    };
    if cases.is_empty() { own } else { format!("{own} ({})", cases.join("; ")) }
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
            "{\"$ref\":\"other.json\"}",
            "{\"pattern\":\"(\"}",
        ] {
            let Err(error) = Schema::parse(text) else { panic!("{text} is taken for a schema") };
            assert!(!error.to_string().contains('\n') && !error.to_string().is_empty(), "{text}: {error}");
        }
    }

    /// A schema comes from a command line that somebody else may have written.
    #[test]
    fn a_file_is_not_read_for_a_reference() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), r#"{"const": "a secret"}"#).unwrap();
        let schema = json!({"$ref": format!("file://{}", file.path().display())}).to_string();
        let Err(error) = Schema::parse(&schema) else { panic!("the file was read") };
        assert!(error.to_string().ends_with("a schema may refer only to itself"), "{error}");
    }

    /// Reference, problem, in the words that the model reads.
    #[test]
    fn problems_say_where_and_what() {
        let schema = Schema::parse(
            r##"{"$schema":"https://json-schema.org/draft-07/schema","type":"object","required":["c"],"additionalProperties":false,
            "properties":{"a":{"items":{"$ref":"#/definitions/n"}},"b":{"anyOf":[{"type":"null"},{"pattern":"^x+$"}]},"c":{"enum":[1,2]}},
            "definitions":{"n":{"type":"integer","minimum":3}}}"##,
        )
        .unwrap();
        assert!(schema.problems(&json!({"a":[3,4],"b":"xx","c":2})).is_empty());
        assert_eq!(
            schema.problems(&json!({"a":[1,"x",7],"b":"y","d":1})),
            [
                "root: missing properties 'c'",
                "/a/0: must be >=3, but got 1",
                "/a/1: want integer, but got string",
                "/b: fits none of the allowed cases (/b: want null, but got string; /b: 'y' does not match pattern '^x+$')",
                "root: additionalProperties 'd' not allowed",
            ]
        );
        assert_eq!(schema.problems(&json!({"c":3})), ["/c: value must be one of 1, 2"]);
    }

    #[test]
    fn cents_are_hundredths() {
        let schema = Schema::parse(r#"{"multipleOf":0.01}"#).unwrap();
        for price in [json!(19.99), json!(0.07), json!(1.1), json!(8.2e9), json!(0), json!(-4.35), json!("free")] {
            assert!(schema.problems(&price).is_empty(), "{price}");
        }
        for price in [json!(19.995), json!(0.001), json!(123_456_789.001)] {
            assert_eq!(schema.problems(&price).len(), 1, "{price}");
        }
    }

    /// References in a circle end, in the schema and in a value.
    #[test]
    fn references_in_a_circle_end() {
        let tree = Schema::parse(r##"{"type":"object","properties":{"below":{"$ref":"#"}}}"##).unwrap();
        assert!(tree.problems(&json!({"below":{"below":{}}})).is_empty());
        assert_eq!(tree.problems(&json!({"below":{"below":1}})).len(), 1);
        let circle = Schema::parse(
            r##"{"definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}},"allOf":[{"$ref":"#/definitions/a"}]}"##,
        );
        assert!(circle.is_ok_and(|circle| !circle.problems(&json!(1)).is_empty()));
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
