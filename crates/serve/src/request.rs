//! Reading requests within bounds: queries, JSON bodies and raw ones, each with a refusal that says what is wrong.

use crate::problem::Problem;
use axum::body::Body;
use axum::extract::Query;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// Of a body that is JSON.
pub const JSON_MAX: usize = 1024 * 1024;
/// Of a file.
pub const FILE_MAX: usize = 64 * 1024 * 1024;
/// For a whole body: 64 MiB in this time are half a megabyte a second.
const BODY_TIME: Duration = Duration::from_mins(2);
/// For a JSON body.
const JSON_TIME: Duration = Duration::from_secs(20);

pub fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Problem> {
    let read = Query::<T>::try_from_uri(uri);
    read.map(|Query(value)| value).map_err(|error| Problem::invalid(format!("the query cannot be read: {error}")))
}

/// A JSON body. An empty one counts as `{}` where `T` can be read from that.
pub async fn json<T: DeserializeOwned>(headers: &HeaderMap, body: Body) -> Result<T, Problem> {
    let bytes = read(headers, body, JSON_MAX, JSON_TIME).await?;
    if bytes.is_empty() {
        return serde_json::from_str("{}").map_err(|error| Problem::invalid(format!("a body is needed: {error}")));
    }
    if !is_json(headers) {
        let detail = "the Content-Type must be application/json";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail));
    }
    serde_json::from_slice(&bytes).map_err(|error| Problem::invalid(format!("the body cannot be read: {error}")))
}

pub fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

pub async fn file(headers: &HeaderMap, body: Body) -> Result<Bytes, Problem> {
    read(headers, body, FILE_MAX, BODY_TIME).await
}

async fn read(headers: &HeaderMap, body: Body, most: usize, time: Duration) -> Result<Bytes, Problem> {
    let too_large = || Problem::too_large(format!("a body may have {most} bytes here"));
    let said = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if said.is_some_and(|said| said > most as u64) {
        return Err(too_large());
    }
    let reading = async {
        let mut chunks = body.into_data_stream();
        let mut bytes = BytesMut::new();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|error| Problem::invalid(format!("the body did not arrive: {error}")))?;
            if bytes.len() + chunk.len() > most {
                return Err(too_large());
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(bytes.freeze())
    };
    let late = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "timeout", "the body came too slowly");
    tokio::time::timeout(time, reading).await.map_err(late)?
}
