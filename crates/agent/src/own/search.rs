//! WebSearch: the API's own search tool, used through a model call beside the conversation.

use crate::access;
use crate::ask::{self, ToolCall};
use crate::calls::Done;
use crate::permit::permit;
use crate::shared::{Lane, Shared};
use model::{Reply, Request};
use policy::names;
use serde_json::{Value, json};
use std::time::Instant;
use tools::{Outcome, ToolSpec};

pub static SPEC: ToolSpec = ToolSpec::beside_others(
    &names::WEB_SEARCH,
    "Search the web and get titles, addresses and a short account of what was found. For facts newer than you know, and for finding the page to fetch.",
    r#"{"type":"object","properties":{"query":{"type":"string","description":"What to look for"},"allowed_domains":{"type":"array","items":{"type":"string"},"description":"Only these sites"},"blocked_domains":{"type":"array","items":{"type":"string"},"description":"Never these sites"}},"required":["query"],"additionalProperties":false}"#,
);

/// Searches the model may make for one call of ours.
const SEARCHES_PER_CALL: u32 = 8;

pub async fn run(shared: &Shared, lane: &Lane, call: &ToolCall) -> Done {
    let Some(query) = call.input["query"].as_str().filter(|query| query.trim().len() >= 2) else {
        return Outcome::misuse("WebSearch needs \"query\", a string of at least two characters.").into();
    };
    if has_items(&call.input["allowed_domains"]) && has_items(&call.input["blocked_domains"]) {
        return Outcome::misuse("WebSearch takes allowed_domains or blocked_domains, not both.").into();
    }
    let permitted = match permit(shared, lane, &call.id, "WebSearch", call.input.clone(), Vec::new()).await {
        Ok(permitted) => permitted,
        Err(refused) => return refused.into(),
    };
    let made = shared.web_searches.get();
    if made >= shared.options.tools.web_searches {
        return Outcome::error(format!("This session has made its {made} web searches. Go on with what you know."))
            .into();
    }
    shared.web_searches.set(made + 1);
    let started = Instant::now();
    // Hooks and the client may have changed what is looked for.
    let query = permitted.input["query"].as_str().unwrap_or(query);
    let outcome = match search(shared, lane, query, &permitted.input).await {
        Ok(reply) => outcome(query, &reply, started.elapsed().as_secs_f64()),
        Err(problem) => Outcome::error(problem),
    };
    Done::from(outcome).of(permitted)
}

fn has_items(value: &Value) -> bool {
    value.as_array().is_some_and(|items| !items.is_empty())
}

async fn search(shared: &Shared, lane: &Lane, query: &str, input: &Value) -> Result<Reply, String> {
    let mut tool = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": SEARCHES_PER_CALL});
    for key in ["allowed_domains", "blocked_domains"] {
        if has_items(&input[key]) {
            tool[key] = input[key].clone();
        }
    }
    let model = shared.model(&lane.role);
    let info = model::info_for(&model, &shared.options.access.client);
    let request = Request {
        model,
        max_tokens: info.max_output.min(super::ASIDE_MAX_TOKENS),
        system: vec![
            json!({"type": "text", "text": "Search the web for what is asked, then report what the results say, briefly, with addresses."}),
        ],
        messages: vec![json!({"role": "user", "content": format!("Search the web for: {query}")})].into(),
        tools: [tool].into(),
        ..ask::aside_request(shared)
    };
    let client = access::client(shared).await.map_err(|failure| failure.message.clone())?;
    let reply = client.ask_once(&request).await.map_err(|failure| failure.message.clone())?;
    shared.ledger.book(&reply.id, &info, &reply.usage);
    Ok(reply)
}

fn outcome(query: &str, reply: &Reply, seconds: f64) -> Outcome {
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
    Outcome::text(
        text.trim_end(),
        json!({"query": query, "results": results, "durationSeconds": seconds, "searchCount": count}),
    )
}
