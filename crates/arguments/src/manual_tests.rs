use super::*;
use crate::completions::{flags, flags_of};
use crate::{Flag, GOAL_HELP};
use std::path::Path;

#[test]
fn the_manual_is_ascii_and_no_text_is_a_request() {
    let page = roff_page();
    assert!(page.is_ascii());
    assert_eq!(roff(".x\n'y\\ -é"), "\\&.x\n\\&'y\\e \\-\\[u00E9]");
}

#[test]
fn every_flag_is_in_the_documents_as_the_tables_have_it() {
    let document = include_str!("../../../docs/commands.md");
    assert!(document == markdown(), "docs/commands.md is old: ralph man --markdown > docs/commands.md");
}

/// The other way round: a command line of ours in a document uses only flags that exist.
#[test]
fn every_flag_of_a_command_in_the_documents_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = root.join("docs").read_dir().unwrap().flatten().map(|entry| entry.path());
    let docs = docs.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    let known: Vec<String> = COMMANDS
        .iter()
        .flat_map(|command| flags_of(&command.option_lines()))
        .chain(flags_of(&loop_flags::option_lines()))
        .chain(flags(GOAL_HELP).map(str::to_owned))
        .chain(["--help", "--version", "--markdown"].map(str::to_owned))
        .collect();
    let mut seen = 0;
    for file in docs.chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(&file).unwrap();
        let spans = text.split('`').skip(1).step_by(2);
        for line in spans.filter(|span| span.starts_with("ralph ") && !span.contains('\n')) {
            for flag in flags(line).filter(|flag| flag.starts_with("--")) {
                seen += 1;
                let name = flag.trim_start_matches('-').trim_end_matches(['.', ';', ':', ')', '\'', '"']);
                let ours =
                    known.iter().any(|known| known.trim_start_matches('-') == name) || Flag::long(name).is_some();
                assert!(ours, "{}: {line}: there is no {flag}", file.display());
            }
        }
    }
    assert!(seen > 20, "only {seen} flags were found");
}
