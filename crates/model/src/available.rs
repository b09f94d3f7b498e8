//! `availableModels`: which models may be asked. Pure.

use crate::catalog::{ModelEnv, resolve};

const FAMILIES: [&str; 4] = ["haiku", "sonnet", "opus", "fable"];

/// Whether a list of names allows this model. A name is an alias, a full id, the beginning of an id up to a dash, or a
/// family for all of its models. An empty list allows none.
fn is_available(listed: &[String], id: &str, env: &ModelEnv) -> bool {
    let id = plain(id);
    listed.iter().map(|name| plain(name)).any(|name| {
        let is_family = FAMILIES.contains(&name) && id.split(['-', '.', '/', '@']).any(|part| part == name);
        let begins = id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        !name.is_empty() && (is_family || begins || plain(&resolve(name, env)) == id)
    })
}

impl ModelEnv {
    /// Whether the settings allow this model; without a list every model is allowed.
    pub fn allows(&self, id: &str) -> bool {
        self.available.as_ref().is_none_or(|listed| is_available(listed, id, self))
    }
}

/// Without the mark for a long context, which is no other model.
fn plain(name: &str) -> &str {
    name.trim().strip_suffix("[1m]").unwrap_or(name.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_allow_models() {
        let env = ModelEnv::default();
        for (listed, id, expected) in [
            (&["opus"][..], "claude-opus-5-5", true),
            (&["opus"], "claude-opus-4-6", true),
            (&["opus"], "us.anthropic.claude-opus-4-6-v1", true),
            (&["opus"], "claude-sonnet-5-5", false),
            (&["claude-opus-5"], "claude-opus-5-5", true),
            (&["claude-opus-5"], "claude-opus-55", false),
            (&["claude-opus-5-5[1m]"], "claude-opus-5-5", true),
            (&["haiku", "sonnet"], "claude-haiku-5-5", true),
            (&["best"], "claude-opus-5-5", true),
            (&[], "claude-opus-5-5", false),
            (&[""], "claude-opus-5-5", false),
            (&["my-model"], "my-model", true),
        ] {
            let listed: Vec<String> = listed.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(is_available(&listed, id, &env), expected, "{listed:?} {id}");
        }
    }
}
