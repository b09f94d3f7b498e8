//! Reading runs: the list, one run, an iteration, costs, search, the report.

use super::events::as_list;
use super::{Found, apart};
use crate::app::App;
use crate::children;
use crate::problem::Problem;
use crate::request;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, Uri, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::BufRead as _;
use std::sync::Arc;
use std::time::Duration;

type Shared = State<Arc<App>>;

/// A report asks git for every diff of a run.
const REPORT_TIME: Duration = Duration::from_mins(1);
/// Iterations that the chart of costs gets, the newest.
const COSTS_MAX: usize = 20_000;
/// Of a search: what it finds, what it reads, and what it shows of each.
const FOUND_MAX: usize = 100;
const SEARCHED_MAX: u64 = 256 * 1024 * 1024;
const EXCERPT: usize = 160;
/// Shorter words are in every line.
const WORD_MIN: usize = 2;

#[derive(Deserialize)]
struct ListQuery {
    folder: Option<String>,
    state: Option<String>,
}

pub async fn list(State(app): Shared, uri: Uri) -> Result<Json<Value>, Problem> {
    let ListQuery { folder, state } = request::query(&uri)?;
    let all = apart(move || app.runs.all()).await?;
    let fits = |run: &&Value| {
        folder.as_ref().is_none_or(|folder| run["folder"] == folder.as_str())
            && state.as_ref().is_none_or(|state| run["state"] == state.as_str())
    };
    let chosen: Vec<Value> = all.iter().map(|listed| &listed.run).filter(fits).cloned().collect();
    Ok(as_list(&chosen))
}

pub async fn one(State(app): Shared, Path(id): Path<String>) -> Result<Json<Value>, Problem> {
    let found = app.runs.find(&id)?;
    apart(move || {
        let owner = found.owner();
        app.runs.read(&found, |fold| fold.detail(&found, owner.as_deref()))
    })
    .await?
    .map(Json)
}

pub async fn iteration(State(app): Shared, Path((id, number)): Path<(String, u32)>) -> Result<Json<Value>, Problem> {
    let found = app.runs.find(&id)?;
    let whole = apart(move || {
        app.runs.read(&found, |fold| {
            let ended = fold.receipts.iter().rev().find(|ended| ended.iteration == number)?;
            let mut value = ended.json();
            let checks = fold.checks.iter().filter(|(_, check)| check.iteration == number);
            value["checks"] = checks.map(|(_, check)| json!(check)).collect();
            Some(value)
        })
    })
    .await??;
    whole.map(Json).ok_or_else(|| Problem::not_found(format!("run {id} has no iteration {number} that is over")))
}

/// Every iteration of every run with its cost, oldest first.
pub async fn costs(State(app): Shared) -> Result<Json<Value>, Problem> {
    let iterations = apart(move || {
        let all = app.runs.all();
        let mut iterations = Vec::new();
        for run in all.iter() {
            let Ok(found) = app.runs.find(&run.id) else { continue };
            let costs = |fold: &super::fold::RunFold| -> Vec<Value> {
                fold.receipts.iter().map(|ended| cost(&found, ended)).collect()
            };
            iterations.extend(app.runs.read(&found, costs).unwrap_or_default());
        }
        iterations.sort_by_key(|iteration| iteration["at"].as_u64());
        iterations.drain(..iterations.len().saturating_sub(COSTS_MAX));
        iterations
    })
    .await?;
    Ok(Json(json!({"iterations": iterations})))
}

fn cost(found: &Found, ended: &super::fold::EndedIteration) -> Value {
    let receipt = &ended.receipt;
    json!({
        "at": ended.at,
        "run": found.id,
        "folder": found.folder.root().display().to_string(),
        "iteration": ended.iteration,
        "outcome": receipt.outcome,
        "cost_usd": receipt.cost_usd,
        "tokens": receipt.tokens,
        "duration_ms": receipt.duration_ms,
    })
}

#[derive(Deserialize)]
struct SearchQuery {
    q: String,
}

/// Lines of recordings that hold the words, the newest runs first.
pub async fn search(State(app): Shared, uri: Uri) -> Result<Json<Value>, Problem> {
    let SearchQuery { q } = request::query(&uri)?;
    let words = q.trim().to_lowercase();
    if words.len() < WORD_MIN {
        return Err(Problem::invalid(format!("a search needs at least {WORD_MIN} letters")));
    }
    let (hits, whole) = apart(move || search_runs(&app, &words)).await?;
    Ok(Json(json!({"hits": hits, "complete": whole})))
}

fn search_runs(app: &App, words: &str) -> (Vec<Value>, bool) {
    let mut hits = Vec::new();
    let mut left = SEARCHED_MAX;
    for run in app.runs.all().iter() {
        let Ok(found) = app.runs.find(&run.id) else { continue };
        let Ok(file) = std::fs::File::open(found.folder.events(&found.id)) else { continue };
        let mut reader = std::io::BufReader::new(file);
        let mut line = Vec::new();
        let mut seq = 0_u64;
        while let Ok(read @ 1..) = reader.read_until(b'\n', &mut line) {
            seq += 1;
            left = left.saturating_sub(read as u64);
            if let Some(excerpt) = excerpt(&line, words) {
                hits.push(json!({"run": found.id, "title": run.run["title"], "seq": seq, "text": excerpt}));
            }
            line.clear();
            if hits.len() >= FOUND_MAX || left == 0 {
                return (hits, false);
            }
        }
    }
    (hits, true)
}

/// What stands around the words, where the line has them.
fn excerpt(line: &[u8], words: &str) -> Option<String> {
    let text = String::from_utf8_lossy(line);
    // Lower case can be longer; the place is then a little beside, never outside.
    let at = text.to_lowercase().find(words)?.min(text.len());
    let from = text.floor_char_boundary(at.saturating_sub(EXCERPT / 2));
    let to = text.ceil_char_boundary((at + words.len() + EXCERPT / 2).min(text.len()));
    Some(text[from..to].replace("\\n", " ").replace("\\\"", "\""))
}

#[derive(Deserialize)]
struct ReportQuery {
    format: Option<String>,
}

/// `ralph report`: one HTML file, shown apart from this server's origin, or Markdown.
pub async fn report(State(app): Shared, Path(id): Path<String>, uri: Uri) -> Result<Response, Problem> {
    let found = app.runs.find(&id)?;
    let ReportQuery { format } = request::query(&uri)?;
    let (extra, kind) = match format.as_deref() {
        None | Some("html") => (None, "text/html; charset=utf-8"),
        Some("md") => (Some("--md".to_owned()), "text/markdown; charset=utf-8"),
        Some(other) => return Err(Problem::invalid(format!("'{other}' is no format; use html or md"))),
    };
    let args = ["report".to_owned(), id].into_iter().chain(extra).collect();
    let text = children::ralph(&app, found.folder.root(), args, REPORT_TIME).await?;
    let mut response = ([(header::CONTENT_TYPE, kind)], text).into_response();
    // What agents wrote is in it: it may show, and reach nothing.
    response.headers_mut().insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'",
        ),
    );
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_around_the_words_and_never_cuts_a_letter() {
        assert_eq!(excerpt("ÄÖÜ needle ßßß".as_bytes(), "needle").as_deref(), Some("ÄÖÜ needle ßßß"));
        assert_eq!(excerpt(b"nothing", "needle"), None);
        let long = format!("{}İneedle{}", "ü".repeat(500), "ß".repeat(500));
        assert!(excerpt(long.as_bytes(), "needle").unwrap().contains("needle"));
    }
}
