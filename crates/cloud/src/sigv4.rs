//! AWS Signature Version 4 for a request whose body is known.
//!
//! Deliberately absent: pre-signed addresses, signed chunks, and the path rules of S3, which differ.

use jiff::Timestamp;
use ring::{digest, hmac};

const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const TERMINATOR: &str = "aws4_request";

/// The key pair that signs, with the token of a temporary one.
#[derive(Clone, PartialEq, Eq)]
pub struct Keys {
    pub access_key_id: String,
    pub secret_access_key: String,
    pub session_token: Option<String>,
}

impl std::fmt::Debug for Keys {
    /// The secret and the token never reach a log.
    fn fmt(&self, to: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(to, "Keys {{ access_key_id: {:?}, .. }}", self.access_key_id)
    }
}

/// What the signature is valid for, beside the request.
#[derive(Debug, Clone, Copy)]
pub struct Scope<'a> {
    pub region: &'a str,
    pub service: &'a str,
}

/// The request as it goes over the wire.
#[derive(Debug, Clone, Copy)]
pub struct Unsigned<'a> {
    pub method: &'a str,
    pub host: &'a str,
    /// With the escapes that are on the wire.
    pub path: &'a str,
    /// Without the question mark, with the escapes that are on the wire.
    pub query: &'a str,
    /// Headers to sign beside those that the signature adds. A header that a proxy may change stays out.
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

/// The headers that make the request a signed one, in the order in which they are added.
pub fn sign(request: &Unsigned, keys: &Keys, scope: Scope, now: Timestamp) -> Vec<(&'static str, String)> {
    let time = time_text(now);
    let body_hash = hex(digest::digest(&digest::SHA256, request.body).as_ref());
    let mut headers: Vec<(String, String)> = request
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), folded(value)))
        .chain([
            ("host".to_owned(), request.host.to_owned()),
            ("x-amz-date".to_owned(), time.clone()),
            ("x-amz-content-sha256".to_owned(), body_hash.clone()),
        ])
        .collect();
    headers.extend(keys.session_token.iter().map(|token| ("x-amz-security-token".to_owned(), token.clone())));
    headers.sort();
    let canonical = canonical_request(request, &headers, &body_hash);
    let to_sign = string_to_sign(&canonical, scope, &time);
    let signature = signature(&to_sign, keys, scope, &time);
    let names = signed_names(&headers);
    let credential = format!("{}/{}", keys.access_key_id, scope_text(scope, &time));
    let authorization = format!("{ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}");
    let mut added = vec![("x-amz-date", time), ("x-amz-content-sha256", body_hash)];
    added.extend(keys.session_token.iter().map(|token| ("x-amz-security-token", token.clone())));
    added.push(("authorization", authorization));
    added
}

/// The form of a request that both sides hash. `headers` are lower case and sorted.
fn canonical_request(request: &Unsigned, headers: &[(String, String)], body_hash: &str) -> String {
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    format!(
        "{}\n{}\n{}\n{lines}\n{}\n{body_hash}",
        request.method,
        canonical_path(request.path),
        canonical_query(request.query),
        signed_names(headers),
    )
}

/// Every segment of the wire's path is escaped once more, as every service but S3 wants it.
fn canonical_path(path: &str) -> String {
    if path.is_empty() {
        return "/".to_owned();
    }
    let segments: Vec<String> = path.split('/').map(escaped).collect();
    segments.join("/")
}

/// The parameters in order of name and value. Their escapes are those of the wire.
fn canonical_query(query: &str) -> String {
    let mut pairs: Vec<(&str, &str)> = query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .collect();
    pairs.sort_unstable();
    let pairs: Vec<String> = pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
    pairs.join("&")
}

fn string_to_sign(canonical: &str, scope: Scope, time: &str) -> String {
    let hash = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
    format!("{ALGORITHM}\n{time}\n{}\n{hash}", scope_text(scope, time))
}

fn signature(to_sign: &str, keys: &Keys, scope: Scope, time: &str) -> String {
    let start = format!("AWS4{}", keys.secret_access_key).into_bytes();
    let key = [day(time), scope.region, scope.service, TERMINATOR]
        .into_iter()
        .fold(start, |key, part| authenticate(&key, part.as_bytes()));
    hex(&authenticate(&key, to_sign.as_bytes()))
}

fn authenticate(key: &[u8], data: &[u8]) -> Vec<u8> {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), data).as_ref().to_vec()
}

fn scope_text(scope: Scope, time: &str) -> String {
    format!("{}/{}/{}/{TERMINATOR}", day(time), scope.region, scope.service)
}

fn signed_names(headers: &[(String, String)]) -> String {
    let mut names: Vec<&str> = headers.iter().map(|(name, _)| name.as_str()).collect();
    names.dedup();
    names.join(";")
}

fn time_text(now: Timestamp) -> String {
    now.strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// The date of a time in the form that [`time_text`] writes.
fn day(time: &str) -> &str {
    time.get(..8).unwrap_or(time)
}

/// A header's value without blanks around it and with one blank between its words.
fn folded(value: &str) -> String {
    let words: Vec<&str> = value.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// Percent-encodes everything but the unreserved characters of RFC 3986.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~') {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[path = "sigv4_tests.rs"]
mod tests;
