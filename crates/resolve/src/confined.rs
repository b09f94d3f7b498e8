//! Whether commands are confined, and how: the flag, the settings, and what this machine can hold.
//! Never less than was asked for without a word.

mod exits;
mod whole;

pub use whole::{Foreign, held};

use crate::environment::{Environment, temp_dir};
use crate::refusal::{Refusal, one_of};
use arguments::Arguments;
use sandbox::{Hosts, Level, Network, Request, Rules, Sandbox};
use serde_json::{Value, json};
use settings::{Places, Settings};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tools::Exits;

/// Who asked for the sandbox, since a flag is a promise and a setting of the reference a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Nobody,
    Flag(Level),
    Settings,
}

/// A sandbox, and what comes with it.
pub struct Confined {
    pub sandbox: Arc<Sandbox>,
    /// As they were asked for.
    pub rules: Rules,
    /// The other tools keep to its rules, too: the flag is about the whole agent, the settings (as in the
    /// reference) about commands.
    pub fenced: bool,
    /// Commands in it need no permission, unless a rule says otherwise.
    pub auto_allow: bool,
    /// Commands that leave it.
    pub exits: Exits,
}

/// Keys of `sandbox` that this agent does without: each names a program or a way of another sandbox.
const NOT_NEEDED: [&str; 4] = ["bwrapPath", "socatPath", "ripgrep", "enableWeakerNestedSandbox"];

/// Keys that are understood, with those below them.
const KNOWN: [&str; 7] = [
    "enabled",
    "autoAllowBashIfSandboxed",
    "allowUnsandboxedCommands",
    "excludedCommands",
    "failIfUnavailable",
    "filesystem",
    "network",
];
const KNOWN_FILES: [&str; 5] = ["allowWrite", "denyWrite", "denyRead", "allowRead", READS_ONLY];
const KNOWN_NETWORK: [&str; 6] =
    ["allowedDomains", "deniedDomains", "allowAllUnixSockets", "allowLocalBinding", "strictAllowlist", DOMAINS_ONLY];

/// Of an administrator: nobody else's list counts.
const DOMAINS_ONLY: &str = "allowManagedDomainsOnly";
const READS_ONLY: &str = "allowManagedReadPathsOnly";

pub fn resolve(
    typed: &Arguments,
    settings: &Settings,
    places: &Places,
    extra_roots: &[PathBuf],
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Result<Option<Confined>, Refusal> {
    let block = &block(settings);
    let wish = wish(typed, settings)?;
    let level = match wish {
        Wish::Nobody => return Ok(None),
        Wish::Flag(level) => level,
        Wish::Settings => Level::Workspace,
    };
    warnings.extend(unknown(block));
    let network = network(block, lists_only(wish, settings), &[], warnings);
    let mut request = request(level, network, block, places, extra_roots, environment, warnings);
    request.beads_socket = beads_socket(typed, settings)?;
    let confined = built(&request, block, wish, warnings)?;
    let exits = exits::find(settings, wish != Wish::Settings);
    Ok(confined.map(|confined| Confined { exits, ..confined }))
}

/// What the settings say of it, with the lists that are the administrator's alone.
fn block(settings: &Settings) -> Value {
    let mut block = settings.merged["sandbox"].as_object().cloned().unwrap_or_default();
    let managed = &settings.managed["sandbox"];
    for (part, only, list) in [("network", DOMAINS_ONLY, "allowedDomains"), ("filesystem", READS_ONLY, "allowRead")] {
        if managed[part][only] == Value::Bool(true) {
            let theirs = managed[part].get(list).cloned().unwrap_or(Value::Array(Vec::new()));
            let rules = block.entry(part).or_insert_with(|| json!({}));
            if !rules.is_object() {
                *rules = json!({});
            }
            rules[list] = theirs;
        }
    }
    Value::Object(block)
}

/// Whether the administrator wants commands confined, whatever anybody else says.
pub fn is_policy(settings: &Settings) -> bool {
    settings.managed["sandbox"]["enabled"] == Value::Bool(true)
}

/// What somebody is told who wants none all the same.
pub const POLICY: &str = "the administrator's settings ask for a sandbox (sandbox.enabled), and 'off' cannot take it \
                          away. Leave '--sandbox off' out.";

/// A flag that adds a sandbox must not open the network that the administrator has closed by asking for one.
fn lists_only(wish: Wish, settings: &Settings) -> bool {
    wish == Wish::Settings || is_policy(settings)
}

/// The one socket that a flag opens. An administrator who asks for a sandbox has said which sockets open.
fn beads_socket(typed: &Arguments, settings: &Settings) -> Result<Option<PathBuf>, Refusal> {
    let Some(path) = typed.beads_socket.as_ref().map(PathBuf::from) else { return Ok(None) };
    if !path.is_absolute() {
        return Err(Refusal::new(format!("Error: --beads-socket needs an absolute path, not '{}'.", path.display())));
    }
    Ok(Some(path).filter(|_| !is_policy(settings)))
}

fn wish(typed: &Arguments, settings: &Settings) -> Result<Wish, Refusal> {
    if typed.sandbox.is_given {
        return match typed.sandbox.value.as_deref().unwrap_or("workspace") {
            "off" if is_policy(settings) => Err(Refusal::new(format!("Error: {POLICY}"))),
            "off" => Ok(Wish::Nobody),
            name => match Level::parse(name) {
                Some(level) => Ok(Wish::Flag(level)),
                None => Err(one_of("sandbox", name, "off, read-only, workspace")),
            },
        };
    }
    let enabled = settings.merged["sandbox"]["enabled"] == Value::Bool(true) || is_policy(settings);
    Ok(if enabled { Wish::Settings } else { Wish::Nobody })
}

fn built(
    request: &Request,
    block: &Value,
    wish: Wish,
    warnings: &mut Vec<String>,
) -> Result<Option<Confined>, Refusal> {
    if request.roots.iter().any(|root| root == Path::new("/")) {
        return Err(Refusal::new(
            "Error: the workspace is /, and a sandbox around everything is none. Work in a folder.",
        ));
    }
    let strict = block["failIfUnavailable"] == Value::Bool(true);
    let rules = request.rules();
    let sandbox = match Sandbox::new(rules.clone()) {
        Ok(sandbox) => sandbox,
        Err(error) if strict || wish != Wish::Settings => {
            return Err(Refusal::new(format!("Error: {error}. '--sandbox off' runs commands without one.")));
        }
        Err(error) => {
            warnings.push(format!("warning: {error}; commands run WITHOUT the sandbox that the settings ask for"));
            return Ok(None);
        }
    };
    if let (true, Some(weakness)) = (strict, sandbox.weaknesses().first()) {
        return Err(Refusal::new(format!(
            "Error: the sandbox cannot be held here, and sandbox.failIfUnavailable is set: {weakness}."
        )));
    }
    let auto_allow = sandbox.weaknesses().is_empty() && block["autoAllowBashIfSandboxed"] != Value::Bool(false);
    warnings.extend(sandbox.weaknesses().iter().map(|weakness| format!("warning: sandbox: {weakness}")));
    let fenced = wish != Wish::Settings;
    Ok(Some(Confined { sandbox: Arc::new(sandbox), rules, fenced, auto_allow, exits: Exits::default() }))
}

fn request(
    level: Level,
    network: Network,
    block: &Value,
    places: &Places,
    extra_roots: &[PathBuf],
    environment: &Environment,
    warnings: &mut Vec<String>,
) -> Request {
    let mut paths = |key: &str| -> Vec<PathBuf> {
        let (fine, odd): (Vec<String>, Vec<String>) = texts(&block["filesystem"][key])
            .into_iter()
            .map(|text| plain_path(&text))
            .partition(|path| !path.contains('*'));
        for path in odd {
            warnings.push(format!("warning: sandbox.filesystem.{key}: {path} is ignored: patterns are not supported"));
        }
        fine.into_iter().map(PathBuf::from).collect()
    };
    let (mut deny_read, mut allow_read) = (paths("denyRead"), paths("allowRead"));
    if let Some(state) = environment.state_folder() {
        // The goals' store and other goals' clones are nobody's to read. A clone borrows objects from its mirror.
        allow_read.push(state.join("mirrors"));
        deny_read.push(state);
    }
    Request {
        level,
        roots: std::iter::once(places.cwd.clone()).chain(extra_roots.iter().cloned()).collect(),
        home: places.home.clone(),
        config_dir: places.config_dir.clone(),
        temp: temp(environment),
        allow_write: paths("allowWrite"),
        deny_write: paths("denyWrite"),
        deny_read: deny_read.into_iter().chain(places.credential_files()).collect(),
        allow_read,
        network,
        unix_sockets: block["network"]["allowAllUnixSockets"] == Value::Bool(true),
        beads_socket: None,
        whole: None,
    }
}

/// The temporary folder of this environment, and where shared memory has its files.
fn temp(environment: &Environment) -> Vec<PathBuf> {
    let mut folders = vec![temp_dir(), "/dev/shm".into()];
    folders.extend(environment.get("CLAUDE_CODE_TMPDIR").map(PathBuf::from));
    if environment.get("TMPDIR").is_none() {
        folders.push("/var/tmp".into());
    }
    folders
}

/// A list of hosts is a list even when it is empty. Without one, settings mean none (as in the
/// reference), while the flag is about files: the network stays open. `also` are hosts beside a list.
fn network(block: &Value, lists_only: bool, also: &[String], warnings: &mut Vec<String>) -> Network {
    let rules = &block["network"];
    let (allowed, denied) = (rules.get("allowedDomains"), rules.get("deniedDomains"));
    let any = Value::from(vec!["*"]);
    let nothing = Value::Null;
    let allowed = match (allowed, lists_only, denied) {
        (Some(list), ..) => list,
        (None, true, _) => &nothing,
        (None, false, Some(_)) => &any,
        (None, false, None) => return Network::Open,
    };
    let allowed: Vec<String> = texts(allowed).into_iter().chain(also.iter().cloned()).collect();
    let (hosts, wrong) = Hosts::new(&allowed, &texts(denied.unwrap_or(&Value::Null)));
    warnings.extend(wrong.iter().map(|text| format!("warning: sandbox.network: '{text}' is no host and matches none")));
    Network::Only(hosts)
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// As the reference writes paths: `//` is an absolute one, and a tree may end with `/**`.
fn plain_path(text: &str) -> String {
    let text = text.strip_suffix("/**").or_else(|| text.strip_suffix("/*")).unwrap_or(text);
    if text.starts_with("//") { text[1..].to_owned() } else { text.to_owned() }
}

/// What somebody has set and we do not do; said once.
fn unknown(block: &Value) -> Option<String> {
    let keys = |value: &Value, known: &[&str], before: &str| -> Vec<String> {
        let entries = value.as_object().into_iter().flatten();
        let set = entries.filter(|(_, value)| !matches!(value, Value::Null | Value::Bool(false)));
        set.filter(|(key, _)| !known.contains(&key.as_str())).map(|(key, _)| format!("{before}{key}")).collect()
    };
    let mut odd = keys(block, &[&KNOWN[..], &NOT_NEEDED[..]].concat(), "sandbox.");
    odd.extend(keys(&block["filesystem"], &KNOWN_FILES, "sandbox.filesystem."));
    odd.extend(keys(&block["network"], &KNOWN_NETWORK, "sandbox.network."));
    (!odd.is_empty()).then(|| format!("warning: ignored, commands stay inside: {}", odd.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_empty_list_of_hosts_is_a_list() {
        let of = |block: &Value, lists_only| network(block, lists_only, &[], &mut Vec::new());
        let flag = false;
        let nothing = Network::Only(Hosts::default());
        assert_eq!(of(&json!({}), flag), Network::Open);
        assert_eq!(of(&json!({}), true), nothing);
        assert_eq!(of(&json!({"network": {"allowedDomains": []}}), flag), nothing);
        let Network::Only(hosts) = of(&json!({"network": {"deniedDomains": ["a.test"]}}), flag) else { panic!() };
        assert!(hosts.allows("b.test") && !hosts.allows("a.test"));
    }

    #[test]
    fn an_administrators_list_can_be_the_only_one() {
        let with = |managed: Value| {
            let merged = json!({"sandbox": {"network": {"allowedDomains": ["a.test", "b.test"]}}});
            let managed = json!({"sandbox": {"network": managed}});
            block(&Settings { merged, managed, ..Settings::default() })["network"]["allowedDomains"].clone()
        };
        assert_eq!(with(json!({"allowedDomains": ["b.test"]})), json!(["a.test", "b.test"]));
        assert_eq!(with(json!({"allowedDomains": ["b.test"], DOMAINS_ONLY: true})), json!(["b.test"]));
        assert_eq!(with(json!({DOMAINS_ONLY: true})), json!([]));
    }

    #[test]
    fn a_flag_opens_one_socket_unless_the_administrator_holds_the_sandbox() {
        let named = |path: &str, managed: Value| {
            let typed = arguments::parse(["--beads-socket".to_owned(), path.to_owned()]).unwrap();
            let settings = Settings { managed, ..Settings::default() };
            beads_socket(&typed, &settings).map_err(|refusal| refusal.text)
        };
        assert_eq!(named("/w/.beads/bd.sock", json!({})), Ok(Some("/w/.beads/bd.sock".into())));
        assert_eq!(named("/w/.beads/bd.sock", json!({"sandbox": {"enabled": true}})), Ok(None));
        assert!(named("bd.sock", json!({})).unwrap_err().contains("absolute path"));
        assert_eq!(beads_socket(&Arguments::default(), &Settings::default()).ok().flatten(), None);
    }

    #[test]
    fn what_is_not_done_is_said() {
        let fine = json!({"enabled": true, "bwrapPath": "/x", "excludedCommands": ["x"], "credentials": null});
        assert_eq!(unknown(&fine), None);
        let said = unknown(&json!({"credentials": {"files": []}, "network": {"httpProxyPort": 1}})).unwrap();
        assert!(said.contains("sandbox.credentials") && said.contains("sandbox.network.httpProxyPort"), "{said}");
    }

    #[test]
    fn paths_are_written_as_in_the_reference() {
        for (text, path) in [("//etc/x", "/etc/x"), ("/etc/x", "/etc/x"), ("src/**", "src"), ("~/.x", "~/.x")] {
            assert_eq!(plain_path(text), path);
        }
    }
}
