//! The `Tool` trait: a spec, the targets that rules judge, and a run.
//!
//! The tools of this crate, those of the conversation, those of MCP servers and the resources of such servers implement
//! the same trait, so that one path leads to all of them. Deliberately absent: whether a call may run (`policy`).

use crate::ToolOutcome;
use crate::context::ToolContext;
use crate::schema::{self, InputError};
use crate::workspace::{Target, Workspace};
use futures_util::future::LocalBoxFuture;
use policy::{Targets, ToolEntry};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::borrow::Cow;

/// What a running tool is. Dropping it cancels the call and kills what the call has started.
pub type ToolFuture<'a> = LocalBoxFuture<'a, ToolOutcome>;

/// One call: the input as [`Tool::validate`] has left it, and what rules have judged in it.
#[derive(Debug, Clone, Copy)]
pub struct Invocation<'a> {
    pub tool_use_id: &'a str,
    pub input: &'a Value,
    pub targets: &'a Targets,
    /// Of a shell command: the text that was judged, to run in place of the one in the input.
    pub run: Option<&'a str>,
}

/// What a tool tells the model and the rest of the program about itself.
#[derive(Debug, Clone)]
pub struct ToolSpec {
    /// The row of the table of names.
    pub entry: &'static ToolEntry,
    /// The name before the model: the row's, except for a tool of an MCP server.
    pub name: Cow<'static, str>,
    pub description: Cow<'static, str>,
    pub schema: InputSchema,
    /// Calls of one message that may all run beside others run at the same time.
    pub may_run_beside_others: bool,
}

/// The JSON Schema of an input.
#[derive(Debug, Clone)]
pub enum InputSchema {
    /// A constant of ours, byte-stable for prompt caching.
    Text(&'static str),
    /// What a server or a client gave.
    Value(Value),
}

impl InputSchema {
    pub fn to_value(&self) -> Value {
        match self {
            // The constants are parsed in a test; an empty object would still be a tool.
            Self::Text(text) => serde_json::from_str(text).unwrap_or_else(|_| json!({"type": "object"})),
            Self::Value(value) => value.clone(),
        }
    }
}

/// The text of a constant is written as it is, not parsed and written again.
impl Serialize for InputSchema {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => match serde_json::from_str::<&RawValue>(text) {
                Ok(text) => text.serialize(to),
                Err(_) => self.to_value().serialize(to),
            },
            Self::Value(value) => value.serialize(to),
        }
    }
}

impl ToolSpec {
    /// A tool whose calls run one after another.
    pub const fn alone(entry: &'static ToolEntry, description: &'static str, schema: &'static str) -> Self {
        Self {
            entry,
            name: Cow::Borrowed(entry.name),
            description: Cow::Borrowed(description),
            schema: InputSchema::Text(schema),
            may_run_beside_others: false,
        }
    }

    /// A tool whose calls may run beside others.
    pub const fn beside_others(entry: &'static ToolEntry, description: &'static str, schema: &'static str) -> Self {
        Self {
            entry,
            name: Cow::Borrowed(entry.name),
            description: Cow::Borrowed(description),
            schema: InputSchema::Text(schema),
            may_run_beside_others: true,
        }
    }
}

impl ToolSpec {
    /// Keywords of the schema that [`Self::check`] does not check. There are none in a schema of ours: a keyword that
    /// nobody checks promises something that is not held.
    pub fn unknown_keywords(&self) -> Vec<String> {
        schema::unknown_keywords(&self.schema.to_value())
    }

    /// The input held against the schema, with slips repaired.
    pub fn check(&self, input: Value) -> Result<Value, InputError> {
        match &self.schema {
            InputSchema::Text(text) => schema::check_against(&self.name, text, input),
            InputSchema::Value(schema) => schema::check_value(&self.name, schema, input),
        }
    }
}

pub trait Tool {
    fn spec(&self) -> &ToolSpec;

    /// The input in today's fields, with defaults that clients see. `called_as` is the name in the call, which may be
    /// one that the tool had before. The schema is checked after this.
    fn adapt(&self, _called_as: &str, input: Value) -> Value {
        input
    }

    /// What the schema cannot say.
    fn check(&self, _input: &Value) -> Result<(), InputError> {
        Ok(())
    }

    /// The one check of an input: former fields renamed, slips repaired, held against the schema and the tool's own
    /// rules. What comes back is what rules judge and what runs.
    fn validate(&self, called_as: &str, input: &Value) -> Result<Value, InputError> {
        let input = self.spec().check(self.adapt(called_as, input.clone()))?;
        self.check(&input)?;
        Ok(input)
    }

    /// What rules judge in a valid input. A tool that touches files resolves their paths here, once.
    fn targets(&self, input: &Value, _workspace: &Workspace) -> Result<Targets, InputError> {
        Ok(Targets::of(self.spec().entry, input))
    }

    /// Runs one permitted call. The paths that it opens are those of `call.targets`.
    fn run<'a>(&'a self, call: Invocation<'a>, context: &'a ToolContext) -> ToolFuture<'a>;
}

impl<T: Tool + ?Sized> Tool for &T {
    fn spec(&self) -> &ToolSpec {
        (**self).spec()
    }

    fn adapt(&self, called_as: &str, input: Value) -> Value {
        (**self).adapt(called_as, input)
    }

    fn check(&self, input: &Value) -> Result<(), InputError> {
        (**self).check(input)
    }

    fn validate(&self, called_as: &str, input: &Value) -> Result<Value, InputError> {
        (**self).validate(called_as, input)
    }

    fn targets(&self, input: &Value, workspace: &Workspace) -> Result<Targets, InputError> {
        (**self).targets(input, workspace)
    }

    fn run<'a>(&'a self, call: Invocation<'a>, context: &'a ToolContext) -> ToolFuture<'a> {
        (**self).run(call, context)
    }
}

/// A run that may end early with a refusal.
pub(crate) fn boxed<'a>(run: impl Future<Output = Result<ToolOutcome, ToolOutcome>> + 'a) -> ToolFuture<'a> {
    Box::pin(async move { run.await.unwrap_or_else(|refusal| refusal) })
}

impl From<InputError> for ToolOutcome {
    fn from(error: InputError) -> Self {
        Self::misuse(error.to_string())
    }
}

impl Invocation<'_> {
    /// The one path of a call that works on a single file. A call that reaches a tool without it was never judged, so
    /// it does not run.
    pub(crate) fn only_path(&self) -> Result<Target, ToolOutcome> {
        match self.targets.paths.as_slice() {
            [target] => Ok(target.clone()),
            _ => Err(ToolOutcome::error("The call has no checked path, so it was not run; this is a bug of ours.")),
        }
    }
}

/// The path in the row's field of the input, resolved.
pub(crate) fn path_target(spec: &ToolSpec, input: &Value, workspace: &Workspace) -> Result<Target, InputError> {
    let tool = spec.entry.name;
    let field = spec.entry.subject;
    let given = input.get(field).and_then(Value::as_str).ok_or(InputError::Missing { tool, field })?;
    workspace.resolve(given).map_err(|cause| InputError::Path { tool, cause })
}
