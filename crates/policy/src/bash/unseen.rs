//! Code that runs although no word of the command line is its name: programs in the options of other programs,
//! shells that read what they run, arguments that become commands.
//!
//! It serves deny and ask rules: what is found here is tried on them, what is not found makes the command
//! uncertain. Deliberately absent: files that are run. They are as unseen as any program is.

use crate::shell::{Certainty, Word};

use super::argv::{base_name, starts};
use super::{git, scan, wrappers};

const SHELLS: [&str; 12] = ["sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash", "pwsh"];

/// They run code that stands in their arguments, in whatever language. A version may follow the name.
const INTERPRETERS: [&str; 41] = [
    "awk",
    "gawk",
    "mawk",
    "nawk",
    "python",
    "pypy",
    "perl",
    "ruby",
    "node",
    "nodejs",
    "deno",
    "bun",
    "php",
    "lua",
    "luajit",
    "tclsh",
    "expect",
    "osascript",
    "vim",
    "vi",
    "nvim",
    "ex",
    "ed",
    "emacs",
    "gdb",
    "make",
    "gmake",
    "tmux",
    "screen",
    "docker",
    "podman",
    "kubectl",
    "sqlite",
    "nu",
    "xonsh",
    "elvish",
    "socat",
    "ncat",
    "nc",
    "osh",
    "just",
];

/// Options whose value is a program.
const PROGRAM_OPTIONS: [(&str, &[&str]); 14] = [
    ("man", &["-P", "--pager", "-H", "--html"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("sort", &["--compress-program"]),
    (
        "tar",
        &[
            "--checkpoint-action",
            "--to-command",
            "-I",
            "--use-compress-program",
            "--rsh-command",
            "-F",
            "--info-script",
        ],
    ),
    ("rsync", &["-e", "--rsh", "--rsync-path"]),
    ("scp", &["-S", "-o"]),
    ("sftp", &["-S", "-o"]),
    ("ssh", &["-o"]),
    ("less", &["+"]),
    ("more", &["+"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("tcpdump", &["-z"]),
    ("nix-shell", &["--run", "--command"]),
    ("sed", &["-e", "--expression"]),
];

fn is_interpreter(base: &str) -> bool {
    let name = base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    INTERPRETERS.contains(&name) || INTERPRETERS.contains(&base)
}

/// Whether a command line is code for an interpreter, so that a rule's wildcard does not reach it.
pub(super) fn is_inline_code(name: &str, rest: &[Word]) -> bool {
    let flag = |word: &Word| {
        let text = word.text.as_str();
        matches!(text, "--eval" | "--exec" | "--execute" | "--command" | "--print")
            || (!text.starts_with("--") && text.starts_with('-') && text.contains(['c', 'e', 'E', 'r', 'p']))
    };
    is_interpreter(base_name(name)) && rest.iter().any(flag)
}

/// What may be commands in the arguments of a program that runs some of them.
pub(super) fn programs_in(base: &str, rest: &[Word]) -> Vec<String> {
    let fragments =
        |text: &str| scan::fragments(&text.replace(['=', '!', '+'], ";").replace("EXEC:", ";").replace("SYSTEM:", ";"));
    if base == "git" {
        let carries = git::carries_code(rest);
        let texts = rest.iter().filter(|_| carries).map(|word| word.text.replace(':', ";"));
        // `-Oless`: the program may stand right behind its letter.
        return texts
            .flat_map(|text| [fragments(&text), fragments(text.get(2..).unwrap_or_default())].concat())
            .collect();
    }
    if is_interpreter(base) {
        // A plain word is a file or a name; code has signs in it.
        let code = rest.iter().filter(|word| word.text.contains([' ', '(', ';', '|', '!', '&', '\n', ':']));
        return code.flat_map(|word| fragments(&word.text)).collect();
    }
    let Some((_, options)) = PROGRAM_OPTIONS.iter().find(|(name, _)| *name == base) else { return Vec::new() };
    let mut found = Vec::new();
    for (i, word) in rest.iter().enumerate() {
        match value_of(options, &word.text) {
            Some("") => found.extend(rest.get(i + 1).map(|next| fragments(&next.text)).unwrap_or_default()),
            Some(value) => found.extend(fragments(value)),
            // A script that is an operand of its own.
            None if base == "sed" && !word.text.starts_with('-') => found.extend(fragments(&word.text)),
            None => {}
        }
    }
    found
}

/// The value that is attached to one of these options; empty if it is the next word.
fn value_of<'a>(options: &[&str], word: &'a str) -> Option<&'a str> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, value) = long.split_once('=').unwrap_or((long, ""));
        let known = options.iter().filter_map(|option| option.strip_prefix("--"));
        return (!name.is_empty() && known.into_iter().any(|known| known.starts_with(name))).then_some(value);
    }
    options.iter().filter(|option| !option.starts_with("--")).find_map(|option| word.strip_prefix(option))
}

/// Whether the program gets code that is not in its words: from standard input, or from an expansion.
pub(super) fn runs_unseen(base: &str, rest: &[Word]) -> bool {
    let unclear = |word: &Word| {
        word.certainty == Certainty::Unknown || ["/dev/", "/proc/"].iter().any(|place| word.text.starts_with(place))
    };
    let operand = || rest.iter().find(|word| !word.text.starts_with(['-', '+']));
    match base {
        "eval" | "trap" => rest.iter().any(|word| word.certainty == Certainty::Unknown),
        "source" | "." => operand().is_some_and(unclear),
        shell if SHELLS.contains(&shell) => {
            let flag = |letter: char| {
                rest.iter().any(|word| {
                    word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains(letter)
                })
            };
            let asks = rest.iter().any(|word| matches!(word.text.as_str(), "--version" | "--help"));
            !asks && (flag('s') || operand().is_none_or(unclear))
        }
        _ => false,
    }
}

/// `xargs env`, `xargs -I{} {} x`, `parallel`: what comes in on standard input names the program.
pub(super) fn arguments_become_commands(words: &[Word]) -> bool {
    let starts = starts(words).0;
    let bases: Vec<&str> = starts.iter().filter_map(|&at| words.get(at)).map(|name| base_name(&name.text)).collect();
    // Behind a wrapper the name may be known only when it runs.
    let inner_unknown = starts
        .iter()
        .filter(|&&at| at > 0)
        .filter_map(|&at| words.get(at))
        .any(|name| name.certainty == Certainty::Unknown || name.text.contains("{}"));
    let feeds = bases.iter().any(|base| matches!(*base, "xargs" | "parallel"));
    let bare = starts.iter().filter(|&&at| at < words.len()).max().is_some_and(|&at| {
        let rest = words.get(at + 1..).unwrap_or_default();
        let name = words.get(at).map(|name| base_name(&name.text)).unwrap_or_default();
        let waits = name == "parallel" || (name != "xargs" && wrappers::find(name).is_some());
        waits && rest.iter().all(|word| word.text.starts_with('-') || word.text.contains('='))
    });
    inner_unknown || (feeds && bare)
}
