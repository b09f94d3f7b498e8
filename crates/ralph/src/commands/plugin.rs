//! `plugin …`: marketplaces, and the plugins that the user installs from them.
//!
//! Deliberately absent: loading plugins, which every run does by its settings.

use crate::failure::agent_error;
use crate::failure::{Ended, Failure};
use crate::say;
use project::{Installed, Marketplace, Offer, Source};
use resolve::Environment;
use resolve::plugin_fetch::{self, Fetched};
use serde_json::{Value, json};
use settings::{Places, Scope, Settings};
use std::path::Path;
use wire::ExitCode;

const USAGE: &str = "usage: plugin marketplace add <folder|repository> | list | remove <name> | update [name]\n       \
                     plugin install|uninstall|enable|disable|update <name[@marketplace]> [--scope user|project|local]\n       \
                     plugin list [--json] | validate <folder>";

/// The words that [`USAGE`] explains.
const COMMANDS: [&str; 11] =
    ["marketplace", "install", "i", "uninstall", "remove", "rm", "enable", "disable", "update", "list", "validate"];

pub fn run(words: &[String], environment: &Environment) -> Ended {
    say::out(&act(words, environment)?);
    Ok(ExitCode::Success)
}

/// The plain words and the flags of a command line.
struct Asked<'a> {
    words: Vec<&'a str>,
    scope: Scope,
    json: bool,
}

fn asked(words: &[String]) -> Result<Asked<'_>, Failure> {
    let mut asked = Asked { words: Vec::new(), scope: Scope::User, json: false };
    let mut rest = words.iter().map(String::as_str);
    while let Some(word) = rest.next() {
        let (flag, inline) = word.split_once('=').map_or((word, None), |(flag, value)| (flag, Some(value)));
        match flag {
            "--scope" | "-s" => {
                let name = inline.or_else(|| rest.next()).unwrap_or_default();
                asked.scope = Scope::parse(name)
                    .ok_or_else(|| Failure::usage(format!("--scope is '{name}'; allowed are user, project, local")))?;
            }
            "--json" => asked.json = true,
            // Nothing here asks before it acts.
            "--yes" | "-y" => {}
            _ if flag.starts_with('-') => {
                return Err(Failure::usage(format!("unknown option '{flag}'\n{USAGE}")));
            }
            _ => asked.words.push(word),
        }
    }
    Ok(asked)
}

fn act(words: &[String], environment: &Environment) -> Result<String, Failure> {
    let asked = asked(words)?;
    let shop = Shop::open(environment)?;
    match asked.words.as_slice() {
        ["marketplace", "add", source] => shop.add_marketplace(source),
        ["marketplace", "list"] => Ok(shop.list_marketplaces(asked.json)),
        ["marketplace", "remove" | "rm", name] => shop.remove_marketplace(name),
        ["marketplace", "update"] => shop.update_marketplaces(None),
        ["marketplace", "update", name] => shop.update_marketplaces(Some(name)),
        ["install" | "i", plugin] => shop.install(plugin, asked.scope, "Installed"),
        ["update", plugin] => shop.install(plugin, asked.scope, "Updated"),
        ["uninstall" | "remove" | "rm", plugin] => shop.uninstall(plugin, asked.scope),
        ["enable", plugin] => shop.switch(plugin, asked.scope, true),
        ["disable", plugin] => shop.switch(plugin, asked.scope, false),
        ["list"] => Ok(shop.list(asked.json)),
        ["validate", folder] => validate(&shop.places, &environment.cwd.join(folder)),
        [word, ..] if !COMMANDS.contains(word) => Err(super::mcp::unknown("plugin", word, &COMMANDS)),
        _ => Err(Failure::form(USAGE)),
    }
}

/// What the user's machine knows of plugins.
struct Shop<'a> {
    environment: &'a Environment,
    places: Places,
    settings: Settings,
}

fn now() -> String {
    jiff::Timestamp::now().to_string()
}

impl<'a> Shop<'a> {
    fn open(environment: &'a Environment) -> Result<Self, Failure> {
        let places = resolve::places(environment);
        let loaded = settings::load(&places, settings::Sources::default(), None, None, false).map_err(agent_error)?;
        Ok(Self { environment, places, settings: loaded.settings })
    }

    fn add_marketplace(&self, written: &str) -> Result<String, Failure> {
        let source = Source::typed(written, &self.environment.cwd);
        let market = self.fetch_marketplace(&source)?;
        project::add_marketplace(&self.places, &market, &source, &now()).map_err(agent_error)?;
        Ok(format!("Successfully added marketplace: {} ({} plugins)\n", market.name, market.plugins.len()))
    }

    /// A folder is used where it is; a repository is cloned.
    fn fetch_marketplace(&self, source: &Source) -> Result<Marketplace, Failure> {
        if !project::may_use(&self.settings, source) {
            return Err(agent_error("the administrator does not allow this marketplace."));
        }
        let limit = plugin_fetch::limit(self.environment);
        match plugin_fetch::fetch(source, &self.places, self.environment, limit)? {
            Fetched::Folder(folder) => {
                let folder =
                    folder.canonicalize().map_err(|error| agent_error(format!("{}: {error}", folder.display())))?;
                project::marketplace(&folder).map_err(agent_error)
            }
            Fetched::Clone(fetching) => fetching.settle(&self.places).map_err(agent_error),
        }
    }

    fn remove_marketplace(&self, name: &str) -> Result<String, Failure> {
        if project::remove_marketplace(&self.places, name).map_err(agent_error)? {
            Ok(format!("Removed marketplace: {name}\n"))
        } else {
            Err(agent_error(format!("there is no marketplace '{name}'. {}", self.known_markets())))
        }
    }

    fn update_marketplaces(&self, name: Option<&str>) -> Result<String, Failure> {
        let known = project::known_marketplaces(&self.places);
        let wanted: Vec<_> = known.iter().filter(|(market, _)| name.is_none_or(|name| market.name == name)).collect();
        if let (true, Some(name)) = (wanted.is_empty(), name) {
            return Err(agent_error(format!("there is no marketplace '{name}'. {}", self.known_markets())));
        }
        for (_, source) in &wanted {
            let market = self.fetch_marketplace(source)?;
            project::add_marketplace(&self.places, &market, source, &now()).map_err(agent_error)?;
        }
        Ok(format!("Updated {} marketplaces.\n", wanted.len()))
    }

    fn known_markets(&self) -> String {
        let known = project::known_marketplaces(&self.places);
        let names: Vec<&str> = known.iter().map(|(market, _)| market.name.as_str()).collect();
        if names.is_empty() {
            "None is known; add one with 'plugin marketplace add'.".to_owned()
        } else {
            format!("Known: {}", names.join(", "))
        }
    }

    fn list_marketplaces(&self, as_json: bool) -> String {
        let known = project::known_marketplaces(&self.places);
        if as_json {
            let one = |(market, source): &(Marketplace, Source)| json!({"name": market.name, "source": source.to_value(), "installLocation": market.root});
            return pretty(&known.iter().map(one).collect());
        }
        known.iter().map(|(market, _)| format!("{} ({})\n", market.name, market.root.display())).collect()
    }

    /// A plugin by name, of any marketplace or of the one that is named.
    fn find(&self, plugin: &str) -> Result<(Marketplace, Source, Offer), Failure> {
        let (name, market) = plugin.rsplit_once('@').map_or((plugin, None), |(name, market)| (name, Some(market)));
        let known = project::known_marketplaces(&self.places).into_iter();
        let known = known.filter(|(known, _)| market.is_none_or(|market| known.name == market));
        let offers = known.filter_map(|(market, source)| {
            let offer = market.plugins.iter().find(|offer| offer.name == name).cloned();
            offer.map(|offer| (market, source, offer))
        });
        let offers: Vec<_> = offers.collect();
        match <[_; 1]>::try_from(offers) {
            Ok([offer]) => Ok(offer),
            Err(several) if several.is_empty() => Err(agent_error(format!(
                "Plugin \"{name}\" not found in any configured marketplace. {}",
                self.known_markets()
            ))),
            Err(several) => {
                let markets: Vec<String> =
                    several.iter().map(|(market, ..)| format!("{name}@{}", market.name)).collect();
                Err(agent_error(format!("several marketplaces have {name}; say which: {}", markets.join(", "))))
            }
        }
    }

    fn install(&self, plugin: &str, scope: Scope, done: &str) -> Result<String, Failure> {
        let (market, source, offer) = self.find(plugin)?;
        if !project::may_use(&self.settings, &source) {
            return Err(agent_error(format!("the administrator does not allow the marketplace {}.", market.name)));
        }
        let limit = plugin_fetch::limit(self.environment);
        let fetched = plugin_fetch::fetch(&offer.source, &self.places, self.environment, limit)?;
        let folder = match &fetched {
            Fetched::Folder(folder) => folder.clone(),
            Fetched::Clone(fetching) => fetching.path(),
        };
        let installed = project::install(&self.places, &market.name, &offer.name, &folder, scope, &now());
        let installed = installed.map_err(agent_error)?;
        Ok(format!("{done} plugin: {} (version {})\n", installed.id, installed.version))
    }

    fn installed(&self, plugin: &str) -> Result<Installed, Failure> {
        let here = project::installed(&self.places);
        let fits = |known: &&Installed| known.id == plugin || known.id.split('@').next() == Some(plugin);
        here.iter().find(fits).cloned().ok_or_else(|| {
            let names: Vec<&str> = here.iter().map(|plugin| plugin.id.as_str()).collect();
            let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            agent_error(format!("Plugin \"{plugin}\" is not installed. Installed: {known}"))
        })
    }

    fn uninstall(&self, plugin: &str, scope: Scope) -> Result<String, Failure> {
        let plugin = self.installed(plugin)?;
        project::uninstall(&self.places, &plugin, scope).map_err(agent_error)?;
        Ok(format!("Uninstalled plugin: {}\n", plugin.id))
    }

    fn switch(&self, plugin: &str, scope: Scope, on: bool) -> Result<String, Failure> {
        let plugin = self.installed(plugin)?;
        project::switch(&self.places, &plugin.id, scope, Some(on)).map_err(agent_error)?;
        Ok(format!("{} plugin: {}\n", if on { "Enabled" } else { "Disabled" }, plugin.id))
    }

    fn list(&self, as_json: bool) -> String {
        let is_on = |id: &str| self.settings.merged["enabledPlugins"][id] == true;
        let here = project::installed(&self.places);
        if as_json {
            let one = |plugin: &Installed| {
                json!({
                    "id": plugin.id,
                    "version": plugin.version,
                    "scope": plugin.scope,
                    "enabled": is_on(&plugin.id),
                    "installPath": plugin.path,
                    "installedAt": plugin.installed_at,
                    "lastUpdated": plugin.last_updated,
                })
            };
            return pretty(&here.iter().map(one).collect());
        }
        let line = |plugin: &Installed| {
            format!("{} {} ({})\n", plugin.id, plugin.version, if is_on(&plugin.id) { "enabled" } else { "disabled" })
        };
        if here.is_empty() { "No plugins are installed.\n".to_owned() } else { here.iter().map(line).collect() }
    }
}

fn pretty(value: &Value) -> String {
    format!("{}\n", serde_json::to_string_pretty(value).unwrap_or_default())
}

/// Whether a folder is a plugin or a marketplace that a run could load.
fn validate(places: &Places, folder: &Path) -> Result<String, Failure> {
    if folder.join(".claude-plugin/marketplace.json").is_file() {
        let market = project::marketplace(folder).map_err(agent_error)?;
        return Ok(format!("{} is a marketplace with {} plugins.\n", market.name, market.plugins.len()));
    }
    let dir = project::PluginDir { path: folder.to_owned(), with_mcp: true, called: None };
    let plugins = project::plugins(places, &[dir]);
    match (plugins.loaded.first(), plugins.problems.first()) {
        (Some(plugin), _) => Ok(format!(
            "{} is a plugin: {} skills and commands, {} agents.\n",
            plugin.name,
            plugin.skills.len(),
            plugin.agents.len()
        )),
        (None, Some(problem)) => Err(agent_error(&problem.message)),
        (None, None) => Err(agent_error("nothing was found there")),
    }
}
