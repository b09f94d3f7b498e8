//! The setting of the reviewer, in the configuration and as a flag.

use serde::{Deserialize, Deserializer};

/// `true`, `false`, or who. A flag's value is always a text.
pub(crate) fn a_reviewer<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected true, false, or BACKEND:MODEL")]
    enum Wish {
        Switch(bool),
        Name(String),
    }
    Ok(match Wish::deserialize(from)? {
        Wish::Switch(wanted) => wanted.then(String::new),
        Wish::Name(name) if name == "false" => None,
        Wish::Name(name) => Some(name.strip_prefix("true").filter(|rest| rest.is_empty()).unwrap_or(&name).to_owned()),
    })
}
