//! `@path` in a prompt: the file's text comes along, as if the model had read it.

use crate::conversation::Conversation;
use crate::rules::Rules;
use mcp::SessionServers;
use policy::{Targets, Verdict};
use serde_json::{Value, json};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::rc::Rc;
use tools::{Content, Invocation, Target, Workspace};
use turn::Attachment;

/// Lines of one mentioned file; the rest is for the Read tool, and the model is told so.
const LINES: u64 = 2000;

/// Files attached to one prompt. A prompt that lists more means their names, not their contents.
const FILES_MAX: usize = 20;

/// Attaches what prompts mention.
pub struct Mentions {
    pub rules: Rc<Rules>,
    pub servers: Rc<SessionServers>,
}

impl Mentions {
    /// What the mentions of a prompt add to it, in order.
    pub async fn attachments(&self, conversation: &Conversation, text: &str) -> Vec<Attachment> {
        let mut found = Vec::new();
        for path in mentioned(text).into_iter().take(FILES_MAX) {
            found.extend(self.attach(conversation, &path).await);
        }
        found
    }

    async fn attach(&self, conversation: &Conversation, path: &str) -> Option<Attachment> {
        if let Some((server, uri)) = path.split_once(':')
            && self.servers.has(server)
        {
            let attachment = json!({"type": "mcp_resource", "server": server, "uri": uri});
            return Some(Attachment { attachment, blocks: self.resource(path, server, uri).await });
        }
        let tools = conversation.tools();
        let workspace = &tools.workspace;
        let found = |path: &str| {
            let target = workspace.resolve(path).ok()?;
            Some((std::fs::metadata(&target.real).ok()?, target))
        };
        // A file whose own name ends like that is meant before lines of another one.
        let (lines, (kind, target)) = if let Some(file) = found(path) {
            (None, file)
        } else {
            let (file, lines) = line_range(path)?;
            (Some(lines), found(file).filter(|(kind, _)| kind.is_file())?)
        };
        let input = json!({"file_path": target.given});
        let targets = Targets::paths(vec![target]);
        let decision = self.rules.judge(conversation, "Read", &input, &targets, false);
        if decision.verdict != Verdict::Allow {
            let blocks = vec![note(&format!("@{path} was not attached: {}", decision.reason))];
            return Some(Attachment { attachment: json!({"type": "file_denied", "filename": path}), blocks });
        }
        if kind.is_dir() {
            let blocks = vec![note(&listing(path, &targets.paths[0].real, &tools.denied))];
            let attachment = json!({"type": "directory", "path": targets.paths[0].given, "displayPath": path});
            return Some(Attachment { attachment, blocks });
        }
        let mut input = json!({"file_path": targets.paths[0].given, "limit": LINES});
        if let Some(lines) = lines {
            input["offset"] = json!(lines.first);
            input["limit"] = json!(lines.count.min(LINES));
        }
        let call = Invocation { tool_use_id: "", input: &input, targets: &targets, run: None };
        let outcome = tools::run(tools::find("Read")?, call, &tools).await;
        let mut blocks = vec![note(&format!(
            "Contents of @{path}{}:",
            if outcome.is_error() { " (could not be read)" } else { "" }
        ))];
        match outcome.content {
            Content::Text(text) => blocks.push(note(&text)),
            Content::Blocks(more) => blocks.extend(more),
        }
        let attachment = json!({
            "type": "file",
            "filename": targets.paths[0].given,
            "content": outcome.structured,
            "displayPath": path,
        });
        let file = &attachment["content"]["file"];
        let shown = file["numLines"].as_u64().unwrap_or(0);
        let total = file["totalLines"]
            .as_u64()
            .unwrap_or(0)
            .saturating_sub(u64::from(ends_a_line(workspace, &targets.paths[0])));
        if total > shown && lines.is_none() {
            blocks.push(note(&format!("[@{path} has {total} lines; the first {shown} are above, Read has the rest]")));
        }
        Some(Attachment { attachment, blocks })
    }

    /// `@server:uri`: a resource of an MCP server.
    async fn resource(&self, path: &str, server: &str, uri: &str) -> Vec<Value> {
        match self.servers.read_resource(server, uri).await {
            Ok(contents) => {
                let texts = contents
                    .iter()
                    .map(|content| content["text"].as_str().map_or_else(|| content.to_string(), str::to_owned));
                std::iter::once(format!("Contents of @{path}:")).chain(texts).map(|text| note(&text)).collect()
            }
            Err(problem) => vec![note(&format!("@{path} was not attached: {problem}"))],
        }
    }
}

/// Words that begin with `@`, quotes and trailing punctuation taken off.
fn mentioned(text: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for (at, _) in text.match_indices('@') {
        if text[..at].chars().next_back().is_some_and(|before| !before.is_whitespace() && before != '(') {
            continue;
        }
        let rest = &text[at + 1..];
        if rest.starts_with(char::is_whitespace) {
            continue;
        }
        let word = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or_default(),
            None => {
                rest.split_whitespace().next().unwrap_or_default().trim_end_matches([',', '.', ';', ':', ')', '!', '?'])
            }
        };
        if !word.is_empty() && !paths.iter().any(|path| path == word) {
            paths.push(word.to_owned());
        }
    }
    paths
}

/// Lines of a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LineRange {
    first: u64,
    count: u64,
}

/// `a.txt#L2` and `a.txt#L2-5` (also `#L2-L5`): the file and its lines.
fn line_range(word: &str) -> Option<(&str, LineRange)> {
    let (file, lines) = word.rsplit_once("#L")?;
    let (first, last) = match lines.split_once('-') {
        Some((first, last)) => (first, last.strip_prefix('L').unwrap_or(last)),
        None => (lines, lines),
    };
    let number = |digits: &str| digits.parse::<u64>().ok().filter(|number| *number > 0);
    let (first, last) = (number(first)?, number(last)?);
    (!file.is_empty() && last >= first).then(|| (file, LineRange { first, count: last - first + 1 }))
}

/// The tool counts what follows the last line break as a line; people do not.
fn ends_a_line(workspace: &Workspace, target: &Target) -> bool {
    let last = || {
        let mut file = workspace.open_read(target)?;
        file.seek(SeekFrom::End(-1))?;
        let mut byte = [0];
        file.read_exact(&mut byte).map(|()| byte[0])
    };
    last().is_ok_and(|byte: u8| byte == b'\n')
}

/// Names listed for a mentioned folder.
const NAMES_MAX: usize = 500;

fn listing(path: &str, folder: &Path, denied: &tools::Denied) -> String {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| !denied(&entry.path()))
        .take(NAMES_MAX)
        .map(|entry| {
            let slash = if entry.file_type().is_ok_and(|kind| kind.is_dir()) { "/" } else { "" };
            format!("{}{slash}", entry.file_name().to_string_lossy())
        })
        .collect();
    names.sort();
    format!("Names in the folder @{path}:\n{}", names.join("\n"))
}

fn note(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_stand_behind_a_hash() {
        let range = |first, count| LineRange { first, count };
        for (word, expected) in [
            ("a.txt#L2", Some(("a.txt", range(2, 1)))),
            ("src/a.rs#L2-5", Some(("src/a.rs", range(2, 4)))),
            ("a.rs#L2-L5", Some(("a.rs", range(2, 4)))),
            ("a#Lb#L7-7", Some(("a#Lb", range(7, 1)))),
            ("a.txt", None),
            ("a.txt#2", None),
            ("a.txt#L", None),
            ("a.txt#L0", None),
            ("a.txt#L5-2", None),
            ("#L5", None),
            ("a#L99999999999999999999999", None),
        ] {
            assert_eq!(line_range(word), expected, "{word}");
        }
    }

    #[test]
    fn mentions_are_words_that_begin_with_an_at() {
        for (text, expected) in [
            ("see @a.txt", vec!["a.txt"]),
            ("@.ralph/prompt.md @.ralph/todo.md", vec![".ralph/prompt.md", ".ralph/todo.md"]),
            ("mail me@example.com, (@src/lib.rs).", vec!["src/lib.rs"]),
            ("@\"with space.txt\" and @x, @x", vec!["with space.txt", "x"]),
            ("@ nothing", vec![]),
            ("é@x", vec![]),
        ] {
            assert_eq!(mentioned(text), expected, "{text}");
        }
    }
}
