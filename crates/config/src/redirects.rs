//! Which environment entries a folder must not set: those that could send credentials elsewhere, choose another
//! endpoint or make another program run.
//!
//! A list of refusals has gaps by nature, so it works by namespaces, and our own namespace by exception.

/// Settings of this program that a folder may change through `env`: sizes, counts and what it turns off.
const HARMLESS_OWN: [&str; 17] = [
    "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_MAX_TURNS",
    "CLAUDE_CODE_EFFORT_LEVEL",
    "CLAUDE_CODE_SUBAGENT_MODEL",
    "CLAUDE_CODE_AUTO_COMPACT_WINDOW",
    "CLAUDE_AUTOCOMPACT_PCT_OVERRIDE",
    "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS",
    "CLAUDE_CODE_GLOB_HIDDEN",
    "CLAUDE_CODE_GLOB_NO_IGNORE",
    "CLAUDE_CODE_ENABLE_TASKS",
    "CLAUDE_CODE_ENABLE_TODO_TOOLS",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE",
    "CLAUDE_CODE_DISABLE_THINKING",
    "CLAUDE_CODE_DISABLE_1M_CONTEXT",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
    "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR",
];

/// Namespaces that choose credentials, endpoints, certificates, or the code that a program loads.
const REDIRECTING_PREFIXES: [&str; 38] = [
    "ANTHROPIC_",
    "CLAUDE",
    "AWS_",
    "AZURE_",
    "GOOGLE_",
    "GCLOUD_",
    "CLOUDSDK_",
    "CLOUD_ML_",
    "VERTEX_",
    "OTEL_",
    "OPENAI_",
    "LD_",
    "DYLD_",
    "GIT_",
    "SSH_",
    "SSL_",
    "NODE_",
    "NPM_",
    "YARN_",
    "BUN_",
    "DENO_",
    "PYTHON",
    "PIP_",
    "UV_",
    "RUBY",
    "GEM_",
    "BUNDLE_",
    "PERL",
    "JAVA_",
    "_JAVA_",
    "JDK_",
    "CARGO_",
    "RUST",
    "XDG_",
    "BASH_",
    "DOCKER_",
    "GITHUB_",
    "MCP_",
];

/// Names that end this way carry a secret or an address.
const REDIRECTING_SUFFIXES: [&str; 13] = [
    "_PROXY",
    "_BASE_URL",
    "_ENDPOINT",
    "_API_KEY",
    "_TOKEN",
    "_SECRET",
    "_PASSWORD",
    "_CREDENTIALS",
    "_CA_BUNDLE",
    "_CERT",
    "_CERTS",
    "_HELPER",
    "_ASKPASS",
];

/// Single names: program search, start-up files, helpers that programs start on their own, home itself.
const REDIRECTING_NAMES: [&str; 31] = [
    "PATH",
    "ENV",
    "SHELL",
    "HOME",
    "USERPROFILE",
    "IFS",
    "PS4",
    "CDPATH",
    "SHELLOPTS",
    "BASHOPTS",
    "PROMPT_COMMAND",
    "ZDOTDIR",
    "TMPDIR",
    "EDITOR",
    "VISUAL",
    "PAGER",
    "MANPAGER",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "GOFLAGS",
    "GOPROXY",
    "GOSUMDB",
    "GOPRIVATE",
    "GOTOOLCHAIN",
    "KUBECONFIG",
    "CLASSPATH",
    "CC",
    "CXX",
    "MAKEFLAGS",
    "GCONV_PATH",
];

/// Whether an environment entry could send credentials elsewhere or make another program run.
pub(crate) fn redirects(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    if HARMLESS_OWN.contains(&upper.as_str()) {
        return false;
    }
    // `BASH_DEFAULT_TIMEOUT_MS` and its kin are limits of our Bash tool, `BASH_ENV` and `BASH_FUNC_*` are code.
    let own_limit = upper.ends_with("_TIMEOUT_MS") || upper.ends_with("_MAX_OUTPUT_LENGTH");
    if own_limit && (upper.starts_with("BASH_") || upper.starts_with("TASK_")) || upper == "MCP_TIMEOUT" {
        return false;
    }
    REDIRECTING_NAMES.contains(&upper.as_str())
        || REDIRECTING_PREFIXES.iter().any(|prefix| upper.starts_with(prefix))
        || REDIRECTING_SUFFIXES.iter().any(|suffix| upper.ends_with(suffix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_that_redirects_is_known() {
        for name in [
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
            "anthropic_auth_token",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_API_KEY",
            "CLAUDE_CONFIG_DIR",
            "CLAUDE_CODE_USE_BEDROCK",
            "CLAUDE_CODE_SHELL_PREFIX",
            "CLAUDE_CODE_SUBPROCESS_ENV_SCRUB",
            "CLAUDE_ENV_FILE",
            "HTTPS_PROXY",
            "https_proxy",
            "no_proxy",
            "ALL_PROXY",
            "PATH",
            "Path",
            "LD_PRELOAD",
            "LD_AUDIT",
            "DYLD_INSERT_LIBRARIES",
            "NODE_OPTIONS",
            "NODE_EXTRA_CA_CERTS",
            "NODE_TLS_REJECT_UNAUTHORIZED",
            "OPENAI_BASE_URL",
            "GIT_SSH_COMMAND",
            "GIT_CONFIG_COUNT",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "ENV",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "RUBYOPT",
            "JAVA_TOOL_OPTIONS",
            "RUSTC_WRAPPER",
            "CARGO_HOME",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "CURL_CA_BUNDLE",
            "REQUESTS_CA_BUNDLE",
            "AWS_ENDPOINT_URL",
            "AWS_PROFILE",
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "HOME",
            "XDG_CONFIG_HOME",
            "SHELL",
            "PS4",
            "PROMPT_COMMAND",
            "EDITOR",
            "PAGER",
            "LESSOPEN",
            "npm_config_registry",
            "PIP_INDEX_URL",
            "GOPROXY",
            "DOCKER_HOST",
            "SSH_AUTH_SOCK",
            "SUDO_ASKPASS",
            "MY_SERVICE_TOKEN",
        ] {
            assert!(redirects(name), "{name}");
        }
    }

    #[test]
    fn ordinary_environment_stays() {
        for name in [
            "FOO",
            "DEBUG",
            "CI",
            "DATABASE_NAME",
            "LANG",
            "TZ",
            "MAX_THINKING_TOKENS",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
            "BASH_DEFAULT_TIMEOUT_MS",
            "BASH_MAX_OUTPUT_LENGTH",
            "MCP_TIMEOUT",
            "DISABLE_TELEMETRY",
            "APP_MODE",
        ] {
            assert!(!redirects(name), "{name}");
        }
    }
}
