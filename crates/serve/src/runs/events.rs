//! The events of a run from a number on, at once or as a stream; and a stream of what changes in all runs.
//!
//! `seq` is the line in `events.ndjson`. The recording is the only source, so a reader that comes back, also to another server, misses
//! nothing and gets nothing twice.

use super::numbered::{Position, Selection, described};
use super::{ListedRun, apart};
use crate::app::App;
use crate::problem::Problem;
use crate::request;
use crate::sse;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::{IntoResponse, Response};
use runner::run_socket::{Follower, NumberedEvent};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// Of one answer that is no stream.
const LIMIT_MAX: usize = 5_000;
const LIMIT: usize = 1_000;
/// How often all runs are looked at.
const LOOK_AT_ALL: Duration = Duration::from_secs(1);

#[derive(Deserialize)]
struct EventsQuery {
    #[serde(default)]
    after: u64,
    limit: Option<usize>,
    #[serde(default)]
    derived: bool,
}

/// Where to begin: behind `17`, or behind the third event of line 17 (`17.2`).
fn begin(headers: &HeaderMap, after: u64) -> Position {
    let text = headers.get("last-event-id").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (line, index) = text.split_once('.').map_or((text, None), |(line, index)| (line, Some(index)));
    match (line.trim().parse::<u64>(), index.and_then(|index| index.trim().parse::<u32>().ok())) {
        (Ok(line), Some(index)) => (line, index.saturating_add(1)),
        (Ok(line), None) => (line.saturating_add(1), 0),
        (Err(_), _) => (after.saturating_add(1), 0),
    }
}

pub async fn events(
    State(app): State<Arc<App>>,
    Path(id): Path<String>,
    uri: Uri,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let found = app.runs.find(&id)?;
    let EventsQuery { after, limit, derived } = request::query(&uri)?;
    let from = begin(&headers, after);
    if sse::is_wanted(&headers) {
        let place = app.stream_place()?;
        let reader = app.runs.tail_reader(&found, from, derived);
        return Ok(sse::stream(place, app.closing.clone(), |outlet| reader.send_all(outlet)));
    }
    let (file, price) = (found.folder.events(&id), app.runs.price());
    let most = limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
    let read = apart(move || read_some(&file, price, from, derived, most)).await?;
    let events = read.map_err(|error| Problem::internal(format!("run {id} cannot be read: {error}")))?;
    let next = events.last().map_or(after, |last| last.seq);
    let list: Vec<String> = events.iter().map(|numbered| described(numbered, derived)).collect();
    let body = format!("{{\"events\":[{}],\"next\":{next}}}", list.join(","));
    Ok(([("content-type", "application/json")], body).into_response())
}

/// The first events from a position on; pieces of texts are left out, since the whole texts follow.
fn read_some(
    file: &std::path::Path,
    price: cycle::Price,
    from: Position,
    derived: bool,
    most: usize,
) -> std::io::Result<Vec<NumberedEvent>> {
    let selection = Selection { derived, is_live: false };
    let mut follower = Follower::open(file, price, from)?;
    let mut events = Vec::new();
    while events.len() < most {
        let Some(numbered) = follower.next_event()? else { break };
        if selection.wants(&numbered) {
            events.push(numbered);
        }
    }
    Ok(events)
}

/// Every run once, and again whenever it changes.
pub async fn all_events(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let place = app.stream_place()?;
    let book = app.clone();
    Ok(sse::stream(place, app.closing.clone(), |outlet| async move {
        let mut sent: HashMap<String, Arc<str>> = HashMap::new();
        let mut is_ready = false;
        loop {
            if let Some(all) = all_runs(&book).await {
                for run in all.iter().filter(|run| sent.get(&run.id) != Some(&run.text)) {
                    outlet.send(sse::event("run", "", &run.text)).await?;
                }
                let now: HashMap<String, Arc<str>> = all.iter().map(|run| (run.id.clone(), run.text.clone())).collect();
                for gone in sent.keys().filter(|id| !now.contains_key(*id)) {
                    outlet.send(sse::event("gone", "", &json!({"id": gone}).to_string())).await?;
                }
                if !std::mem::replace(&mut is_ready, true) {
                    outlet.send(sse::event("ready", "", "{}")).await?;
                }
                sent = now;
            }
            tokio::time::sleep(LOOK_AT_ALL).await;
        }
    }))
}

/// A list that another reader has just made is taken as it is, without a thread.
async fn all_runs(app: &Arc<App>) -> Option<Arc<Vec<ListedRun>>> {
    if let Some(all) = app.runs.fresh() {
        return Some(all);
    }
    let app = app.clone();
    apart(move || app.runs.all()).await.ok()
}

/// The same at once, for clients that do not stream.
pub fn as_list(all: &[Value]) -> Json<Value> {
    Json(json!({"runs": all}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_goes_on_behind_what_it_has_seen() {
        for (header, after, expected) in [
            (None, 0, (1, 0)),
            (None, 16, (17, 0)),
            (Some("17"), 3, (18, 0)),
            (Some("17.0"), 3, (17, 1)),
            (Some("17.2"), 3, (17, 3)),
            (Some("nonsense"), 3, (4, 0)),
            (Some("18446744073709551615"), 0, (u64::MAX, 0)),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(text) = header {
                headers.insert("last-event-id", text.parse().unwrap());
            }
            assert_eq!(begin(&headers, after), expected, "{header:?}");
        }
    }
}
