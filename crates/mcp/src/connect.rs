//! From a configuration to a server that has told its tools, or to the reason why not.

use crate::any_transport::{AnyError, AnyTransport};
use crate::ask::{AskError, Listed, Patience, list};
use crate::config::{Inherits, ServerConfig, Transport};
use crate::deps::Deps;
use crate::elicit;
use crate::error::{ConnectError, SetupError};
use crate::handler::Handler;
use crate::helper;
use crate::notes::Notes;
use crate::oauth::{Auth, login_key};
use crate::prompt::Prompt;
use crate::tool::McpTool;
use crate::web::{self, FIRST_BYTE, WebError};
use crate::{http, sdk, sse, stdio};
use process::Piped;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::service::{ClientInitializeError, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::{ClientLifecycleMode, Peer, RoleClient, serve_client_with_lifecycle};
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc::{Sender, channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use url::Url;

/// Of a remote server that may only be busy.
const REMOTE_TRIES: u32 = 3;

/// Before the second try; doubled before the third.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// For a process whose pipes closed to end and to tell its exit code.
pub(crate) const LAST_MOMENTS: Duration = Duration::from_millis(300);

/// Between asking a process that failed us to end and killing it.
pub(crate) const GRACE: Duration = Duration::from_millis(100);

/// A server that is ready, and all that lives as long as it.
pub(crate) struct Connected {
    pub(crate) running: RunningService<RoleClient, Handler>,
    pub(crate) offers: Offers,
    pub(crate) changed: Arc<Notify>,
    pub(crate) process: Option<Piped>,
    /// For messages that the client sends unasked.
    pub(crate) incoming: Option<Sender<ServerJsonRpcMessage>>,
    /// Carry messages to the client and questions to the user; end with us.
    pub(crate) besides: Vec<Beside>,
    pub(crate) notes: Notes,
}

/// What a server has for us.
#[derive(Debug, Clone, Default)]
pub(crate) struct Offers {
    pub(crate) tools: Vec<McpTool>,
    pub(crate) prompts: Vec<Prompt>,
}

/// A task that ends with its owner.
pub(crate) struct Beside(JoinHandle<()>);

impl Drop for Beside {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Bounded by `start_timeout` in all; a remote server gets several tries within it.
pub(crate) async fn connect(config: &ServerConfig, deps: &Deps) -> Result<Connected, ConnectError> {
    let attempt = Attempt { config, deps, deadline: Instant::now() + deps.start_timeout };
    match &config.transport {
        Transport::Stdio { command, args, env } => attempt.process(command, args, env).await,
        Transport::Sdk => attempt.sdk().await,
        Transport::Http { .. } | Transport::Sse { .. } => attempt.remote().await,
    }
}

struct Attempt<'a> {
    config: &'a ServerConfig,
    deps: &'a Deps,
    deadline: Instant,
}

impl Attempt<'_> {
    async fn process(
        &self,
        command: &str,
        args: &[String],
        env: &[(String, String)],
    ) -> Result<Connected, ConnectError> {
        let mut common = self.deps.env.clone();
        if self.config.inherits == Inherits::Basics {
            common.retain(|(name, _)| process::scrub::BASIC_ENV.iter().any(|kept| name == kept));
        }
        let mut process = stdio::start(command, args, env, &common, &self.deps.cwd)?;
        let notes = Notes::default();
        let pipes = process.take_pipes().ok_or(SetupError::NoPipes)?;
        match self.handshake(AnyTransport::new(stdio::Lines::new(pipes, notes.clone())), notes.clone()).await {
            Ok(connected) => Ok(Connected { process: Some(process), ..connected }),
            Err(cause) => {
                // Our ends of the pipes are closed by now: a healthy process ends of itself.
                let exit = timeout(LAST_MOMENTS, process.wait()).await.ok();
                if exit.is_none() {
                    process.stop(GRACE).await;
                }
                let words = last_words(&process, &notes);
                Err(ConnectError::Process { cause: Box::new(cause), exit, words })
            }
        }
    }

    async fn sdk(&self) -> Result<Connected, ConnectError> {
        let Some(link) = self.deps.sdk.clone() else {
            return Err(SetupError::NoClient.into());
        };
        let (transport, incoming, serving) = sdk::link(&self.config.name, link);
        let beside = Beside(tokio::task::spawn_local(serving));
        let connected = self.handshake(AnyTransport::new(transport), Notes::default()).await?;
        let besides = connected.besides.into_iter().chain([beside]).collect();
        Ok(Connected { incoming: Some(incoming), besides, ..connected })
    }

    async fn remote(&self) -> Result<Connected, ConnectError> {
        let mut pause = FIRST_PAUSE;
        for _ in 1..REMOTE_TRIES {
            match timeout_at(self.deadline, self.remote_once()).await {
                Ok(Err(error)) if error.may_pass() && Instant::now() + pause < self.deadline => sleep(pause).await,
                Ok(outcome) => return outcome,
                Err(_) => return Err(ConnectError::Silent(self.deps.start_timeout)),
            }
            pause *= 2;
        }
        let last = timeout_at(self.deadline, self.remote_once()).await;
        last.unwrap_or(Err(ConnectError::Silent(self.deps.start_timeout)))
    }

    async fn remote_once(&self) -> Result<Connected, ConnectError> {
        let (Transport::Http { url, .. } | Transport::Sse { url, .. }) = &self.config.transport else {
            return Err(SetupError::NotRemote.into());
        };
        let address = Url::parse(url).map_err(|why| SetupError::Address { url: url.clone(), why })?;
        let builder = (self.deps.http)(&address).map_err(SetupError::Host)?;
        let client = web::client(builder).map_err(SetupError::Client)?;
        let headers = helper::headers(self.config, self.deps).await.map_err(SetupError::from)?;
        let headers = web::headers(&headers).map_err(SetupError::from)?;
        let auth = self.auth(url, &headers, &client);
        // A server that was given more time for its calls may use it before it answers.
        let patience = FIRST_BYTE.max(self.config.timeout.unwrap_or_default());
        let notes = Notes::default();
        let transport = if matches!(self.config.transport, Transport::Sse { .. }) {
            AnyTransport::new(sse::open(client, &address, (headers, auth), patience, notes.clone()).await?)
        } else {
            AnyTransport::new(http::transport(client, url, (headers, auth), patience, notes.clone()))
        };
        self.handshake(transport, notes).await
    }

    /// A header of the entry says more than a login. Before a folder is trusted, its servers get no token.
    fn auth(&self, url: &str, headers: &HeaderMap, client: &reqwest::Client) -> Auth {
        let is_authorised = headers.contains_key(AUTHORIZATION) || self.config.inherits == Inherits::Basics;
        match &self.deps.logins {
            Some(store) if !is_authorised => Auth::stored(store, login_key(&self.config.name, url), client),
            _ => Auth::default(),
        }
    }

    async fn handshake(&self, transport: AnyTransport, notes: Notes) -> Result<Connected, ConnectError> {
        let silent = |_| ConnectError::Silent(self.deps.start_timeout);
        let changed = Arc::new(Notify::new());
        let client = (self.deps.client.0.as_str(), self.deps.client.1.as_str());
        let (questions, besides) = self.way_to_the_user();
        let handler = Handler::new(client, &self.deps.roots, changed.clone(), questions);
        let serving = serve_client_with_lifecycle(handler, transport, ClientLifecycleMode::Initialize);
        let running = timeout_at(self.deadline, serving).await.map_err(silent)?;
        let running = running.map_err(|error| initialize_error(error, &notes))?;
        let offers = timeout_at(self.deadline, offers(self.config, running.peer())).await.map_err(silent)?;
        let offers = offers.map_err(|error| match error {
            AskError::Closed => ConnectError::Closed(notes.reason().unwrap_or_default()),
            error => ConnectError::Answered(format!("its tools cannot be listed: {error}")),
        })?;
        Ok(Connected { running, offers, changed, process: None, incoming: None, besides, notes })
    }

    fn way_to_the_user(&self) -> (Option<Sender<elicit::Question>>, Vec<Beside>) {
        let Some(user) = self.deps.user.clone() else { return (None, Vec::new()) };
        let (questions, asked) = channel(elicit::QUESTIONS);
        let serving = elicit::serve(self.config.name.clone(), user, asked);
        (Some(questions), vec![Beside(tokio::task::spawn_local(serving))])
    }
}

pub(crate) async fn offers(config: &ServerConfig, peer: &Peer<RoleClient>) -> Result<Offers, AskError> {
    let Some(info) = peer.peer_info() else { return Ok(Offers::default()) };
    let mut offers = Offers::default();
    if info.capabilities.tools.is_some() {
        let listed = list(peer, Listed::Tools, Patience::default()).await?;
        let read = |tool: &Value| McpTool::read(&config.name, config.always_load, tool);
        offers.tools = listed.iter().filter_map(read).collect();
    }
    if info.capabilities.prompts.is_some() {
        // A server that cannot list its prompts still has its tools.
        let listed = list(peer, Listed::Prompts, Patience::default()).await.unwrap_or_default();
        offers.prompts = listed.iter().filter_map(|prompt| Prompt::read(&config.name, prompt)).collect();
    }
    Ok(offers)
}

/// The end of standard error, and where it is silent the last thing on stdout that was no message.
pub(crate) fn last_words(process: &Piped, notes: &Notes) -> String {
    let words = process.stderr_tail();
    if words.is_empty() { notes.last_noise().unwrap_or_default() } else { words }
}

fn initialize_error(error: ClientInitializeError, notes: &Notes) -> ConnectError {
    if error.is_authorization_required() {
        return WebError::Unauthorized.into();
    }
    match error {
        ClientInitializeError::ConnectionClosed(_) => ConnectError::Closed(notes.reason().unwrap_or_default()),
        ClientInitializeError::JsonRpcError(error) => ConnectError::Answered(error.message.into_owned()),
        ClientInitializeError::ExpectedInitResult(_) => {
            ConnectError::Answered("its answer to initialize lacks what the protocol demands".into())
        }
        ClientInitializeError::TransportError { error, .. } => sending_error(error.error),
        other => ConnectError::Answered(other.to_string()),
    }
}

/// rmcp and [`AnyTransport`] wrap what the transport said; what it means is still inside.
fn sending_error(error: Box<dyn std::error::Error + Send + Sync>) -> ConnectError {
    let error = match error.downcast::<AnyError>() {
        Ok(error) => error.0,
        Err(error) => error,
    };
    let error = match error.downcast::<StreamableHttpError<WebError>>() {
        Ok(error) => match *error {
            StreamableHttpError::Client(error) => return error.into(),
            other => return ConnectError::Closed(other.to_string()),
        },
        Err(error) => error,
    };
    match error.downcast::<WebError>() {
        Ok(error) => (*error).into(),
        Err(error) => ConnectError::Closed(error.to_string()),
    }
}
