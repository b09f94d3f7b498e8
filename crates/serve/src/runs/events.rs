//! The events of a run from a number on, at once or as a stream; and a stream of what changes in all runs.
//!
//! `seq` is the line in `events.ndjson`. Without `derived`, every line is one event as it was recorded. With it, agents' own
//! lines are replaced by what is derived from them, and the number is `seq` and `index`. The recording is the only source, so
//! a reader that comes back, also to another server, misses nothing and gets nothing twice.

use super::{Found, apart};
use crate::app::App;
use crate::problem::Problem;
use crate::request;
use crate::sse::{self, EventSender, ReaderLeft};
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Uri};
use axum::response::sse::Event;
use axum::response::{IntoResponse, Response};
use cycle::EventKind;
use runner::run_socket::{Follower, NumberedEvent};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How often a recording is looked at: faster than anybody reads, and a `stat` costs nothing.
const LOOK: Duration = Duration::from_millis(120);
/// A run that holds no lock is looked at a little longer: it may be just starting.
const IDLE_LOOKS: u32 = 25;
/// Read at once, apart from the main thread.
const BATCH: usize = 256;
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
fn begin(headers: &HeaderMap, after: u64) -> (u64, u32) {
    let text = headers.get("last-event-id").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (line, index) = text.split_once('.').map_or((text, None), |(line, index)| (line, Some(index)));
    match (line.trim().parse::<u64>(), index.and_then(|index| index.trim().parse::<u32>().ok())) {
        (Ok(line), Some(index)) => (line, index.saturating_add(1)),
        (Ok(line), None) => (line.saturating_add(1), 0),
        (Err(_), _) => (after.saturating_add(1), 0),
    }
}

/// A recording with what of it is wanted.
struct Feed {
    follower: Follower,
    derived: bool,
    /// The end was reached once: from there on, pieces of texts are news. Before it, the whole texts follow.
    is_live: bool,
    is_over: bool,
}

impl Feed {
    fn wants(&self, numbered: &NumberedEvent) -> bool {
        match &numbered.event.kind {
            EventKind::Agent { .. } => !self.derived,
            EventKind::AgentText(speech) | EventKind::AgentThinking(speech) => {
                self.derived && (self.is_live || !speech.partial)
            }
            EventKind::ToolCall(_)
            | EventKind::ToolResult(_)
            | EventKind::PermissionDenied { .. }
            | EventKind::ApiRetry(_)
            | EventKind::Usage(_) => self.derived,
            _ => self.derived || numbered.index == 0 || matches!(numbered.event.kind, EventKind::IterationEnded { .. }),
        }
    }

    /// Up to so many events, and whether the recording has no more now.
    fn batch(&mut self, most: usize) -> std::io::Result<(Vec<NumberedEvent>, bool)> {
        let mut events = Vec::new();
        while events.len() < most {
            let Some(numbered) = self.follower.next_event()? else {
                self.is_live = true;
                return Ok((events, true));
            };
            match &numbered.event.kind {
                EventKind::Verdict(_) => self.is_over = true,
                EventKind::RunStarted(_) => self.is_over = false,
                _ => {}
            }
            if self.wants(&numbered) {
                events.push(numbered);
            }
        }
        Ok((events, false))
    }

    fn id(&self, numbered: &NumberedEvent) -> String {
        if self.derived { format!("{}.{}", numbered.seq, numbered.index) } else { numbered.seq.to_string() }
    }
}

fn described(numbered: &NumberedEvent, derived: bool) -> String {
    let mut fields = Map::new();
    fields.insert("seq".into(), numbered.seq.into());
    if derived {
        fields.insert("index".into(), numbered.index.into());
    }
    // An event is an object; its fields come behind ours, word for word.
    let event = numbered.event.to_line();
    let ours = Value::Object(fields).to_string();
    format!("{},{}", ours.trim_end_matches('}'), event.trim_start_matches('{'))
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
    let (file, price) = (found.folder.events(&id), app.runs.price());
    let unreadable = |error: std::io::Error| Problem::internal(format!("run {id} cannot be read: {error}"));
    let opened = apart(move || Follower::open(&file, price, from)).await?;
    let mut feed = Feed { follower: opened.map_err(unreadable)?, derived, is_live: false, is_over: false };
    if sse::is_wanted(&headers) {
        let place = app.stream_place()?;
        return Ok(sse::stream(place, app.closing.clone(), |outlet| follow(feed, found, outlet)));
    }
    let most = limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
    let (events, _) = apart(move || feed.batch(most)).await?.map_err(unreadable)?;
    let next = events.last().map_or(after, |last| last.seq);
    let list: Vec<String> = events.iter().map(|numbered| described(numbered, derived)).collect();
    let body = format!("{{\"events\":[{}],\"next\":{next}}}", list.join(","));
    Ok(([("content-type", "application/json")], body).into_response())
}

/// Sends what is there and what comes, until the run is over.
async fn follow(mut feed: Feed, found: Found, outlet: EventSender) -> Result<(), ReaderLeft> {
    let mut idle = 0;
    loop {
        let Ok((back, read)) = tokio::task::spawn_blocking(move || {
            let read = feed.batch(BATCH);
            (feed, read)
        })
        .await
        else {
            return Ok(());
        };
        feed = back;
        let Ok((events, at_end)) = read else { return Ok(()) };
        idle = if events.is_empty() { idle + 1 } else { 0 };
        for numbered in &events {
            let event = Event::default().id(feed.id(numbered)).data(described(numbered, feed.derived));
            outlet.send(event).await?;
        }
        if !at_end {
            continue;
        }
        // The lock is asked only when nothing comes: it is the run that says whether it goes on.
        if (feed.is_over || idle > IDLE_LOOKS) && idle > 0 && found.owner().is_none() {
            let reason = if feed.is_over { "over" } else { "not at work" };
            let end = json!({"seq": feed.follower.seq(), "reason": reason}).to_string();
            return outlet.send(Event::default().event("end").data(end)).await;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Every run once, and again whenever it changes.
pub async fn all_events(State(app): State<Arc<App>>) -> Result<Response, Problem> {
    let place = app.stream_place()?;
    let book = app.clone();
    Ok(sse::stream(place, app.closing.clone(), |outlet| async move {
        let mut sent: HashMap<String, String> = HashMap::new();
        loop {
            let reader = book.clone();
            if let Ok(all) = apart(move || reader.runs.all()).await {
                let mut now: HashMap<String, String> = HashMap::new();
                for run in all.iter() {
                    let text = run.to_string();
                    let id = run["id"].as_str().unwrap_or_default().to_owned();
                    if sent.get(&id) != Some(&text) {
                        outlet.send(Event::default().event("run").data(&text)).await?;
                    }
                    now.insert(id, text);
                }
                for gone in sent.keys().filter(|id| !now.contains_key(*id)) {
                    outlet.send(Event::default().event("gone").data(json!({"id": gone}).to_string())).await?;
                }
                if sent.is_empty() {
                    outlet.send(Event::default().event("ready").data("{}")).await?;
                }
                sent = now;
            }
            tokio::time::sleep(LOOK_AT_ALL).await;
        }
    }))
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

    #[test]
    fn an_event_gets_its_number_and_stays_as_it_is() {
        let numbered =
            NumberedEvent { seq: 7, index: 2, event: EventKind::Steered { iteration: 1, text: "}{".into() }.at(5) };
        let value: Value = serde_json::from_str(&described(&numbered, true)).unwrap();
        assert_eq!(value, json!({"seq": 7, "index": 2, "at": 5, "type": "steered", "iteration": 1, "text": "}{"}));
        let plain: Value = serde_json::from_str(&described(&numbered, false)).unwrap();
        assert_eq!((plain["seq"].as_u64(), plain.get("index")), (Some(7), None));
    }
}
