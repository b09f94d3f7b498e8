//! From the link to a cookie: the page takes the token from behind the `#`, which no server and no log sees, and swaps it here for a
//! cookie that scripts cannot read and other sites do not send.

use crate::app::App;
use crate::guard::Access;
use crate::problem::Problem;
use crate::request;
use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;

type Shared = State<Arc<App>>;

/// A month; the token itself is valid until it is renewed.
const COOKIE_SECONDS: u32 = 30 * 24 * 3600;

#[derive(Deserialize)]
struct LoginBody {
    token: String,
}

pub async fn login(State(app): Shared, headers: HeaderMap, body: Body) -> Result<Response, Problem> {
    // A form of another page cannot send this.
    if !request::is_json(&headers) {
        let detail = "the Content-Type must be application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail));
    }
    let LoginBody { token } = request::json(&headers, body).await?;
    let Some(tokens) = &app.guard.tokens else { return Ok(StatusCode::NO_CONTENT.into_response()) };
    let wrong = || Problem::new(StatusCode::UNAUTHORIZED, "token_invalid", "the token is not valid");
    let access = tokens.access(&token).ok_or_else(wrong)?;
    Ok(with_cookie(&app, &token, COOKIE_SECONDS, Json(json!({"access": word(access)})).into_response()))
}

pub async fn logout(State(app): Shared) -> Response {
    with_cookie(&app, "", 0, StatusCode::NO_CONTENT.into_response())
}

fn with_cookie(app: &App, token: &str, seconds: u32, mut response: Response) -> Response {
    // No `Secure`: on loopback there is no TLS, and browsers would not keep it.
    let cookie = format!("{}={token}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}", app.guard.cookie);
    if let Ok(value) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(header::SET_COOKIE, value);
    }
    response
}

fn word(access: Access) -> &'static str {
    match access {
        Access::Open => "open",
        Access::ReadOnly => "read",
        Access::Full => "full",
    }
}

/// What the page may show and offer.
pub async fn me(State(app): Shared, Extension(access): Extension<Access>) -> Json<Value> {
    let folders: Vec<String> = app.folders.roots().iter().map(|root| root.display().to_string()).collect();
    Json(json!({
        "access": word(access),
        "version": app.version,
        "folders": folders,
        "exec": app.processes.is_some(),
    }))
}

pub async fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}
