//! From a tool's name to its code.

use crate::ctx::{Ctx, Invocation};
use crate::input::check_against;
use crate::workspace::{Target, Workspace};
use crate::{
    Outcome, ToolSpec, bash, edit, fence, glob, grep, notebook_edit, read, tasks_tools, todo, web_fetch, write,
};
use serde_json::{Map, Value};

static SPECS: [ToolSpec; 11] = [
    read::SPEC,
    edit::SPEC,
    write::SPEC,
    notebook_edit::SPEC,
    glob::SPEC,
    grep::SPEC,
    todo::SPEC,
    bash::SPEC,
    tasks_tools::OUTPUT_SPEC,
    tasks_tools::STOP_SPEC,
    web_fetch::SPEC,
];

/// Every tool of this crate, in a fixed order: the list is part of the prompt-cache key.
pub fn specs() -> &'static [ToolSpec] {
    &SPECS
}

/// By its name, or by one that it had in older versions.
pub fn spec(name: &str) -> Option<&'static ToolSpec> {
    let name = tasks_tools::current_name(name).unwrap_or(name);
    SPECS.iter().find(|spec| spec.name == name)
}

fn no_such_tool(name: &str) -> String {
    format!("No such tool available: {name}")
}

/// The input as the tool takes it: checked, slips repaired, defaults that clients see filled in. The
/// error is a text for [`Outcome::misuse`].
pub fn check_input(tool: &str, input: &Value) -> Result<Value, String> {
    let spec = spec(tool).ok_or_else(|| no_such_tool(tool))?;
    let modern = tasks_tools::modernised(tool, input);
    let checked = check_against(tool, spec.schema, modern.as_ref().unwrap_or(input))?;
    Ok(if spec.name == edit::SPEC.name { with_replace_all_first(checked) } else { checked })
}

/// Clients see `replace_all` in every Edit call, as the first field.
fn with_replace_all_first(input: Value) -> Value {
    let Value::Object(mut fields) = input else { return input };
    let replace_all = fields.shift_remove("replace_all").unwrap_or(Value::Bool(false));
    let mut ordered = Map::new();
    ordered.insert("replace_all".into(), replace_all);
    ordered.extend(fields);
    Value::Object(ordered)
}

/// Which paths a call touches, for policy to judge; searches are named by their root. Commands and
/// fetches name none: their input is judged as such.
pub fn targets(tool: &str, input: &Value, workspace: &Workspace) -> Result<Vec<Target>, String> {
    let field = |name: &str| {
        let given = input.get(name).and_then(Value::as_str);
        given.ok_or_else(|| format!("InputValidationError: {tool} needs `{name}`, a string"))
    };
    let resolve = |given: &str| workspace.resolve(given).map_err(|error| format!("{tool}: {error}"));
    match tool {
        "Read" => Ok(vec![resolve(field("file_path")?)?]),
        "Edit" | "Write" => Ok(vec![resolve(field("file_path")?)?.for_writing()]),
        "NotebookEdit" => Ok(vec![resolve(field("notebook_path")?)?.for_writing()]),
        "Glob" => Ok(vec![glob::search_root(input, workspace)?.0]),
        "Grep" => Ok(vec![resolve(input.get("path").and_then(Value::as_str).unwrap_or("."))?]),
        _ if spec(tool).is_some() => Ok(Vec::new()),
        _ => Err(no_such_tool(tool)),
    }
}

/// Runs one call. The paths it opens are `call.targets`, resolved and judged by the caller; the input
/// is checked once more, since hooks and permission answers may have changed it.
pub async fn run(call: Invocation<'_>, ctx: &Ctx) -> Outcome {
    let checked = match check_input(call.name, call.input) {
        Ok(checked) => checked,
        Err(text) => return Outcome::misuse(text),
    };
    let name = spec(call.name).map_or(call.name, |spec| spec.name);
    let call = Invocation { name, input: &checked, ..call };
    let outside = ctx.shell.fence().and_then(|rules| fence::refuses(rules, &call));
    if let Some(why) = outside {
        return Outcome::error(why);
    }
    match name {
        "Read" => read::run(&call, ctx).await,
        "Edit" => edit::run(&call, ctx).await,
        "Write" => write::run(&call, ctx).await,
        "NotebookEdit" => notebook_edit::run(&call, ctx).await,
        "Glob" => glob::run(&call, ctx).await,
        "Grep" => grep::run(&call, ctx).await,
        "TodoWrite" => todo::run(&call, &ctx.todos),
        "Bash" => bash::run(&call, ctx).await,
        "TaskOutput" => tasks_tools::output(&call, ctx).await,
        "TaskStop" => tasks_tools::stop(&call, ctx).await,
        "WebFetch" => web_fetch::run(&call, ctx).await,
        name => Outcome::misuse(no_such_tool(name)),
    }
}

/// The one path of a call that works on a single file. A call that reaches a tool without it was never
/// judged, so it does not run.
pub(crate) fn only_target(call: &Invocation<'_>) -> Result<Target, Outcome> {
    match call.targets {
        [target] => Ok(target.clone()),
        _ => Err(Outcome::error(format!("{} was called without a checked path; this is a bug of ours.", call.name))),
    }
}

#[cfg(test)]
#[path = "dispatch_tests.rs"]
mod tests;
