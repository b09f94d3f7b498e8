//! Path patterns as people write them in settings and in the `paths` of rules.
//!
//! A pattern that is none matches nothing; the others still count.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// More patterns than this in one rule are a list of files, not a scope.
const PATTERNS_MAX: usize = 1000;

/// `*` stays within a folder, `**` crosses them.
pub(crate) fn set<S: AsRef<str>>(patterns: &[S]) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        if let Ok(glob) = GlobBuilder::new(pattern.as_ref()).literal_separator(true).build() {
            set.add(glob);
        }
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

/// The files that a rule is for.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    /// As written.
    pub(crate) patterns: Vec<String>,
    relative: GlobSet,
    absolute: GlobSet,
}

impl Scope {
    pub(crate) fn new(mut patterns: Vec<String>) -> Self {
        patterns.truncate(PATTERNS_MAX);
        // A pattern that names a folder means what is in it.
        let widened = |pattern: &str| {
            let pattern = pattern.trim_end_matches('/');
            [pattern.to_owned(), format!("{pattern}/**")]
        };
        let relative: Vec<String> = patterns
            .iter()
            .map(|pattern| pattern.trim_start_matches("./").trim_start_matches('/'))
            .filter(|pattern| !pattern.is_empty())
            .flat_map(widened)
            .collect();
        let is_absolute = |pattern: &&String| pattern.starts_with('/') && !pattern.trim_matches('/').is_empty();
        let absolute: Vec<String> = patterns.iter().filter(is_absolute).flat_map(|pattern| widened(pattern)).collect();
        Self { relative: set(&relative), absolute: set(&absolute), patterns }
    }

    /// Whether a file is meant, where relative patterns begin at `base`.
    pub(crate) fn covers(&self, base: &Path, file: &Path) -> bool {
        let inside = file.strip_prefix(base).is_ok_and(|inner| self.relative.is_match(inner));
        inside || self.absolute.is_match(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_begin_at_the_rules_own_folder() {
        let base = Path::new("/w");
        for (patterns, file, expected) in [
            (&["src/**/*.ts"][..], "/w/src/a/b.ts", true),
            (&["src/**/*.ts"], "/w/src/b.ts", true),
            (&["src/**/*.ts"], "/w/lib/src/b.ts", false),
            (&["**/*.ts"], "/w/x/y.ts", true),
            (&["**/*.ts"], "/elsewhere/y.ts", false),
            (&["*.md"], "/w/a.md", true),
            (&["*.md"], "/w/docs/a.md", false),
            (&["./src/"], "/w/src/deep/x", true),
            (&["src"], "/w/src/deep/x", true),
            (&["src"], "/w/srcs/x", false),
            (&["/src/*.rs"], "/w/src/a.rs", true),
            (&["/other/**"], "/other/a", true),
            (&["src/**/*.{ts,tsx}"], "/w/src/a.tsx", true),
            (&["[", "a/*"], "/w/a/b", true),
            (&["["], "/w/[", false),
            (&["", "/"], "/w/a", false),
            (&[], "/w/a", false),
        ] {
            let scope = Scope::new(patterns.iter().map(|pattern| (*pattern).to_owned()).collect());
            assert_eq!(scope.covers(base, Path::new(file)), expected, "{patterns:?} and {file}");
        }
    }
}
