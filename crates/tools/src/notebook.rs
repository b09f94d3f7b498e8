//! Jupyter notebooks: cells by id, sources as one text, and the file's own layout kept on writing.

use serde::Serialize as _;
use serde_json::{Map, Value};

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotebookError {
    #[error("not valid JSON: {0}")]
    Json(String),
    #[error("it has no list of cells")]
    NoCells,
}

#[derive(Debug)]
pub(crate) struct Notebook {
    document: Value,
    /// Spaces that the file is indented with; most programs use one.
    indent: usize,
    final_newline: bool,
}

impl Notebook {
    pub(crate) fn parse(text: &str) -> Result<Self, NotebookError> {
        let document: Value = serde_json::from_str(text).map_err(|error| NotebookError::Json(error.to_string()))?;
        if !document.get("cells").is_some_and(Value::is_array) {
            return Err(NotebookError::NoCells);
        }
        let indent = text.split_once('\n').map_or(1, |(_, rest)| rest.len() - rest.trim_start_matches(' ').len());
        Ok(Self { document, indent, final_newline: text.ends_with('\n') })
    }

    pub(crate) fn cells(&self) -> &[Value] {
        self.document.get("cells").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn cells_mut(&mut self) -> Option<&mut Vec<Value>> {
        self.document.get_mut("cells").and_then(Value::as_array_mut)
    }

    pub(crate) fn language(&self) -> String {
        let metadata = self.document.get("metadata");
        let name = |outer: &str, inner: &str| metadata?.get(outer)?.get(inner)?.as_str();
        name("language_info", "name").or_else(|| name("kernelspec", "language")).unwrap_or("python").to_owned()
    }

    /// Cells have had ids of their own since format 4.5.
    pub(crate) fn has_cell_ids(&self) -> bool {
        let number = |field: &str| self.document.get(field).and_then(Value::as_u64).unwrap_or(0);
        (number("nbformat"), number("nbformat_minor")) >= (4, 5)
    }

    /// By the cell's own id, or `cell-N` counted from 0.
    pub(crate) fn position(&self, id: &str) -> Option<usize> {
        let own = self.cells().iter().position(|cell| cell.get("id").and_then(Value::as_str) == Some(id));
        own.or_else(|| {
            let index = id.strip_prefix("cell-")?.parse::<usize>().ok()?;
            (index < self.cells().len()).then_some(index)
        })
    }

    pub(crate) fn to_text(&self) -> String {
        let spaces = " ".repeat(self.indent);
        let mut bytes = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(spaces.as_bytes());
        let mut writer = serde_json::Serializer::with_formatter(&mut bytes, formatter);
        let written = if self.indent == 0 {
            serde_json::to_writer(&mut bytes, &self.document)
        } else {
            self.document.serialize(&mut writer)
        };
        // A JSON value written to memory cannot fail; were it to, an empty text is refused by the caller.
        let mut text = written.ok().and_then(|()| String::from_utf8(bytes).ok()).unwrap_or_default();
        if self.final_newline {
            text.push('\n');
        }
        text
    }
}

pub(crate) fn cell_id(cell: &Value, index: usize) -> String {
    cell.get("id").and_then(Value::as_str).map_or_else(|| format!("cell-{index}"), str::to_owned)
}

pub(crate) fn cell_type(cell: &Value) -> &str {
    cell.get("cell_type").and_then(Value::as_str).unwrap_or("code")
}

/// Text in notebooks is a string or a list of lines.
pub(crate) fn joined(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// The list of lines that notebook programs write, which keeps diffs small.
pub(crate) fn as_lines(text: &str) -> Value {
    text.split_inclusive('\n').map(Value::from).collect()
}

pub(crate) fn new_cell(cell_type: &str, source: &str, id: Option<String>) -> Value {
    let mut cell = Map::new();
    cell.insert("cell_type".into(), cell_type.into());
    if cell_type == "code" {
        cell.insert("execution_count".into(), Value::Null);
    }
    if let Some(id) = id {
        cell.insert("id".into(), id.into());
    }
    cell.insert("metadata".into(), Value::Object(Map::new()));
    if cell_type == "code" {
        cell.insert("outputs".into(), Value::Array(Vec::new()));
    }
    cell.insert("source".into(), as_lines(source));
    Value::Object(cell)
}
