//! StructuredOutput: the answer in the shape that `--json-schema` asked for.

use crate::ask::ToolCall;
use crate::calls::Done;
use crate::shared::Shared;
use crate::toolset::Tool;
use serde_json::{Value, json};
use tools::Outcome;

pub const STRUCTURED_OUTPUT: &str = "StructuredOutput";

const DESCRIPTION: &str =
    "Give your final answer here, in exactly the form of the schema. Call it once, at the end; it ends the turn.";

/// The tool whose input is the caller's schema.
pub fn structured_tool(schema: &Value) -> Tool {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.remove("$schema");
        map.entry("type").or_insert_with(|| json!("object"));
    }
    Tool::new(STRUCTURED_OUTPUT, false, DESCRIPTION, &schema)
}

pub fn run(shared: &Shared, call: &ToolCall) -> Done {
    let Some(schema) = shared.setup().schema.clone() else {
        return Outcome::misuse("No structured output was asked for.").into();
    };
    let problems = schema.problems(&call.input);
    if problems.is_empty() {
        let words = "The structured answer was accepted.";
        return Done { structured: Some(call.input.clone()), ..Done::from(Outcome::text(words, json!(words))) };
    }
    Outcome::error(format!(
        "The answer does not fit the schema. Mend it and call StructuredOutput again:\n{}",
        problems.join("\n")
    ))
    .into()
}
