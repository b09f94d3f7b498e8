//! Three small pattern languages: command text, path segments, host names.
//!
//! All matchers are linear or quadratic in short inputs and never backtrack exponentially: patterns
//! come from repositories, texts from models. Deliberately absent: regular expressions.

/// Which list a rule stands in. It changes what the same text means: allow is read narrowly, the others widely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Allow,
    Ask,
    Deny,
}

/// `*` matches any run of characters, spaces included; everything else is literal.
pub(crate) fn wildcard(pattern: &str, text: &str) -> bool {
    let mut pieces = pattern.split('*');
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let mut pieces = pieces.peekable();
    if pieces.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    true
}

/// A command rule: a trailing ` *` or `:*` stands for "nothing more, or a space and anything".
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandPattern {
    body: String,
    /// The body with ` *` behind it, where a word boundary was written.
    longer: Option<String>,
}

impl CommandPattern {
    pub(crate) fn parse(text: &str) -> Self {
        let trimmed = text.trim();
        match trimmed.strip_suffix(":*").or_else(|| trimmed.strip_suffix(" *")) {
            Some(body) => Self { body: body.trim_end().to_owned(), longer: Some(format!("{} *", body.trim_end())) },
            None => Self { body: trimmed.to_owned(), longer: None },
        }
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        wildcard(&self.body, text) || self.longer.as_ref().is_some_and(|longer| wildcard(longer, text))
    }

    /// No wildcard at all: it names one command and nothing else.
    pub(crate) fn is_exact(&self) -> bool {
        self.longer.is_none() && !self.body.contains('*')
    }

    /// The first word of the pattern, if it is literal.
    pub(crate) fn program(&self) -> Option<&str> {
        let word = self.body.split_whitespace().next()?;
        (!word.contains('*')).then_some(word)
    }
}

/// gitignore-style matching on path segments. A pattern that matches a directory covers what is in it.
pub(crate) fn path_segments(pattern: &[&str], path: &[&str]) -> bool {
    let (mut p, mut n) = (0, 0);
    // Only the last `**` ever needs another try, so this stays quadratic whatever a repository writes.
    let mut retry: Option<(usize, usize)> = None;
    while p < pattern.len() {
        if pattern[p] == "**" {
            p += 1;
            if p == pattern.len() {
                // A trailing `**` wants something below.
                return n < path.len();
            }
            retry = Some((p, n));
        } else if n < path.len() && segment(pattern[p], path[n]) {
            p += 1;
            n += 1;
        } else if let Some((after, from)) = retry.filter(|(_, from)| from + 1 < path.len()) {
            retry = Some((after, from + 1));
            (p, n) = (after, from + 1);
        } else {
            return false;
        }
    }
    true
}

/// One path segment: `*`, `?`, `[a-z]`, `[!a]` and `\` escapes.
fn segment(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while n < name.len() {
        if pattern.get(p) == Some(&'*') {
            p += 1;
            retry = Some((p, n));
        } else if let Some(width) = one(&pattern[p..], name[n]) {
            p += width;
            n += 1;
        } else if let Some((after, at)) = retry {
            retry = Some((after, at + 1));
            (p, n) = (after, at + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

/// Matches one character against the first element of the pattern and says how wide that element is.
fn one(pattern: &[char], c: char) -> Option<usize> {
    match pattern.first()? {
        '?' => Some(1),
        '\\' if pattern.len() > 1 => (pattern[1] == c).then_some(2),
        '[' => class(pattern, c),
        literal => (*literal == c).then_some(1),
    }
}

fn class(pattern: &[char], c: char) -> Option<usize> {
    let negated = matches!(pattern.get(1), Some('!' | '^'));
    let start = 1 + usize::from(negated);
    // The first `]` may be a member, as in `[]a]`.
    let Some(end) = (start + 1..pattern.len()).find(|&i| pattern[i] == ']') else {
        return (c == '[').then_some(1);
    };
    let members = &pattern[start..end];
    let mut hit = false;
    let mut i = 0;
    while i < members.len() {
        if i + 2 < members.len() && members[i + 1] == '-' {
            hit |= (members[i]..=members[i + 2]).contains(&c);
            i += 3;
        } else {
            hit |= members[i] == c;
            i += 1;
        }
    }
    (hit != negated).then_some(end + 1)
}

/// The host of a URL as a rule may match it. `None`: not a web address, or one that hides its host.
pub(crate) fn web_host(text: &str) -> Option<String> {
    let url = url::Url::parse(text.trim()).ok()?;
    if !matches!(url.scheme(), "http" | "https") {
        return None;
    }
    let host = url.host_str()?.trim_end_matches('.').to_ascii_lowercase();
    (!host.is_empty()).then_some(host)
}

/// Whether a URL names a user before its host, the oldest trick to make one host look like another.
pub(crate) fn has_userinfo(text: &str) -> bool {
    url::Url::parse(text.trim()).is_ok_and(|url| !url.username().is_empty() || url.password().is_some())
}

/// `*.host` is any subdomain but not the apex; `*` alone is every host; an inner `*` stays in its label.
pub(crate) fn domain(pattern: &str, host: &str) -> bool {
    let pattern = pattern.trim().trim_end_matches('.').to_ascii_lowercase();
    if pattern == "*" {
        return true;
    }
    if let Some(parent) = pattern.strip_prefix("*.") {
        let labels = parent.split('.').count();
        let host_labels: Vec<&str> = host.split('.').collect();
        return host_labels.len() > labels
            && labels_match(parent, &host_labels[host_labels.len() - labels..].join("."));
    }
    let plain = if pattern.contains('*') { pattern } else { ascii_host(&pattern) };
    labels_match(&plain, host)
}

fn labels_match(pattern: &str, host: &str) -> bool {
    pattern.split('.').count() == host.split('.').count()
        && pattern.split('.').zip(host.split('.')).all(|(p, h)| wildcard(p, h))
}

fn ascii_host(pattern: &str) -> String {
    url::Host::parse(pattern).map_or_else(|_| pattern.to_owned(), |host| host.to_string())
}
