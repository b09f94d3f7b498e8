//! Commands inside commands: which program a command line really starts.
//!
//! Two readings of the same words. To allow, a wrapper is opened only when every word of it is
//! understood. To deny, every way it might be read is a suspect.

use crate::grammar;
use crate::shell::{self, SimpleCommand, Word};

use super::wrappers::find as find_wrapper;
use super::{builtins, scan, unseen};

/// Scripts in strings in scripts: beyond this nobody writes by hand.
const MAX_STRING_DEPTH: usize = 3;
/// Strings of one command that are read as scripts; each costs a parse.
const MAX_STRING_SCRIPTS: usize = 32;
/// Wrappers around wrappers. Reading each costs the length of the line.
const MAX_WRAPPERS: usize = 16;

/// They run text that is handed to them: as an argument, from standard input, from a file.
const CODE_RUNNERS: [&str; 28] = [
    "sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "pwsh", "eval", "exec", "source", ".",
    "alias", "trap", "su", "ssh", "watch", "parallel", "script", "flock", "env", "xargs", "find", "busybox", "rbash",
];

pub(super) fn runs_code(name: &str) -> bool {
    CODE_RUNNERS.contains(&base_name(name)) && !matches!(name, "env" | "xargs" | "find")
}

pub(super) fn base_name(text: &str) -> &str {
    let text = text.trim_start_matches(['\\', '=']);
    text.rsplit('/').next().unwrap_or(text)
}

pub(super) fn raw_text(words: &[Word]) -> String {
    words.iter().map(|word| word.raw.as_str()).collect::<Vec<_>>().join(" ")
}

/// Whether what the innermost of these does with its arguments is known: then they are no commands, or are found
/// elsewhere.
pub(super) fn is_known(layers: &[Vec<Word>]) -> bool {
    let innermost = layers.last().and_then(|words| words.split_first());
    innermost.is_none_or(|(name, args)| name.text == "git" || builtins::reads(&name.text, args).is_some())
}

/// The command lines that an allow rule may speak about: the command itself, then what its wrappers start.
pub(super) fn layers(words: &[Word]) -> Vec<Vec<Word>> {
    let mut layers = vec![words.to_vec()];
    while layers.len() <= MAX_WRAPPERS
        && let Some(inner) = layers.last().and_then(|words| open(words))
    {
        layers.push(inner);
    }
    layers
}

fn open(words: &[Word]) -> Option<Vec<Word>> {
    let (name, rest) = words.split_first()?;
    let wrapper = find_wrapper(&name.raw).filter(|wrapper| wrapper.transparent)?;
    let plain = |word: &Word| word.raw == word.text && word.exact().is_some();
    let mut at = 0;
    while let Some(flag) = rest.get(at).filter(|word| word.raw.starts_with('-')) {
        match (wrapper.name, flag.raw.as_str()) {
            ("nice", "-n") | ("timeout", "-k" | "-s") => at += 2,
            ("timeout", "--preserve-status" | "--foreground") | ("time", "-p") => at += 1,
            ("nice", value) if value[1..].trim_start_matches('n').bytes().all(|b| b.is_ascii_digit()) => at += 1,
            ("stdbuf", value) if matches!(value.as_bytes(), [b'-', b'i' | b'o' | b'e', b'L' | b'0']) => at += 1,
            _ => return None,
        }
    }
    if wrapper.name == "timeout" {
        let duration = rest.get(at).filter(|word| plain(word))?;
        let digits = duration.text.trim_end_matches(['s', 'm', 'h', 'd']);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
            return None;
        }
        at += 1;
    }
    if wrapper.name == "env" {
        while let Some(word) = rest.get(at).filter(|word| word.raw.contains('=')) {
            let (name, value) = word.raw.split_once('=').unwrap_or_default();
            if word.exact().is_none() || !grammar::may_be_given(name, value) {
                return None;
            }
            at += 1;
        }
    }
    let mut inner = rest.get(at..)?.to_vec();
    if !inner.first().is_some_and(plain) {
        return None;
    }
    if wrapper.name == "xargs" {
        inner.push(Word::unknown("…"));
    }
    Some(inner)
}

/// Every text a deny or ask rule is tried on.
#[derive(Default)]
pub(super) struct Suspects {
    pub(super) texts: Vec<String>,
    /// There were more than could be looked at.
    pub(super) cut: bool,
    scripts: usize,
}

pub(super) fn suspects(command: &SimpleCommand, out: &mut Suspects) {
    out.scripts = 0;
    collect(command, 0, out);
}

fn collect(command: &SimpleCommand, depth: usize, out: &mut Suspects) {
    if !command.assignments.is_empty() {
        let assignments: Vec<&str> = command.assignments.iter().map(|a| a.raw.as_str()).collect();
        out.texts.push(format!("{} {}", assignments.join(" "), command.text));
    }
    let words = &command.words;
    let (starts, cut) = starts(words);
    out.cut |= cut;
    for start in starts {
        let Some(name) = words.get(start) else { continue };
        readings(&words[start..], &mut out.texts);
        let base = base_name(&name.text);
        let rest = &words[start + 1..];
        if CODE_RUNNERS.contains(&base) {
            string_scripts(base, rest, depth, out);
        }
        out.texts.extend(unseen::programs_in(base, rest));
        out.cut |= unseen::runs_unseen(base, rest);
    }
    out.cut |= unseen::arguments_become_commands(words);
}

/// Where a command may begin among these words: at the first, and wherever a wrapper may start another.
pub(super) fn starts(words: &[Word]) -> (Vec<usize>, bool) {
    let mut starts = vec![0];
    let mut next = 0;
    while let Some(&start) = starts.get(next) {
        next += 1;
        let Some(name) = words.get(start) else { continue };
        for inner in starts_inside(base_name(&name.text), words, start) {
            if !starts.contains(&inner) {
                starts.push(inner);
            }
            if starts.len() > MAX_WRAPPERS {
                return (starts, true);
            }
        }
    }
    (starts, false)
}

/// The ways one command line may be spelled in a rule.
fn readings(words: &[Word], out: &mut Vec<String>) {
    let Some((name, rest)) = words.split_first() else { return };
    let plain = |word: &Word| if word.exact().is_some() { word.text.clone() } else { word.raw.clone() };
    let tail: String = rest.iter().flat_map(|word| [" ".to_owned(), plain(word)]).collect();
    let base = base_name(&name.text);
    let raw = raw_text(words);
    let unquoted = format!("{}{tail}", plain(name));
    if unquoted != raw {
        out.push(unquoted);
    }
    out.push(raw);
    if base != name.text {
        out.push(format!("{base}{tail}"));
    }
    let lower = base.to_lowercase();
    if lower != base {
        out.push(format!("{lower}{tail}"));
    }
    if lower == "git" {
        let subcommand = super::git::after_globals(rest);
        if subcommand < rest.len() {
            out.push(format!("git {}", rest[subcommand..].iter().map(plain).collect::<Vec<_>>().join(" ")));
        }
    }
}

/// Where the command of a wrapper may begin, by any reading of its flags.
fn starts_inside(base: &str, words: &[Word], start: usize) -> Vec<usize> {
    if base == "find" || base == "fd" || base == "fdfind" {
        let runs = |word: &Word| {
            matches!(
                word.text.as_str(),
                "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch"
            )
        };
        return (start + 1..words.len()).filter(|&i| runs(&words[i])).map(|i| i + 1).collect();
    }
    let Some(wrapper) = find_wrapper(base) else { return Vec::new() };
    let mut out = Vec::new();
    let mut own = wrapper.own;
    let mut at = start + 1;
    // One more than is used, so that the caller sees there was more.
    while let Some(word) = words.get(at).filter(|_| out.len() <= MAX_WRAPPERS) {
        let text = word.text.as_str();
        if text.starts_with('-') && text.len() > 1 {
            let takes_next = wrapper.valued.contains(&text);
            if !takes_next && text != "--" {
                // A flag not known here may or may not take a value: both readings are tried.
                out.push(at + 1);
                out.push(at + 2);
            }
            at += if takes_next { 2 } else { 1 };
        } else if text.contains('=') {
            at += 1;
        } else if own > 0 {
            own -= 1;
            at += 1;
        } else {
            out.push(at);
            break;
        }
    }
    // Behind two dashes nothing is its own any more.
    out.extend(words[start + 1..].iter().position(|word| word.text == "--").map(|at| start + at + 2));
    out
}

/// Code in arguments: `sh -c '…'`, `eval …`, `trap '…' EXIT`, `env -S '…'`.
fn string_scripts(base: &str, words: &[Word], depth: usize, out: &mut Suspects) {
    let joined = (base == "eval").then(|| words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" "));
    // Only some take any word for code; for the others a word with a space or a sign in it is suspicious.
    let any_word = !matches!(base, "find" | "xargs" | "env" | "watch" | "parallel" | "flock" | "script" | "busybox");
    let is_code = |text: &String| {
        !text.is_empty() && !text.starts_with('-') && (any_word || text.contains([' ', ';', '&', '|', '$', '`', '\n']))
    };
    let texts = words.iter().map(|word| word.text.clone()).filter(is_code);
    for text in joined.into_iter().chain(texts) {
        // `alias ls=curl` and `-c=…` carry their code after the sign.
        let code = if base == "alias" { text.split_once('=').map_or(text.as_str(), |(_, code)| code) } else { &text };
        out.scripts += 1;
        if depth >= MAX_STRING_DEPTH || out.scripts > MAX_STRING_SCRIPTS {
            out.cut = true;
            return;
        }
        match shell::analyse(code) {
            Ok(script) => script.commands.iter().for_each(|command| collect(command, depth + 1, out)),
            Err(_) => out.texts.extend(scan::fragments(code)),
        }
    }
}

/// Whether the word at `at` may be the command of a wrapper before it.
pub(super) fn runs_inside(words: &[Word], at: usize) -> bool {
    starts(words).0.contains(&at)
}

/// Commands that a rule with a wildcard does not reach, because the rest of the line is another program:
/// the rule must name them, or be exact.
pub(super) fn beyond_wildcards(words: &[Word], named: Option<&str>) -> bool {
    let Some((name, rest)) = words.split_first() else { return true };
    match name.raw.as_str() {
        "watch" | "setsid" | "ionice" | "flock" => true,
        "find" => super::files::find_acts(rest),
        "git" => super::git::carries_code(rest),
        raw => {
            let wraps = find_wrapper(base_name(raw)).is_some_and(|wrapper| !wrapper.transparent);
            (runs_code(raw) || wraps || unseen::is_inline_code(raw, rest)) && named != Some(raw)
        }
    }
}
