//! HTML to Markdown, for a model to read: headings, lists, links, code and tables survive, layout and
//! scripts do not.
//!
//! In one pass over the tokens, without a tree: a page that nests a million elements or leaves as many
//! open (which makes tree builders overflow the stack or multiply nodes) is just a long page.

use crate::tokens::{Token, Tokens, attribute, decoded};
use url::Url;

/// Deeper lists and quotes are shown at this depth.
const DEEPEST: usize = 8;

/// Elements that hold nothing to read.
const SKIPPED: [&str; 9] = ["script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "noframes"];

/// Markdown of at most about `max_chars`; the page is not read further than that needs.
pub fn markdown(html: &str, base: &Url, max_chars: usize) -> String {
    let mut page = Page { base: Some(base), ..Page::default() };
    for token in Tokens::of(html) {
        if page.out.len() > max_chars.saturating_mul(4) {
            break;
        }
        match token {
            Token::Open { name, attributes } => page.open(&name, attributes),
            Token::Close { name } => page.close(&name),
            Token::Text(text) => page.text(text),
        }
    }
    page.out.trim().to_owned()
}

#[derive(Default)]
struct Page<'a> {
    out: String,
    base: Option<&'a Url>,
    /// Newlines owed before the next text.
    gap: usize,
    /// A space owed before the next text.
    space: bool,
    /// The element being skipped, and how often it is nested.
    skipping: Option<(String, usize)>,
    preformatted: bool,
    /// Open lists: the next number, or `None` for bullets.
    lists: Vec<Option<u64>>,
    quotes: usize,
    /// Where the open link's text began, and where it leads.
    link: Option<(usize, String)>,
    /// Cells of the row so far.
    cells: usize,
    /// Rows of the table so far.
    rows: usize,
}

impl Page<'_> {
    fn open(&mut self, name: &str, attributes: &str) {
        if let Some((skipped, depth)) = &mut self.skipping {
            *depth += usize::from(skipped == name);
            return;
        }
        if SKIPPED.contains(&name) {
            self.skipping = Some((name.to_owned(), 1));
            return;
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.gap(2);
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.mark(&format!("{} ", "#".repeat(level)));
            }
            "title" => self.mark("Title: "),
            "p" | "table" | "dl" | "figure" => self.gap(2),
            "div" | "section" | "article" | "header" | "footer" | "main" | "nav" | "aside" | "form" | "dt"
            | "option" | "caption" | "figcaption" | "tr" => self.gap(1),
            "dd" => {
                self.gap(1);
                self.mark(": ");
            }
            "br" => self.gap = (self.gap + 1).min(2),
            "hr" => {
                self.gap(2);
                self.mark("---");
                self.gap(2);
            }
            "ul" | "ol" => self.open_list(name, attributes),
            "li" => self.item(),
            "blockquote" => {
                self.gap(2);
                self.quotes += 1;
            }
            "pre" => {
                self.gap(2);
                self.mark("```");
                self.gap(1);
                self.preformatted = true;
            }
            "code" | "kbd" | "samp" if !self.preformatted => self.mark("`"),
            "b" | "strong" => self.mark("**"),
            "i" | "em" => self.mark("*"),
            "a" => self.open_link(attributes),
            "img" => self.image(attributes),
            "td" | "th" => {
                self.mark(if self.cells == 0 { "| " } else { " | " });
                self.cells += 1;
            }
            _ => {}
        }
        if name == "table" {
            self.rows = 0;
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((skipped, depth)) = &mut self.skipping {
            *depth -= usize::from(skipped == name);
            if *depth == 0 {
                self.skipping = None;
            }
            return;
        }
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "title" | "p" | "table" | "dl" | "figure" => self.gap(2),
            "div" | "section" | "article" | "header" | "footer" | "main" | "nav" | "aside" | "form" | "li" => {
                self.gap(1);
            }
            "ul" | "ol" => {
                self.lists.pop();
                self.gap(if self.lists.is_empty() { 2 } else { 1 });
            }
            "blockquote" => {
                self.quotes = self.quotes.saturating_sub(1);
                self.gap(2);
            }
            "pre" if self.preformatted => {
                self.preformatted = false;
                if !self.out.ends_with('\n') {
                    self.out.push('\n');
                }
                self.out.push_str("```");
                self.gap(2);
            }
            "code" | "kbd" | "samp" if !self.preformatted => self.out.push('`'),
            "b" | "strong" => self.out.push_str("**"),
            "i" | "em" => self.out.push('*'),
            "a" => self.close_link(),
            "tr" => self.close_row(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipping.is_some() {
            return;
        }
        if self.preformatted {
            self.settle();
            self.out.push_str(&decoded(text));
            return;
        }
        if text.starts_with(|c: char| c.is_ascii_whitespace()) {
            self.space = true;
        }
        let text = decoded(text);
        for word in text.split_ascii_whitespace() {
            self.settle();
            self.out.push_str(word);
            self.space = true;
        }
        self.space = text.ends_with(|c: char| c.is_ascii_whitespace());
    }

    fn gap(&mut self, newlines: usize) {
        self.gap = self.gap.max(newlines);
        self.space = false;
    }

    /// Writes a sign of our own where text would stand.
    fn mark(&mut self, sign: &str) {
        self.settle();
        self.out.push_str(sign);
    }

    /// Pays the newlines or the space that is owed.
    fn settle(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        let space = std::mem::take(&mut self.space);
        let quote = "> ".repeat(self.quotes.min(DEEPEST));
        if self.out.is_empty() {
            self.out.push_str(&quote);
        } else if gap > 0 {
            for _ in 0..gap {
                self.out.push('\n');
                self.out.push_str(&quote);
            }
        } else if space && !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
    }

    fn open_list(&mut self, name: &str, attributes: &str) {
        self.gap(if self.lists.is_empty() { 2 } else { 1 });
        let first = attribute(attributes, "start").and_then(|start| start.parse().ok()).unwrap_or(1);
        // What is deeper looks the same, so there is nothing to remember about it.
        if self.lists.len() < DEEPEST {
            self.lists.push((name == "ol").then_some(first));
        }
    }

    fn item(&mut self) {
        self.gap(1);
        let indent = "  ".repeat(self.lists.len().saturating_sub(1));
        let sign = match self.lists.last_mut() {
            Some(Some(number)) => {
                let sign = format!("{indent}{number}. ");
                *number = number.saturating_add(1);
                sign
            }
            _ => format!("{indent}- "),
        };
        self.mark(&sign);
    }

    fn open_link(&mut self, attributes: &str) {
        self.close_link();
        let target = attribute(attributes, "href").filter(|href| !href.starts_with('#'));
        let target = target.and_then(|href| self.base?.join(href.trim()).ok());
        if let Some(target) = target.filter(|target| matches!(target.scheme(), "http" | "https" | "mailto")) {
            self.mark("[");
            self.link = Some((self.out.len(), target.into()));
        }
    }

    fn close_link(&mut self) {
        let Some((began, target)) = self.link.take() else { return };
        if self.out.len() == began {
            // Nothing to click on.
            self.out.pop();
        } else {
            self.out.extend(["](", &target, ")"]);
        }
    }

    fn image(&mut self, attributes: &str) {
        if let Some(alt) = attribute(attributes, "alt").filter(|alt| !alt.trim().is_empty()) {
            self.mark(&format!("[image: {}]", alt.trim()));
        }
    }

    fn close_row(&mut self) {
        let cells = std::mem::take(&mut self.cells);
        if cells == 0 {
            return;
        }
        self.space = false;
        self.out.push_str(" |");
        self.rows += 1;
        if self.rows == 1 {
            self.gap(1);
            self.mark(&format!("|{}", " --- |".repeat(cells)));
        }
        self.gap(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::time::{Duration, Instant};

    fn md(html: &str) -> String {
        markdown(html, &Url::parse("https://example.com/docs/").unwrap(), 100_000)
    }

    #[test]
    fn what_matters_survives() {
        for (html, expected) in [
            ("<h1>Hi</h1><p>a  b\n c</p><p>d</p>", "# Hi\n\na b c\n\nd"),
            ("<head><title>T</title><style>x{}</style></head><body>b", "Title: T\n\nb"),
            (
                "<p>see <a href=\"../x?a=1&amp;b\">the <b>x</b></a>.</p>",
                "see [the **x**](https://example.com/x?a=1&b).",
            ),
            ("<a href='#top'>up</a> <a href='javascript:x'>js</a> <a href=/e></a>", "up js"),
            ("<ul><li>a<li>b<ul><li>c</ul></ul>d", "- a\n- b\n  - c\n\nd"),
            ("<ol start=3><li>x</li><li>y</li></ol>", "3. x\n4. y"),
            ("<pre><code>fn a() {\n  b &lt; c\n}</code></pre>after", "```\nfn a() {\n  b < c\n}\n```\n\nafter"),
            ("use <code>x</code> now", "use `x` now"),
            (
                "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>",
                "| A | B |\n| --- | --- |\n| 1 | 2 |",
            ),
            ("<blockquote><p>q</p><p>r</p></blockquote>s", "> q\n> \n> r\n\ns"),
            ("a<br>b<script>if(a<b){}</script>c<noscript><p>no</p></noscript>", "a\nbc"),
            ("<svg><svg></svg><text>x</text></svg>y", "y"),
            ("<img src=x alt='A cat'> <img src=y>", "[image: A cat]"),
            ("<p>a</p>\n\n  <p>b</p>", "a\n\nb"),
        ] {
            assert_eq!(md(html), expected, "{html}");
        }
    }

    #[test]
    fn hostile_pages_are_only_long() {
        let deep = "<div>".repeat(2_000_000);
        let lists = "<ul><li>".repeat(500_000) + "x";
        let open = (0..100_000).map(|i| format!("<b a={i}>")).collect::<Vec<_>>().concat() + &"<p>x".repeat(500_000);
        let started = Instant::now();
        for html in [deep, lists, open, "<".repeat(5_000_000), "<!--".repeat(1_000_000), "&".repeat(5_000_000)] {
            assert!(md(&html).len() <= html.len());
        }
        assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
    }

    proptest! {
        #[test]
        fn any_page_becomes_text(html in "(<(/)?(ul|li|a|pre|table|tr|td|b|svg|h1|blockquote)( href=x)?>|[a-z &;\n]){0,60}") {
            let _ = md(&html);
        }
    }
}
