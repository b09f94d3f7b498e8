//! Tokens for a code, and new tokens for old ones.

use super::discovery::{BODY_MAX, PATIENCE};
use super::error::LoginError;
use super::login::ServerLogin;
use crate::web;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use reqwest::RequestBuilder;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use serde_json::Value;
use std::time::{SystemTime, UNIX_EPOCH};
use tools::bounded::cut;
use url::form_urlencoded::{Serializer, byte_serialize};

const WHAT: &str = "the authorization server";

/// Shown of what an authorization server says.
const SAID_MAX: usize = 300;

/// Milliseconds since 1970.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// What is asked for.
pub(super) enum Grant<'a> {
    Code { code: &'a str, redirect: &'a str, verifier: &'a str },
    Refresh(&'a str),
}

/// Asks with what `login` knows of the client and the endpoint, and returns it with its new tokens.
pub(super) async fn ask(
    client: &reqwest::Client,
    login: &ServerLogin,
    grant: &Grant<'_>,
) -> Result<ServerLogin, LoginError> {
    let request = request(client, &login.token_endpoint, login).body(form(login, grant));
    let response = web::send(request, PATIENCE).await.map_err(LoginError::web(WHAT))?;
    let status = response.status();
    let body = web::body(response, BODY_MAX).await.map_err(LoginError::web(WHAT))?;
    let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
    if status.is_success() {
        return renewed(login, &answer, now_ms())
            .ok_or_else(|| LoginError::unclear("its answer", "there is no bearer token in it"));
    }
    match answer["error"].as_str() {
        Some("invalid_grant") if matches!(grant, Grant::Refresh(_)) => Err(LoginError::Over),
        Some(error) => {
            let about = answer["error_description"].as_str().map(|text| format!(": {}", cut(text, SAID_MAX)));
            Err(LoginError::Denied(format!("{}{}", cut(error, SAID_MAX), about.unwrap_or_default())))
        }
        None => Err(LoginError::Web { what: WHAT, reason: format!("it answered HTTP {}", status.as_u16()) }),
    }
}

/// A form for an endpoint of the authorization server, from the login's client.
pub(super) fn request(client: &reqwest::Client, endpoint: &str, login: &ServerLogin) -> RequestBuilder {
    let request = client.post(endpoint).header(ACCEPT, "application/json");
    let request = request.header(CONTENT_TYPE, "application/x-www-form-urlencoded");
    let Some(secret) = login.client_secret.as_deref().filter(|_| login.basic_auth) else { return request };
    let encoded = |text: &str| byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(&login.client_id), encoded(secret));
    request.header(AUTHORIZATION, format!("Basic {}", STANDARD.encode(pair)))
}

/// The fields of a form that say who asks.
pub(super) fn append_client(form: &mut Serializer<'_, String>, login: &ServerLogin) {
    form.append_pair("client_id", &login.client_id);
    if let Some(secret) = login.client_secret.as_deref().filter(|_| !login.basic_auth) {
        form.append_pair("client_secret", secret);
    }
}

fn form(login: &ServerLogin, grant: &Grant<'_>) -> String {
    let mut form = Serializer::new(String::new());
    match grant {
        Grant::Code { code, redirect, verifier } => {
            form.append_pair("grant_type", "authorization_code").append_pair("code", code);
            form.append_pair("redirect_uri", redirect).append_pair("code_verifier", verifier);
        }
        Grant::Refresh(token) => {
            form.append_pair("grant_type", "refresh_token").append_pair("refresh_token", token);
        }
    }
    append_client(&mut form, login);
    if let Some(resource) = &login.resource {
        form.append_pair("resource", resource);
    }
    form.finish()
}

/// Without a new refresh token the old one stays.
fn renewed(login: &ServerLogin, answer: &Value, now_ms: i64) -> Option<ServerLogin> {
    let text = |key: &str| answer[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let is_bearer = text("token_type").is_none_or(|kind| kind.eq_ignore_ascii_case("bearer"));
    let access_token = text("access_token").filter(|_| is_bearer)?;
    let seconds = answer["expires_in"].as_i64().or_else(|| answer["expires_in"].as_str()?.parse().ok());
    Some(ServerLogin {
        access_token,
        refresh_token: text("refresh_token").or_else(|| login.refresh_token.clone()),
        expires_at: seconds
            .filter(|seconds| *seconds > 0)
            .map(|seconds| now_ms.saturating_add(seconds.saturating_mul(1000))),
        scope: text("scope").or_else(|| login.scope.clone()),
        ..login.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn login() -> ServerLogin {
        ServerLogin {
            server_name: "s".into(),
            server_url: "https://a.test/mcp".into(),
            access_token: "old".into(),
            refresh_token: Some("r".into()),
            expires_at: Some(1),
            scope: Some("read".into()),
            client_id: "c d".into(),
            client_secret: Some("x".into()),
            basic_auth: false,
            token_endpoint: "https://a.test/token".into(),
            revocation_endpoint: None,
            resource: Some("https://a.test/mcp".into()),
        }
    }

    #[test]
    fn a_form_has_what_the_grant_needs() {
        let code = form(&login(), &Grant::Code { code: "k&", redirect: "http://127.0.0.1:1/callback", verifier: "v" });
        assert_eq!(
            code,
            "grant_type=authorization_code&code=k%26&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback&code_verifier=v\
             &client_id=c+d&client_secret=x&resource=https%3A%2F%2Fa.test%2Fmcp"
        );
        let basic = ServerLogin { basic_auth: true, resource: None, ..login() };
        assert_eq!(form(&basic, &Grant::Refresh("r")), "grant_type=refresh_token&refresh_token=r&client_id=c+d");
    }

    #[test]
    fn an_answer_renews_what_it_says_and_keeps_the_rest() {
        let new = renewed(&login(), &json!({"access_token": "new", "token_type": "bearer", "expires_in": 60}), 1_000)
            .unwrap();
        assert_eq!((new.access_token.as_str(), new.refresh_token.as_deref()), ("new", Some("r")));
        assert_eq!((new.expires_at, new.scope.as_deref()), (Some(61_000), Some("read")));
        let new =
            renewed(&login(), &json!({"access_token": "new", "refresh_token": "r2", "scope": "write"}), 0).unwrap();
        assert_eq!(
            (new.refresh_token.as_deref(), new.expires_at, new.scope.as_deref()),
            (Some("r2"), None, Some("write"))
        );
        for bad in
            [json!({}), json!(null), json!({"access_token": ""}), json!({"access_token": "a", "token_type": "mac"})]
        {
            assert_eq!(renewed(&login(), &bad, 0), None, "{bad}");
        }
        let huge = renewed(&login(), &json!({"access_token": "a", "expires_in": i64::MAX}), i64::MAX).unwrap();
        assert_eq!(huge.expires_at, Some(i64::MAX));
    }
}
