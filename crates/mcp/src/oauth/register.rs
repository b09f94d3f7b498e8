//! Who we are to an authorization server: the client id of the server's entry, or one that it gives us (RFC 7591).

use super::discovery::{AuthServer, BODY_MAX, PATIENCE};
use super::error::LoginError;
use crate::web;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Value, json};

/// How this program is called on the page where the user decides.
const NAME: &str = "Ralph";

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) secret: Option<String>,
    /// The secret goes into a header instead of the form.
    pub(super) basic_auth: bool,
}

impl Client {
    /// A client that was registered by hand.
    pub(super) fn known(id: &str, secret: Option<String>, server: &AuthServer) -> Self {
        let methods = server.token_endpoint_auth_methods_supported.as_deref();
        // The standard's default is the header.
        let basic_auth = secret.is_some() && methods.is_none_or(|methods| has(methods, "client_secret_basic"));
        Self { id: id.to_owned(), secret, basic_auth }
    }
}

fn has(methods: &[String], method: &str) -> bool {
    methods.iter().any(|known| known == method)
}

/// A client id for this machine.
pub(super) async fn register(
    client: &reqwest::Client,
    server: &AuthServer,
    redirect: &str,
    scopes: &[String],
) -> Result<Client, LoginError> {
    const WHAT: &str = "registration with the authorization server";
    let Some(endpoint) = &server.registration_endpoint else { return Err(LoginError::NoRegistration) };
    let mut wanted = json!({
        "client_name": NAME,
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    });
    if !scopes.is_empty() {
        wanted["scope"] = json!(scopes.join(" "));
    }
    let request = client.post(endpoint).header(CONTENT_TYPE, "application/json").header(ACCEPT, "application/json");
    let response = web::send(request.body(wanted.to_string()), PATIENCE).await.map_err(LoginError::web(WHAT))?;
    if !response.status().is_success() {
        return Err(LoginError::web(WHAT)(web::refusal(response).await.0));
    }
    let body = web::body(response, BODY_MAX).await.map_err(LoginError::web(WHAT))?;
    read(&body).ok_or_else(|| LoginError::unclear(WHAT, "its answer has no client_id"))
}

fn read(body: &[u8]) -> Option<Client> {
    let answer: Value = serde_json::from_slice(body).ok()?;
    let text = |key: &str| answer[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let secret = text("client_secret");
    let basic_auth =
        secret.is_some() && text("token_endpoint_auth_method").is_some_and(|it| it == "client_secret_basic");
    Some(Client { id: text("client_id")?, secret, basic_auth })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_registration_gives() {
        let client =
            |secret: Option<&str>, basic_auth| Client { id: "c".into(), secret: secret.map(str::to_owned), basic_auth };
        for (body, expected) in [
            (r#"{"client_id":"c"}"#, Some(client(None, false))),
            (
                r#"{"client_id":"c","client_secret":"s","token_endpoint_auth_method":"client_secret_basic"}"#,
                Some(client(Some("s"), true)),
            ),
            (r#"{"client_id":"c","client_secret":"s"}"#, Some(client(Some("s"), false))),
            (r#"{"client_id":""}"#, None),
            (r#"{"error":"invalid_redirect_uri"}"#, None),
            ("<html>", None),
        ] {
            assert_eq!(read(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn a_known_secret_goes_where_the_server_takes_it() {
        let methods = |list: Option<&[&str]>| AuthServer {
            token_endpoint_auth_methods_supported: list.map(|list| list.iter().map(|it| (*it).to_owned()).collect()),
            ..AuthServer::default()
        };
        for (list, secret, basic) in [
            (None, Some("s"), true),
            (None, None, false),
            (Some(&["client_secret_post"][..]), Some("s"), false),
            (Some(&["client_secret_basic", "none"][..]), Some("s"), true),
        ] {
            let client = Client::known("c", secret.map(str::to_owned), &methods(list));
            assert_eq!(client.basic_auth, basic, "{list:?} {secret:?}");
        }
    }
}
