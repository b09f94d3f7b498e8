//! HTML as a flat run of tags and text. Every byte is looked at once and nothing is nested, so no
//! page, however built, costs more than its length.

/// Elements whose content is text up to their end tag, whatever it looks like.
const RAW: [&str; 8] = ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token<'a> {
    Text(&'a str),
    Open { name: String, attributes: &'a str },
    Close { name: String },
}

pub struct Tokens<'a> {
    rest: &'a str,
    /// Inside an element of [`RAW`].
    raw: Option<String>,
}

impl<'a> Tokens<'a> {
    pub fn of(html: &'a str) -> Self {
        Self { rest: html, raw: None }
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        taken
    }

    /// Past the next `end`, or to the end of the page.
    fn skip_past(&mut self, end: &str) {
        let length = self.rest.find(end).map_or(self.rest.len(), |at| at + end.len());
        self.take(length);
    }

    fn raw_text(&mut self, name: &str) -> Token<'a> {
        let end = memchr::memchr_iter(b'<', self.rest.as_bytes()).find(|at| closes(&self.rest[*at..], name));
        Token::Text(self.take(end.unwrap_or(self.rest.len())))
    }

    fn tag(&mut self) -> Token<'a> {
        self.take(1);
        let closing = self.rest.starts_with('/');
        self.take(usize::from(closing));
        let length = self.rest.find(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>');
        let name = self.take(length.unwrap_or(self.rest.len())).to_ascii_lowercase();
        let attributes = self.take(end_of_tag(self.rest));
        self.take(usize::from(self.rest.starts_with('>')));
        if closing {
            return Token::Close { name };
        }
        if RAW.contains(&name.as_str()) {
            self.raw = Some(name.clone());
        }
        Token::Open { name, attributes }
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            if let Some(name) = self.raw.take() {
                return Some(self.raw_text(&name));
            }
            let bytes = self.rest.as_bytes();
            match (bytes[0], bytes.get(1)) {
                (b'<', Some(b'!')) if self.rest.starts_with("<!--") => self.skip_past("-->"),
                (b'<', Some(b'!' | b'?')) => self.skip_past(">"),
                (b'<', Some(next)) if next.is_ascii_alphabetic() => return Some(self.tag()),
                (b'<', Some(b'/')) if bytes.get(2).is_some_and(u8::is_ascii_alphabetic) => return Some(self.tag()),
                _ => {
                    let end = memchr::memchr(b'<', &bytes[1..]).map_or(bytes.len(), |at| at + 1);
                    return Some(Token::Text(self.take(end)));
                }
            }
        }
    }
}

fn closes(text: &str, name: &str) -> bool {
    let rest = text.as_bytes().get(2..2 + name.len());
    text.starts_with("</") && rest.is_some_and(|rest| rest.eq_ignore_ascii_case(name.as_bytes()))
}

/// The `>` that is not inside a quoted value.
fn end_of_tag(text: &str) -> usize {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (byte, quote) {
            (b'>', None) => return at,
            (b'"' | b'\'', None) => quote = Some(byte),
            (byte, Some(open)) if byte == open => quote = None,
            _ => {}
        }
    }
    text.len()
}

/// The value of one attribute, decoded.
pub fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace() || c == '=' || c == '/').unwrap_or(rest.len());
        // A stray `=` where a name should be is part of the name.
        let end = end.max(rest.chars().next().map_or(1, char::len_utf8));
        let (name, after) = rest.split_at(end);
        let (value, after) = value(after.trim_start());
        if name.eq_ignore_ascii_case(wanted) {
            return Some(decoded(value));
        }
        rest = after;
    }
}

fn value(after_name: &str) -> (&str, &str) {
    let Some(rest) = after_name.strip_prefix('=') else { return ("", after_name) };
    let rest = rest.trim_start();
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        return rest[1..].split_once(quote).unwrap_or((&rest[1..], ""));
    }
    rest.split_at(rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len()))
}

/// Longest entity we know, with room for numeric ones.
const LONGEST_ENTITY: usize = 12;

/// `&amp;` and its kind as characters. Names we do not know stay as they are.
pub fn decoded(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'&', rest.as_bytes()) {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().take(LONGEST_ENTITY).position(|byte| byte == b';');
        let known = end.and_then(|end| Some((entity(&rest[1..end])?, end)));
        let (character, end) = known.unwrap_or(('&', 0));
        decoded.push(character);
        rest = &rest[end + 1..];
    }
    decoded.push_str(rest);
    decoded
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| !c.is_control() || c.is_whitespace());
    }
    Some(match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "nbsp" | "ensp" | "emsp" | "thinsp" => ' ',
        "copy" => '©',
        "reg" => '®',
        "trade" => '™',
        "hellip" => '…',
        "ndash" => '–',
        "mdash" => '—',
        "lsquo" => '‘',
        "rsquo" => '’',
        "ldquo" => '“',
        "rdquo" => '”',
        "laquo" => '«',
        "raquo" => '»',
        "bull" => '•',
        "middot" => '·',
        "times" => '×',
        "deg" => '°',
        "euro" => '€',
        "pound" => '£',
        "larr" => '←',
        "rarr" => '→',
        "auml" => 'ä',
        "ouml" => 'ö',
        "uuml" => 'ü',
        "szlig" => 'ß',
        "eacute" => 'é',
        "egrave" => 'è',
        "agrave" => 'à',
        "ccedil" => 'ç',
        "ntilde" => 'ñ',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(html: &str) -> String {
        Tokens::of(html)
            .map(|token| match token {
                Token::Text(text) => format!("{text:?}"),
                Token::Open { name, attributes } => format!("<{name}{attributes}>"),
                Token::Close { name } => format!("</{name}>"),
            })
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn pages_come_apart() {
        for (html, tokens) in [
            ("a<B x=1>c</b >", r#""a" <b x=1> "c" </b>"#),
            ("<!doctype html><!-- <b> --><?x?>t", r#""t""#),
            ("1 < 2 <3", r#""1 " "< 2 " "<3""#),
            (r#"<a title="x>y" href='z'>"#, r#"<a title="x>y" href='z'>"#),
            ("<script>if (a<b) '</b>'</SCRIPT>x", r#"<script> "if (a<b) '</b>'" </script> "x""#),
            ("<title>a & b", r#"<title> "a & b""#),
            ("<br/><p", "<br/> <p>"),
            ("<!-- open", ""),
            ("</>x", r#""</>x""#),
        ] {
            assert_eq!(shown(html), tokens, "{html}");
        }
    }

    #[test]
    fn attributes_are_found_however_written() {
        let attributes = r#" id=a HREF = "/x?a=1&amp;b=2" alt='it"s' flag data-x=/y/ /"#;
        for (name, value) in [
            ("id", Some("a")),
            ("href", Some("/x?a=1&b=2")),
            ("alt", Some("it\"s")),
            ("flag", Some("")),
            ("data-x", Some("/y/")),
            ("nope", None),
        ] {
            assert_eq!(attribute(attributes, name).as_deref(), value, "{name}");
        }
    }

    #[test]
    fn entities_are_decoded_once() {
        assert_eq!(decoded("a &amp;lt; &#65;&#x42; &nope; & &#0; &copy;"), "a &lt; AB &nope; & &#0; ©");
    }

    proptest! {
        #[test]
        fn any_text_ends_and_nothing_panics(html in "[<>/!a-z\"'= &;#-é]{0,100}") {
            for token in Tokens::of(&html) {
                if let Token::Open { attributes, .. } = token {
                    let _ = attribute(attributes, "href");
                }
            }
            let _ = decoded(&html);
        }
    }
}
