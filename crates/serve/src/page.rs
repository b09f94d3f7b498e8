//! The page's files, in the binary. Nothing is loaded from anywhere else.

use axum::extract::Path;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// Name, kind, content.
const FILES: [(&str, &str, &[u8]); 17] = [
    ("index.html", HTML, include_bytes!("../page/index.html")),
    ("style.css", STYLE, include_bytes!("../page/style.css")),
    ("app.js", SCRIPT, include_bytes!("../page/app.js")),
    ("api.js", SCRIPT, include_bytes!("../page/api.js")),
    ("runs.js", SCRIPT, include_bytes!("../page/runs.js")),
    ("run.js", SCRIPT, include_bytes!("../page/run.js")),
    ("feed.js", SCRIPT, include_bytes!("../page/feed.js")),
    ("diff.js", SCRIPT, include_bytes!("../page/diff.js")),
    ("goals.js", SCRIPT, include_bytes!("../page/goals.js")),
    ("costs.js", SCRIPT, include_bytes!("../page/costs.js")),
    ("search.js", SCRIPT, include_bytes!("../page/search.js")),
    ("words.js", SCRIPT, include_bytes!("../page/words.js")),
    ("icon.svg", "image/svg+xml", include_bytes!("../page/icon.svg")),
    ("vendor/preact-htm.js", SCRIPT, include_bytes!("../page/vendor/preact-htm.js")),
    ("vendor/uplot.js", SCRIPT, include_bytes!("../page/vendor/uplot.js")),
    ("vendor/uplot.css", STYLE, include_bytes!("../page/vendor/uplot.css")),
    ("vendor/LICENSES", TEXT, include_bytes!("../page/vendor/LICENSES")),
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
    let Some((_, kind, bytes)) = FILES.iter().find(|(known, ..)| *known == name) else {
        return crate::problem::Problem::not_found(format!("the page has no file '{name}'")).into_response();
    };
    let tag = tag(bytes);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let mut response = if known == Some(tag.as_str()) {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(header::CONTENT_TYPE, *kind)], *bytes).into_response()
    };
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    // Asked for each time, answered with 304: a new binary is a new page.
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
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
        for (name, _, bytes) in FILES.iter().filter(|(name, ..)| !name.starts_with("vendor/")) {
            let text = std::str::from_utf8(bytes).unwrap();
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

    #[test]
    fn every_import_is_there() {
        let is_ours = |name: &str| name.strip_suffix(".js").is_some_and(|name| !name.starts_with("vendor/"));
        for (name, _, bytes) in FILES.iter().filter(|(name, ..)| is_ours(name)) {
            let text = std::str::from_utf8(bytes).unwrap();
            for import in text.lines().filter_map(|line| line.split_once(" from \"./").map(|(_, rest)| rest)) {
                let file = import.split('"').next().unwrap();
                assert!(FILES.iter().any(|(known, ..)| *known == file), "{name} imports {file}");
            }
        }
    }
}
