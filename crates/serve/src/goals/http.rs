//! The requests.

use super::store::Verb;
use crate::app::App;
use crate::children;
use crate::problem::Problem;
use crate::request;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri};
use goals::machine::GoalEvent;
use goals::{Edit, Filter, GoalId, GoalState};
use serde::Deserialize;
use serde_json::Value;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

type Shared = State<Arc<App>>;

/// Looking at a repository and its branch.
const ADD_TIME: Duration = Duration::from_secs(45);
/// Of a comment or an answer.
const TEXT_MAX: usize = 64 * 1024;

#[derive(Deserialize)]
struct ListQuery {
    #[serde(default)]
    all: bool,
    state: Option<String>,
    label: Option<String>,
}

pub async fn list(State(app): Shared, uri: Uri) -> Result<Json<Value>, Problem> {
    let ListQuery { all, state, label } = request::query(&uri)?;
    let state = match state {
        None => None,
        Some(word) => {
            let unknown = || Problem::invalid(format!("'{word}' is no state of a goal"));
            Some(GoalState::parse(&word).ok_or_else(unknown)?)
        }
    };
    app.goals.ask(Verb::List(Filter { all, state, label })).await.map(Json)
}

pub async fn one(State(app): Shared, Path(id): Path<GoalId>) -> Result<Json<Value>, Problem> {
    app.goals.ask(Verb::Show(id)).await.map(Json)
}

#[derive(Deserialize)]
struct LogQuery {
    #[serde(default)]
    after: i64,
}

pub async fn log(State(app): Shared, Path(id): Path<GoalId>, uri: Uri) -> Result<Json<Value>, Problem> {
    let LogQuery { after } = request::query(&uri)?;
    app.goals.ask(Verb::Log { id, after }).await.map(Json)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewGoalBody {
    text: String,
    /// A served folder; the first where it is left out.
    folder: Option<String>,
    title: Option<String>,
    base: Option<String>,
    #[serde(default)]
    checks: Vec<String>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    after: Vec<GoalId>,
    priority: Option<i64>,
    max_iterations: Option<u32>,
    max_cost: Option<f64>,
    model: Option<String>,
    land: Option<String>,
    #[serde(default)]
    draft: bool,
}

/// The words behind `ralph goal`, but for the file with the text.
fn words(body: &NewGoalBody) -> Vec<String> {
    let mut words = vec!["--json".to_owned()];
    let mut add = |flag: &str, value: Option<String>| words.extend(value.map(|value| format!("--{flag}={value}")));
    add("title", body.title.clone());
    add("base", body.base.clone());
    add("priority", body.priority.map(|number| number.to_string()));
    add("max-iterations", body.max_iterations.map(|number| number.to_string()));
    add("max-cost", body.max_cost.map(|number| number.to_string()));
    add("model", body.model.clone());
    add("land", body.land.clone());
    for (flag, values) in [("check", &body.checks), ("label", &body.labels)] {
        for value in values {
            add(flag, Some(value.clone()));
        }
    }
    for id in &body.after {
        add("after", Some(id.to_string()));
    }
    if body.draft {
        words.push("--draft".to_owned());
    }
    words
}

pub async fn add(State(app): Shared, headers: HeaderMap, body: Body) -> Result<(StatusCode, Json<Value>), Problem> {
    let body: NewGoalBody = request::json(&headers, body).await?;
    if body.text.trim().is_empty() {
        return Err(Problem::invalid("a goal needs a text"));
    }
    let (_, folder) = app.folders.place_folder(body.folder.as_deref())?;
    // In a file: a text may be longer than an argument, and begin with a dash.
    let failed = |error: std::io::Error| Problem::internal(format!("the text cannot be handed over: {error}"));
    let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
    file.write_all(body.text.as_bytes()).map_err(failed)?;
    let file_flag = ["-f".to_owned(), file.path().display().to_string()];
    let args = ["goal".to_owned(), "add".to_owned()].into_iter().chain(file_flag).chain(words(&body)).collect();
    let said = children::ralph(&app, &folder, args, ADD_TIME).await?;
    let goal = serde_json::from_str(said.trim()).map_err(|_| Problem::internal("'ralph goal add' gave no goal"))?;
    Ok((StatusCode::CREATED, Json(goal)))
}

#[derive(Deserialize)]
struct TextBody {
    text: String,
}

async fn text(headers: &HeaderMap, body: Body) -> Result<String, Problem> {
    let TextBody { text } = request::json(headers, body).await?;
    if text.trim().is_empty() {
        return Err(Problem::invalid("the text is empty"));
    }
    if text.len() > TEXT_MAX {
        return Err(Problem::too_large(format!("a text has at most {TEXT_MAX} bytes")));
    }
    Ok(text)
}

pub async fn comment(
    State(app): Shared,
    Path(id): Path<GoalId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let text = text(&headers, body).await?;
    app.goals.ask(Verb::Comment { id, text }).await.map(Json)
}

pub async fn answer(
    State(app): Shared,
    Path(id): Path<GoalId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let text = text(&headers, body).await?;
    app.goals.ask(Verb::Act { id, happening: GoalEvent::Answer { text } }).await.map(Json)
}

#[derive(Deserialize)]
struct EditBody {
    title: Option<String>,
    priority: Option<i64>,
    labels: Option<Vec<String>>,
}

pub async fn edit(
    State(app): Shared,
    Path(id): Path<GoalId>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<Value>, Problem> {
    let EditBody { title, priority, labels } = request::json(&headers, body).await?;
    let edit = Box::new(Edit { title, priority, labels, ..Edit::default() });
    app.goals.ask(Verb::Edit { id, edit }).await.map(Json)
}

async fn act(app: &App, id: GoalId, happening: GoalEvent) -> Result<Json<Value>, Problem> {
    app.goals.ask(Verb::Act { id, happening }).await.map(Json)
}

pub async fn retry(State(app): Shared, Path(id): Path<GoalId>) -> Result<Json<Value>, Problem> {
    act(&app, id, GoalEvent::Retry).await
}

pub async fn cancel(State(app): Shared, Path(id): Path<GoalId>) -> Result<Json<Value>, Problem> {
    act(&app, id, GoalEvent::Cancel).await
}

pub async fn queue(State(app): Shared, Path(id): Path<GoalId>) -> Result<Json<Value>, Problem> {
    act(&app, id, GoalEvent::Publish).await
}
