//! What the suites share: a world with one thread, and servers in it.

use ralph_mcp::{Called, Deps, LoginOptions, SdkLink, ServerConfig, Servers, StartWaits, Status};
use serde_json::{Value, json};
use std::future::Future;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// Nothing here takes this long unless it hangs.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs as the agent does: one thread, tasks that stay on it.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime, async { tokio::time::timeout(PATIENCE, test).await.unwrap() })
}

pub fn deps(folder: &tempfile::TempDir) -> Deps {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Deps {
        cwd: folder.path().to_owned(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into()), ("COMMON".into(), "shared".into())],
        roots: vec![PathBuf::from("/the work")],
        sdk: None,
        user: None,
        client: ("test".into(), "1".into()),
        start_timeout: Duration::from_secs(20),
        waits: StartWaits { usual: Duration::from_millis(300), always_load: Duration::from_secs(20) },
        call_timeout: Duration::from_secs(20),
        lookup_timeout: Duration::from_secs(20),
        idle_timeout: None,
        http: Rc::new(|_| Ok(reqwest::Client::builder().no_proxy().tls_certs_only([]))),
        logins: None,
        login: LoginOptions::default(),
        max_output_tokens: 25_000,
        spill_dir: folder.path().join("spilled"),
    }
}

pub fn configs(entries: &Value) -> Vec<ServerConfig> {
    let (servers, problems) = ralph_mcp::parse(entries, "project", &|_| None);
    assert_eq!(problems, []);
    servers
}

pub fn stdio(mode: &str) -> Value {
    json!({"command": env!("CARGO_BIN_EXE_fake-mcp-server"), "args": [mode]})
}

/// These servers, as far as they got.
pub async fn started(deps: Deps, entries: &Value) -> Servers {
    let servers = Servers::new(deps);
    servers.start(configs(entries));
    servers.ready().await;
    servers
}

pub fn with_link(folder: &tempfile::TempDir, link: impl SdkLink + 'static) -> Deps {
    Deps { sdk: Some(Rc::new(link)), ..deps(folder) }
}

pub fn status(servers: &Servers, name: &str) -> Status {
    servers.statuses().into_iter().find(|status| status.name == name).unwrap()
}

pub fn text(called: &Called) -> &str {
    called.content[0]["text"].as_str().unwrap()
}

pub async fn call(servers: &Servers, tool: &str) -> String {
    text(&servers.call(tool, json!({})).await.unwrap()).to_owned()
}

/// Comes true by itself, soon.
pub async fn eventually(what: impl Fn() -> bool) {
    while !what() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
