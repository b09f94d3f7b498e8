//! TodoWrite: the model's own list of what is left to do. Each call replaces the list.

use crate::ToolOutcome;
use crate::context::ToolContext;
use crate::todos::Todos;
use crate::tool::{Invocation, Tool, ToolFuture, ToolSpec, boxed};
use policy::names;
use serde_json::{Value, json};

static SPEC: ToolSpec = ToolSpec::alone(
    &names::TODO_WRITE,
    "Keeps the task list of this session, which the user can see. Every call replaces the whole list.\n\
        Use it for work of three or more steps. Keep exactly one item in_progress, and mark an item completed as soon \
        as it is really done, not in batches. An item that failed or is blocked stays open.",
    r#"{"type":"object","properties":{"todos":{"type":"array","description":"The whole list, in order","items":{"type":"object","properties":{"content":{"type":"string","description":"What is to be done, as an order: Run the tests"},"status":{"type":"string","enum":["pending","in_progress","completed"]},"activeForm":{"type":"string","description":"The same while it is being done: Running the tests"}},"required":["content","status","activeForm"],"additionalProperties":false}}},"required":["todos"],"additionalProperties":false}"#,
);

pub(crate) struct TodoWrite;

impl Tool for TodoWrite {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn run<'a>(&'a self, call: Invocation<'a>, context: &'a ToolContext) -> ToolFuture<'a> {
        boxed(async move { Ok(replace(call.input, &context.todos)) })
    }
}

fn replace(input: &Value, todos: &Todos) -> ToolOutcome {
    let new = input.get("todos").and_then(Value::as_array).cloned().unwrap_or_default();
    let done = new.iter().filter(|item| item.get("status").and_then(Value::as_str) == Some("completed")).count();
    // A finished list is put away, so that the next one does not start with old ticks.
    let kept = if done == new.len() { Vec::new() } else { new.clone() };
    let old = todos.replace(kept);
    let text = format!("The task list is saved: {done} of {} done. Go on with the next open item.", new.len());
    ToolOutcome::text(text, json!({"oldTodos": old, "newTodos": new}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(todos: &Todos, list: &Value) -> Value {
        let input = json!({"todos": list});
        replace(&input, todos).structured
    }

    #[test]
    fn each_call_replaces_the_list_and_a_finished_one_is_put_away() {
        let todos = Todos::default();
        let open = json!([{"content":"a","status":"pending","activeForm":"a"}]);
        let done = json!([{"content":"a","status":"completed","activeForm":"a"}]);
        assert_eq!(write(&todos, &open), json!({"oldTodos":[],"newTodos":open}));
        assert_eq!(write(&todos, &done), json!({"oldTodos":open,"newTodos":done}));
        assert_eq!(todos.current(), Vec::<Value>::new());
    }
}
