//! Plugins that trusted settings name are installed before they are loaded. What fails is a problem of that plugin, and the
//! run goes on without it.

use crate::environment::Environment;
use crate::plugin_fetch::{self, Fetched, PluginFetchError};
use project::{Declared, DocumentError, Marketplace, PluginDir, PluginProblem, ProjectError, Source};
use settings::{Places, Scope, Settings};
use std::path::PathBuf;
use std::time::{Duration, Instant};
use wire::PluginInstall;

/// A start does not wait longer for repositories, unless the caller wants to wait.
const QUICK: Duration = Duration::from_secs(10);
/// Where the caller does.
const PATIENT: Duration = Duration::from_mins(2);

#[derive(Default)]
pub struct Installed {
    /// Plugins of folders that were filled beforehand.
    pub seeded: Vec<PluginDir>,
    pub problems: Vec<PluginProblem>,
    /// What clients are told that wait for plugins.
    pub events: Vec<PluginInstall>,
}

pub fn install(places: &Places, settings: &Settings, environment: &Environment) -> Installed {
    let mut done = Installed::default();
    let wanted = project::declared_plugins(places, settings);
    if wanted.is_empty() {
        return done;
    }
    let waits = environment.is_on("CLAUDE_CODE_SYNC_PLUGIN_INSTALL");
    let budget = environment.number("CLAUDE_CODE_SYNC_PLUGIN_INSTALL_TIMEOUT_MS").map(Duration::from_millis);
    let budget = if waits { budget.unwrap_or(PATIENT) } else { QUICK };
    let installer = Installer { places, environment, ends: Instant::now() + budget };
    done.tell(waits, "started", None, None);
    for plugin in wanted {
        if let Some(path) = seeded(environment, &plugin) {
            done.seeded.push(PluginDir { path, with_mcp: true, called: Some(plugin.name) });
            continue;
        }
        match installer.install(&plugin) {
            Ok(()) => done.tell(waits, "installed", Some(plugin.id()), None),
            Err(failure) => {
                let message = failure.to_string();
                done.tell(waits, "failed", Some(plugin.id()), Some(message.clone()));
                let path = places.config_dir.join("plugins");
                done.problems.push(PluginProblem { plugin: plugin.id(), kind: "install-failed", message, path });
            }
        }
    }
    done.tell(waits, "completed", None, None);
    done
}

impl Installed {
    fn tell(&mut self, waits: bool, status: &str, name: Option<String>, error: Option<String>) {
        if waits {
            self.events.push(PluginInstall { status: status.into(), name, error, ..PluginInstall::default() });
        }
    }
}

fn seeded(environment: &Environment, plugin: &Declared) -> Option<PathBuf> {
    let folders = environment.get("CLAUDE_CODE_PLUGIN_SEED_DIR")?;
    let mut folders = folders.split(':').map(PathBuf::from).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| project::seeded_plugin(&folder, plugin))
}

/// Why a plugin was not installed.
#[derive(Debug, thiserror::Error)]
enum InstallError {
    #[error("its marketplace is called {found}, not {wanted}")]
    OtherMarketplace { found: String, wanted: String },
    #[error("the marketplace {0} does not have it")]
    NotOffered(String),
    #[error("there is no marketplace {0}")]
    NoMarketplace(String),
    #[error("there was no time left to install it; the next start tries again")]
    NoTime,
    #[error("{}: {cause}", .folder.display())]
    Unreadable { folder: PathBuf, cause: std::io::Error },
    #[error(transparent)]
    Fetch(#[from] PluginFetchError),
    #[error(transparent)]
    Document(#[from] DocumentError),
    #[error(transparent)]
    Project(#[from] ProjectError),
}

struct Installer<'a> {
    places: &'a Places,
    environment: &'a Environment,
    ends: Instant,
}

impl Installer<'_> {
    fn install(&self, plugin: &Declared) -> Result<(), InstallError> {
        let now = jiff::Timestamp::now().to_string();
        let market = match &plugin.source {
            None => self.known(&plugin.market)?,
            Some(source) => {
                let market = self.fetch_market(source)?;
                if market.name != plugin.market {
                    let wanted = plugin.market.clone();
                    return Err(InstallError::OtherMarketplace { found: market.name, wanted });
                }
                project::add_marketplace(self.places, &market, source, &now)?;
                market
            }
        };
        let offer = market.plugins.iter().find(|offer| offer.name == plugin.name);
        let offer = offer.ok_or_else(|| InstallError::NotOffered(market.name.clone()))?;
        let fetched = self.fetch(&offer.source)?;
        let folder = match &fetched {
            Fetched::Folder(folder) => folder.clone(),
            Fetched::Clone(fetching) => fetching.path(),
        };
        project::install_declared(self.places, &market.name, &plugin.name, &folder, Scope::User, &now)?;
        Ok(())
    }

    fn known(&self, name: &str) -> Result<Marketplace, InstallError> {
        let mut known = project::known_marketplaces(self.places).into_iter().map(|(market, _)| market);
        known.find(|market| market.name == name).ok_or_else(|| InstallError::NoMarketplace(name.to_owned()))
    }

    fn fetch_market(&self, source: &Source) -> Result<Marketplace, InstallError> {
        match self.fetch(source)? {
            Fetched::Folder(folder) => {
                let folder = folder
                    .canonicalize()
                    .map_err(|cause| InstallError::Unreadable { folder: folder.clone(), cause })?;
                Ok(project::marketplace(&folder)?)
            }
            Fetched::Clone(fetching) => Ok(fetching.settle(self.places)?),
        }
    }

    fn fetch(&self, source: &Source) -> Result<Fetched, InstallError> {
        let left = self.ends.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(InstallError::NoTime);
        }
        let limit = plugin_fetch::limit(self.environment).min(left);
        Ok(plugin_fetch::fetch(source, self.places, self.environment, limit)?)
    }
}
