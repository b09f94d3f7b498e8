//! StructuredOutput: the answer in the shape that `--json-schema` asked for.

use crate::toolset::Tool;
use options::Schema;
use serde_json::{Value, json};
use turn::{CallResult, STRUCTURED_OUTPUT, ToolFinish};

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

pub fn run(schema: Option<&Schema>, input: Value) -> ToolFinish {
    let Some(schema) = schema else {
        return CallResult::misuse("No structured output was asked for.").into();
    };
    let problems = schema.problems(&input);
    if problems.is_empty() {
        let words = "The structured answer was accepted.";
        return ToolFinish { structured: Some(input), ..ToolFinish::from(CallResult::text(words, json!(words))) };
    }
    CallResult::error(format!(
        "The answer does not fit the schema. Mend it and call StructuredOutput again:\n{}",
        problems.join("\n")
    ))
    .into()
}
