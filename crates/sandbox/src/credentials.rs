//! Files and folders of a home folder that hold credentials: of this agent, of other agents, of clouds, registries,
//! hosts, mail and money; and histories, where people type them by accident.
//!
//! Deliberately absent: files that a workspace keeps credentials in (`.env`), and configuration of build tools that may
//! hold one beside what every build needs (`.m2/settings.xml`, `pip.conf`); those are named in the settings.

/// Below the home folder.
pub const CREDENTIALS: [&str; 141] = [
    ".ssh",
    ".aws",
    ".azure",
    ".kube",
    ".gnupg",
    ".password-store",
    ".netrc",
    "_netrc",
    ".git-credentials",
    ".config/git/credentials",
    ".config/gh",
    ".config/glab-cli",
    ".config/hub",
    ".config/gcloud",
    ".config/op",
    ".config/rclone",
    ".config/containers/auth.json",
    ".config/anthropic",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".mozilla",
    ".thunderbird",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".docker/config.json",
    ".npmrc",
    ".pypirc",
    ".config/pypoetry/auth.toml",
    ".config/uv/credentials",
    ".local/share/uv/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".m2/settings-security.xml",
    ".terraform.d/credentials.tfrc.json",
    ".pulumi/credentials.json",
    ".vault-token",
    ".config/sops",
    ".config/age",
    ".age",
    ".pgpass",
    ".my.cnf",
    ".mylogin.cnf",
    ".config/doctl",
    ".config/hcloud",
    ".config/heroku",
    ".config/flyctl",
    ".fly",
    ".config/vercel",
    ".local/share/com.vercel.cli",
    ".config/netlify",
    ".netlify",
    ".config/.wrangler",
    ".config/cloudflared",
    ".cloudflared",
    ".config/stripe",
    ".config/linode-cli",
    ".oci",
    ".bluemix",
    ".config/scw",
    ".s3cfg",
    ".boto",
    ".databrickscfg",
    ".snowflake",
    ".snowsql",
    ".kaggle",
    ".config/kaggle",
    ".huggingface",
    ".cache/huggingface/token",
    ".cache/huggingface/stored_tokens",
    ".config/openai",
    ".config/wandb",
    ".config/sentry-cli",
    ".sentryclirc",
    ".codex",
    ".gemini",
    ".config/github-copilot",
    ".copilot",
    ".cursor",
    ".aider.conf.yml",
    ".config/goose",
    ".local/share/goose",
    ".config/opencode",
    ".local/share/opencode",
    ".continue",
    ".codeium",
    ".qwen",
    ".config/amp",
    ".local/share/amp",
    ".factory",
    ".config/crush",
    ".claude.json",
    ".claude.json.api",
    ".claude-oauth-credentials.json",
    ".claude/.credentials.json",
    ".config/rbw",
    ".config/Bitwarden",
    ".config/1Password",
    ".1password",
    ".lastpass",
    ".config/keepassxc",
    ".electrum",
    ".bitcoin",
    ".ethereum",
    ".config/solana",
    ".config/weechat",
    ".irssi",
    ".config/hexchat",
    ".msmtprc",
    ".fetchmailrc",
    ".mbsyncrc",
    ".config/msmtp",
    ".config/neomutt",
    ".muttrc",
    ".config/github-tea",
    ".config/tea",
    ".config/jira",
    ".jira.d",
    ".config/Slack",
    ".config/discord",
    ".config/signal",
    ".config/Signal",
    ".local/share/TelegramDesktop",
    ".local/share/fish/fish_history",
    ".local/share/nushell",
    ".config/nushell/history.txt",
    ".ansible/vault",
    ".vault_pass",
    ".chef",
    ".config/fastly",
    ".config/ngrok",
    ".ngrok2",
    ".config/tailscale",
    "Library/Keychains",
    "Library/Cookies",
    "Library/Application Support/Google/Chrome",
];

/// Whether a file of the home folder is the history of a shell, an interpreter or a database client.
pub(crate) fn is_history(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.starts_with('.')
        && (name.ends_with("history") || name.ends_with("_hist") || name == ".lesshst" || name == ".viminfo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histories_are_known_by_their_names() {
        for name in [
            ".bash_history",
            ".zsh_history",
            ".python_history",
            ".node_repl_history",
            ".psql_history",
            ".histfile_hist",
        ] {
            assert!(is_history(name), "{name}");
        }
        for name in [".bashrc", "history", ".history.d", ".cache"] {
            assert!(!is_history(name), "{name}");
        }
    }

    #[test]
    fn no_entry_is_in_the_list_twice() {
        let mut names = CREDENTIALS.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CREDENTIALS.len());
    }
}
