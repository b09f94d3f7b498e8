//! The best effort on text that does not parse: anything that might be the start of a command.
//!
//! Quotes are ignored, so it finds too much; it serves deny and ask rules only.

use super::argv::base_name;

/// Words of one fragment that are kept. Rules look at the first few; a megabyte without separators
/// must not become a megabyte per fragment.
const FRAGMENT_WORDS: usize = 64;

pub(super) fn fragments(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", "").replace("${IFS}", " ").replace("$IFS", " ");
    let separators = |c: char| {
        matches!(c, ';' | '|' | '&' | '(' | ')' | '{' | '}' | '`' | '<' | '>' | '\n')
            || (c.is_control() && c != '\t')
            || (c.is_whitespace() && !c.is_ascii())
    };
    let mut out = Vec::new();
    for fragment in joined.split(separators) {
        let words: Vec<String> = fragment.split_whitespace().take(FRAGMENT_WORDS).map(unquoted).collect();
        let mut start = 0;
        while let Some(word) = words.get(start) {
            // What follows a dollar sign may turn out to be nothing.
            let base = base_name(word);
            let base = base.split_once('$').map_or(base, |(before, _)| if before.is_empty() { base } else { before });
            let tail = words[start + 1..].join(" ");
            let whole = if tail.is_empty() { base.to_owned() } else { format!("{base} {tail}") };
            out.push(whole);
            if !leads_on(base) {
                break;
            }
            start += 1;
        }
    }
    out
}

/// Words after which another command may begin.
fn leads_on(word: &str) -> bool {
    super::wrappers::find(word).is_some()
        || word.contains('=')
        || word.starts_with(['-', '$'])
        || word.is_empty()
        || word.starts_with(|c: char| c.is_ascii_digit())
        || matches!(
            word,
            "if" | "then" | "else" | "elif" | "do" | "while" | "until" | "!" | "time" | "in" | "case" | "function"
        )
        || matches!(
            word,
            "env"
                | "command"
                | "builtin"
                | "exec"
                | "eval"
                | "nohup"
                | "nice"
                | "timeout"
                | "stdbuf"
                | "xargs"
                | "sudo"
        )
        || matches!(
            word,
            "sh" | "bash" | "zsh" | "dash" | "busybox" | "setsid" | "watch" | "noglob" | "coproc" | "trap"
        )
}

fn unquoted(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect()
}
