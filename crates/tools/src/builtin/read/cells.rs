//! Jupyter notebooks for reading: every cell with its id, and what it printed or drew.

use super::error::ReadError;
use super::picture;
use crate::ToolOutcome;
use crate::bounded::first_chars;
use crate::context::ToolLimits;
use crate::notebook::{self, Notebook};
use crate::text::Text;
use crate::workspace::Target;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

pub(crate) const MAX_BYTES: u64 = 100 * 1024 * 1024;
/// The model wants to see what a cell printed, not a log of it.
const MAX_OUTPUT_CHARS: usize = 10_000;
/// Only these does the model see; other pictures have a text beside them.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

pub(super) fn read(bytes: Vec<u8>, target: &Target, limits: ToolLimits) -> Result<ToolOutcome, ReadError> {
    let text = Text::shown(&Text::decode(bytes).body);
    let notebook = Notebook::parse(&text).map_err(|cause| ReadError::NoNotebook { path: target.shown(), cause })?;
    let language = notebook.language();
    let cells: Vec<Value> =
        notebook.cells().iter().enumerate().map(|(index, cell)| shown_cell(cell, index, &language)).collect();
    let blocks = blocks(&cells);
    let size: usize = blocks.iter().filter_map(|block| block["text"].as_str()).map(str::len).sum();
    if size > limits.read_max_bytes() {
        return Err(ReadError::TooManyTokens(format!(
            "{} with its outputs is over the limit of {} tokens ({} cells). Look at parts of it with jq in Bash: \
             jq '.cells[3].source' shows the source of the fourth cell.",
            target.shown(),
            limits.read_max_tokens,
            cells.len()
        )));
    }
    let structured = json!({"type": "notebook", "file": {"filePath": target.shown(), "cells": cells}});
    Ok(ToolOutcome::blocks(blocks, structured))
}

fn shown_cell(cell: &Value, index: usize, language: &str) -> Value {
    let kind = notebook::cell_type(cell);
    let mut shown = Map::new();
    shown.insert("cellType".into(), kind.into());
    shown.insert("source".into(), notebook::joined(cell.get("source")).into());
    shown.insert("cell_id".into(), notebook::cell_id(cell, index).into());
    if kind == "code" {
        shown.insert("language".into(), language.into());
        if let Some(count) = cell.get("execution_count").filter(|count| count.is_u64()) {
            shown.insert("execution_count".into(), count.clone());
        }
        let outputs: Vec<Value> =
            cell.get("outputs").and_then(Value::as_array).into_iter().flatten().map(shown_output).collect();
        if !outputs.is_empty() {
            shown.insert("outputs".into(), outputs.into());
        }
    }
    Value::Object(shown)
}

fn shown_output(output: &Value) -> Value {
    let kind = output.get("output_type").and_then(Value::as_str).unwrap_or("unknown");
    let data = output.get("data");
    let text = match kind {
        "stream" => notebook::joined(output.get("text")),
        "error" => {
            let field = |name: &str| output.get(name).and_then(Value::as_str).unwrap_or_default();
            let trace: Vec<&str> = output
                .get("traceback")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect();
            format!("{}: {}\n{}", field("ename"), field("evalue"), trace.join("\n"))
        }
        _ => notebook::joined(data.and_then(|data| data.get("text/plain"))),
    };
    let mut shown = Map::new();
    shown.insert("output_type".into(), kind.into());
    if !text.is_empty() {
        shown.insert("text".into(), cut(text).into());
    }
    let image = IMAGE_TYPES.iter().find_map(|media| Some((media, data?.get(*media)?)));
    if let Some((media, data)) = image {
        let base64: String = notebook::joined(Some(data)).split_whitespace().collect();
        shown.insert("image".into(), json!({"image_data": base64, "media_type": media}));
    }
    Value::Object(shown)
}

fn cut(text: String) -> String {
    let kept = first_chars(&text, MAX_OUTPUT_CHARS);
    match text.len() - kept.len() {
        0 => text,
        more => format!("{kept}… [output cut here: {more} bytes more]"),
    }
}

/// A block of text for each cell with its outputs, and the pictures where they were drawn.
fn blocks(cells: &[Value]) -> Vec<Value> {
    let mut blocks = Vec::new();
    let mut text = String::new();
    for cell in cells {
        let (id, kind) = (cell["cell_id"].as_str().unwrap_or_default(), cell["cellType"].as_str().unwrap_or_default());
        let _ = write!(
            text,
            "<cell id=\"{id}\" type=\"{kind}\">\n{}\n</cell>\n",
            cell["source"].as_str().unwrap_or_default()
        );
        for output in cell["outputs"].as_array().into_iter().flatten() {
            if let Some(printed) = output["text"].as_str() {
                let _ = write!(text, "<output cell=\"{id}\">\n{}\n</output>\n", printed.trim_end_matches('\n'));
            }
            if let (Some(media), Some(data)) =
                (output["image"]["media_type"].as_str(), output["image"]["image_data"].as_str())
            {
                flush(&mut text, &mut blocks);
                blocks.push(picture::block(media, data));
            }
        }
        flush(&mut text, &mut blocks);
    }
    if blocks.is_empty() && text.is_empty() {
        text.push_str("[The notebook has no cells.]");
    }
    flush(&mut text, &mut blocks);
    blocks
}

fn flush(text: &mut String, blocks: &mut Vec<Value>) {
    if !text.is_empty() {
        blocks.push(json!({"type": "text", "text": text.trim_end()}));
        text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;
    use std::path::PathBuf;

    fn target() -> Target {
        Target { given: PathBuf::from("/n.ipynb"), real: PathBuf::from("/n.ipynb"), write: false }
    }

    fn show(document: &Value) -> ToolOutcome {
        read(document.to_string().into_bytes(), &target(), ToolLimits::default()).unwrap()
    }

    #[test]
    fn cells_and_what_they_printed() {
        let outcome = show(&json!({"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[
            {"cell_type":"markdown","id":"intro","source":["# A\n","b"]},
            {"cell_type":"code","execution_count":3,"source":"1/0","outputs":[
                {"output_type":"stream","name":"stdout","text":["hi\n"]},
                {"output_type":"error","ename":"ZeroDivisionError","evalue":"x","traceback":["t1","t2"]}]}]}));
        let intro = "<cell id=\"intro\" type=\"markdown\">\n# A\nb\n</cell>";
        let code = "<cell id=\"cell-1\" type=\"code\">\n1/0\n</cell>\n<output cell=\"cell-1\">\nhi\n</output>\n\
            <output cell=\"cell-1\">\nZeroDivisionError: x\nt1\nt2\n</output>";
        let blocks = [intro, code].map(|text| json!({"type": "text", "text": text})).to_vec();
        assert_eq!(outcome.content, Content::Blocks(blocks));
        assert_eq!(
            outcome.structured["file"]["cells"][1],
            json!({"cellType":"code","source":"1/0","cell_id":"cell-1","language":"python","execution_count":3,"outputs":[
                {"output_type":"stream","text":"hi\n"},{"output_type":"error","text":"ZeroDivisionError: x\nt1\nt2"}]})
        );
    }

    #[test]
    fn drawings_are_shown() {
        let outcome = show(&json!({"cells":[{"cell_type":"code","source":"plot()","outputs":[
            {"output_type":"display_data","data":{"image/png":"AAAA\n","text/plain":["<Figure>"]}}]}]}));
        let Content::Blocks(blocks) = outcome.content else { panic!("no blocks") };
        assert_eq!(blocks[1], picture::block("image/png", "AAAA"));
    }

    #[test]
    fn what_is_no_notebook_is_an_error() {
        for text in ["", "{}", "{\"cells\":3}", "[1"] {
            let error = read(text.as_bytes().to_vec(), &target(), ToolLimits::default()).unwrap_err().to_string();
            assert!(error.contains("/n.ipynb is not a notebook"), "{error}");
        }
        let long = json!({"cells":[{"cell_type":"markdown","source":"x".repeat(200_000)}]}).to_string();
        assert!(read(long.into_bytes(), &target(), ToolLimits::default()).unwrap_err().to_string().contains("jq"));
    }
}
