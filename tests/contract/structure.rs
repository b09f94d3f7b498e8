//! The structure of every crate, computed from its sources: import circles, imports against the order of the modules,
//! lines.

pub mod imports;

use imports::Crate;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files in one import circle: two files that belong together may use each other, and a parent module makes three.
const CIRCLE_MAX: usize = 3;
/// Imports of a module that the crate's `lib.rs` lists further down.
const UPWARD_MAX: usize = 5;
/// Lines of a crate without its tests.
const LINES_MAX: usize = 8_000;
/// The same for a crate that holds handles and decides nothing: what is added to it belongs into a crate below.
const LINES_MAX_OF: [(&str, usize); 1] = [("agent", 6_000)];
/// Lines of any file.
const FILE_MAX: usize = 500;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

fn crates() -> BTreeMap<String, Crate> {
    let folders = root().join("crates").read_dir().expect("crates").flatten().map(|entry| entry.path());
    let named = folders.filter(|folder| folder.join("src").is_dir()).map(|folder| {
        let name = folder.file_name().and_then(|name| name.to_str()).expect("a name").to_owned();
        (name, Crate::read(&folder.join("src")))
    });
    named.collect()
}

#[test]
fn no_crate_has_a_circle_of_imports_or_many_against_its_order() {
    let mut wrong = Vec::new();
    for (name, of) in crates() {
        let (circle, upward) = (of.circles().first().map_or(1, Vec::len), of.upward().len());
        if circle > CIRCLE_MAX {
            wrong.push(format!("{name}: files import each other in a circle: {:?}", of.circles()[0]));
        }
        if upward > UPWARD_MAX {
            wrong.push(format!("{name}: imports against the order of its modules: {:#?}", of.upward()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_crate_and_no_file_is_too_long() {
    let mut wrong = Vec::new();
    for (name, of) in crates() {
        let lines = of.lines();
        let most = LINES_MAX_OF.iter().find(|(known, _)| *known == name).map_or(LINES_MAX, |(_, most)| *most);
        if lines > most {
            wrong.push(format!("{name} has {lines} lines without tests, and {most} are allowed"));
        }
        for (file, lines) in of.long_files(FILE_MAX) {
            wrong.push(format!("{name}: {file} has {lines} lines"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A function whose error is a text (`Result<_, String>`) leaves its caller nothing but words to look at: a crate has an enum
/// of errors instead.
#[test]
fn errors_are_types_and_not_texts() {
    let mut wrong = Vec::new();
    for (name, of) in crates().into_iter().filter(|(name, _)| name != "testkit") {
        let found = of.text_errors();
        if !found.is_empty() {
            wrong.push(format!("{name}: {} results have a text as their error: {found:#?}", found.len()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn texts_as_errors_are_found() {
    let of = measured(&[
        ("lib.rs", "mod a;\n"),
        (
            "a.rs",
            "fn f() -> Result<(), String> {}\ntype T = Result<Option<Map<String, u8>>, String>;\n// Result<(), String>\nfn g() -> Result<String, Error> {}\nfn h(\n) -> Result<\n    (u8, String),\n    String,\n> {}\n#[cfg(test)]\nmod tests {\n    fn f() -> Result<(), String> {}\n}\n",
        ),
    ]);
    assert_eq!(of.text_errors().len(), 3, "{:?}", of.text_errors());
}

/// A small crate on disk, measured.
fn measured(files: &[(&str, &str)]) -> Crate {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    Crate::read(folder.path())
}

#[test]
fn circles_and_imports_against_the_order_are_found() {
    let of = measured(&[
        ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\npub use d::Thing;\n"),
        ("a.rs", "use crate::b::{self, inner::{One, Two}};\n// use crate::d::X;\n"),
        ("b.rs", "mod inner;\nfn f() { crate::c::g() }\n#[cfg(test)]\nmod tests {\n    use crate::d::X;\n}\n"),
        ("b/inner.rs", "use super::f;\n"),
        ("c.rs", "use crate::Thing;\n"),
        ("d.rs", "use crate::a::x;\n"),
        ("d_tests.rs", "use crate::a::x;\n"),
    ]);
    assert_eq!(of.circles(), [["a.rs", "b.rs", "b/inner.rs", "c.rs", "d.rs"].map(str::to_owned).to_vec()]);
    let upward: Vec<String> = of.upward().into_iter().collect();
    assert_eq!(upward, ["a.rs -> b.rs", "a.rs -> b/inner.rs", "b.rs -> c.rs", "c.rs -> d.rs"]);
    assert_eq!(of.lines(), 5 + 2 + 2 + 1 + 1 + 1);
}
