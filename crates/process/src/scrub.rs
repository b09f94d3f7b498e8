//! The removal of variables that an untrusted child must not see: credentials.
//!
//! Judged by name, since a value does not say what it opens. Deliberately kept: proxies, locale, and
//! `SSH_AUTH_SOCK` (it lets a child use a key, not take it).

use crate::spec::Env;

/// Whole families: cloud credentials, and what makes the loader run foreign code.
const PREFIXES: [&str; 6] = ["AWS_", "LD_", "DYLD_", "AZURE_CLIENT_", "GOOGLE_APPLICATION_", "ACTIONS_ID_TOKEN_"];

/// As the last word of a name. `_TOKENS` is a number of tokens, not a token.
const LAST_WORDS: [&str; 12] =
    ["TOKEN", "KEY", "APIKEY", "PAT", "PASS", "PASSWD", "CREDENTIAL", "CREDENTIALS", "AUTH", "COOKIE", "JWT", "DSN"];

/// Anywhere in a name.
const PARTS: [&str; 5] = ["SECRET", "PASSWORD", "PASSPHRASE", "PRIVATE_KEY", "ACCESS_KEY"];

/// Names that no pattern covers: headers and addresses that commonly carry a credential.
const NAMES: [&str; 7] = [
    "IDENTITY_HEADER",
    "ANTHROPIC_CUSTOM_HEADERS",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
    "OTEL_EXPORTER_OTLP_METRICS_HEADERS",
    "OTEL_EXPORTER_OTLP_LOGS_HEADERS",
    "DATABASE_URL",
];

/// What a program needs to run at all, and what we tell every server. None of it is a credential.
pub const BASIC_ENV: [&str; 15] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TERM",
    "TMPDIR",
    "TZ",
    "PWD",
    "CLAUDE_PROJECT_DIR",
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
];

/// Removes credentials and loader overrides.
pub fn credentials(env: &mut Env) {
    env.retain(|(name, _)| !is_sensitive(&name.to_string_lossy()));
}

/// The same, but for names that begin with one of these: they are the child's own.
pub fn credentials_but(env: &mut Env, kept: &[String]) {
    let is_own = |name: &str| kept.iter().any(|start| name.starts_with(start.as_str()));
    env.retain(|(name, _)| {
        let name = name.to_string_lossy();
        is_own(&name) || !is_sensitive(&name)
    });
}

pub(crate) fn is_sensitive(name: &str) -> bool {
    is_sensitive_upper(&name.to_ascii_uppercase())
}

/// The same for a name in upper case.
pub(crate) fn is_sensitive_upper(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || is_credential_upper(name)
}

/// Whether the value of a variable of this name is a secret itself, so that it must not be shown. Narrower than what
/// a child must not see: a region or a search path of the loader is no secret.
pub fn is_credential(name: &str) -> bool {
    is_credential_upper(&name.to_ascii_uppercase())
}

fn is_credential_upper(name: &str) -> bool {
    PARTS.iter().any(|part| name.contains(part))
        || NAMES.contains(&name)
        || name.rsplit('_').next().is_some_and(|word| LAST_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::is_sensitive;

    #[test]
    fn adversary_32_credentials_and_loader_overrides_go() {
        for name in [
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "CLAUDE_API_KEY",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "GITHUB_TOKEN",
            "gh_token",
            "TOKEN",
            "AWS_ACCESS_KEY_ID",
            "AWS_PROFILE",
            "AZURE_CLIENT_SECRET",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "DYLD_INSERT_LIBRARIES",
            "DB_PASSWORD",
            "PGPASSWORD",
            "MY_SECRET_THING",
            "NPM_CONFIG__AUTH",
            "SSH_PRIVATE_KEY_PEM",
            "ANTHROPIC_CUSTOM_HEADERS",
        ] {
            assert!(is_sensitive(name), "{name}");
        }
    }

    #[test]
    fn an_agents_own_stay() {
        let env = ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "GH_TOKEN", "LD_PRELOAD", "PATH", "OTHER_KEY"];
        let mut env = env.map(|name| (name.into(), "x".into())).to_vec();
        super::credentials_but(&mut env, &["ANTHROPIC_".into(), "CLAUDE_".into(), "OTHER_KEY".into()]);
        let left: Vec<_> = env.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(left, ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "PATH", "OTHER_KEY"]);
    }

    #[test]
    fn what_commands_need_stays() {
        for name in [
            "PATH",
            "HOME",
            "LANG",
            "MAX_THINKING_TOKENS",
            "HTTPS_PROXY",
            "SSH_AUTH_SOCK",
            "CLAUDECODE",
            "CLAUDE_CODE_SESSION_ID",
            "KEYBOARD",
            "COMPASS",
            "TERM",
        ] {
            assert!(!is_sensitive(name), "{name}");
        }
    }
}
