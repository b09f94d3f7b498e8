//! Messages for a wrong key of `.ralph/config.toml` or a wrong flag: the place, the key, the allowed values.

/// Where a file cannot be read, without the picture of it.
pub(crate) fn unreadable(text: &str, error: &toml::de::Error) -> String {
    format!("line {}: {}", line_of(text, error), error.message().replace('\n', ", "))
}

/// From 1.
pub(crate) fn line_of(text: &str, error: &toml::de::Error) -> usize {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    before.matches('\n').count() + 1
}

/// What a key takes, in words.
fn allowed(key: &str) -> &'static str {
    match key {
        "max" | "max_failures" | "summarise_every" | "keep_runs" | "keep_days" | "max_tokens" | "iteration_tokens"
        | "day_tokens" => "a whole number",
        "max_cost" | "iteration_cost" | "day_cost" => "an amount in USD, like 2.50",
        "duration" | "iteration_time" | "day_time" | "cooldown" | "check_time" | "idle" | "failure_pause"
        | "max_outage" | "fallback_after" => "a span of time, like 4h, 1h30m, 90s or 500ms",
        "keep_size" => "a size, like 500MB or 2GB",
        "session" => "clean or continue",
        "reasoning" => "none, low, med or high",
        "output_format" => "stream-json, args, json or text",
        "sandbox" => "workspace, read-only or off",
        "auth" => "auto or login",
        "on_failure" => "continue or stop",
        "on_question" => "stop or wait",
        "check" | "keep_env" | "fallback" => "a text, or a list of texts",
        "pty_mode" | "commit" | "structured" | "live" | "stuck" | "watch" | "json" | "no_tui" | "stay"
        | "timestamps" => "true or false",
        _ => "a text",
    }
}

/// What a message shows of a value.
const VALUE_MAX: usize = 40;

/// A value of the file that its key does not take.
pub(crate) fn mistake_in_file(text: &str, line: usize, error: &toml::de::Error) -> String {
    // A list may go over several lines; its key stands on the first.
    let lines: Vec<&str> = text.lines().take(line).collect();
    let begins = lines.iter().rev().find(|line| line.contains('=')).copied().unwrap_or_default();
    let (key, _) = begins.split_once('=').unwrap_or((begins, ""));
    let key = key.trim();
    let value = error.span().and_then(|span| text.get(span)).unwrap_or_default();
    format!("line {line}: '{key}' must be {}, not {}", allowed(key), cycle::bounded(&one_line(value), VALUE_MAX))
}

/// A value of a flag that it does not take.
pub(crate) fn mistake_in_flags(flags: &toml::Table, error: &toml::de::Error) -> String {
    let said = error.to_string();
    let key = flags.keys().find(|key| said.contains(&format!("`{key}`")));
    let Some((key, value)) = key.and_then(|key| Some((key, flags.get(key)?))) else { return one_line(&said) };
    let value = serde_json::to_value(value).map(|value| value.to_string()).unwrap_or_default();
    let flag = if key == "pty_mode" { "pty".to_owned() } else { key.replace('_', "-") };
    format!("--{flag} must be {}, not {}", allowed(key), cycle::bounded(&value, VALUE_MAX))
}

fn one_line(text: &str) -> String {
    text.trim().replace('\n', ", ")
}

/// The unknown key, and the known ones.
pub(crate) fn unknown_key(message: &str) -> Option<(String, Vec<String>)> {
    let mut names = message.strip_prefix("unknown field ")?.split('`').skip(1).step_by(2).map(str::to_owned);
    Some((names.next()?, names.collect()))
}
