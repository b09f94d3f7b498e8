//! Goals from lists that people have already: a plan in Markdown, the stories of a prd.json, the issues of beads.
//!
//! Pure: a text in, goals out. What is done already is left out.

use crate::error::{GoalError, ImportError};
use serde_json::Value;
use std::collections::HashMap;

/// One entry of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Imported {
    pub title: String,
    pub text: String,
    pub priority: i64,
    pub labels: Vec<String>,
    /// Entries that must be done first, by their place in the list; always earlier ones.
    pub after: Vec<usize>,
    /// Its name in the list, where it has one.
    pub name: Option<String>,
}

/// A plan of more entries was not written by a person.
const ENTRIES_MAX: usize = 10_000;

pub fn parse(file_name: &str, text: &str) -> Result<Vec<Imported>, GoalError> {
    let wrong = |error| GoalError::Import { file: file_name.to_owned(), error };
    let extension = std::path::Path::new(file_name).extension().map(std::ffi::OsStr::to_ascii_lowercase);
    let entries = match extension.as_deref().and_then(std::ffi::OsStr::to_str) {
        Some("jsonl") => beads(text).map_err(wrong)?,
        Some("json") => stories(text).map_err(wrong)?,
        _ => plan(text),
    };
    match entries.len() {
        0 => Err(wrong(ImportError::Nothing)),
        ENTRIES_MAX.. => Err(wrong(ImportError::TooMany)),
        _ => Ok(entries),
    }
}

/// Open checkboxes; where there are none at all, headings.
fn plan(text: &str) -> Vec<Imported> {
    let has_boxes = text.lines().any(|line| checkbox(line).is_some());
    let mut entries: Vec<Imported> = Vec::new();
    let mut open = false;
    let level = if has_boxes { 0 } else { entry_level(text) };
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let start = match (has_boxes, checkbox(line), heading(line)) {
            _ if is_code => None,
            (true, Some((done, title)), _) if !line.starts_with([' ', '\t']) => Some((!done, title)),
            // A heading ends what belonged to the box before it.
            (true, None, Some(_)) => Some((false, "")),
            (false, _, Some((found, title))) if found == level => Some((true, title)),
            _ => None,
        };
        match start {
            Some((is_open, title)) => {
                open = is_open;
                if is_open {
                    entries.push(Imported {
                        title: title.trim().to_owned(),
                        text: title.trim().to_owned(),
                        ..Imported::default()
                    });
                }
            }
            None if open => {
                if let Some(entry) = entries.last_mut() {
                    entry.text.push('\n');
                    entry.text.push_str(line);
                }
            }
            None => {}
        }
    }
    for entry in &mut entries {
        entry.text = entry.text.trim_end().to_owned();
    }
    entries.retain(|entry| !entry.title.is_empty());
    entries
}

/// A single heading at the top is the plan's title; the entries are below it.
fn entry_level(text: &str) -> usize {
    let levels: Vec<usize> = text.lines().filter_map(|line| heading(line).map(|(level, _)| level)).collect();
    let top = levels.iter().min().copied().unwrap_or(1);
    let alone = levels.iter().filter(|level| **level == top).count() == 1;
    let below = levels.iter().filter(|level| **level > top).min().copied();
    if alone { below.unwrap_or(top) } else { top }
}

fn checkbox(line: &str) -> Option<(bool, &str)> {
    let rest = line.trim_start();
    let rest = ["- ", "* ", "+ "].iter().find_map(|mark| rest.strip_prefix(mark))?;
    let (done, title) = [("[ ] ", false), ("[x] ", true), ("[X] ", true)]
        .iter()
        .find_map(|(mark, done)| Some((*done, rest.strip_prefix(mark)?)))?;
    Some((done, title))
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line.get(level..)?.strip_prefix(' ')?;
    (1..=6).contains(&level).then_some((level, title))
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn stories(text: &str) -> Result<Vec<Imported>, ImportError> {
    let file: Value = serde_json::from_str(text).map_err(ImportError::NoJson)?;
    let stories = file["userStories"].as_array().ok_or(ImportError::NoStories)?;
    let open = stories.iter().filter(|story| story["passes"] != Value::Bool(true));
    let entry = |story: &Value| {
        let title = story["title"].as_str().unwrap_or_default().to_owned();
        let mut text = story["description"].as_str().unwrap_or(&title).to_owned();
        let criteria = texts(&story["acceptanceCriteria"]);
        if !criteria.is_empty() {
            text.push_str(&format!(
                "\n\nIt is done when:\n{}",
                criteria.iter().map(|one| format!("- {one}\n")).collect::<String>()
            ));
        }
        let name = story["id"].as_str().map(str::to_owned).or_else(|| story["id"].as_i64().map(|id| id.to_string()));
        // Story 1 comes first; here a higher priority does.
        let priority = -story["priority"].as_i64().unwrap_or(0);
        Imported { title, text: text.trim_end().to_owned(), priority, name, ..Imported::default() }
    };
    Ok(open.map(entry).filter(|entry| !entry.title.is_empty()).collect())
}

fn beads(text: &str) -> Result<Vec<Imported>, ImportError> {
    let mut issues: Vec<Value> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        issues.push(serde_json::from_str(line).map_err(|error| ImportError::Line(number + 1, error))?);
    }
    issues.retain(|issue| {
        !matches!(issue["status"].as_str(), Some("closed" | "tombstone")) && issue["title"].is_string()
    });
    let needs = |issue: &Value| -> Vec<String> {
        let listed = issue["dependencies"].as_array().into_iter().flatten();
        let blocks = listed.filter(|one| matches!(one["type"].as_str(), None | Some("blocks")));
        blocks.filter_map(|one| one["depends_on_id"].as_str().map(str::to_owned)).collect()
    };
    let id = |issue: &Value| issue["id"].as_str().unwrap_or_default().to_owned();
    let ordered = order(&issues.iter().map(|issue| (id(issue), needs(issue))).collect::<Vec<_>>())?;
    let places: HashMap<String, usize> =
        ordered.iter().enumerate().map(|(place, at)| (id(&issues[*at]), place)).collect();
    let entry = |at: &usize| {
        let issue = &issues[*at];
        let title = issue["title"].as_str().unwrap_or_default().to_owned();
        let parts = ["description", "design", "acceptance_criteria", "notes"]
            .map(|key| issue[key].as_str().unwrap_or_default());
        let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        Imported {
            text: if text.is_empty() { title.clone() } else { text },
            title,
            priority: -issue["priority"].as_i64().unwrap_or(0),
            labels: texts(&issue["labels"]),
            after: needs(issue).iter().filter_map(|name| places.get(name).copied()).collect(),
            name: Some(id(issue)),
        }
    };
    Ok(ordered.iter().map(entry).collect())
}

/// Places such that what is needed comes first. A circle is an error.
fn order(entries: &[(String, Vec<String>)]) -> Result<Vec<usize>, ImportError> {
    let mut done: Vec<usize> = Vec::new();
    while done.len() < entries.len() {
        let is_done = |name: &String| {
            let known = entries.iter().position(|(id, _)| id == name);
            known.is_none_or(|at| done.contains(&at))
        };
        let next: Vec<usize> =
            (0..entries.len()).filter(|at| !done.contains(at) && entries[*at].1.iter().all(is_done)).collect();
        if next.is_empty() {
            let left = (0..entries.len()).find(|at| !done.contains(at)).map(|at| entries[at].0.clone());
            return Err(ImportError::Circle(left.unwrap_or_default()));
        }
        done.extend(next);
    }
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn titles(name: &str, text: &str) -> Vec<String> {
        parse(name, text).unwrap().into_iter().map(|entry| entry.title).collect()
    }

    #[test]
    fn a_plan_is_its_open_checkboxes_or_its_headings() {
        let text =
            "# Plan\n\n- [ ] one\n  with words\n  - [ ] a part of it\n- [x] two\n  its words\n## Later\n* [ ] three\n";
        let entries = parse("plan.md", text).unwrap();
        assert_eq!(entries.iter().map(|entry| entry.title.as_str()).collect::<Vec<_>>(), ["one", "three"]);
        assert_eq!(entries[0].text, "one\n  with words\n  - [ ] a part of it");
        assert_eq!(
            titles("plan.md", "# Plan\nintro\n## One\nwords\n```\n## code\n```\n## Two\n### Deeper\n"),
            ["One", "Two"]
        );
        assert_eq!(titles("plan.md", "# One\n# Two\n"), ["One", "Two"]);
        assert!(parse("plan.md", "just words").is_err());
    }

    #[test]
    fn stories_that_pass_are_left_out() {
        let text = r#"{"userStories":[{"id":"US-1","title":"A","description":"as a","acceptanceCriteria":["x"],"priority":1,"passes":false},
            {"id":"US-2","title":"B","passes":true}]}"#;
        let entries = parse("prd.json", text).unwrap();
        assert_eq!(entries.len(), 1);
        assert!(entries[0].text.contains("as a") && entries[0].text.contains("- x"));
        assert_eq!((entries[0].priority, entries[0].name.as_deref()), (-1, Some("US-1")));
        assert!(parse("prd.json", "{}").is_err() && parse("prd.json", "nonsense").is_err());
    }

    #[test]
    fn issues_keep_their_dependencies_and_circles_are_refused() {
        let text = r#"{"id":"b","title":"B","status":"open","dependencies":[{"depends_on_id":"a","type":"blocks"},{"depends_on_id":"z","type":"related"}]}
{"id":"a","title":"A","status":"in_progress","priority":2,"labels":["x"]}
{"id":"c","title":"C","status":"closed"}"#;
        let entries = parse("issues.jsonl", text).unwrap();
        assert_eq!(entries.iter().map(|entry| entry.title.as_str()).collect::<Vec<_>>(), ["A", "B"]);
        assert_eq!((entries[1].after.clone(), entries[0].labels.clone()), (vec![0], vec!["x".to_owned()]));
        let circle = r#"{"id":"a","title":"A","dependencies":[{"depends_on_id":"b"}]}
{"id":"b","title":"B","dependencies":[{"depends_on_id":"a"}]}"#;
        assert!(parse("issues.jsonl", circle).unwrap_err().to_string().contains("before itself"));
    }
}
