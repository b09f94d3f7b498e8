//! A prompt's blocks as the content of a user message.

use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource};
use serde_json::{Value, json};

/// What a picture may be.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const PDF: &str = "application/pdf";

/// Texts, links, pictures and documents in their order; the texts of embedded resources at the end. Sound, and blocks
/// of other kinds, are left out: the model cannot take them.
pub(crate) fn content(blocks: &[ContentBlock]) -> Vec<Value> {
    let mut content = Vec::new();
    let mut contexts = Vec::new();
    for block in blocks {
        match block {
            ContentBlock::Text(text) => content.push(plain(&command(&text.text))),
            ContentBlock::Image(image) => content.extend(picture(&image.data, &image.mime_type, image.uri.as_deref())),
            ContentBlock::ResourceLink(link) => content.push(plain(&mention(&link.uri, Some(&link.name)))),
            ContentBlock::Resource(embedded) => match &embedded.resource {
                EmbeddedResourceResource::TextResourceContents(text) => {
                    content.push(plain(&mention(&text.uri, None)));
                    contexts.push(plain(&format!("\n<context ref=\"{}\">\n{}\n</context>", text.uri, text.text)));
                }
                EmbeddedResourceResource::BlobResourceContents(blob) => {
                    content.push(plain(&mention(&blob.uri, None)));
                    content.extend(attached(&blob.blob, blob.mime_type.as_deref().unwrap_or_default()));
                }
                _ => {}
            },
            _ => {}
        }
    }
    content.extend(contexts);
    content
}

/// The first text, for a title.
pub(crate) fn first_text(blocks: &[ContentBlock]) -> Option<&str> {
    blocks.iter().find_map(|block| match block {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    })
}

fn plain(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Commands of MCP servers have another name for clients than for the agent.
fn command(text: &str) -> String {
    let renamed = text.strip_prefix("/mcp:").and_then(|rest| {
        let (name, arguments) = rest.split_once(' ').map_or((rest, None), |(name, more)| (name, Some(more)));
        let (server, command) = name.split_once(':')?;
        let arguments = arguments.map_or(String::new(), |more| format!(" {more}"));
        Some(format!("/{server}:{command} (MCP){arguments}"))
    });
    renamed.unwrap_or_else(|| text.to_owned())
}

fn mention(uri: &str, name: Option<&str>) -> String {
    if !uri.starts_with("file://") && !uri.starts_with("zed://") {
        return uri.to_owned();
    }
    let last = uri.trim_end_matches('/').rsplit('/').next().unwrap_or(uri);
    format!("[@{}]({uri})", name.filter(|name| !name.is_empty()).unwrap_or(last))
}

fn picture(data: &str, mime: &str, uri: Option<&str>) -> Option<Value> {
    if !data.is_empty() {
        return attached(data, mime);
    }
    let uri = uri.filter(|uri| uri.starts_with("http"))?;
    Some(json!({"type": "image", "source": {"type": "url", "url": uri}}))
}

fn attached(data: &str, mime: &str) -> Option<Value> {
    let kind = match mime {
        PDF => "document",
        mime if IMAGES.contains(&mime) => "image",
        _ => return None,
    };
    Some(json!({"type": kind, "source": {"type": "base64", "media_type": mime, "data": data}}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(blocks: Value) -> Vec<Value> {
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap();
        content(&blocks)
    }

    #[test]
    fn every_kind_of_block_has_its_place() {
        let text = |text: &str| json!({"type": "text", "text": text});
        for (block, expected) in [
            (json!({"type": "text", "text": "hi"}), vec![text("hi")]),
            (json!({"type": "text", "text": "/mcp:s:do it now"}), vec![text("/s:do (MCP) it now")]),
            (
                json!({"type": "resource_link", "uri": "file:///w/a.rs", "name": "a.rs"}),
                vec![text("[@a.rs](file:///w/a.rs)")],
            ),
            (json!({"type": "resource_link", "uri": "https://x", "name": "n"}), vec![text("https://x")]),
            (
                json!({"type": "resource", "resource": {"uri": "file:///w/b", "text": "T"}}),
                vec![text("[@b](file:///w/b)"), text("\n<context ref=\"file:///w/b\">\nT\n</context>")],
            ),
            (
                json!({"type": "image", "data": "aa", "mimeType": "image/png"}),
                vec![json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}})],
            ),
            (
                json!({"type": "image", "data": "", "mimeType": "image/png", "uri": "https://x/y.png"}),
                vec![json!({"type": "image", "source": {"type": "url", "url": "https://x/y.png"}})],
            ),
            (
                json!({"type": "resource", "resource": {"uri": "u:x", "blob": "bb", "mimeType": "application/pdf"}}),
                vec![
                    text("u:x"),
                    json!({"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "bb"}}),
                ],
            ),
            (json!({"type": "audio", "data": "aa", "mimeType": "audio/wav"}), vec![]),
        ] {
            assert_eq!(of(json!([block])), expected, "{block}");
        }
    }

    #[test]
    fn contexts_come_last() {
        let parts = of(json!([
            {"type": "resource", "resource": {"uri": "file:///b", "text": "T"}},
            {"type": "text", "text": "explain"},
        ]));
        assert_eq!(parts[1]["text"], "explain");
        assert!(parts[2]["text"].as_str().unwrap().contains("<context"));
    }
}
