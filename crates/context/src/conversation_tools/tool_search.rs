//! ToolSearch: finds tools whose definitions are not in the request, and has the API load them.
//!
//! A pure function of the tools and the query. Deliberately absent: which tools stand behind it (`toolset`).

use super::error::CallError;
use policy::names;
use serde_json::{Value, json};
use tools::ToolSpec;
use turn::{CallContent, CallResult, ErrorFlag};

pub static SPEC: ToolSpec = ToolSpec::beside_others(
    &names::TOOL_SEARCH,
    "Load tools that are known by name only. Their definitions are not in your list yet: search first, then call what was found.\n\
     Queries: \"select:NAME,NAME\" loads tools by their exact names; plain words look through names and descriptions; a word with + \
     before it has to be in the name.",
    r#"{"type":"object","properties":{"query":{"type":"string","description":"select:NAME,…, or words"},"max_results":{"type":"number","description":"Most tools to load; 5 if left out"}},"required":["query"],"additionalProperties":false}"#,
);

/// Found by one search where the call says nothing.
const DEFAULT_RESULTS: usize = 5;
/// More would be the whole list again.
const MOST_RESULTS: usize = 25;
/// Room for the names in the tool's description.
const LISTING_CHARS: usize = 12_000;
/// Shortest word that is looked for.
const WORD_MIN: usize = 2;

/// A tool that can be found.
#[derive(Debug, Clone, Copy)]
pub struct Findable<'a> {
    pub name: &'a str,
    pub description: &'a str,
}

pub fn check(input: &Value) -> Result<(), CallError> {
    let query = input["query"].as_str().unwrap_or_default();
    if query.trim().is_empty() { Err(CallError::ToolQuery) } else { Ok(()) }
}

/// What the tool says of itself where these stand behind it.
pub fn description<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut text = format!("{}\n\nTools to be found:", SPEC.description);
    for name in names {
        if text.len() + name.len() > LISTING_CHARS {
            text.push_str("\n… and more");
            break;
        }
        text.push('\n');
        text.push_str(name);
    }
    text
}

pub fn run(tools: &[Findable<'_>], input: &Value) -> CallResult {
    let query = input["query"].as_str().unwrap_or_default().trim();
    let most =
        input["max_results"].as_f64().map_or(DEFAULT_RESULTS, |most| most.clamp(1.0, MOST_RESULTS as f64) as usize);
    let found = find(tools, query, most);
    let structured = json!({"matches": found, "query": query, "total_deferred_tools": tools.len()});
    if found.is_empty() {
        return CallResult::text("No tool fits. Try other words, or the exact name with select:NAME.", structured);
    }
    let blocks = found.iter().map(|name| json!({"type": "tool_reference", "tool_name": name})).collect();
    CallResult { content: CallContent::Blocks(blocks), structured, flag: ErrorFlag::Absent }
}

fn find<'a>(tools: &[Findable<'a>], query: &str, most: usize) -> Vec<&'a str> {
    if let Some(names) = query.strip_prefix("select:") {
        let named = names.split(',').map(str::trim).filter(|name| !name.is_empty()).take(MOST_RESULTS);
        let mut found: Vec<&str> = Vec::new();
        for name in named {
            let tool = tools.iter().find(|tool| tool.name.eq_ignore_ascii_case(name));
            found.extend(tool.map(|tool| tool.name).filter(|name| !found.contains(name)));
        }
        return found;
    }
    let words: Vec<Word> = query.split_whitespace().filter_map(Word::read).collect();
    let mut scored: Vec<(usize, &str)> =
        tools.iter().map(|tool| (score(tool, &words), tool.name)).filter(|(score, _)| *score > 0).collect();
    // The list is in the order of names, and stays so among equals.
    scored.sort_by_key(|found| std::cmp::Reverse(found.0));
    scored.into_iter().take(most).map(|(_, name)| name).collect()
}

struct Word {
    text: String,
    is_needed: bool,
}

impl Word {
    fn read(word: &str) -> Option<Self> {
        let text = word.trim_start_matches('+').trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        (text.chars().count() >= WORD_MIN).then(|| Self { text, is_needed: word.starts_with('+') })
    }
}

/// A part of the name counts most, then the name, then the description. Nothing where a needed word is missing.
fn score(tool: &Findable<'_>, words: &[Word]) -> usize {
    let name = tool.name.to_lowercase();
    let description = tool.description.to_lowercase();
    let mut sum = 0;
    for word in words {
        let in_name = name.contains(&word.text);
        if word.is_needed && !in_name {
            return 0;
        }
        let is_part = name.split(|c: char| !c.is_alphanumeric()).any(|part| part == word.text);
        sum += if is_part { 10 } else { 0 } + if in_name { 5 } else { 0 };
        sum += if description.contains(&word.text) { 2 } else { 0 };
    }
    sum
}

#[cfg(test)]
#[path = "tool_search_tests.rs"]
mod tests;
