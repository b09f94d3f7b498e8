//! What is built into the binary: licences, bans, sources and build scripts, checked at every test run. The same
//! rules, and advisories, are in `deny.toml` for `cargo deny check`.

use crate::kit::finish;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use testkit::Run;

/// The only crates that may hold `unsafe` code: what happens between fork and exec has no safe interface.
const UNSAFE_ROOMS: [&str; 2] = ["process", "sandbox"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every package of the build for this machine, as Cargo sees it. What was built is on disk, so no network is needed.
#[expect(clippy::disallowed_methods, reason = "where Cargo keeps its packages is the caller's to say")]
fn packages() -> Vec<Value> {
    let mut cargo = Run::new(Path::new(env!("CARGO")), &root()).named("cargo");
    for name in ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "PATH"] {
        if let Ok(value) = std::env::var(name) {
            cargo = cargo.env(name, &value);
        }
    }
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let args = ["metadata", "--format-version", "1", "--offline", "--filter-platform", &platform];
    let outcome = finish(cargo.args(args));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let metadata: Value = serde_json::from_str(&outcome.lines.concat()).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

fn named(package: &Value) -> String {
    format!("{} {}", package["name"].as_str().unwrap(), package["version"].as_str().unwrap())
}

/// The texts in a list of `deny.toml`, by the words before it.
fn listed(before: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let (_, rest) = text.split_once(before).unwrap_or_else(|| panic!("deny.toml has no {before:?}"));
    let list = rest.split_once("\n]").map_or(rest, |(list, _)| list);
    let code: String = list.lines().map(|line| line.split('#').next().unwrap_or_default()).collect();
    code.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether an SPDX expression can be met with these licences. `/` is an old way to write OR.
fn allowed(expression: &str, licences: &BTreeSet<String>) -> bool {
    let text = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let (met, rest) = any_of(&words, licences);
    met && rest.is_empty()
}

fn any_of<'w>(words: &'w [&'w str], licences: &BTreeSet<String>) -> (bool, &'w [&'w str]) {
    let (mut met, mut rest) = all_of(words, licences);
    while let ["OR", after @ ..] = rest {
        let (other, left) = all_of(after, licences);
        (met, rest) = (met || other, left);
    }
    (met, rest)
}

fn all_of<'w>(words: &'w [&'w str], licences: &BTreeSet<String>) -> (bool, &'w [&'w str]) {
    let (mut met, mut rest) = one(words, licences);
    while let ["AND", after @ ..] = rest {
        let (other, left) = one(after, licences);
        (met, rest) = (met && other, left);
    }
    (met, rest)
}

fn one<'w>(words: &'w [&'w str], licences: &BTreeSet<String>) -> (bool, &'w [&'w str]) {
    match words {
        ["(", inner @ ..] => {
            let (met, rest) = any_of(inner, licences);
            (met, rest.strip_prefix(&[")"]).unwrap_or(rest))
        }
        [name, "WITH", exception, rest @ ..] => (licences.contains(&format!("{name} WITH {exception}")), rest),
        [name, rest @ ..] => (licences.contains(*name), rest),
        [] => (false, words),
    }
}

#[test]
fn supply_every_licence_is_one_of_ours() {
    let licences = listed("allow = [");
    assert!(allowed("(GPL-3.0 OR MIT) AND Unicode-3.0", &licences) && !allowed("MIT AND GPL-3.0", &licences));
    let packages = packages();
    assert!(packages.len() > 100, "only {} packages were seen", packages.len());
    let bad: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(|text| allowed(text, &licences)))
        .map(|package| format!("{}: {}", named(package), package["license"]))
        .collect();
    assert!(bad.is_empty(), "{bad:#?}");
}

/// Banned, but for one package that names it. `deny.toml` has the reasons.
fn exceptions() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(root().join("deny.toml")).unwrap();
    let exception = |line: &str| {
        let (name, rest) = line.trim().strip_prefix("{ crate = \"")?.split_once("\", wrappers = [\"")?;
        Some((name.to_owned(), rest.split('"').next()?.to_owned()))
    };
    text.lines().filter_map(exception).collect()
}

/// Packages of the lock that name this one among their dependencies.
fn users<'l>(lock: &'l str, name: &str) -> Vec<&'l str> {
    let of = |package: &&str| {
        package.lines().any(|line| line.trim().trim_matches([',', '"']) == name && line.starts_with(' '))
    };
    let named = |package: &'l str| {
        package.lines().find_map(|line| line.strip_prefix("name = ")).map(|name| name.trim_matches('"'))
    };
    lock.split("[[package]]").filter(of).filter_map(named).collect()
}

#[test]
fn supply_an_exception_from_the_bans_is_for_one_package() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    assert!(!exceptions().is_empty() && users(&lock, "tokio").len() > 3, "the lists were read");
    for (banned, wrapper) in exceptions() {
        assert_eq!(users(&lock, &banned), [wrapper.as_str()], "{banned}");
    }
}

#[test]
fn supply_nothing_that_is_banned_is_in_the_lock() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let locked: BTreeSet<&str> =
        lock.lines().filter_map(|line| line.strip_prefix("name = ")).map(|name| name.trim_matches('"')).collect();
    let mut banned = listed("deny = [");
    for (name, wrapper) in exceptions() {
        banned.remove(&name);
        banned.remove(&wrapper);
    }
    assert!(banned.contains("openssl-sys") && locked.contains("tokio"), "the lists were read");
    let found: Vec<&str> = locked.into_iter().filter(|name| banned.contains(*name)).collect();
    assert!(found.is_empty(), "{found:?} is banned in deny.toml");
}

#[test]
fn supply_everything_comes_from_one_registry_with_a_checksum() {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap();
    let mut sources = BTreeSet::new();
    for package in lock.split("[[package]]").skip(1) {
        let field = |key: &str| package.lines().find_map(|line| line.strip_prefix(&format!("{key} = ")));
        let Some(source) = field("source") else { continue };
        assert!(source.contains("registry+"), "{package} comes from elsewhere");
        assert!(field("checksum").is_some_and(|sum| sum.len() == 66), "{package} has no checksum");
        sources.insert(source);
    }
    assert_eq!(sources.len(), 1, "{sources:?}");
}

/// Crates that speak to the network have no business in a build script.
const NETWORK: [&str; 10] =
    ["reqwest", "ureq", "curl", "curl-sys", "hyper", "attohttpc", "minreq", "isahc", "git2", "http_req"];

/// Its build script sets up git hooks where it finds its own repository around it, and nowhere else.
const LOOKED_AT: [(&str, &str); 1] = [("rmcp", "\"git\"")];

#[test]
fn supply_no_build_script_downloads() {
    let packages = packages();
    let mut scripts = 0;
    for package in &packages {
        let dependencies = package["dependencies"].as_array().unwrap();
        let built_with = dependencies.iter().filter(|dependency| dependency["kind"] == "build");
        let network: Vec<&str> = built_with
            .filter_map(|dependency| dependency["name"].as_str())
            .filter(|name| NETWORK.contains(name))
            .collect();
        assert!(network.is_empty(), "{} builds with {network:?}", named(package));
        for target in package["targets"].as_array().unwrap().iter().filter(|target| target["kind"][0] == "custom-build")
        {
            scripts += 1;
            let text = std::fs::read_to_string(target["src_path"].as_str().unwrap()).unwrap();
            let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            for word in ["TcpStream", "UdpSocket", "\"curl\"", "\"wget\"", "\"git\"", "powershell"] {
                let looked_at = LOOKED_AT.contains(&(package["name"].as_str().unwrap(), word));
                let used = code.iter().find(|line| line.contains(word) && !looked_at);
                assert!(used.is_none(), "the build script of {} uses {word}: {used:?}", named(package));
            }
        }
    }
    assert!(scripts > 10, "only {scripts} build scripts were seen");
}

#[test]
fn supply_unsafe_code_is_forbidden_in_every_room_but_two() {
    let mut crates = 0;
    for folder in ["crates", "benches", "fuzz"] {
        let Ok(entries) = std::fs::read_dir(root().join(folder)) else { continue };
        for entry in entries.flatten() {
            let Ok(manifest) = std::fs::read_to_string(entry.path().join("Cargo.toml")) else { continue };
            crates += 1;
            let inherits = manifest.contains("[lints]\nworkspace = true");
            let is_unsafe = UNSAFE_ROOMS.iter().any(|room| entry.file_name() == *room);
            let own = is_unsafe && manifest.contains("[lints.rust]\nunsafe_code = \"deny\"");
            assert!(inherits || own, "{} does not take the workspace's lints", entry.path().display());
        }
    }
    assert!(crates > 10, "only {crates} crates were seen");
    let workspace = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    assert!(
        workspace.contains("unsafe_code = \"forbid\"") && workspace.contains("undocumented_unsafe_blocks = \"deny\"")
    );
}
