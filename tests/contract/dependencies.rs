//! The crates use only what ARCHITECTURE.md's table says, and only two of them have `unsafe` code.

use crate::common::finish;
use crate::structure::imports::sources;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use testkit::Run;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The short name of a crate: `ralph-wire` is `wire`, and `ralph` is itself.
fn short_name(name: &str) -> &str {
    name.strip_prefix("ralph-").unwrap_or(name)
}

/// Which of our crates each of them uses, as Cargo sees it. What only tests need does not count.
fn used() -> BTreeMap<String, BTreeSet<String>> {
    let scratch = tempfile::tempdir().expect("a folder");
    let cargo = Run::new(Path::new(env!("CARGO")), &root())
        .named("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1", "--offline"])
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", &scratch.path().display().to_string())
        .env("CARGO_HOME", &scratch.path().display().to_string());
    let outcome = finish(cargo);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let metadata: Value = serde_json::from_str(&outcome.lines.concat()).expect("metadata");
    let packages = metadata["packages"].as_array().expect("packages");
    let names: BTreeSet<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let of_ours = |package: &Value| {
        let listed = package["dependencies"].as_array().cloned().unwrap_or_default();
        let built = listed.into_iter().filter(|dependency| dependency["kind"] != "dev");
        let named = built.filter_map(|dependency| dependency["name"].as_str().map(str::to_owned));
        // `features` holds no code.
        let named = named.filter(|name| name != "ralph-features");
        named.filter(|name| names.contains(name.as_str())).map(|name| short_name(&name).to_owned()).collect()
    };
    packages
        .iter()
        .map(|package| (short_name(package["name"].as_str().expect("a name")).to_owned(), of_ours(package)))
        .collect()
}

/// The table in ARCHITECTURE.md: each crate with the crates that it may use.
fn allowed(crates: &BTreeSet<String>) -> BTreeMap<String, BTreeSet<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let mut above: BTreeSet<String> = BTreeSet::new();
    let mut table = BTreeMap::new();
    for line in text.lines() {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, _, may, _] = cells[..] else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else { continue };
        let may: BTreeSet<String> = match may {
            "nothing" => BTreeSet::new(),
            "everything" => crates.clone(),
            "all of the above" => above.clone(),
            list => list.split(", ").map(str::to_owned).collect(),
        };
        above.insert(name.to_owned());
        table.insert(name.to_owned(), may);
    }
    table
}

#[test]
fn each_crate_uses_only_what_the_table_allows() {
    let used = used();
    let crates: BTreeSet<String> = used.keys().cloned().collect();
    let allowed = allowed(&crates);
    assert_eq!(allowed.keys().collect::<Vec<_>>(), crates.iter().collect::<Vec<_>>(), "the table lists every crate");
    for (name, uses) in &used {
        let more: Vec<&String> = uses.difference(&allowed[name]).collect();
        assert!(more.is_empty(), "{name} uses {more:?}, which ARCHITECTURE.md does not allow");
    }
    assert!(allowed["wire"].is_empty() && allowed["process"].is_empty(), "the table was read");
    assert!(used["agent"].contains("tools") && used["ralph"].contains("agent"), "the crates were read");
}

/// Lines of code with the keyword; comments and texts may speak of it.
fn unsafe_lines(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).expect("a source file");
    let code = |line: &&str| !line.trim_start().starts_with("//");
    let word = |line: &&str| {
        ["unsafe {", "unsafe fn", "unsafe impl", "unsafe trait", "unsafe extern"].iter().any(|form| line.contains(form))
    };
    text.lines().filter(code).filter(word).map(|line| format!("{}: {line}", file.display())).collect()
}

#[test]
fn only_the_crates_that_start_and_confine_processes_have_unsafe_code() {
    let crates: Vec<PathBuf> =
        root().join("crates").read_dir().expect("crates").flatten().map(|entry| entry.path()).collect();
    let has_unsafe =
        |path: &PathBuf| sources(&path.join("src")).iter().flat_map(|file| unsafe_lines(file)).collect::<Vec<_>>();
    let (allowed, others): (Vec<&PathBuf>, Vec<&PathBuf>) =
        crates.iter().partition(|path| path.ends_with("process") || path.ends_with("sandbox"));
    for folder in others {
        assert_eq!(has_unsafe(folder), [] as [String; 0]);
    }
    assert_eq!(allowed.len(), 2);
    for folder in allowed {
        assert!(!has_unsafe(folder).is_empty(), "the search finds nothing any more in {}", folder.display());
    }
}

/// A manifest's table of dependencies.
fn listed(manifest: &str, table: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(root().join(manifest)).expect("a manifest");
    let after = text.split_once(&format!("[{table}]\n")).map(|(_, after)| after).unwrap_or_default();
    let lines = after.lines().take_while(|line| !line.starts_with('['));
    let named = lines.filter_map(|line| line.split_once(['.', ' ', '=']).map(|(name, _)| name));
    named.filter(|name| !name.is_empty() && *name != "#").map(str::to_owned).collect()
}

/// Or Cargo chooses other features for `-p ralph-tools` than for `-p ralph`, and builds 80 packages anew at each switch.
#[test]
fn features_of_packages_are_chosen_in_one_place() {
    let text = std::fs::read_to_string(root().join("Cargo.toml")).expect("the manifest");
    let ours: BTreeSet<String> = text
        .lines()
        .filter(|line| line.contains("path = \""))
        .filter_map(|line| line.split_once(' ').map(|(name, _)| name.to_owned()))
        .collect();
    let tests_own = ["proptest", "pty-process", "vt100"].map(str::to_owned);
    let outside: BTreeSet<String> = listed("Cargo.toml", "workspace.dependencies")
        .into_iter()
        .filter(|name| !ours.contains(name) && !tests_own.contains(name))
        .collect();
    assert!(outside.contains("serde") && ours.contains("wire"), "the manifest was read");
    let chosen = listed("crates/features/Cargo.toml", "dependencies");
    assert_eq!(chosen, outside, "crates/features/Cargo.toml lists every package of the workspace");
    for folder in root().join("crates").read_dir().expect("crates").flatten().map(|entry| entry.path()) {
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        let uses = listed(&format!("crates/{name}/Cargo.toml"), "dependencies");
        assert!(name == "features" || uses.contains("features"), "crates/{name} must depend on `features`");
    }
}
