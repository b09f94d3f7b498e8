//! Just enough Markdown to know what is code: comments and `@imports` count only outside of it.

/// Imports looked at in one file; more is a list, not a set of imports.
const IMPORTS_MAX: usize = 100;

/// Follows fences line by line.
#[derive(Default)]
struct Fences {
    open: Option<(u8, usize)>,
}

impl Fences {
    /// Whether this line is code or a fence itself.
    fn covers(&mut self, line: &str) -> bool {
        let trimmed = line.trim_start_matches(' ');
        let indented = line.len() - trimmed.len() > 3;
        let mark = trimmed.bytes().next().filter(|b| matches!(b, b'`' | b'~'));
        let run = mark.map_or(0, |mark| trimmed.bytes().take_while(|b| *b == mark).count());
        match (self.open, mark) {
            (Some((open, length)), Some(mark)) if mark == open && run >= length && !indented => {
                if trimmed[run..].trim().is_empty() {
                    self.open = None;
                }
                true
            }
            (Some(_), _) => true,
            // A backtick later in the line makes it a code span, not a fence.
            (None, Some(mark)) if run >= 3 && !indented && !(mark == b'`' && trimmed[run..].contains('`')) => {
                self.open = Some((mark, run));
                true
            }
            (None, _) => false,
        }
    }
}

/// Removes comments that start a line, whole, however many lines they span. One that never ends stays.
pub(crate) fn without_comments(text: &str) -> String {
    if !text.contains("<!--") {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut fences = Fences::default();
    let mut rest = text;
    let mut may_end = true;
    while !rest.is_empty() {
        let length = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let line = &rest[..length];
        let starts = !fences.covers(line) && fences.open.is_none() && line.trim_start().starts_with("<!--");
        let end = if starts && may_end { rest.find("-->") } else { None };
        may_end &= !starts || end.is_some();
        if let Some(end) = end {
            let after = &rest[end + "-->".len()..];
            let tail = after.find('\n').map_or(after, |stop| &after[..=stop]);
            rest = if tail.trim().is_empty() { &after[tail.len()..] } else { after };
        } else {
            out.push_str(line);
            rest = &rest[length..];
        }
    }
    out
}

/// The paths after `@` at the start of a word, outside of code, as written.
pub(crate) fn imports(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !text.contains('@') {
        return found;
    }
    let mut fences = Fences::default();
    for line in text.lines() {
        if fences.covers(line) || !line.contains('@') {
            continue;
        }
        let prose = without_code_spans(line);
        let mut previous = ' ';
        for (index, c) in prose.char_indices() {
            if c == '@' && previous.is_whitespace() {
                let path = written_path(&prose[index + 1..]);
                if !path.is_empty() && found.len() < IMPORTS_MAX {
                    found.push(path);
                }
            }
            previous = c;
        }
    }
    found
}

/// Up to the next space; `\ ` is a space in the name.
fn written_path(rest: &str) -> String {
    let mut path = String::new();
    let mut chars = rest.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&' ') => path.extend(chars.next()),
            c if c.is_whitespace() => break,
            c => path.push(c),
        }
    }
    path
}

/// The line with the content of code spans blanked out.
fn without_code_spans(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find('`') {
        let run = rest[start..].bytes().take_while(|b| *b == b'`').count();
        let (before, span) = (&rest[..start], &rest[start + run..]);
        out.push_str(before);
        if let Some(end) = closing(span, run) {
            out.push('`');
            rest = &span[end..];
        } else {
            out.push_str(&rest[start..start + run]);
            rest = span;
        }
    }
    out.push_str(rest);
    out
}

/// Where the text after a run of exactly this many backticks begins.
fn closing(span: &str, run: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(start) = span[from..].find('`').map(|at| from + at) {
        let length = span[start..].bytes().take_while(|b| *b == b'`').count();
        if length == run {
            return Some(start + length);
        }
        from = start + length;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comments_that_start_a_line_go() {
        for (text, expected) in [
            ("a\n<!-- x -->\nb\n", "a\nb\n"),
            ("<!-- x\ny\n-->\nb", "b"),
            ("<!-- x --> kept\nb", " kept\nb"),
            ("a <!-- inline --> b\n", "a <!-- inline --> b\n"),
            ("```\n<!-- code -->\n```\n", "```\n<!-- code -->\n```\n"),
            ("~~~\n```\n<!-- code -->\n~~~\n<!-- gone -->\n", "~~~\n```\n<!-- code -->\n~~~\n"),
            ("<!-- never ends\nkept", "<!-- never ends\nkept"),
            ("<!-- a --><!-- b -->\nc", "c"),
        ] {
            assert_eq!(without_comments(text), expected, "{text:?}");
        }
    }

    #[test]
    fn imports_count_outside_of_code() {
        for (text, expected) in [
            ("@a.md", vec!["a.md"]),
            ("see @docs/x.md and @~/y.md.", vec!["docs/x.md", "~/y.md."]),
            ("@with\\ space.md x", vec!["with space.md"]),
            ("mail me@example.org", vec![]),
            ("`@code` ``@a ` b`` @real", vec!["real"]),
            ("```\n@code\n```\n@real", vec!["real"]),
            ("````\n```\n@code\n````\n@real", vec!["real"]),
            ("```not a fence``` @real", vec!["real"]),
            ("open ` tick @real", vec!["real"]),
            ("@", vec![]),
        ] {
            assert_eq!(imports(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "[`~<!\\->@ a\n\\\\é]{0,200}") {
            let _ = imports(&text);
            prop_assert!(without_comments(&text).len() <= text.len());
        }
    }
}
