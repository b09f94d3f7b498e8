//! The box around an agent that is not ours, for a loop.
//!
//! The same rules as for commands, and what such an agent needs: its folder, its login, the way to its model.

use super::{Settings, built, network, request};
use crate::environment::{Environment, temp_dir};
use crate::refusal::Refusal;
use process::Env;
use runner::{ConfinedAgent, CopiedState};
use sandbox::{Level, Network, Sandbox, WholeAgent};
use settings::Places;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

/// Whom the box is for.
pub struct Foreign<'a> {
    pub name: &'a str,
    pub level: Level,
    /// The environment that it will be started in.
    pub env: &'a Env,
    /// Variables that its user wants it to have.
    pub keeps: &'a [String],
    /// The socket of the issue tracker's daemon, where it may reach that while it works.
    pub beads_socket: Option<PathBuf>,
}

impl Foreign<'_> {
    fn is_acp(&self) -> bool {
        runner::acp_command(self.name).is_some()
    }

    /// Of an ACP agent that is known by its name: where it keeps its state.
    fn folders(&self) -> Vec<PathBuf> {
        let preset = acp::preset(self.name).filter(|_| self.is_acp());
        preset.map_or_else(Vec::new, |preset| preset.folders.iter().map(PathBuf::from).collect())
    }

    /// Where its model is.
    fn hosts(&self) -> Vec<String> {
        if !self.is_acp() {
            return api_hosts(self.env);
        }
        let named = ENDPOINTS.iter().filter_map(|name| get(self.env, name)).map(|address| host_of(address).to_owned());
        let own = acp::preset(self.name).map_or(&[][..], |preset| preset.hosts);
        own.iter().map(|host| (*host).to_owned()).chain(named).collect()
    }

    /// How the names of its own variables begin. An agent that we do not know has none, and gets `--keep-env` ones.
    fn variables(&self) -> Vec<&'static str> {
        match acp::preset(self.name).filter(|_| self.is_acp()) {
            Some(preset) => preset.variables.to_vec(),
            None if self.is_acp() => Vec::new(),
            None => OWN_VARIABLES.to_vec(),
        }
    }
}

/// Variables that name where a model is.
const ENDPOINTS: [&str; 3] = ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"];

/// Where its model is unless the environment says otherwise, and where it renews its login.
const API_HOSTS: [&str; 3] = ["api.anthropic.com", "platform.claude.com", "console.anthropic.com"];

/// Its own variables.
const OWN_VARIABLES: [&str; 2] = ["ANTHROPIC_", "CLAUDE_"];

/// Where else its model can be: the switch, the beginnings of the variables, the credentials in the home folder.
const CLOUDS: [(&str, &[&str], &str); 3] = [
    ("CLAUDE_CODE_USE_BEDROCK", &["AWS_"], ".aws"),
    ("CLAUDE_CODE_USE_VERTEX", &["GOOGLE_", "GCLOUD_", "CLOUD_ML_"], ".config/gcloud"),
    ("CLAUDE_CODE_USE_FOUNDRY", &["AZURE_"], ".azure"),
];

pub fn held(
    foreign: &Foreign,
    settings: &Settings,
    places: &Places,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<ConfinedAgent, Refusal> {
    // Nobody can be let into a folder that is not there.
    let of_preset = foreign.folders().into_iter().filter_map(|folder| Some(environment.home.as_ref()?.join(folder)));
    for folder in [places.config_dir.clone()].into_iter().chain(of_preset) {
        std::fs::create_dir_all(&folder)
            .map_err(|error| Refusal::new(format!("Error: {} cannot be made: {error}.", folder.display())))?;
    }
    let mut said = Vec::new();
    let make = |foreign: &Foreign, said: &mut Vec<String>| sandbox(foreign, settings, places, environment, said);
    let work = make(foreign, &mut said)?;
    let look = make(&Foreign { level: Level::ReadOnly, beads_socket: None, ..*foreign }, &mut said)?;
    said.extend(links(&work, places));
    for line in said {
        if !warnings.contains(&line) {
            warnings.push(line);
        }
    }
    let mut sets: Env = Vec::new();
    let mut state = None;
    if get(foreign.env, "CLAUDE_CODE_TMPDIR").is_none() {
        // Its temporary files are in `/tmp` whatever TMPDIR says.
        sets.push(("CLAUDE_CODE_TMPDIR".into(), temp_dir().into()));
    }
    // As root it works on its own only where it is told of a sandbox.
    sets.push(("IS_SANDBOX".into(), "1".into()));
    // Where paths are judged by name its state can stay where it is.
    if !places.config_dir_is_custom && !cfg!(target_os = "macos") {
        sets.push(("CLAUDE_CONFIG_DIR".into(), places.config_dir.clone().into()));
        state = Some(CopiedState { from: places.global_file(), to: places.config_dir.join(".claude.json") });
    }
    if matches!(work.rules().network, Network::Only(_)) && foreign.hosts().iter().any(|host| is_here(host)) {
        // This machine's loopback is on the other side of the proxy.
        sets.extend(["NO_PROXY", "no_proxy"].map(|name| (name.into(), "".into())));
    }
    Ok(ConfinedAgent { work, look, keeps: keeps(foreign), sets, state })
}

/// What the sandbox cannot keep in its place, in words: it holds what a link leads to.
fn links(sandbox: &Sandbox, places: &Places) -> Vec<String> {
    let own = places.config_dir.canonicalize().unwrap_or_else(|_| places.config_dir.clone());
    let of_its_own = sandbox.rules().protected.iter().filter(|path| path.starts_with(&own) && path.is_symlink());
    let words = |path: &PathBuf| format!("warning: sandbox: {} is a link, which the agent can replace", path.display());
    of_its_own.map(words).collect()
}

fn sandbox(
    foreign: &Foreign,
    settings: &Settings,
    places: &Places,
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Arc<Sandbox>, Refusal> {
    let block = &super::block(settings);
    let level = foreign.level;
    let wish = super::Wish::Flag(level);
    let network = network(block, super::lists_only(wish, settings), &foreign.hosts(), warnings);
    let mut request = request(level, network, block, places, &[], environment, warnings);
    // They are its own.
    request.deny_read.retain(|path| !places.credential_files().contains(path));
    let clouds = CLOUDS.iter().filter(|(switch, ..)| is_set(foreign.env, switch));
    let keeps = clouds.map(|(.., folder)| PathBuf::from(folder)).collect();
    request.beads_socket.clone_from(&foreign.beads_socket);
    request.whole = Some(WholeAgent { keeps, folders: foreign.folders() });
    let confined = built(&request, block, wish, warnings)?;
    let confined = confined.ok_or_else(|| Refusal::new("Error: no sandbox can be made here."))?;
    if confined.sandbox.rules().network == Network::Off {
        return Err(Refusal::new(format!(
            "Error: {} could not reach its model: this machine cannot hold a list of hosts (sandbox.network), only \
             cut the network. Use --backend builtin, or take the list away.",
            foreign.name
        )));
    }
    Ok(confined.sandbox)
}

fn keeps(foreign: &Foreign) -> Vec<String> {
    let clouds = CLOUDS.iter().filter(|(switch, ..)| is_set(foreign.env, switch));
    let own = foreign.variables().into_iter().chain(clouds.flat_map(|(_, names, _)| names.iter().copied()));
    own.map(str::to_owned).chain(foreign.keeps.iter().cloned()).collect()
}

fn get<'a>(env: &'a Env, name: &str) -> Option<&'a str> {
    let value = env.iter().find(|(known, _)| known == OsStr::new(name))?.1.to_str()?;
    (!value.is_empty()).then_some(value)
}

fn is_set(env: &Env, name: &str) -> bool {
    get(env, name).is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "0" | "false" | "no" | "off"))
}

fn api_hosts(env: &Env) -> Vec<String> {
    match get(env, "ANTHROPIC_BASE_URL") {
        Some(address) => vec![host_of(address).to_owned()],
        None => API_HOSTS.map(str::to_owned).to_vec(),
    }
}

/// The host of a web address; of anything else something that is no host, and matches none.
fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let authority = &rest[..rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len())];
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    match host.find(']') {
        Some(end) => &host[..=end],
        None => host.split(':').next().unwrap_or(host),
    }
}

/// Whether it is a name or an address of this machine.
fn is_here(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sandbox::Hosts;

    fn env(pairs: &[(&str, &str)]) -> Env {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn its_model_can_be_reached_and_nothing_else_by_its_address() {
        for (address, host) in [
            ("https://api.example.com/v1", "api.example.com"),
            ("http://127.0.0.1:8080", "127.0.0.1"),
            ("http://[::1]:80/x", "[::1]"),
            ("https://me:secret@host.test:1/@evil.test", "host.test"),
            ("https://host.test\\@evil.test", "host.test"),
            ("host.test", "host.test"),
        ] {
            assert_eq!(api_hosts(&env(&[("ANTHROPIC_BASE_URL", address)])), [host]);
        }
        assert_eq!(api_hosts(&env(&[("ANTHROPIC_BASE_URL", "")])), API_HOSTS);
        let (hosts, wrong) = Hosts::new(&API_HOSTS.map(str::to_owned), &[]);
        assert!(wrong.is_empty() && hosts.allows(API_HOSTS[0]));
        assert!(is_here("127.0.0.1") && is_here("[::1]") && is_here("localhost") && !is_here("api.anthropic.com"));
    }

    #[test]
    fn it_keeps_its_own_variables_and_those_of_its_cloud() {
        let with = |pairs: &[(&str, &str)], keeps: &[String]| {
            super::keeps(&Foreign { name: "a", level: Level::Workspace, env: &env(pairs), keeps, beads_socket: None })
                .join(" ")
        };
        assert_eq!(with(&[("CLAUDE_CODE_USE_BEDROCK", "0")], &[]), "ANTHROPIC_ CLAUDE_");
        assert_eq!(with(&[("CLAUDE_CODE_USE_BEDROCK", "1")], &[]), "ANTHROPIC_ CLAUDE_ AWS_");
        assert_eq!(with(&[], &["OTHER_KEY".into()]), "ANTHROPIC_ CLAUDE_ OTHER_KEY");
        for (name, kept) in
            [("gemini", "GEMINI_ GOOGLE_ X_KEY"), ("acp:codex-acp", "OPENAI_ CODEX_ X_KEY"), ("acp:other", "X_KEY")]
        {
            let env = env(&[]);
            let foreign =
                Foreign { name, level: Level::Workspace, env: &env, keeps: &["X_KEY".into()], beads_socket: None };
            let keeps = keeps(&foreign);
            assert_eq!(keeps.join(" "), kept, "no agent gets the credential of another one");
        }
    }
}
