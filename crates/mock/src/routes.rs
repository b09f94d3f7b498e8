//! The API of a request, by its path: each provider has its own paths. Pure.
//!
//! Paths are known by their end, so that every base address works. Token endpoints and metadata servers give out
//! credentials that open nothing.

use serde_json::{Value, json};

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Server-sent events of the Messages API.
    Messages,
    /// The same events in AWS's binary frames.
    EventStream,
    ChatCompletions,
    Responses,
    Gemini,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Route {
    /// Asks the model. The path may say whether the answer streams, and which model is meant.
    Ask {
        format: Format,
        streams: Option<bool>,
        model: Option<String>,
    },
    /// Counts tokens; the answer has this key.
    Count(&'static str),
    Models,
    /// Bedrock's inference profiles.
    Profiles,
    /// One of them, by its id or ARN.
    Profile(String),
    /// A small answer that is always the same.
    Json(Value),
    Text(&'static str, &'static str),
    Unknown,
}

/// Credentials of nobody.
const ACCESS_KEY: &str = "AKIAMOCK";
const SECRET: &str = "mock-secret";
const TOKEN: &str = "mock-token";
/// Far enough away for every test and rehearsal.
const EXPIRES: &str = "2099-01-01T00:00:00Z";
const EXPIRES_SECONDS: u64 = 4_070_908_800;

const STS: &str = "<Response><AssumeRoleResult><Credentials><AccessKeyId>AKIAMOCK</AccessKeyId>\
    <SecretAccessKey>mock-secret</SecretAccessKey><SessionToken>mock-token</SessionToken>\
    <Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></Response>";

/// `form` is the body of a request that is no JSON.
pub(crate) fn route(method: &str, path: &str, form: &str) -> Route {
    match method {
        "POST" => post(path, form),
        "GET" => get(path),
        "PUT" if path == "/latest/api/token" => Route::Text("text/plain", TOKEN),
        _ => Route::Unknown,
    }
}

fn post(path: &str, form: &str) -> Route {
    let ask = |format, streams, model: Option<&str>| Route::Ask { format, streams, model: model.map(unescaped) };
    if let Some((_, rest)) = path.split_once("/model/") {
        return match rest.rsplit_once('/') {
            Some((model, "invoke-with-response-stream")) => ask(Format::EventStream, Some(true), Some(model)),
            Some((model, "invoke")) => ask(Format::Messages, Some(false), Some(model)),
            Some((_, "count-tokens")) => Route::Count("inputTokens"),
            _ => Route::Unknown,
        };
    }
    if let Some((_, rest)) = path.split_once("/publishers/anthropic/models/") {
        return match rest.rsplit_once(':') {
            Some(("count-tokens", _)) => Route::Count("input_tokens"),
            Some((model, "streamRawPredict")) => ask(Format::Messages, Some(true), Some(model)),
            Some((model, "rawPredict")) => ask(Format::Messages, Some(false), Some(model)),
            _ => Route::Unknown,
        };
    }
    if let Some((model, verb)) = path.rsplit_once("/models/").and_then(|(_, rest)| rest.rsplit_once(':')) {
        return match verb {
            "streamGenerateContent" => ask(Format::Gemini, Some(true), Some(model)),
            "generateContent" => ask(Format::Gemini, Some(false), Some(model)),
            "countTokens" => Route::Count("totalTokens"),
            _ => Route::Unknown,
        };
    }
    if path.ends_with("/v1/messages") {
        return ask(Format::Messages, None, None);
    }
    if path.ends_with("/v1/messages/count_tokens") {
        return Route::Count("input_tokens");
    }
    if path.ends_with("/chat/completions") {
        return ask(Format::ChatCompletions, None, None);
    }
    if path.ends_with("/responses") {
        return ask(Format::Responses, None, None);
    }
    if form.contains("Action=AssumeRole") {
        return Route::Text("text/xml", STS);
    }
    if path.ends_with("/token") {
        return Route::Json(json!({"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}));
    }
    if path.ends_with(":generateAccessToken") {
        return Route::Json(json!({"accessToken": TOKEN, "expireTime": EXPIRES}));
    }
    Route::Unknown
}

fn get(path: &str) -> Route {
    let keys = json!({
        "AccessKeyId": ACCESS_KEY, "SecretAccessKey": SECRET, "Token": TOKEN, "Expiration": EXPIRES, "Code": "Success",
    });
    match path {
        "/latest/meta-data/iam/security-credentials/" => Route::Text("text/plain", "mock-role"),
        "/latest/meta-data/iam/security-credentials/mock-role" | "/v2/credentials" => Route::Json(keys),
        "/federation/credentials" => Route::Json(json!({"roleCredentials": {
            "accessKeyId": ACCESS_KEY, "secretAccessKey": SECRET, "sessionToken": TOKEN,
            "expiration": EXPIRES_SECONDS * 1000,
        }})),
        "/computeMetadata/v1/instance/service-accounts/default/token" => {
            Route::Json(json!({"access_token": TOKEN, "expires_in": 3600, "token_type": "Bearer"}))
        }
        "/computeMetadata/v1/project/project-id" => Route::Text("text/plain", "mock-project"),
        "/metadata/identity/oauth2/token" => Route::Json(
            json!({"access_token": TOKEN, "expires_in": "3600", "expires_on": EXPIRES_SECONDS.to_string(), "token_type": "Bearer"}),
        ),
        path if path.starts_with("/inference-profiles/") => {
            Route::Profile(unescaped(path.trim_start_matches("/inference-profiles/")))
        }
        path if path.starts_with("/inference-profiles") => Route::Profiles,
        path if path.ends_with("/v1/models") => Route::Models,
        _ => Route::Unknown,
    }
}

fn unescaped(id: &str) -> String {
    id.replace("%3A", ":").replace("%2F", "/").replace("%40", "@")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_provider_has_its_paths() {
        let ask =
            |format, streams, model: Option<&str>| Route::Ask { format, streams, model: model.map(str::to_owned) };
        let vertex = "/v1/projects/p/locations/us-east5/publishers/anthropic/models/";
        for (path, expected) in [
            ("/v1/messages", ask(Format::Messages, None, None)),
            ("/anthropic/v1/messages", ask(Format::Messages, None, None)),
            (
                "/model/us.anthropic.claude-x-v1:0/invoke-with-response-stream",
                ask(Format::EventStream, Some(true), Some("us.anthropic.claude-x-v1:0")),
            ),
            ("/model/arn:aws:x%2Fy/invoke", ask(Format::Messages, Some(false), Some("arn:aws:x/y"))),
            ("/model/m/count-tokens", Route::Count("inputTokens")),
            (&format!("{vertex}claude-x@1:streamRawPredict"), ask(Format::Messages, Some(true), Some("claude-x@1"))),
            (&format!("{vertex}count-tokens:rawPredict"), Route::Count("input_tokens")),
            ("/v1/chat/completions", ask(Format::ChatCompletions, None, None)),
            ("/v1/responses", ask(Format::Responses, None, None)),
            ("/v1beta/models/gemini-x:streamGenerateContent", ask(Format::Gemini, Some(true), Some("gemini-x"))),
            ("/v1beta/models/gemini-x:generateContent", ask(Format::Gemini, Some(false), Some("gemini-x"))),
            ("/v1beta/models/gemini-x:countTokens", Route::Count("totalTokens")),
            ("/v1/nothing", Route::Unknown),
        ] {
            assert_eq!(route("POST", path, ""), expected, "{path}");
        }
        assert!(matches!(route("POST", "/tenant/oauth2/v2.0/token", "grant_type=x"), Route::Json(_)));
        assert!(matches!(route("POST", "/", "Action=AssumeRole&Version=1"), Route::Text("text/xml", _)));
        assert_eq!(route("PUT", "/latest/api/token", ""), Route::Text("text/plain", TOKEN));
        assert_eq!(route("GET", "/v1/messages", ""), Route::Unknown);
        assert_eq!(route("GET", "/inference-profiles/arn%3Aaws%3Ax%2Fy", ""), Route::Profile("arn:aws:x/y".into()));
    }
}
