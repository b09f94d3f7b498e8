//! What a server's tool is called before the model. Pure.
//!
//! The API takes 64 characters of `[A-Za-z0-9_-]`; a name that does not fit, or that two tools would
//! share, ends in a hash of what it stands for, so that it is the same one in every session.

use std::collections::HashSet;

/// The API's bound on a tool's name.
const NAME_MAX: usize = 64;

/// Of the hash: `_` and eight digits.
const MARK: usize = 9;

/// Gives out names, none of them twice.
#[derive(Debug, Default)]
pub(crate) struct Names(HashSet<String>);

impl Names {
    pub(crate) fn name(&mut self, server: &str, tool: &str) -> String {
        let plain = format!("mcp__{}__{}", cleaned(server), cleaned(tool));
        let mut name = if plain.len() > NAME_MAX { marked(&plain, server, tool, 0) } else { plain.clone() };
        let mut salt = 0;
        while !self.0.insert(name.clone()) {
            salt += 1;
            name = marked(&plain, server, tool, salt);
        }
        name
    }
}

/// How the names of all tools of a server begin.
pub(crate) fn prefix(server: &str) -> String {
    format!("mcp__{}__", cleaned(server))
}

fn cleaned(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' }).collect()
}

fn marked(plain: &str, server: &str, tool: &str, salt: u32) -> String {
    let kept = plain.len().min(NAME_MAX - MARK);
    format!("{}_{:08x}", &plain[..kept], hash(server, tool, salt))
}

/// FNV-1a: stable over versions and machines, which the standard hasher is not.
fn hash(server: &str, tool: &str, salt: u32) -> u32 {
    let bytes = server.bytes().chain([0]).chain(tool.bytes()).chain(salt.to_le_bytes());
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_plain_where_they_can_be() {
        let mut names = Names::default();
        for (server, tool, expected) in [
            ("calc", "add", "mcp__calc__add"),
            ("plugin:p:srv", "do.it now", "mcp__plugin_p_srv__do_it_now"),
            ("ü", "x", "mcp_____x"),
        ] {
            assert_eq!(names.name(server, tool), expected);
        }
    }

    #[test]
    fn a_name_taken_or_too_long_is_marked_always_alike() {
        let give = || {
            let mut names = Names::default();
            [("a", "b__c"), ("a__b", "c"), ("a.b", "x"), ("a b", "x"), ("s", &"t".repeat(100)), ("s", &"t".repeat(101))]
                .map(|(server, tool)| names.name(server, tool))
        };
        let names = give();
        assert_eq!(names, give());
        assert_eq!(names[0], "mcp__a__b__c");
        assert!(names[1].starts_with("mcp__a__b__c_"), "{}", names[1]);
        assert!(names[3].starts_with("mcp__a_b__x_"), "{}", names[3]);
        assert_ne!(names[4], names[5]);
        assert_eq!(names[4].len(), NAME_MAX);
    }

    proptest! {
        #[test]
        fn every_name_fits_the_api_and_is_nobody_elses(
            tools in prop::collection::vec((".{0,30}", ".{0,70}"), 0..20),
        ) {
            let mut names = Names::default();
            let mut seen = HashSet::new();
            for (server, tool) in &tools {
                let name = names.name(server, tool);
                prop_assert!(name.len() <= NAME_MAX);
                prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
                prop_assert!(seen.insert(name));
            }
        }
    }
}
