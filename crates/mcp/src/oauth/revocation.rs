//! Revocation (RFC 7009): the tokens of a login that is over stop working at the server, too.
//!
//! Deliberately absent: removing the login from this machine, which is done whatever the server says (the caller).

use super::discovery::{PATIENCE, safe};
use super::error::LoginError;
use super::login::ServerLogin;
use super::tokens::{append_client, request};
use crate::web;
use reqwest::ClientBuilder;
use std::fmt::Display;
use url::Url;
use url::form_urlencoded::Serializer;

/// What became of the tokens at the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Revocation {
    Revoked,
    /// The authorization server takes none back.
    NotOffered,
}

/// Takes both tokens back. The refresh token goes first: without it nobody gets another access token.
pub async fn revoke<E: Display>(
    login: &ServerLogin,
    http: &dyn Fn(&Url) -> Result<ClientBuilder, E>,
) -> Result<Revocation, LoginError> {
    let Some(endpoint) = &login.revocation_endpoint else { return Ok(Revocation::NotOffered) };
    let address = Url::parse(endpoint)
        .map_err(|error| LoginError::unclear("the address for revoked tokens", error.to_string()))?;
    safe(&address)?;
    let builder = http(&address).map_err(|error| LoginError::Setup(error.to_string()))?;
    let client = web::client(builder).map_err(|error| LoginError::Setup(error.to_string()))?;
    let refresh = login.refresh_token.as_deref().map(|token| (token, "refresh_token", "the refresh token"));
    let access = (login.access_token.as_str(), "access_token", "the access token");
    for (token, kind, what) in refresh.into_iter().chain([access]) {
        let request = request(&client, endpoint, login).body(form(login, token, kind));
        let response = web::send(request, PATIENCE).await.map_err(LoginError::web(what))?;
        // A server answers so for tokens that it does not know, too.
        if !response.status().is_success() {
            return Err(LoginError::web(what)(web::refusal(response).await.0));
        }
    }
    Ok(Revocation::Revoked)
}

fn form(login: &ServerLogin, token: &str, kind: &str) -> String {
    let mut form = Serializer::new(String::new());
    form.append_pair("token", token).append_pair("token_type_hint", kind);
    append_client(&mut form, login);
    form.finish()
}
