//! The page's files, packed, in the binary. Nothing is loaded from anywhere else.

use crate::problem::Problem;
use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Read as _;

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// A file of the page as the build script has packed it.
macro_rules! packed {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/page/", $name))
    };
}

/// Name, kind, packed content.
const FILES: [(&str, &str, &[u8]); 17] = [
    ("index.html", HTML, packed!("index.html")),
    ("style.css", STYLE, packed!("style.css")),
    ("app.js", SCRIPT, packed!("app.js")),
    ("api.js", SCRIPT, packed!("api.js")),
    ("runs.js", SCRIPT, packed!("runs.js")),
    ("run.js", SCRIPT, packed!("run.js")),
    ("feed.js", SCRIPT, packed!("feed.js")),
    ("diff.js", SCRIPT, packed!("diff.js")),
    ("goals.js", SCRIPT, packed!("goals.js")),
    ("costs.js", SCRIPT, packed!("costs.js")),
    ("search.js", SCRIPT, packed!("search.js")),
    ("words.js", SCRIPT, packed!("words.js")),
    ("icon.svg", "image/svg+xml", packed!("icon.svg")),
    ("vendor/preact-htm.js", SCRIPT, packed!("vendor/preact-htm.js")),
    ("vendor/uplot.js", SCRIPT, packed!("vendor/uplot.js")),
    ("vendor/uplot.css", STYLE, packed!("vendor/uplot.css")),
    ("vendor/LICENSES", TEXT, packed!("vendor/LICENSES")),
];

pub async fn index(headers: HeaderMap) -> Response {
    answer("index.html", &headers)
}

pub async fn icon(headers: HeaderMap) -> Response {
    answer("icon.svg", &headers)
}

pub async fn file(Path(name): Path<String>, headers: HeaderMap) -> Response {
    answer(&name, &headers)
}

fn answer(name: &str, headers: &HeaderMap) -> Response {
    let Some((_, kind, packed)) = FILES.iter().find(|(known, ..)| *known == name) else {
        return Problem::not_found(format!("the page has no file '{name}'")).into_response();
    };
    let tag = tag(packed);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let mut response = if known == Some(tag.as_str()) {
        StatusCode::NOT_MODIFIED.into_response()
    } else if takes_packed(headers) {
        ([(header::CONTENT_TYPE, *kind), (header::CONTENT_ENCODING, "gzip")], *packed).into_response()
    } else {
        match unpack(packed) {
            Ok(bytes) => ([(header::CONTENT_TYPE, *kind)], bytes).into_response(),
            Err(error) => return Problem::internal(format!("the page's file '{name}': {error}")).into_response(),
        }
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    // Asked for each time, answered with 304: a new binary is a new page.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// Every browser does. A list that gives gzip a weight of its own (`gzip;q=0` says no) gets the file unpacked.
fn takes_packed(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|coding| coding.trim() == "gzip")
}

fn unpack(packed: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn tag(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a page may do is in its own files: nothing from outside, no HTML made of texts, no code made of texts.
    #[test]
    fn our_files_load_nothing_from_outside_and_make_no_html() {
        for (name, _, packed) in FILES.iter().filter(|(name, ..)| !name.starts_with("vendor/")) {
            let text = String::from_utf8(unpack(packed).unwrap()).unwrap();
            for word in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "dangerously",
            ] {
                assert!(!text.contains(word), "{name} has {word}");
            }
            let addresses = text.matches("https://").count() + text.matches("http://").count();
            let of_svg = text.matches("http://www.w3.org/2000/svg").count();
            assert_eq!(addresses, of_svg, "{name} names an address");
        }
    }

    /// Packed for who takes it, and for nobody else; the same file either way.
    #[tokio::test]
    async fn a_file_is_sent_as_its_reader_takes_it() {
        for (asked, is_packed) in [
            (None, false),
            (Some("gzip, deflate, br"), true),
            (Some("br,gzip"), true),
            (Some("identity"), false),
            (Some("gzip;q=0"), false),
            (Some("x-gzip-not"), false),
        ] {
            let mut headers = HeaderMap::new();
            if let Some(asked) = asked {
                headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(asked));
            }
            let response = answer("vendor/uplot.js", &headers);
            assert_eq!(response.headers().contains_key(header::CONTENT_ENCODING), is_packed, "{asked:?}");
            let sent = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
            let text = if is_packed { unpack(&sent).unwrap() } else { sent.to_vec() };
            assert_eq!(text, include_bytes!("../page/vendor/uplot.js"), "{asked:?}");
        }
    }

    #[test]
    fn every_import_is_there() {
        let is_ours = |name: &str| name.strip_suffix(".js").is_some_and(|name| !name.starts_with("vendor/"));
        for (name, _, packed) in FILES.iter().filter(|(name, ..)| is_ours(name)) {
            let text = String::from_utf8(unpack(packed).unwrap()).unwrap();
            for import in text.lines().filter_map(|line| line.split_once(" from \"./").map(|(_, rest)| rest)) {
                let file = import.split('"').next().unwrap();
                assert!(FILES.iter().any(|(known, ..)| *known == file), "{name} imports {file}");
            }
        }
    }
}
