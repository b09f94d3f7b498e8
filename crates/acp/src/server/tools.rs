//! A tool call in the words of the protocol: title, kind, places and contents, before and after it ran.

use serde_json::{Value, json};
use std::path::Path;

/// Longer titles are cut: clients show them on one line.
const TITLE_MAX: usize = 256;

/// How a call is shown before it ran.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Described {
    pub title: String,
    pub kind: &'static str,
    pub locations: Vec<Value>,
    pub content: Vec<Value>,
}

impl Described {
    fn new(title: impl Into<String>, kind: &'static str) -> Self {
        Self { title: bounded(&title.into()), kind, locations: Vec::new(), content: Vec::new() }
    }

    fn at(mut self, path: Option<&str>, line: Option<u64>, cwd: &Path) -> Self {
        if let Some(path) = path.filter(|path| !path.is_empty()) {
            let mut location = json!({"path": absolute(path, cwd)});
            if let Some(line) = line {
                location["line"] = line.into();
            }
            self.locations.push(location);
        }
        self
    }

    fn with(mut self, content: Option<Value>) -> Self {
        self.content.extend(content);
        self
    }
}

/// Tools whose calls are shown as a plan.
pub(crate) fn is_plan(name: &str) -> bool {
    matches!(name, "TodoWrite" | "TaskCreate" | "TaskUpdate" | "TaskList" | "TaskGet")
}

/// `input` may be incomplete or empty while the call is still being written.
pub(crate) fn describe(name: &str, input: &Value, cwd: &Path) -> Described {
    let text = |key: &str| input[key].as_str().filter(|text| !text.is_empty());
    let shown = |path: &str| relative(path, cwd);
    match name {
        "Read" => read(input, cwd),
        "Write" => {
            let path = text("file_path");
            let title = path.map_or("Preparing file…".into(), |path| format!("Write {}", shown(path)));
            let diff = path.zip(input["content"].as_str()).map(|(path, new)| diff(&absolute(path, cwd), None, new));
            Described::new(title, "edit").at(path, None, cwd).with(diff)
        }
        "Edit" => {
            let path = text("file_path");
            let title = path.map_or("Edit".into(), |path| format!("Edit {}", shown(path)));
            let strings = input["old_string"].as_str().zip(input["new_string"].as_str());
            let diff = path.zip(strings).map(|(path, (old, new))| diff(&absolute(path, cwd), Some(old), new));
            Described::new(title, "edit").at(path, None, cwd).with(diff)
        }
        "Bash" => Described::new(text("command").unwrap_or("Terminal"), "execute").with(text("description").map(block)),
        "Glob" => {
            let words = ["path", "pattern"].iter().filter_map(|key| text(key)).map(|word| format!(" `{word}`"));
            Described::new(format!("Find{}", words.collect::<String>()), "search").at(text("path"), None, cwd)
        }
        "Grep" => Described::new(grep_line(input), "search"),
        "WebFetch" => Described::new(text("url").map_or("Fetch".into(), |url| format!("Fetch {url}")), "fetch")
            .with(text("prompt").map(block)),
        "WebSearch" => {
            Described::new(text("query").map_or("Search".into(), |query| format!("Search \"{query}\"")), "fetch")
        }
        "Agent" | "Task" => {
            Described::new(text("description").unwrap_or("Task"), "think").with(text("prompt").map(block))
        }
        "Skill" => {
            Described::new(text("skill").map_or("Load skill".into(), |name| format!("Load skill: {name}")), "other")
        }
        "ExitPlanMode" => Described::new("Approve Plan", "switch_mode").with(text("plan").map(block)),
        "EnterPlanMode" => Described::new("EnterPlanMode", "switch_mode"),
        "AskUserQuestion" => question(input),
        other => Described::new(other, "other"),
    }
}

fn read(input: &Value, cwd: &Path) -> Described {
    let path = input["file_path"].as_str().filter(|path| !path.is_empty());
    let (offset, limit) = (input["offset"].as_u64(), input["limit"].as_u64());
    let lines = match (offset, limit) {
        (None, None) => String::new(),
        (offset, Some(limit)) => {
            let first = offset.unwrap_or(1);
            format!(" ({first} - {})", first.saturating_add(limit).saturating_sub(1))
        }
        (Some(offset), None) => format!(" (from line {offset})"),
    };
    let title = path.map_or("Read".into(), |path| format!("Read {}{lines}", relative(path, cwd)));
    Described::new(title, "read").at(path, path.map(|_| offset.unwrap_or(1)), cwd)
}

fn question(input: &Value) -> Described {
    let questions = || input["questions"].as_array().into_iter().flatten();
    let texts: Vec<&str> = questions().filter_map(|one| one["question"].as_str()).collect();
    let content = (!texts.is_empty()).then(|| block(&texts.join("\n")));
    Described::new(texts.first().copied().unwrap_or("Question"), "other").with(content)
}

/// The command line that a search stands for.
fn grep_line(input: &Value) -> String {
    let mut line = String::from("grep");
    for key in ["-i", "-n"] {
        if input[key] == true {
            line.push_str(&format!(" {key}"));
        }
    }
    for key in ["-A", "-B", "-C"] {
        if let Some(number) = input[key].as_u64() {
            line.push_str(&format!(" {key} {number}"));
        }
    }
    match input["output_mode"].as_str() {
        Some("files_with_matches") => line.push_str(" -l"),
        Some("count") => line.push_str(" -c"),
        _ => {}
    }
    // In this order: editors have learned these titles from the reference adapter.
    if let Some(limit) = input["head_limit"].as_u64() {
        line.push_str(&format!(" | head -{limit}"));
    }
    if let Some(glob) = input["glob"].as_str() {
        line.push_str(&format!(" --include=\"{glob}\""));
    }
    if let Some(kind) = input["type"].as_str() {
        line.push_str(&format!(" --type={kind}"));
    }
    if input["multiline"] == true {
        line.push_str(" -P");
    }
    if let Some(pattern) = input["pattern"].as_str() {
        line.push_str(&format!(" \"{pattern}\""));
    }
    if let Some(path) = input["path"].as_str() {
        line.push_str(&format!(" {path}"));
    }
    line
}

/// What a finished call changes: contents and places. `None`: they stay.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Finished {
    pub content: Option<Vec<Value>>,
    pub locations: Option<Vec<Value>>,
}

/// `structured` is the result as data, `content` what the model was given.
pub(crate) fn finished(name: &str, content: &Value, is_error: bool, structured: &Value) -> Finished {
    if is_error {
        return Finished { content: Some(vec![block(&fenced(&text_of(content), ""))]), locations: None };
    }
    match name {
        "Edit" | "Write" => patched(structured),
        "Read" => Finished { content: Some(blocks(content, |text| fenced(text, ""))), locations: None },
        "Bash" => {
            let text = text_of(content);
            let shown = (!text.trim().is_empty()).then(|| vec![block(&fenced(&text, "console"))]);
            Finished { content: shown, locations: None }
        }
        "ExitPlanMode" | "EnterPlanMode" | "Skill" | "AskUserQuestion" => Finished::default(),
        _ => Finished { content: Some(blocks(content, str::to_owned)), locations: None },
    }
}

/// The real change, hunk by hunk, with its lines.
fn patched(structured: &Value) -> Finished {
    let Some(path) = structured["filePath"].as_str() else { return Finished::default() };
    if structured["type"] == "create" {
        let new = structured["content"].as_str().unwrap_or_default();
        return Finished { content: Some(vec![diff(path, None, new)]), locations: None };
    }
    let hunks = structured["structuredPatch"].as_array().filter(|hunks| !hunks.is_empty());
    let Some(hunks) = hunks else { return Finished::default() };
    let side = |hunk: &Value, leave_out: char| {
        let lines = hunk["lines"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let kept = lines.filter(|line| !line.starts_with(leave_out) && !line.starts_with('\\'));
        kept.map(|line| line.get(1..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
    };
    let content = hunks.iter().map(|hunk| diff(path, Some(&side(hunk, '+')), &side(hunk, '-'))).collect();
    let place = |hunk: &Value| json!({"path": path, "line": hunk["newStart"].as_u64().unwrap_or(1)});
    Finished { content: Some(content), locations: Some(hunks.iter().map(place).collect()) }
}

pub(crate) fn diff(path: &str, old: Option<&str>, new: &str) -> Value {
    json!({"type": "diff", "path": path, "oldText": old, "newText": new})
}

/// Text as a tool's content.
pub(crate) fn block(text: &str) -> Value {
    json!({"type": "content", "content": {"type": "text", "text": text}})
}

/// The blocks of a result: texts as `shape` has them, pictures as pictures, other things by their name.
fn blocks(content: &Value, shape: impl Fn(&str) -> String) -> Vec<Value> {
    let one = |item: &Value| match item["type"].as_str() {
        Some("text") => block(&shape(item["text"].as_str().unwrap_or_default())),
        Some("image") if item["source"]["type"] == "base64" => json!({"type": "content", "content": {
            "type": "image",
            "data": item["source"]["data"].as_str().unwrap_or_default(),
            "mimeType": item["source"]["media_type"].as_str().unwrap_or("image/png"),
        }}),
        other => block(&format!("[{}]", other.unwrap_or("content"))),
    };
    match content {
        Value::String(text) => vec![block(&shape(text))],
        Value::Array(items) => items.iter().map(one).collect(),
        _ => Vec::new(),
    }
}

fn text_of(content: &Value) -> String {
    wire::ToolResult { tool_use_id: "", is_error: false, content }.text()
}

/// Between fences that are longer than any in the text.
pub(crate) fn fenced(text: &str, language: &str) -> String {
    let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

fn absolute(path: &str, cwd: &Path) -> String {
    cwd.join(path).to_string_lossy().into_owned()
}

fn relative(path: &str, cwd: &Path) -> String {
    match Path::new(path).strip_prefix(cwd) {
        Ok(inside) if !inside.as_os_str().is_empty() => inside.to_string_lossy().into_owned(),
        _ => path.to_owned(),
    }
}

fn bounded(title: &str) -> String {
    if title.chars().count() <= TITLE_MAX {
        return title.to_owned();
    }
    title.chars().take(TITLE_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
