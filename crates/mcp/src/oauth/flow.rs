//! One login, from the question who grants access to the tokens.

use super::callback::{self, Answer};
use super::discovery::{Authority, discover};
use super::error::LoginError;
use super::login::ServerLogin;
use super::pkce;
use super::register::{Client, register};
use super::tokens::{self, Grant};
use crate::config::{ServerConfig, Transport};
use crate::web;
use reqwest::ClientBuilder;
use serde_json::Value;
use std::fmt::Display;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout;
use url::Url;

/// For a person to find the page, to log in there and to decide.
const DECISION: Duration = Duration::from_mins(5);

/// What a caller knows beside the server's entry.
#[derive(Clone, Default)]
pub struct LoginOptions {
    /// Where the browser's answer is taken, for clients that are registered with one address.
    pub callback_port: Option<u16>,
    /// Of a client that was registered by hand.
    pub client_secret: Option<String>,
}

/// A login that waits for its user.
pub struct PendingLogin {
    /// The page where the user decides.
    pub url: String,
    pub redirect: String,
    pub port: u16,
    state: String,
    verifier: String,
    listener: TcpListener,
    client: reqwest::Client,
    /// Without tokens so far.
    login: ServerLogin,
}

impl PendingLogin {
    /// Finds out who grants access, and makes ready for the user's decision.
    pub async fn begin<E: Display>(
        config: &ServerConfig,
        http: &dyn Fn(&Url) -> Result<ClientBuilder, E>,
        options: &LoginOptions,
    ) -> Result<Self, LoginError> {
        let (Transport::Http { url, .. } | Transport::Sse { url, .. }) = &config.transport else {
            return Err(LoginError::NotRemote);
        };
        let server = Url::parse(url).map_err(|error| LoginError::unclear("its address", error.to_string()))?;
        let builder = http(&server).map_err(|error| LoginError::Setup(error.to_string()))?;
        let client = web::client(builder).map_err(|error| LoginError::Setup(error.to_string()))?;
        let authority = discover(&client, &server).await?;
        let entry = &config.raw["oauth"];
        let known = entry["clientId"].as_str().filter(|id| !id.is_empty());
        let port =
            options.callback_port.or_else(|| entry["callbackPort"].as_u64().and_then(|port| port.try_into().ok()));
        let (listener, port) = callback::listen(port).await?;
        // Pages where clients are registered by hand know this machine by its name.
        let host = if known.is_some() { "localhost" } else { "127.0.0.1" };
        let redirect = format!("http://{host}:{port}{}", callback::PATH);
        let us = match known {
            Some(id) => Client::known(id, options.client_secret.clone(), &authority.server),
            None => register(&client, &authority.server, &redirect, &authority.scopes).await?,
        };
        let (state, verifier) = (pkce::random()?, pkce::random()?);
        let page = page(&authority, &us.id, &redirect, &state, &verifier)?;
        let login = ServerLogin {
            server_name: config.name.clone(),
            server_url: url.clone(),
            access_token: String::new(),
            refresh_token: None,
            expires_at: None,
            scope: Some(authority.scopes.join(" ")).filter(|scope| !scope.is_empty()),
            client_id: us.id,
            client_secret: us.secret,
            basic_auth: us.basic_auth,
            token_endpoint: authority.server.token_endpoint,
            revocation_endpoint: authority.server.revocation_endpoint,
            resource: Some(authority.resource),
        };
        Ok(Self { url: page, redirect, port, state, verifier, listener, client, login })
    }

    pub fn state(&self) -> &str {
        &self.state
    }

    /// Waits for the browser, or for its address from somebody who copied it, and gets the tokens.
    pub async fn wait(self, mut pasted: Receiver<String>) -> Result<ServerLogin, LoginError> {
        let from_people = async {
            while let Some(address) = pasted.recv().await {
                if let Ok(answer) = callback::read(&address, &self.state) {
                    return answer;
                }
            }
            std::future::pending().await
        };
        let answer = async {
            tokio::select! {
                answer = callback::wait(&self.listener, &self.state) => answer,
                answer = from_people => answer,
            }
        };
        let answer = timeout(DECISION, answer).await.map_err(|_| LoginError::TimedOut(DECISION))?;
        match answer {
            Answer::Denied(why) => Err(LoginError::Denied(why)),
            Answer::Code(code) => {
                let grant = Grant::Code { code: &code, redirect: &self.redirect, verifier: &self.verifier };
                tokens::ask(&self.client, &self.login, &grant).await
            }
        }
    }
}

/// For a store.
impl From<&ServerLogin> for Value {
    fn from(login: &ServerLogin) -> Self {
        serde_json::to_value(login).unwrap_or_default()
    }
}

fn page(
    authority: &Authority,
    client: &str,
    redirect: &str,
    state: &str,
    verifier: &str,
) -> Result<String, LoginError> {
    let wrong = |error: url::ParseError| LoginError::unclear("the address of the login page", error.to_string());
    let mut page = Url::parse(&authority.server.authorization_endpoint).map_err(wrong)?;
    {
        let mut query = page.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", client)
            .append_pair("redirect_uri", redirect);
        query.append_pair("code_challenge", &pkce::challenge(verifier)).append_pair("code_challenge_method", "S256");
        query.append_pair("state", state).append_pair("resource", &authority.resource);
        if !authority.scopes.is_empty() {
            query.append_pair("scope", &authority.scopes.join(" "));
        }
    }
    Ok(page.into())
}

#[cfg(test)]
mod tests {
    use super::super::discovery::AuthServer;
    use super::*;

    #[test]
    fn the_page_has_what_the_server_needs_to_know() {
        let server = AuthServer { authorization_endpoint: "https://i.test/a?tenant=7".into(), ..AuthServer::default() };
        let authority =
            Authority { server, resource: "https://s.test/mcp".into(), scopes: vec!["a".into(), "b".into()] };
        let page = page(&authority, "me", "http://127.0.0.1:1/callback", "st", "v").unwrap();
        let page = Url::parse(&page).unwrap();
        let pairs: Vec<(String, String)> = page.query_pairs().into_owned().collect();
        let value = |wanted: &str| pairs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        for (name, expected) in [
            ("tenant", "7"),
            ("response_type", "code"),
            ("client_id", "me"),
            ("redirect_uri", "http://127.0.0.1:1/callback"),
            ("code_challenge_method", "S256"),
            ("state", "st"),
            ("resource", "https://s.test/mcp"),
            ("scope", "a b"),
        ] {
            assert_eq!(value(name), Some(expected), "{name}");
        }
        assert!(!page.as_str().contains("=v&"), "the verifier itself is told to nobody");
    }
}
