//! Environment variables that a command line may set without changing what runs.

/// Variables that no program takes for instructions. Names in lower case are a script's own, but for the
/// arrays that zsh ties to search paths and the proxies that network tools obey.
pub(super) fn may_be_set(name: &str) -> bool {
    is_own(name) || is_known(name)
}

/// Of those, the ones that a command may be started with. A script's own names have no second part: programs
/// obey `npm_config_script_shell` and its like.
pub(super) fn may_be_given(name: &str) -> bool {
    (is_own(name) && !name.contains('_')) || is_known(name)
}

fn is_known(name: &str) -> bool {
    const KNOWN: [&str; 24] = [
        "LANG",
        "LANGUAGE",
        "TZ",
        "TERM",
        "COLUMNS",
        "LINES",
        "CI",
        "DEBUG",
        "NO_COLOR",
        "FORCE_COLOR",
        "CLICOLOR",
        "CLICOLOR_FORCE",
        "NODE_ENV",
        "RAILS_ENV",
        "RACK_ENV",
        "APP_ENV",
        "GOOS",
        "GOARCH",
        "CGO_ENABLED",
        "RUST_LOG",
        "RUST_BACKTRACE",
        "PYTHONUNBUFFERED",
        "PYTHONDONTWRITEBYTECODE",
        "CARGO_TERM_COLOR",
    ];
    KNOWN.contains(&name) || name.starts_with("LC_")
}

fn is_own(name: &str) -> bool {
    const TIED: [&str; 8] = ["path", "fpath", "cdpath", "manpath", "mailpath", "module_path", "fignore", "psvar"];
    name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && !TIED.contains(&name)
        && !name.ends_with("_proxy")
}
