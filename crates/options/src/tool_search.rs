//! Whether tools stand behind a search, so that a request does not carry the definitions of hundreds.
//!
//! Deliberately absent: the search, and which model and endpoint take such tools (`model`).

/// Characters of a definition for a token, roughly.
const CHARS_PER_TOKEN: usize = 4;

/// The share of the window that definitions of servers may take before they are searched for (`auto`).
const AUTO_PERCENT: u8 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolSearch {
    /// All tools are sent in full.
    #[default]
    Off,
    /// Tools of servers are searched for, unless their server wants them loaded.
    On,
    /// Only where those of servers would take more than this share of the window.
    Above { percent: u8 },
}

impl ToolSearch {
    /// What `ENABLE_TOOL_SEARCH` says. Without a word it is on where the endpoint is the API's own, since others may not
    /// know it; a word that nobody knows counts as none.
    pub fn read(word: Option<&str>, is_own_endpoint: bool) -> Self {
        let by_default = if is_own_endpoint { Self::On } else { Self::Off };
        let Some(word) = word.map(|word| word.trim().to_ascii_lowercase()) else { return by_default };
        match word.as_str() {
            "true" | "1" | "yes" | "on" => Self::On,
            "false" | "0" | "no" | "off" => Self::Off,
            "auto" => Self::Above { percent: AUTO_PERCENT },
            other => match other.strip_prefix("auto:").and_then(|share| share.trim().parse::<u8>().ok()) {
                Some(0) => Self::On,
                Some(percent) if percent < 100 => Self::Above { percent },
                Some(100) => Self::Off,
                _ => by_default,
            },
        }
    }

    /// Whether tools are searched for, where the definitions of servers have so many characters.
    pub fn is_on(self, server_chars: usize, window_tokens: u64) -> bool {
        match self {
            Self::Off => false,
            Self::On => true,
            Self::Above { percent } => {
                let tokens = (server_chars / CHARS_PER_TOKEN) as u128;
                tokens * 100 > u128::from(window_tokens) * u128::from(percent)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_their_meaning() {
        for (word, is_own, expected) in [
            (None, true, ToolSearch::On),
            (None, false, ToolSearch::Off),
            (Some("true"), false, ToolSearch::On),
            (Some("false"), true, ToolSearch::Off),
            (Some(" Auto "), false, ToolSearch::Above { percent: 10 }),
            (Some("auto:25"), false, ToolSearch::Above { percent: 25 }),
            (Some("auto:0"), false, ToolSearch::On),
            (Some("auto:100"), true, ToolSearch::Off),
            (Some("auto:many"), false, ToolSearch::Off),
            (Some("perhaps"), true, ToolSearch::On),
        ] {
            assert_eq!(ToolSearch::read(word, is_own), expected, "{word:?} {is_own}");
        }
    }

    #[test]
    fn the_share_is_of_the_window() {
        let auto = ToolSearch::Above { percent: 10 };
        for (chars, window, expected) in [(80_000, 200_000, false), (80_004, 200_000, true), (80_004, 1_000_000, false)]
        {
            assert_eq!(auto.is_on(chars, window), expected, "{chars} of {window}");
        }
        assert!(ToolSearch::On.is_on(0, 1) && !ToolSearch::Off.is_on(usize::MAX, 1));
    }
}
