//! The container file, as far as it can be checked without an engine: that what it builds, copies and starts is there.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Instructions with their words; lines that go on are joined, comments are left out.
fn instructions() -> Vec<(String, String)> {
    let text = read("Containerfile").replace("\\\n", " ");
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .filter_map(|line| line.split_once(' '))
        .map(|(name, rest)| (name.to_owned(), rest.trim().to_owned()))
        .collect()
}

fn of(name: &str) -> Vec<String> {
    instructions().into_iter().filter(|(known, _)| known == name).map(|(_, rest)| rest).collect()
}

#[test]
fn the_build_is_that_of_the_lock_file_with_a_profile_that_is_there() {
    let build = of("RUN").into_iter().find(|run| run.starts_with("cargo build ")).expect("a build");
    assert!(build.contains(" --locked"), "{build}");
    let after = |flag: &str| build.split_whitespace().skip_while(|word| *word != flag).nth(1).expect(flag).to_owned();
    let profile = after("--profile");
    assert!(read("Cargo.toml").contains(&format!("[profile.{profile}]")), "there is no profile {profile}");
    assert!(read("crates/ralph/Cargo.toml").contains(&format!("name = \"{}\"", after("-p"))), "{build}");
    let copied = of("COPY").into_iter().find(|copy| copy.starts_with("--from=build")).expect("the program");
    let work_dir = &of("WORKDIR")[0];
    assert!(copied.contains(&format!("{work_dir}/target/{profile}/ralph ")), "{copied}");
    // The image has the compiler that the workspace asks for: its tag names no older one.
    assert!(of("FROM")[0].starts_with("rust:1-"), "{:?}", of("FROM"));
}

#[test]
fn everything_that_the_build_reads_is_sent_and_nothing_that_is_large_or_private() {
    let ignored: Vec<String> = read(".dockerignore").lines().map(|line| line.trim().to_owned()).collect();
    for name in ["target", ".git", ".ralph"] {
        assert!(ignored.iter().any(|line| line == name), "{name} goes into the image: {ignored:?}");
    }
    let sources = of("COPY").into_iter().filter(|copy| !copy.starts_with("--from"));
    let sources: Vec<String> =
        sources.flat_map(|copy| copy.split_whitespace().rev().skip(1).map(str::to_owned).collect::<Vec<_>>()).collect();
    assert!(!sources.is_empty());
    for source in sources {
        assert!(root().join(&source).exists(), "COPY {source}");
    }
    let members = read("Cargo.toml");
    for folder in ["crates", "benches", "fuzz", "tests", "Cargo.lock"] {
        assert!(!ignored.iter().any(|line| line == folder), "{folder} is needed: {members}");
    }
}

#[test]
fn the_agent_is_not_root_and_finds_its_programs() {
    assert_eq!(of("USER"), ["ralph"]);
    let runs = of("RUN").join("\n");
    assert!(runs.contains("useradd") && runs.contains(" git ") && runs.contains("ca-certificates"), "{runs}");
    assert!(runs.contains("ln -s ralph /usr/local/bin/claude"), "{runs}");
    assert_eq!(of("ENTRYPOINT"), ["[\"ralph\"]"]);
    let instructions = instructions();
    let at = |name: &str| instructions.iter().rposition(|(known, _)| known == name).expect(name);
    assert!(at("USER") > at("RUN"), "what is installed is installed by root");
    let folder = &of("WORKDIR")[1];
    assert!(runs.contains(&format!("install -d -o ralph {folder}")), "the user owns {folder}");
}
