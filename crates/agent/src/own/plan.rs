//! ExitPlanMode: the model has a plan and wants to carry it out.

use crate::calls::Done;
use tools::{Outcome, ToolSpec};

pub const SPEC: ToolSpec = ToolSpec {
    name: "ExitPlanMode",
    description: "Hand in your plan and ask to leave plan mode. Call it once the plan is complete; do not ask for approval in text.",
    schema: r#"{"type":"object","properties":{"plan":{"type":"string","description":"The plan, in Markdown"}},"additionalProperties":true}"#,
    read_only: false,
};

/// Leaving plan mode is a person's decision, and headless nobody is there to take it. Not a denial of
/// a permission, so it is not listed as one.
pub fn run() -> Done {
    Outcome::error("The plan cannot be approved: nobody is here to do it. Stay in plan mode and give the plan as your final answer.")
        .into()
}
