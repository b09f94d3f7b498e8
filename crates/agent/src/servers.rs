//! What the MCP servers of a session are given: time limits, a way to HTTP, and a way to the client.

use crate::{Options, OutputFormat};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use mcp::{ConfiguredServers, Deps, HostError, SdkLink, SessionHandles, SessionServers};
use options::Choices;
use output::{ClientAsker, warn};
use serde_json::Value;
use std::rc::Rc;
use std::time::Duration;
use wire::{AgentRequest, McpMessage};

/// For what a server has only to look up; it may be on the other side of the world.
const LOOKUP: Duration = Duration::from_mins(1);

pub fn session_servers(options: &Rc<Options>, choices: &Rc<Choices>, client: &Rc<ClientAsker>) -> SessionServers {
    let configured = ConfiguredServers {
        servers: options.outside.servers.clone(),
        problems: options.outside.problems.clone(),
        strict: options.outside.strict,
    };
    let (options, choices, client) = (Rc::clone(options), Rc::clone(choices), Rc::clone(client));
    let environment = Rc::clone(&options);
    let shows_init = matches!(options.output, OutputFormat::StreamJson | OutputFormat::JsonList);
    let handles = SessionHandles {
        variable: Box::new(move |name| {
            let found = environment.env.iter().find(|(known, _)| known == name);
            found.and_then(|(_, value)| value.to_str().map(str::to_owned))
        }),
        deps: Box::new(move || deps(&options, &client)),
        changed: Box::new(move || choices.mark_stale()),
        warn,
        shows_init,
    };
    SessionServers::new(configured, handles)
}

fn deps(options: &Options, client: &Rc<ClientAsker>) -> Deps {
    let access = options.access.client.clone();
    Deps {
        cwd: options.cwd.clone(),
        env: options.outside.env.clone(),
        roots: std::iter::once(options.cwd.clone()).chain(options.extra_roots.iter().cloned()).collect(),
        sdk: Some(Rc::new(Client(Rc::clone(client)))),
        user: None,
        client: ("ralph".into(), env!("CARGO_PKG_VERSION").into()),
        start_timeout: options.outside.start_timeout,
        waits: options.outside.waits,
        call_timeout: options.outside.call_timeout,
        lookup_timeout: LOOKUP,
        idle_timeout: options.outside.idle_timeout,
        http: Rc::new(move |_| model::plain_client(&access).map_err(HostError::from)),
        logins: options.outside.logins.clone(),
        login: options.outside.login.clone(),
        max_output_tokens: options.outside.max_output_tokens,
        spill_dir: options.tools.shell.spill_dir.clone(),
    }
}

/// The way to servers in the client's own process: each message is a question to the client.
struct Client(Rc<ClientAsker>);

impl SdkLink for Client {
    fn send(&self, server: &str, message: Value) -> LocalBoxFuture<'static, Result<Value, HostError>> {
        let client = Rc::clone(&self.0);
        let request =
            AgentRequest::McpMessage(McpMessage { server_name: server.to_owned(), message, ..McpMessage::default() });
        async move {
            let answer = client.ask(request).await?;
            Ok(answer.get("mcp_response").cloned().unwrap_or(Value::Null))
        }
        .boxed_local()
    }
}
