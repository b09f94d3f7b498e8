//! `/v1/fs/*`: the files of the served folders.

use crate::app::App;
use crate::files::Served;
use crate::problem::Problem;
use crate::request;
use crate::tar;
use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, Uri, header};
use axum::response::IntoResponse;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

type Shared = State<Arc<App>>;

#[derive(Deserialize)]
struct PathQuery {
    path: String,
}

#[derive(Deserialize)]
struct MaybePath {
    path: Option<String>,
}

/// Files are slow on some disks: other requests go on meanwhile.
async fn apart<T: Send + 'static>(work: impl FnOnce() -> Result<T, Problem> + Send + 'static) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Problem::internal("the file operation failed; see the server's messages")))
}

fn placed(app: &App, uri: &Uri) -> Result<Served, Problem> {
    app.folders.place(&request::query::<PathQuery>(uri)?.path)
}

/// The same for a change. Files that later runs obey are not written here: with them, the holder of a token could run programs
/// outside of the sandbox, which only `--allow-exec` allows, and only inside of it.
fn placed_for_change(app: &App, path: &str) -> Result<Served, Problem> {
    let served = app.folders.place(path)?;
    refuse_obeyed(&served)?;
    Ok(served)
}

fn refuse_obeyed(served: &Served) -> Result<(), Problem> {
    if sandbox::is_obeyed(&served.rest) {
        let path = served.shown();
        return Err(Problem::denied(format!(
            "{path} decides what programs run or what agents may do, so it is not changed over HTTP; change it on the machine itself"
        )));
    }
    Ok(())
}

pub async fn entries(State(app): Shared, uri: Uri) -> Result<impl IntoResponse, Problem> {
    let path = request::query::<MaybePath>(&uri)?.path;
    let served = app.folders.place(path.as_deref().unwrap_or("."))?;
    apart(move || served.list()).await.map(Json)
}

/// As a download: a file of a folder must never be a page of this server.
pub async fn read(State(app): Shared, uri: Uri) -> Result<impl IntoResponse, Problem> {
    let served = placed(&app, &uri)?;
    let bytes = apart(move || served.read(request::FILE_MAX)).await?;
    let response = Response::builder()
        .header(header::CONTENT_TYPE, "application/octet-stream")
        .header(header::CONTENT_DISPOSITION, "attachment")
        .body(Body::from(bytes));
    response.map_err(|error| Problem::internal(error.to_string()))
}

pub async fn write(State(app): Shared, uri: Uri, headers: HeaderMap, body: Body) -> Result<impl IntoResponse, Problem> {
    let served = placed_for_change(&app, &request::query::<PathQuery>(&uri)?.path)?;
    let bytes = request::file(&headers, body).await?;
    apart(move || {
        served.write(&bytes)?;
        Ok(Json(json!({"path": served.shown(), "bytesWritten": bytes.len()})))
    })
    .await
}

#[derive(Deserialize)]
struct RemoveQuery {
    path: String,
    #[serde(default)]
    recursive: bool,
}

pub async fn remove(State(app): Shared, uri: Uri) -> Result<impl IntoResponse, Problem> {
    let RemoveQuery { path, recursive } = request::query(&uri)?;
    let served = placed_for_change(&app, &path)?;
    apart(move || served.remove(recursive).map(|()| Json(json!({"path": served.shown()})))).await
}

pub async fn make_folder(State(app): Shared, uri: Uri) -> Result<impl IntoResponse, Problem> {
    let served = placed_for_change(&app, &request::query::<PathQuery>(&uri)?.path)?;
    apart(move || served.make_folder().map(|()| Json(json!({"path": served.shown()})))).await
}

#[derive(Deserialize)]
struct MoveBody {
    from: String,
    to: String,
    overwrite: Option<bool>,
}

pub async fn rename(State(app): Shared, headers: HeaderMap, body: Body) -> Result<impl IntoResponse, Problem> {
    let MoveBody { from, to, overwrite } = request::json(&headers, body).await?;
    let (from, to) = (placed_for_change(&app, &from)?, placed_for_change(&app, &to)?);
    apart(move || {
        from.rename(&to, overwrite.unwrap_or(false))?;
        Ok(Json(json!({"from": from.shown(), "to": to.shown()})))
    })
    .await
}

/// A file that is not there is a 400 in this interface; clients look for that.
pub async fn stat(State(app): Shared, uri: Uri) -> Result<impl IntoResponse, Problem> {
    let served = placed(&app, &uri)?;
    apart(move || {
        let entry = served.stat().map_err(|problem| match problem.kind {
            "not_found" => Problem::invalid(problem.detail),
            _ => problem,
        })?;
        let mut value = json!(entry);
        if let Some(fields) = value.as_object_mut() {
            fields.remove("name");
        }
        Ok(Json(value))
    })
    .await
}

pub async fn upload(State(app): Shared, uri: Uri, headers: HeaderMap, body: Body) -> Result<Json<Value>, Problem> {
    let path = request::query::<MaybePath>(&uri)?.path;
    let folder = app.folders.place(path.as_deref().unwrap_or("."))?;
    let archive = request::file(&headers, body).await?;
    apart(move || {
        let mut paths = Vec::new();
        let entries = tar::entries(&archive).map_err(|error| Problem::invalid(error.to_string()))?;
        let placed = |path: &Path| Served { root: folder.root.clone(), rest: folder.rest.join(path) };
        // All or nothing: half of an archive is worse than none.
        entries.iter().try_for_each(|entry| refuse_obeyed(&placed(&entry.path)))?;
        for entry in entries {
            let served = placed(&entry.path);
            match entry.bytes {
                Some(bytes) => {
                    served.write(bytes)?;
                    paths.push(served.shown());
                }
                None => served.make_folder()?,
            }
        }
        Ok(Json(json!({"paths": paths, "truncated": false})))
    })
    .await
}
