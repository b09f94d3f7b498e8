//! Who we are to the API: the credential that was found, kept fresh, and the client that uses it.

use model::{Auth, Client, ClientConfig, Failure, Secret};
use options::Options;
use output::{Secrets, clock};
use settings::Found;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A helper that asks a key ring may take a moment; one that hangs must not hang us.
const HELPER_DEADLINE: Duration = Duration::from_mins(1);
const HELPER_OUTPUT_MAX: usize = 64 * 1024;
const HELPER_GRACE: Duration = Duration::from_secs(1);

/// Clients key on the words at the end to offer a login.
const NO_KEY: &str = "No credentials found. Set ANTHROPIC_API_KEY, or configure apiKeyHelper in your user settings; \
                      `ralph auth status` shows what was looked at. · Please run /login";
const EXPIRED: &str = "Login expired · Please run /login, or set ANTHROPIC_API_KEY";

/// What went wrong with `apiKeyHelper`. What it printed may hold secrets, so only its exit is told.
#[derive(Debug, thiserror::Error)]
enum KeyHelperError {
    #[error(transparent)]
    Start(#[from] process::SpawnError),
    #[error("apiKeyHelper did not answer within {} s. Please run /login or mend it.", HELPER_DEADLINE.as_secs())]
    Slow,
    #[error(
        "apiKeyHelper failed ({}). Mend the command in your settings. · Please run /login",
        .0.map_or("killed".into(), |code| format!("exit {code}"))
    )]
    Exit(Option<i32>),
}

/// The credential and the client of one session.
pub struct Access {
    options: Rc<Options>,
    /// Who is asked, but for the credential.
    config: ClientConfig,
    secrets: Secrets,
    client: RefCell<Option<Rc<Client>>>,
    helped_at: Cell<Option<Instant>>,
}

impl Access {
    pub fn new(options: Rc<Options>, secrets: Secrets) -> Self {
        let config = options.access.client.clone();
        Self::to(options, secrets, config)
    }

    /// The same to another provider.
    pub fn to(options: Rc<Options>, secrets: Secrets, config: ClientConfig) -> Self {
        Self { options, config, secrets, client: RefCell::default(), helped_at: Cell::default() }
    }

    pub fn config(&self) -> &ClientConfig {
        &self.config
    }

    /// The client, made at first use and again when the helper's key has aged.
    pub async fn client(&self) -> Result<Rc<Client>, Box<Failure>> {
        let aged = self.helped_at.get().is_some_and(|at| at.elapsed() >= self.options.access.helper_ttl);
        let kept = self.client.borrow().clone();
        match kept {
            Some(client) if !aged => Ok(client),
            _ => self.renew(false).await,
        }
    }

    /// After a 401: a new key from the helper, or a refreshed login. False where there is nothing to renew.
    pub async fn refresh(&self) -> bool {
        // A cloud's credential is renewed where it is found.
        if self.config.cloud.is_some() {
            return false;
        }
        let renewable = match self.options.access.credentials.chosen.as_ref().map(|chosen| &chosen.found) {
            Some(Found::Helper { .. }) => true,
            Some(Found::OAuthFile(login)) => login.refresh.is_some(),
            _ => false,
        };
        renewable && self.renew(true).await.is_ok()
    }

    async fn renew(&self, after_refusal: bool) -> Result<Rc<Client>, Box<Failure>> {
        let auth = self.auth(after_refusal).await?;
        let mut config = self.config.clone();
        config.auth = auth;
        let client = Client::new(config).map_err(|error| local(&error.to_string(), "invalid_request"))?;
        let client = Rc::new(client);
        *self.client.borrow_mut() = Some(Rc::clone(&client));
        Ok(client)
    }

    async fn auth(&self, after_refusal: bool) -> Result<Auth, Box<Failure>> {
        // A cloud's requests are authorised one by one, by the client itself.
        if self.config.cloud.is_some() {
            return Ok(Auth::None);
        }
        let Some(chosen) = &self.options.access.credentials.chosen else {
            return Err(local(NO_KEY, "authentication_failed"));
        };
        Ok(match &chosen.found {
            Found::AuthToken(token) => Auth::Bearer(Secret::new(token.expose())),
            Found::TokenAndKey { token, key } => {
                Auth::TokenAndKey { token: Secret::new(token.expose()), key: Secret::new(key.expose()) }
            }
            Found::ApiKey(key) | Found::ApiKeyFile(key) => Auth::ApiKey(Secret::new(key.expose())),
            Found::OAuthToken(token) => Auth::OAuth(Secret::new(token.expose())),
            Found::Helper { command } => {
                let key = self.helped(command).await.map_err(|why| local(&why.to_string(), "authentication_failed"))?;
                self.secrets.learn([key.as_str()]);
                self.helped_at.set(Some(Instant::now()));
                Auth::Both(Secret::new(&key))
            }
            Found::OAuthFile(login) => Auth::OAuth(Secret::new(&self.fresh_login(login, after_refusal).await?)),
        })
    }

    async fn helped(&self, command: &str) -> Result<String, KeyHelperError> {
        let spec = process::Spec {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), command.into()],
            cwd: self.options.cwd.clone(),
            env: self.options.env.clone(),
            stdin: process::Stdin::Null,
            output: process::Output::Pipes,
            arg0: None,
        };
        let limits =
            process::CaptureLimits { deadline: HELPER_DEADLINE, max_output: HELPER_OUTPUT_MAX, grace: HELPER_GRACE };
        let done = process::capture(spec, limits).await?;
        let key = String::from_utf8_lossy(&done.stdout).trim().to_owned();
        match done.exit.code {
            Some(0) if !key.is_empty() => Ok(key),
            _ if done.timed_out => Err(KeyHelperError::Slow),
            code => Err(KeyHelperError::Exit(code)),
        }
    }

    /// A login that is good for the next request: as stored, or refreshed under the store's lock.
    async fn fresh_login(&self, login: &settings::OAuth, after_refusal: bool) -> Result<String, Box<Failure>> {
        if !after_refusal && !login.should_refresh(clock::now_ms()) {
            return Ok(login.access.expose().to_owned());
        }
        let file = login.file.clone();
        let lock = tokio::task::spawn_blocking(move || settings::OAuthLock::acquire(&file)).await;
        let lock = lock.map_err(|error| unauthenticated(&error))?.map_err(|error| unauthenticated(&error))?;
        let stored = lock.current().ok_or_else(|| unauthenticated(&EXPIRED))?;
        self.secrets.learn(std::iter::once(&stored.access).chain(&stored.refresh).map(settings::Secret::expose));
        // Another process may have refreshed while we waited; the token of a login is good for one refresh.
        if stored.access.expose() != login.access.expose() && !stored.should_refresh(clock::now_ms()) {
            return Ok(stored.access.expose().to_owned());
        }
        let refresh = stored.refresh.as_ref().ok_or_else(|| unauthenticated(&EXPIRED))?;
        let access = &self.options.access;
        let tokens = match model::refresh_login(&access.client, &access.oauth_refresh_url, refresh.expose()).await {
            Ok(tokens) => tokens,
            // Near its end but not over: better the old token than none.
            Err(_) if !after_refusal && !stored.is_expired(clock::now_ms()) => {
                return Ok(stored.access.expose().to_owned());
            }
            Err(_) => return Err(unauthenticated(&EXPIRED)),
        };
        self.secrets.learn(std::iter::once(&tokens.access).chain(&tokens.refresh).map(Secret::expose));
        let expires = clock::now_ms().saturating_add(tokens.lifetime_ms);
        lock.store(tokens.access.expose(), tokens.refresh.as_ref().map(Secret::expose), expires)
            .map_err(|error| unauthenticated(&error))?;
        Ok(tokens.access.expose().to_owned())
    }
}

fn unauthenticated(why: &dyn std::fmt::Display) -> Box<Failure> {
    local(&why.to_string(), "authentication_failed")
}

fn local(message: &str, category: &'static str) -> Box<Failure> {
    Box::new(Failure::local(message, category))
}
