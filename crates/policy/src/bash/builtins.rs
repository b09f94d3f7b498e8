//! Commands of the shell itself: the few that change nothing but where the next command runs.
//!
//! All others are no programs: they set variables, define names, run text or change what a later word means, so no
//! rule with a wildcard covers them. A rule for exactly the whole text does.

use crate::shell::{Certainty, Word};

use super::files;

/// They change what the words after them mean, or run text.
const STATEFUL: [&str; 57] = [
    ".",
    "alias",
    "autoload",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "emulate",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "fg",
    "float",
    "functions",
    "getopts",
    "hash",
    "history",
    "integer",
    "jobs",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "setopt",
    "shift",
    "shopt",
    "source",
    "suspend",
    "trap",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "unsetopt",
    "wait",
    "zmodload",
    "zstyle",
];

pub(super) fn is_stateful(name: &str) -> bool {
    STATEFUL.contains(&name)
}

/// The files that one of the harmless ones reads. `None`: not one of them, or not in a harmless form.
pub(super) fn reads(name: &str, args: &[Word]) -> Option<Vec<Word>> {
    let texts: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
    let exact = args.iter().all(|word| word.exact().is_some());
    match name {
        ":" | "true" | "false" => Some(listed(args)),
        "exit" => match texts.as_slice() {
            [] => Some(Vec::new()),
            [code] if code.len() <= 3 && code.bytes().all(|b| b.is_ascii_digit()) => Some(Vec::new()),
            _ => None,
        },
        "pwd" => texts.iter().all(|text| matches!(*text, "-L" | "-P")).then(Vec::new),
        "type" => (exact && !texts.iter().any(|text| text.starts_with('-'))).then(Vec::new),
        "cd" => {
            let operands = match texts.split_first() {
                Some((&("--" | "-L"), _)) => &args[1..],
                _ => args,
            };
            let plain = operands.len() <= 1 && operands.iter().all(|word| !word.text.starts_with('-'));
            (exact && plain).then(|| files::directory(args).into_iter().map(|used| used.word).collect())
        }
        _ => None,
    }
}

/// `echo /etc/*` lists a directory.
fn listed(args: &[Word]) -> Vec<Word> {
    args.iter().filter(|word| word.certainty == Certainty::Glob).cloned().collect()
}
