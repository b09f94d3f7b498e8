//! What a rule forbids, where no parse shows it: in the arguments of programs that are not known here, and in the plain
//! text of commands that are outside the grammar.

use crate::call::{Decision, PathTarget, Verdict};
use crate::paths::{self, Access};
use crate::pattern::List;
use crate::shell::{Certainty, Place, Script, Word};

use super::judge::{Judge, Part};
use super::{argv, builtins, scan};

/// Words of one command that are tried as the start of another. Longer argument lists are lists of files.
const MOST_STARTS: usize = 64;
/// Words of a text that are tried as names of files; each costs a look at the disk.
const MOST_NAMES: usize = 256;

/// Forms in which parsers and shells have been found to disagree: a substitution in the body of a here-document, and
/// parentheses in parentheses, which may be arithmetic or not.
pub(super) fn is_doubtful(text: &str) -> bool {
    let joined = text.replace("\\\n", "");
    let substitutes = |rest: &str| ["$(", "`", "${", "$["].iter().any(|open| rest.contains(open));
    let here = joined.match_indices("<<").any(|(at, _)| {
        let rest = joined[at + 2..].trim_start_matches('-').trim_start_matches([' ', '\t']);
        // A quoted word makes the body plain text; a third sign makes it a string.
        let quoted = rest.starts_with(['\'', '"', '\\', '<']);
        !quoted && rest.split_once('\n').is_some_and(|(_, body)| substitutes(body))
    });
    let mut open = false;
    let nested = joined.replace("$((", "").chars().any(|c| {
        let twice = open && c == '(';
        open = c == '(' || (open && c.is_whitespace());
        twice
    });
    here || nested
}

/// Arguments of builtins that are names of variables, whose subscripts the shell evaluates: `test -v 'a[$(x)]'`.
pub(super) fn evaluated(words: &[Word]) -> impl Iterator<Item = &str> {
    let name = words.first().map(|name| name.text.as_str()).unwrap_or_default();
    let flagged = |flags: &[&str]| words.iter().any(|word| flags.iter().any(|flag| word.text.starts_with(flag)));
    let evaluates = match name {
        "test" | "[" => flagged(&["-v", "-R"]),
        "printf" | "wait" => flagged(&["-v", "-p"]),
        "command" | "builtin" => true,
        name => builtins::is_stateful(name),
    };
    let code = move |word: &&Word| evaluates && (word.text.contains("$(") || word.text.contains('`'));
    words.iter().skip(1).filter(code).map(|word| word.text.as_str())
}

/// Each argument, and each text inside one, as if a command began there.
pub(super) fn commands_in(words: &[Word]) -> Vec<String> {
    let arguments = words.get(1..).unwrap_or_default();
    let mut texts = Vec::new();
    for (i, word) in arguments.iter().enumerate().take(MOST_STARTS) {
        let base = argv::base_name(&word.text);
        let rest: Vec<&str> = arguments[i + 1..].iter().take(MOST_STARTS).map(|word| word.text.as_str()).collect();
        texts.push(if rest.is_empty() { base.to_owned() } else { format!("{base} {}", rest.join(" ")) });
        // `EXEC:curl`, `--command=curl`, `curl x; y`.
        if word.text.contains([' ', ':', '=', ',', ';', '|', '&', '!', '+', '#', '@', '(', '\n']) {
            texts.extend(scan::fragments(&word.text.replace([':', '=', ',', '!', '+', '#', '@', '"', '\''], ";")));
        }
    }
    texts
}

impl Judge<'_> {
    /// Of a text outside the grammar whose files are not all known: does it name one that is denied?
    pub(super) fn hidden_files(&self, script: &Script, parts: &[Part]) -> Option<Decision> {
        if !self.restricts_files() {
            return None;
        }
        let unknown = |word: &Word| word.certainty == Certainty::Unknown;
        let uncertain = script.opaque
            || hidden_words(script).any(unknown)
            || parts.iter().any(|part| part.touches.iter().any(|touch| touch.facts.is_none()));
        if uncertain { self.mentioned() } else { None }
    }

    /// A file that a known program gets from elsewhere: from a variable, a substitution, from standard input by way of
    /// `xargs`. No rule about files can be checked then.
    pub(super) fn unnamed_files(&self, parts: &[Part]) -> Option<Decision> {
        if !self.restricts_files() {
            return None;
        }
        let fed = |part: &&Part| part.layers.iter().any(|words| words.first().is_some_and(|name| feeds(&name.text)));
        let unnamed = |part: &&Part| part.touches.iter().any(|touch| touch.facts.is_none());
        if !parts.iter().any(|part| fed(&part) || unnamed(&part)) {
            return None;
        }
        Some(self.mentioned().unwrap_or_else(|| {
            Decision::ask(
                "unparsable",
                "Which files this command touches is known only when it runs, and rules restrict files.",
            )
        }))
    }

    fn restricts_files(&self) -> bool {
        paths::restricts_paths(self.policy, Access::Read) || paths::restricts_paths(self.policy, Access::Write)
    }

    fn mentioned(&self) -> Option<Decision> {
        let plain: String = self.text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
        let separates = |c: char| c.is_whitespace() || ";|&()<>{}=:,$@`".contains(c);
        let here = Place::default();
        for text in plain.split(separates).filter(|text| !text.is_empty()).take(MOST_NAMES) {
            let certainty = if text.contains(['*', '?', '[']) { Certainty::Glob } else { Certainty::Exact };
            let word = match text.strip_prefix("~/") {
                Some(below) => Word { raw: text.to_owned(), text: below.to_owned(), certainty: Certainty::Home },
                None => Word { raw: text.to_owned(), text: text.to_owned(), certainty },
            };
            let facts = self.locator.locate(&word, &here, Access::Write).unwrap_or_default();
            if let Some(decision) = facts.iter().find_map(|fact| self.denied(fact)) {
                return Some(decision);
            }
        }
        None
    }

    fn denied(&self, fact: &PathTarget) -> Option<Decision> {
        [(List::Deny, Verdict::Deny), (List::Ask, Verdict::Ask)].into_iter().find_map(|(list, verdict)| {
            let read = PathTarget { write: false, ..fact.clone() };
            let rule = paths::path_rule(self.policy, list, &read)
                .or_else(|| self.locator.rule_on_contents(list, &read))
                .or_else(|| paths::path_rule(self.policy, list, fact));
            rule.map(|rule| Decision::by_rule(verdict, rule).at(&fact.given))
        })
    }
}

fn hidden_words(script: &Script) -> impl Iterator<Item = &Word> {
    script.commands.iter().flat_map(|command| &command.words)
}

/// They hand on what comes in on standard input as arguments.
fn feeds(name: &str) -> bool {
    matches!(argv::base_name(name), "xargs" | "parallel")
}
