//! Git forms that only read, and git forms that carry code in their arguments.

use crate::shell::{Certainty, Word};

use super::files::{Footprint, Use};

/// Global options that change neither what runs nor where.
const HARMLESS_GLOBALS: [&str; 4] =
    ["--no-pager", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects"];

/// Options of the reading commands that write, run a program, or leave the repository. Git accepts
/// unambiguous beginnings, so a prefix of one counts as well.
const REFUSED_LONG: [&str; 10] = [
    "--output",
    "--ext-diff",
    "--textconv",
    "--no-index",
    "--show-signature",
    "--open-files-in-pager",
    "--exec-path",
    "--upload-pack",
    "--paginate",
    "--filters",
];

/// Configuration that a `-c` may set without changing what runs.
const HARMLESS_KEYS: [&str; 8] =
    ["user.", "author.", "committer.", "color.", "advice.", "commit.gpgsign=false", "core.quotepath", "init.default"];

/// Index of the subcommand among the words after `git`.
pub(super) fn after_globals(words: &[Word]) -> usize {
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| word.text.starts_with('-')) {
        let valued = matches!(
            word.text.as_str(),
            "-C" | "-c"
                | "--git-dir"
                | "--work-tree"
                | "--namespace"
                | "--exec-path"
                | "--config-env"
                | "--super-prefix"
        );
        at += if valued { 2 } else { 1 };
    }
    at
}

/// A rule for `git …` does not cover these: they make git run another program.
pub(super) fn carries_code(words: &[Word]) -> bool {
    let (globals, rest) = words.split_at(after_globals(words).min(words.len()));
    globals_carry_code(globals) || rest.split_first().is_some_and(|(name, args)| subcommand_carries_code(name, args))
}

fn globals_carry_code(globals: &[Word]) -> bool {
    globals.iter().enumerate().any(|(i, word)| {
        let text = word.text.as_str();
        let key = match text {
            "-c" => globals.get(i + 1).map(|value| value.text.to_lowercase()),
            _ => None,
        };
        text.starts_with("--exec-path")
            || text.starts_with("--config-env")
            // Another repository, whose configuration names programs.
            || text.starts_with("--git-dir")
            || text.starts_with("--work-tree")
            || (text.starts_with("-c") && text != "-c")
            || key.is_some_and(|key| !HARMLESS_KEYS.iter().any(|known| key.starts_with(known)))
            || word.exact().is_none()
    })
}

/// Folders that `-C` sends git to.
pub(super) fn directories(words: &[Word]) -> impl Iterator<Item = &Word> {
    let globals = &words[..after_globals(words).min(words.len())];
    globals.windows(2).filter(|pair| pair[0].text == "-C").map(|pair| &pair[1])
}

/// Options whose value is a program or leads to one. Git takes unambiguous beginnings of them, too.
const PROGRAM_OPTIONS: [&str; 7] =
    ["--exec", "--extcmd", "--upload-pack", "--receive-pack", "--open-files-in-pager", "--ext-diff", "--config"];

/// Subcommands that know such options: a word that may turn into one is not covered.
const TAKES_PROGRAMS: [&str; 10] =
    ["rebase", "bisect", "submodule", "clone", "fetch", "pull", "push", "ls-remote", "archive", "grep"];

/// Subcommands that exist to run something, or to say what will be run.
const PROGRAM_SUBCOMMANDS: [&str; 16] = [
    "filter-branch",
    "difftool",
    "mergetool",
    "for-each-repo",
    "hook",
    "instaweb",
    "daemon",
    "shell",
    "send-email",
    "credential",
    "remote-ext",
    "remote-fd",
    "web--browse",
    "maintenance",
    "interpret-trailers",
    "imap-send",
];

fn subcommand_carries_code(name: &Word, args: &[Word]) -> bool {
    let Some(name) = name.exact() else { return true };
    let first = args.iter().find(|word| !word.text.starts_with('-')).map(|word| word.text.as_str());
    let short = |letter: char| {
        args.iter().any(|word| !word.text.starts_with("--") && word.text.starts_with('-') && word.text.contains(letter))
    };
    let option = |word: &Word| {
        let name = word.text.split('=').next().unwrap_or_default();
        name.starts_with("--") && name.len() > 3 && PROGRAM_OPTIONS.iter().any(|known| known.starts_with(name))
    };
    // `ext::sh -c …` is an address that git runs.
    let transport = |word: &Word| ["ext::", "fd::"].iter().any(|scheme| word.text.contains(scheme));
    let by_name = match name {
        "rebase" => short('x'),
        "bisect" => first == Some("run"),
        "submodule" => first == Some("foreach"),
        "clone" | "init" if args.iter().any(|word| word.text.starts_with("--te")) => true,
        "clone" => short('u') || short('c'),
        "grep" => short('O'),
        "config" => !reads(name, args),
        name => PROGRAM_SUBCOMMANDS.contains(&name),
    };
    let may_become_option = |word: &Word| word.certainty == Certainty::Unknown && word.raw.starts_with(['$', '{', '`']);
    let hidden = TAKES_PROGRAMS.contains(&name) && args.iter().any(may_become_option);
    by_name || hidden || args.iter().any(|word| option(word) || transport(word))
}

/// Commands that read, whatever their options but those of [`REFUSED_LONG`] are.
const READING: [&str; 26] = [
    "status",
    "log",
    "diff",
    "show",
    "rev-parse",
    "blame",
    "annotate",
    "ls-files",
    "ls-tree",
    "cat-file",
    "rev-list",
    "merge-base",
    "name-rev",
    "for-each-ref",
    "show-ref",
    "describe",
    "shortlog",
    "whatchanged",
    "count-objects",
    "diff-tree",
    "diff-index",
    "diff-files",
    "grep",
    "check-ignore",
    "version",
    "reflog",
];

/// A command that reads by its name, with an option that writes or runs something: a rule for reading is none for that.
pub(super) fn reads_and_more(words: &[Word]) -> bool {
    let Some((name, args)) = words.get(after_globals(words)..).and_then(|rest| rest.split_first()) else {
        return false;
    };
    let more = |word: &Word| {
        let long = word.text.split('=').next().unwrap_or_default();
        let by_name =
            long.len() > 2 && long.starts_with("--") && REFUSED_LONG.iter().any(|known| known.starts_with(long));
        let cluster = name.text == "grep" && !long.starts_with("--") && long.starts_with('-') && long.contains('O');
        by_name || cluster
    };
    READING.contains(&name.text.as_str()) && args.iter().take_while(|word| word.text != "--").any(more)
}

/// `None`: not one of the forms that only read.
pub(super) fn footprint(words: &[Word]) -> Option<Footprint> {
    let mut rest = words;
    while let Some((flag, others)) = rest.split_first().filter(|(word, _)| word.text.starts_with('-')) {
        if !HARMLESS_GLOBALS.contains(&flag.raw.as_str()) {
            return None;
        }
        rest = others;
    }
    let (name, args) = rest.split_first()?;
    let name = name.exact()?;
    if args.iter().any(refused) || !reads(name, args) {
        return None;
    }
    let mut footprint = Footprint { recursive: name == "grep", ..Footprint::default() };
    for word in args.iter().filter(|word| !word.text.starts_with('-')) {
        footprint.uses.push(Use::read(word));
        // `HEAD:path` reads a path, too.
        if let Some((_, path)) = word.text.split_once(':').filter(|(_, path)| !path.is_empty()) {
            footprint.uses.push(Use::read(&Word {
                raw: path.to_owned(),
                text: path.to_owned(),
                certainty: word.certainty,
            }));
        }
    }
    Some(footprint)
}

fn refused(word: &Word) -> bool {
    if word.exact().is_none() {
        return true;
    }
    let text = word.text.as_str();
    let long = text.split('=').next().unwrap_or(text);
    // `%G…` asks gpg, whose program the repository names.
    (text.starts_with("--") && long.len() > 2 && REFUSED_LONG.iter().any(|refused| refused.starts_with(long)))
        || text.starts_with("-O")
        || text.contains("%G")
}

fn reads(name: &str, args: &[Word]) -> bool {
    let texts: Vec<&str> = args.iter().map(|word| word.text.as_str()).collect();
    let flags_only = |allowed: &[&str]| {
        texts.iter().all(|text| allowed.iter().any(|flag| text == flag || text.starts_with(&format!("{flag}="))))
    };
    let first = texts.first().copied();
    match name {
        "status" | "log" | "diff" | "show" | "rev-parse" | "blame" | "annotate" | "ls-files" | "ls-tree"
        | "cat-file" | "rev-list" | "merge-base" | "name-rev" | "for-each-ref" | "show-ref" | "describe"
        | "shortlog" | "whatchanged" | "count-objects" | "diff-tree" | "diff-index" | "diff-files" | "grep"
        | "check-ignore" | "version" | "var" => {
            name != "var" || first.is_some_and(|text| text.starts_with("GIT_") && texts.len() == 1)
        }
        "branch" => {
            let lists =
                texts.iter().any(|text| matches!(*text, "-l" | "--list" | "--contains" | "--merged" | "--no-merged"));
            let flags: Vec<&str> = texts.iter().copied().filter(|text| text.starts_with('-')).collect();
            let harmless = flags.iter().all(|flag| {
                let known =
                    ["-a", "-r", "-v", "-vv", "-l", "--all", "--remotes", "--verbose", "--list", "--show-current"];
                known.contains(flag)
                    || ["--contains", "--merged", "--no-merged", "--sort=", "--format=", "--column", "--points-at"]
                        .iter()
                        .any(|known| flag.starts_with(known))
            });
            harmless && (lists || flags.len() == texts.len())
        }
        "tag" => {
            let lists = texts.iter().any(|text| matches!(*text, "-l" | "--list"));
            texts.is_empty() || (lists && texts.iter().all(|t| !t.starts_with('-') || tag_flag(t)))
        }
        "remote" => flags_only(&["-v", "--verbose"]) || (first == Some("get-url") && texts.len() == 2),
        "stash" => matches!(first, Some("list" | "show")),
        "reflog" => matches!(first, None | Some("show")),
        "worktree" => first == Some("list"),
        "config" => texts.len() == 2 && matches!(first, Some("--get" | "--get-all")),
        _ => false,
    }
}

fn tag_flag(text: &str) -> bool {
    matches!(text, "-l" | "--list" | "-n") || text.starts_with("--sort=") || text.starts_with("--format=")
}
