//! From what a server answers to what a model can be shown.
//!
//! Reading an answer is pure ([`parts`]); [`Shower`] then saves what the API does not take or what is
//! too long, and puts the path of the file in its place.

use crate::spill::Spill;
use crate::text::tokens;
use serde_json::{Value, json};
use tools::bounded::cut;

/// What the API takes as an image.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Of one image's base64: the API refuses more.
const IMAGE_MAX: usize = 5 * 1024 * 1024;

/// Shown of a text that was saved instead: enough to see what it is.
const PREVIEW: usize = 2 * 1024;

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Called {
    /// Blocks as the API takes them in a tool's result.
    pub content: Vec<Value>,
    pub is_error: bool,
    pub structured: Option<Value>,
}

impl Called {
    /// The text of its blocks.
    pub fn text(&self) -> String {
        let text: Vec<&str> = self.content.iter().filter_map(|block| block["text"].as_str()).collect();
        if text.is_empty() { "the tool failed without saying why".into() } else { text.join("\n") }
    }
}

#[derive(Debug, PartialEq)]
enum Part {
    Text(String),
    /// base64 with its media type.
    Image {
        media: String,
        data: String,
    },
    /// base64 of something a model cannot be shown.
    File {
        what: String,
        media: String,
        data: String,
    },
}

fn parts(server: &str, result: &Value) -> Vec<Part> {
    let items = result.get("content").and_then(Value::as_array);
    let parts: Vec<Part> = items.into_iter().flatten().map(|item| part(server, item)).collect();
    match result.get("structuredContent") {
        Some(structured) if parts.is_empty() && !structured.is_null() => vec![Part::Text(structured.to_string())],
        _ => parts,
    }
}

fn part(server: &str, item: &Value) -> Part {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let media = || text("mimeType").unwrap_or("application/octet-stream").to_owned();
    match (text("type"), text("text"), text("data")) {
        (Some("text"), Some(text), _) => Part::Text(text.to_owned()),
        (Some("image"), _, Some(data)) => image(server, media(), data),
        (Some("audio"), _, Some(data)) => Part::File { what: "audio".into(), media: media(), data: data.to_owned() },
        (Some("resource"), ..) if item.get("resource").is_some_and(Value::is_object) => {
            resource(server, &item["resource"])
        }
        (Some("resource_link"), ..) => Part::Text(link(item)),
        _ => Part::Text(item.to_string()),
    }
}

fn image(server: &str, media: String, data: &str) -> Part {
    let data = data.to_owned();
    if IMAGE_TYPES.contains(&media.as_str()) && data.len() <= IMAGE_MAX {
        Part::Image { media, data }
    } else {
        Part::File { what: format!("an image from {server}"), media, data }
    }
}

fn resource(server: &str, resource: &Value) -> Part {
    let text = |key: &str| resource.get(key).and_then(Value::as_str);
    let uri = text("uri").unwrap_or("an unnamed address");
    match (text("text"), text("blob")) {
        (Some(body), _) => Part::Text(format!("[Resource of {server}: {uri}]\n{body}")),
        (None, Some(blob)) => {
            let media = text("mimeType").unwrap_or("application/octet-stream").to_owned();
            match image(server, media, blob) {
                Part::File { media, data, .. } => Part::File { what: format!("the resource {uri}"), media, data },
                shown => shown,
            }
        }
        (None, None) => Part::Text(resource.to_string()),
    }
}

fn link(item: &Value) -> String {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let name = text("title").or(text("name")).unwrap_or("unnamed");
    let about = text("description").map(|about| format!(": {about}")).unwrap_or_default();
    format!("[Resource link: {name}, {}{about}]", text("uri").unwrap_or("no address"))
}

/// How much of a call's text may be shown inline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) tokens: u64,
    /// A tool's own word, which then counts instead.
    pub(crate) chars: Option<usize>,
}

impl Limits {
    fn hold(self, text: &str) -> bool {
        match self.chars {
            Some(most) => text.len() <= most || text.chars().count() <= most,
            None => tokens(text) <= self.tokens,
        }
    }
}

/// Makes blocks of an answer of one tool.
pub(crate) struct Shower<'a> {
    pub(crate) server: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) limits: Limits,
    pub(crate) spill: &'a Spill,
}

impl Shower<'_> {
    pub(crate) fn called(&self, result: &Value) -> Called {
        let parts = parts(self.server, result);
        let whole = parts.iter().filter_map(Part::text).collect::<Vec<_>>().join("\n");
        let mut too_long = (!self.limits.hold(&whole)).then(|| self.saved_text(&whole));
        let too_much = too_long.is_some();
        let mut content = Vec::new();
        for part in parts {
            match part {
                // One note, where the first of the texts stood, for all of them.
                Part::Text(_) if too_much => content.extend(too_long.take().as_deref().map(text_block)),
                Part::Text(text) => content.push(text_block(&text)),
                Part::Image { media, data } => content
                    .push(json!({"type": "image", "source": {"type": "base64", "media_type": media, "data": data}})),
                Part::File { what, media, data } => content.push(text_block(&self.saved_file(&what, &media, &data))),
            }
        }
        Called {
            content,
            is_error: result.get("isError").and_then(Value::as_bool).unwrap_or(false),
            structured: result.get("structuredContent").filter(|value| !value.is_null()).cloned(),
        }
    }

    fn saved_text(&self, text: &str) -> String {
        let size = format!("The result is about {} tokens long, more than fits here", tokens(text));
        let extension = if text.trim_start().starts_with(['{', '[']) { "json" } else { "txt" };
        match self.spill.save(&[self.server, self.tool], extension, text.as_bytes()) {
            Ok(path) => format!(
                "{size}. It is saved whole in {}: read or search the parts you need. It begins:\n\n{}",
                path.display(),
                cut(text, PREVIEW)
            ),
            Err(error) => format!("{size}, and it could not be saved ({error}). It begins:\n\n{}", cut(text, PREVIEW)),
        }
    }

    fn saved_file(&self, what: &str, media: &str, data: &str) -> String {
        match self.spill.save_base64(&[self.server, self.tool], media, data) {
            Ok(path) => format!("[{what} ({media}) is saved in {}]", path.display()),
            Err(reason) => format!("[{what} ({media}) cannot be shown: {reason}]"),
        }
    }
}

impl Part {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image { .. } | Self::File { .. } => None,
        }
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The contents of a read resource; what is no text is saved, and its path told.
pub(crate) fn read_resource(server: &str, result: &Value, limits: Limits, spill: &Spill) -> Vec<Value> {
    let contents = result.get("contents").and_then(Value::as_array).into_iter().flatten();
    let shower = Shower { server, tool: "resource", limits, spill };
    contents
        .map(|content| {
            let mut shown = serde_json::Map::new();
            for key in ["uri", "mimeType"] {
                shown.extend(content.get(key).map(|value| (key.to_owned(), value.clone())));
            }
            let text = |key: &str| content.get(key).and_then(Value::as_str);
            if let Some(text) = text("text") {
                let fitting = if limits.hold(text) { text.to_owned() } else { shower.saved_text(text) };
                shown.insert("text".into(), fitting.into());
            } else if let Some(blob) = text("blob") {
                let media = text("mimeType").unwrap_or("application/octet-stream");
                match spill.save_base64(&[server, "resource"], media, blob) {
                    Ok(path) => shown.insert("blobSavedTo".into(), path.display().to_string().into()),
                    Err(reason) => shown.insert("text".into(), format!("[cannot be shown: {reason}]").into()),
                };
            }
            Value::Object(shown)
        })
        .collect()
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
