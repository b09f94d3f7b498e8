//! Every listed form of every program, for the tests that run them.

use super::options::{Arity, Listed, listed};
use super::tables::{self, Operands};
use super::{find, git, sed, writers};

/// A command line with one listed option in it. Names that may be read: `a.txt`, `b.txt`, `list.txt`, the folder
/// `sub`; names that may be written: `new`, `old`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    pub program: &'static str,
    pub args: Vec<String>,
}

/// One form for each option of each listed program.
pub fn forms() -> Vec<Form> {
    let mut out = Vec::new();
    for program in tables::all() {
        for name in program.names {
            let before = operands_before(name);
            let after = operands_after(name, program.operands);
            let mut add = |option: Vec<String>| out.push(form(name, before, option, after));
            add(Vec::new());
            let separate = program.style.whole || *name == "jq";
            let spelled = options(program.options).into_iter().flat_map(spellings);
            // These take a value only as a word of its own.
            spelled.filter(|words| !(separate && words[0].ends_with('1'))).for_each(&mut add);
        }
    }
    for (name, table) in [("cp", writers::CP), ("mv", writers::MV)] {
        let spelled = listed(table).flat_map(spellings);
        out.extend(spelled.map(|option| form(name, &[], option, &["old", "new"])));
    }
    let scripted = |option: Vec<String>| {
        let script = if option.first().is_some_and(|first| first.starts_with("-e") || first.starts_with("--expression"))
        {
            &[][..]
        } else {
            &["s/a/b/"]
        };
        form("sed", &[], option, &[script, &["old"]].concat())
    };
    out.extend(listed(sed::OPTIONS).flat_map(spellings).map(scripted));
    for test in listed(find::EXPRESSION) {
        let value = (test.arity == Arity::Required).then(|| value_of(test).to_owned());
        out.push(form("find", &["sub"], [test.name.to_owned()].into_iter().chain(value).collect(), &[]));
    }
    for command in &git::SUBCOMMANDS {
        let after = operands_of_git(command.words);
        let mut add = |option: Vec<String>| out.push(form("git", command.words, option, after));
        add(Vec::new());
        options(command.options).into_iter().flat_map(spellings).for_each(&mut add);
    }
    for words in ["echo a -n", "printf %s a", "test -f a.txt", "[ -f a.txt ]", "command -v ls", "find -L sub", "find"] {
        let mut words = words.split(' ');
        let program = words.next().unwrap_or_default();
        out.push(Form { program, args: words.map(str::to_owned).collect() });
    }
    out
}

fn form(program: &'static str, before: &[&str], option: Vec<String>, after: &[&str]) -> Form {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    Form { program, args: [owned(before), option, owned(after)].concat() }
}

/// Of two entries for a name, the first counts.
fn options(tables: &[&'static str]) -> Vec<Listed> {
    let mut out: Vec<Listed> = Vec::new();
    for option in tables.iter().flat_map(|table| listed(table)) {
        if !out.iter().any(|known| known.name == option.name) {
            out.push(option);
        }
    }
    out
}

/// An option in the ways that it may be written.
fn spellings(option: Listed) -> Vec<Vec<String>> {
    let name = option.name;
    let long = name.starts_with("--");
    let attached = |value: &str| vec![if long { format!("{name}={value}") } else { format!("{name}{value}") }];
    let value = value_of(option);
    match option.arity {
        Arity::Flag => vec![vec![name.to_owned()]],
        Arity::Required => vec![attached(value), vec![name.to_owned(), value.to_owned()]],
        Arity::Attached => vec![vec![name.to_owned()], attached(value)],
    }
}

/// A value that the option takes, as far as one word fits them all.
fn value_of(option: Listed) -> &'static str {
    if option.meanings.contains("read") {
        return "list.txt";
    }
    match option.name {
        "-e" | "--expression" | "--regexp" => "s/a/b/",
        "-i" | "--in-place" => ".bak",
        "-type" | "-xtype" => "f",
        "-user" | "-group" => "root",
        "-regextype" => "posix-extended",
        "--contains" | "--no-contains" | "--merged" | "--no-merged" | "--points-at" | "--ignore-rev"
        | "--ancestry-path" => "HEAD",
        "--color" | "--colour" | "--hyperlink" | "--classify" => "never",
        "--format" | "--pretty" => "%f",
        "-L" => "1,1:a.txt",
        _ => "1",
    }
}

fn operands_before(program: &str) -> &'static [&'static str] {
    if matches!(program, "jq") { &["."] } else { &[] }
}

fn operands_after(program: &str, operands: Operands) -> &'static [&'static str] {
    match (program, operands) {
        ("jq", _) => &["data.json"],
        ("diff" | "cmp" | "comm" | "join", _) => &["a.txt", "b.txt"],
        ("date", _) => &["+%s"],
        ("tr", _) => &["a", "b"],
        ("sleep", _) => &["0"],
        ("seq", _) => &["1", "2"],
        ("expr", _) => &["1", "+", "1"],
        ("wait" | "exit" | "return" | "break" | "continue" | "groups", _) | (_, Operands::None) => &[],
        ("type" | "which", _) => &["ls"],
        (_, Operands::PatternAndFiles) => &["a", "a.txt"],
        (_, Operands::PatternAndFilesOrCwd) => &["a", "sub"],
        (_, Operands::FilesOrCwd) => &["sub"],
        (_, Operands::Written) => &["new"],
        (_, Operands::Text | Operands::Files | Operands::OneFile) => &["a.txt"],
    }
}

fn operands_of_git(words: &[&str]) -> &'static [&'static str] {
    match words {
        ["blame" | "annotate" | "check-ignore"] => &["a.txt"],
        ["ls-tree" | "cat-file" | "diff-tree" | "diff-index" | "name-rev" | "rev-list"] => &["HEAD"],
        ["merge-base"] => &["HEAD", "HEAD"],
        ["remote", "get-url"] => &["origin"],
        ["config", _] => &["user.name"],
        ["var"] => &["GIT_AUTHOR_IDENT"],
        ["grep"] => &["a"],
        _ => &[],
    }
}
