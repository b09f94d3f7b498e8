//! WebSearch: the API's own search tool, used through a model call beside the conversation.

use super::error::CallError;
use model::Reply;
use policy::names;
use serde_json::{Value, json};
use tools::ToolSpec;
use turn::CallResult;

pub static SPEC: ToolSpec = ToolSpec::beside_others(
    &names::WEB_SEARCH,
    "Search the web and get titles, addresses and a short account of what was found. For facts newer than you know, and for finding the page to fetch.",
    r#"{"type":"object","properties":{"query":{"type":"string","description":"What to look for"},"allowed_domains":{"type":"array","items":{"type":"string"},"description":"Only these sites"},"blocked_domains":{"type":"array","items":{"type":"string"},"description":"Never these sites"}},"required":["query"],"additionalProperties":false}"#,
);

/// Searches the model may make for one call of ours.
const SEARCHES_PER_CALL: u32 = 8;

pub const SYSTEM: &str = "Search the web for what is asked, then report what the results say, briefly, with addresses.";

pub fn check(input: &Value) -> Result<(), CallError> {
    if input["query"].as_str().is_none_or(|query| query.trim().len() < 2) {
        return Err(CallError::SearchQuery);
    }
    if has_items(&input["allowed_domains"]) && has_items(&input["blocked_domains"]) {
        return Err(CallError::SearchDomains);
    }
    Ok(())
}

fn has_items(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty())
}

/// The API's tool, as this call wants it.
pub fn api_tool(input: &Value) -> Value {
    let mut tool = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": SEARCHES_PER_CALL});
    for key in ["allowed_domains", "blocked_domains"] {
        if has_items(&input[key]) {
            tool[key] = input[key].clone();
        }
    }
    tool
}

pub fn result(query: &str, reply: &Reply, seconds: f64) -> CallResult {
    let mut results = Vec::new();
    let mut text = format!("Web search for \"{query}\":\n");
    for block in &reply.blocks {
        match block["type"].as_str() {
            Some("web_search_tool_result") => {
                let found: Vec<Value> = block["content"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter(|hit| hit["url"].is_string())
                    .map(|hit| json!({"title": hit["title"], "url": hit["url"]}))
                    .collect();
                for hit in &found {
                    text.push_str(&format!(
                        "- {} {}\n",
                        hit["title"].as_str().unwrap_or_default(),
                        hit["url"].as_str().unwrap_or_default()
                    ));
                }
                results.push(json!({"tool_use_id": block["tool_use_id"], "content": found}));
            }
            Some("text") => {
                let said = block["text"].as_str().unwrap_or_default();
                text.push_str(said);
                text.push('\n');
                results.push(json!(said));
            }
            _ => {}
        }
    }
    let count = reply.usage.server_tool_use.web_search_requests;
    CallResult::text(
        text.trim_end(),
        json!({"query": query, "results": results, "durationSeconds": seconds, "searchCount": count}),
    )
}
