//! A server's last words without the credentials it was given: programs like to print their environment and their
//! requests when they fail, and what failed goes to people, logs and the model.

use crate::config::{ServerConfig, Transport};
use process::Env;
use process::scrub::is_credential;
use serde_json::Value;

/// Shorter values are no real credentials, and would be found in ordinary text.
const SHORTEST: usize = 8;
const HIDDEN: &str = "[secret]";

/// The text without what the entry and the environment hold of secrets.
pub(crate) fn secrets(text: &str, config: &ServerConfig, env: &Env) -> String {
    let mut secrets = of_entry(config);
    let named = env.iter().filter(|(name, _)| is_credential(&name.to_string_lossy()));
    secrets.extend(named.map(|(_, value)| value.to_string_lossy().into_owned()));
    secrets.retain(|secret| secret.len() >= SHORTEST);
    // The longest first, so that a part of one never spoils the whole.
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), HIDDEN))
}

/// Headers, variables named like credentials, and every text that a variable was filled into.
fn of_entry(config: &ServerConfig) -> Vec<String> {
    match &config.transport {
        Transport::Stdio { args, env, .. } => {
            let own = env.iter().filter(|(name, _)| is_credential(name) || is_filled(&config.raw["env"][name]));
            let own = own.map(|(_, value)| value.clone());
            let words = args.iter().enumerate().filter(|(nth, _)| is_filled(&config.raw["args"][*nth]));
            own.chain(words.map(|(_, word)| word.clone())).collect()
        }
        Transport::Http { headers, .. } | Transport::Sse { headers, .. } => headers
            .iter()
            .flat_map(|(_, value)| [Some(value.as_str()), value.split_whitespace().last()].into_iter().flatten())
            .map(str::to_owned)
            .collect(),
        Transport::Sdk => Vec::new(),
    }
}

fn is_filled(raw: &Value) -> bool {
    raw.as_str().is_some_and(|raw| raw.contains("${"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_server_was_given_is_not_in_its_last_words() {
        let var = |name: &str| Some(format!("value-of-{name}"));
        let env: Env =
            vec![("GITHUB_TOKEN".into(), "ghp_0123456789".into()), ("LANG".into(), "C.UTF-8-and-more".into())];
        for (entry, words, shown) in [
            (json!({"command": "x", "env": {"A": "${T}"}}), "A=value-of-T", "A=[secret]"),
            (json!({"command": "x", "env": {"API_KEY": "written-down"}}), "key written-down!", "key [secret]!"),
            (json!({"command": "x", "env": {"MODE": "development"}}), "MODE=development", "MODE=development"),
            (
                json!({"command": "x", "args": ["--k=${T}", "plainly-written"]}),
                "--k=value-of-T plainly-written",
                "[secret] plainly-written",
            ),
            (
                json!({"type": "http", "url": "http://x", "headers": {"A": "Bearer ${T}"}}),
                "got value-of-T",
                "got [secret]",
            ),
            (
                json!({"type": "sse", "url": "http://x", "headers": {"A": "Bearer ${T}"}}),
                "Bearer value-of-T",
                "[secret]",
            ),
            (json!({"command": "x"}), "ghp_0123456789 C.UTF-8-and-more", "[secret] C.UTF-8-and-more"),
        ] {
            let (servers, _) = crate::config::parse(&json!({"s": entry}), "user", &var);
            assert_eq!(secrets(words, &servers[0], &env), shown, "{entry}");
        }
    }
}
