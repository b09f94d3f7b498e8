//! What a manager of servers is given: everything it must not find out by itself.

use crate::elicit::Elicit;
use crate::oauth::{LoginOptions, LoginStore};
use crate::sdk::{HostError, SdkLink};
use crate::waits::StartWaits;
use process::Env;
use reqwest::ClientBuilder;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Makes the beginning of an HTTP client for an address: the caller knows proxies and certificates.
pub type HttpSetup = Rc<dyn Fn(&Url) -> Result<ClientBuilder, HostError>>;

#[derive(Clone)]
pub struct Deps {
    /// Where processes are started.
    pub cwd: PathBuf,
    /// The whole environment of processes; an entry's own variables are added to it.
    pub env: Env,
    /// Told to servers that ask where the work is.
    pub roots: Vec<PathBuf>,
    pub sdk: Option<Rc<dyn SdkLink>>,
    /// Who can ask the user what a server wants to know.
    pub user: Option<Rc<dyn Elicit>>,
    /// Who we say we are: name and version.
    pub client: (String, String),
    /// For one server, from its start to its list of tools.
    pub start_timeout: Duration,
    /// How long requests wait for servers that are still connecting.
    pub waits: StartWaits,
    /// For one call, where the server's entry does not say.
    pub call_timeout: Duration,
    /// For a list, a prompt or a resource.
    pub lookup_timeout: Duration,
    /// For a call of which nothing is heard, instead of the defaults; zero means no such limit.
    pub idle_timeout: Option<Duration>,
    pub http: HttpSetup,
    /// Who keeps the logins of remote servers.
    pub logins: Option<Arc<dyn LoginStore>>,
    pub login: LoginOptions,
    /// Longer results go to a file.
    pub max_output_tokens: u64,
    pub spill_dir: PathBuf,
}
