//! NotebookEdit: one cell of a Jupyter notebook replaced, inserted or deleted; the rest stays as it is.

use crate::context::{Files, ToolContext};
use crate::existing::{self, Existing};
use crate::notebook::{self, Notebook};
use crate::schema::{self, InputError};
use crate::tool::{Invocation, Tool, ToolFuture, ToolSpec, boxed, path_target};
use crate::workspace::{Target, Workspace};
use crate::{ToolOutcome, file_error, text, worker};
use policy::{Targets, names};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

static SPEC: ToolSpec = ToolSpec::alone(
    &names::NOTEBOOK_EDIT,
    "Changes one cell of a Jupyter notebook: replaces its source (default), inserts a new cell after it, or \
        deletes it. Read the notebook before; Read shows the cell ids. Inserting without cell_id puts the new cell \
        first. Replacing a code cell clears its outputs.",
    r#"{"type":"object","properties":{"notebook_path":{"type":"string","description":"Absolute path of the notebook"},"cell_id":{"type":"string","description":"The cell to change, or to insert after"},"new_source":{"type":"string","description":"The new source of the cell; ignored when deleting"},"cell_type":{"type":"string","enum":["code","markdown"],"description":"Needed for inserting; otherwise the cell keeps its type"},"edit_mode":{"type":"string","enum":["replace","insert","delete"],"description":"replace unless given"}},"required":["notebook_path","new_source"],"additionalProperties":false}"#,
);

const DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug, Deserialize)]
struct Input {
    cell_id: Option<String>,
    new_source: String,
    cell_type: Option<CellType>,
    #[serde(default)]
    edit_mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CellType {
    Code,
    Markdown,
}

impl CellType {
    fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Replace,
    Insert,
    Delete,
}

pub(crate) struct NotebookEdit;

impl Tool for NotebookEdit {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn targets(&self, input: &Value, workspace: &Workspace) -> Result<Targets, InputError> {
        Ok(Targets::paths(vec![path_target(&SPEC, input, workspace)?.for_writing()]))
    }

    fn run<'a>(&'a self, call: Invocation<'a>, context: &'a ToolContext) -> ToolFuture<'a> {
        boxed(run(call, context))
    }
}

async fn run(call: Invocation<'_>, context: &ToolContext) -> Result<ToolOutcome, ToolOutcome> {
    let input: Input = schema::parse(SPEC.entry.name, call.input)?;
    let target = call.only_path()?;
    let files = context.files();
    let seed = call.tool_use_id.to_owned();
    let work = move |_: &_| edit(&files, &target, &input, &seed).unwrap_or_else(|refusal| refusal);
    Ok(worker::run(SPEC.entry.name, DEADLINE, work).await)
}

fn edit(files: &Files, target: &Target, input: &Input, seed: &str) -> Result<ToolOutcome, ToolOutcome> {
    let path = target.shown();
    if !target.real.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb")) {
        return Err(ToolOutcome::misuse(format!("{path} is not a notebook (.ipynb); change it with Edit.")));
    }
    let existing = Existing::load(files, target)?.ok_or_else(|| {
        let missing = std::io::ErrorKind::NotFound.into();
        ToolOutcome::error(file_error::opening(target, &missing, &files.workspace))
    })?;
    if existing.seen.is_none() || existing.partly_read() {
        return Err(existing::must_read(target, existing.partly_read()));
    }
    if existing.changed_since_read() {
        return Err(existing::modified_since_read(target));
    }
    let original = existing.shown();
    let mut notebook = Notebook::parse(&original)
        .map_err(|error| ToolOutcome::error(format!("{path} is not a notebook: {error}. Repair it with Bash.")))?;
    let change = change(&mut notebook, input, seed).map_err(|error| ToolOutcome::misuse(error.to_string()))?;
    let updated = notebook.to_text();
    let stamp = files
        .workspace
        .replace(target, &text::encode(existing.text.encoding, updated.as_bytes()), Some(&existing.stamp))
        .map_err(|error| ToolOutcome::error(file_error::writing(target, &error)))?;
    files.reads.known(&target.real, stamp);
    let structured = json!({
        "new_source": input.new_source,
        "old_source": change.old_source,
        "cell_id": change.cell_id,
        "cell_type": change.cell_type,
        "language": notebook.language(),
        "edit_mode": input.edit_mode,
        "error": "",
        "notebook_path": path,
        "original_file": existing::shown_original(&original),
        "updated_file": existing::shown_original(&updated),
    });
    Ok(ToolOutcome::text(format!("{} cell {} of {path}.", change.verb, change.cell_id), structured))
}

#[derive(Debug)]
struct Change {
    verb: &'static str,
    cell_id: String,
    cell_type: String,
    old_source: Option<String>,
}

/// Why a notebook is not changed, in words for the model.
#[derive(Debug, thiserror::Error)]
enum ChangeError {
    #[error("There is no cell {id:?}. The cells are: {ids}.")]
    NoCell { id: String, ids: String },
    #[error("`cell_id` is needed to replace or delete a cell; Read shows the ids.")]
    NoId,
    #[error("`cell_type` (code or markdown) is needed to insert a cell.")]
    NoType,
    #[error("the notebook has no list of cells")]
    NoCells,
    #[error("the cell is gone")]
    Gone,
    #[error("what stands at {0} in the list of cells is no cell.")]
    NotCell(usize),
}

fn change(notebook: &mut Notebook, input: &Input, seed: &str) -> Result<Change, ChangeError> {
    let at = match &input.cell_id {
        Some(id) => Some(notebook.position(id).ok_or_else(|| {
            let ids: Vec<String> =
                notebook.cells().iter().enumerate().map(|(n, cell)| notebook::cell_id(cell, n)).collect();
            ChangeError::NoCell { id: id.clone(), ids: ids.join(", ") }
        })?),
        None if input.edit_mode == Mode::Insert => None,
        None => return Err(ChangeError::NoId),
    };
    match (input.edit_mode, at) {
        (Mode::Insert, at) => insert(notebook, input, at.map_or(0, |at| at + 1), seed),
        (Mode::Delete, Some(at)) => {
            let cells = notebook.cells_mut().ok_or(ChangeError::NoCells)?;
            let old = cells.remove(at);
            Ok(Change {
                verb: "Deleted",
                cell_id: notebook::cell_id(&old, at),
                cell_type: notebook::cell_type(&old).to_owned(),
                old_source: Some(notebook::joined(old.get("source"))),
            })
        }
        (Mode::Replace, Some(at)) => {
            let cells = notebook.cells_mut().ok_or(ChangeError::NoCells)?;
            let cell = cells.get_mut(at).ok_or(ChangeError::Gone)?;
            if !cell.is_object() {
                return Err(ChangeError::NotCell(at));
            }
            Ok(replace(cell, at, input))
        }
        (Mode::Delete | Mode::Replace, None) => Err(ChangeError::NoId),
    }
}

fn insert(notebook: &mut Notebook, input: &Input, at: usize, seed: &str) -> Result<Change, ChangeError> {
    let cell_type = input.cell_type.ok_or(ChangeError::NoType)?.name();
    let id = notebook.has_cell_ids().then(|| fresh_id(notebook, seed));
    let cell = notebook::new_cell(cell_type, &input.new_source, id);
    let cell_id = notebook::cell_id(&cell, at);
    notebook.cells_mut().ok_or(ChangeError::NoCells)?.insert(at, cell);
    Ok(Change { verb: "Inserted", cell_id, cell_type: cell_type.to_owned(), old_source: None })
}

fn replace(cell: &mut Value, at: usize, input: &Input) -> Change {
    let cell_id = notebook::cell_id(cell, at);
    let old_source = notebook::joined(cell.get("source"));
    let old_type = notebook::cell_type(cell).to_owned();
    let cell_type = input.cell_type.map_or(old_type.clone(), |kind| kind.name().to_owned());
    if cell_type == old_type {
        cell["source"] = notebook::as_lines(&input.new_source);
        if cell_type == "code" {
            // They were the output of another source.
            cell["outputs"] = json!([]);
            cell["execution_count"] = Value::Null;
        }
    } else {
        let id = cell.get("id").and_then(Value::as_str).map(str::to_owned);
        *cell = notebook::new_cell(&cell_type, &input.new_source, id);
    }
    Change { verb: "Replaced", cell_id, cell_type, old_source: Some(old_source) }
}

/// Eight hexadecimal digits, as notebook programs make them, and new in this notebook.
fn fresh_id(notebook: &Notebook, seed: &str) -> String {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    loop {
        notebook.cells().len().hash(&mut hasher);
        let id = format!("{:08x}", hasher.finish() as u32);
        if notebook.position(&id).is_none() {
            return id;
        }
    }
}

#[cfg(test)]
#[path = "notebook_edit_tests.rs"]
mod tests;
