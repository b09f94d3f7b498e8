//! Every flag we know, as a table: its spelling, whether it takes a value, and where it stands today.

/// How many values a flag takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arity {
    None,
    /// Exactly one; a second use replaces the first.
    One,
    /// `--flag`, `--flag value` or `--flag=value`.
    Optional,
    /// `--flag` or `--flag=value`; never takes the next word.
    OptionalInline,
    /// `--flag`, `--flag=value`, or `--flag value` where the value is one of these: any other word is not its own.
    Named(&'static [&'static str]),
    /// One or more words up to the next flag; also comma lists; repeats add up.
    Many,
    /// Exactly one word a use; repeats add up.
    Repeat,
}

/// Where a flag's feature stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    Works,
    /// Accepted, and there is nothing to do for it headless.
    Silent,
    /// Belongs to the interactive or cloud product. Refused.
    Elsewhere,
}

#[derive(Debug, Clone, Copy)]
pub struct Flag {
    /// Canonical long name, without dashes.
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub short: Option<char>,
    pub arity: Arity,
    pub standing: Standing,
    pub help: &'static str,
}

const fn flag(name: &'static str, arity: Arity, standing: Standing, help: &'static str) -> Flag {
    Flag { name, aliases: &[], short: None, arity, standing, help }
}

const fn works(name: &'static str, arity: Arity, help: &'static str) -> Flag {
    flag(name, arity, Standing::Works, help)
}

const fn silent(name: &'static str, arity: Arity) -> Flag {
    flag(name, arity, Standing::Silent, "")
}

const fn elsewhere(name: &'static str, arity: Arity) -> Flag {
    flag(name, arity, Standing::Elsewhere, "")
}

const fn short(mut flag: Flag, short: char) -> Flag {
    flag.short = Some(short);
    flag
}

const fn also(mut flag: Flag, aliases: &'static [&'static str]) -> Flag {
    flag.aliases = aliases;
    flag
}

use Arity::{Many, Named, None as No, One, Optional, OptionalInline, Repeat};

pub const FLAGS: &[Flag] = &[
    short(works("print", No, "answer and exit; the prompt is an argument or stdin"), 'p'),
    works("output-format", One, "text (default), json, or stream-json"),
    works("input-format", One, "text (default) or stream-json"),
    works("verbose", No, "needed by stream-json; turns json into the list of all events"),
    works("include-partial-messages", No, "stream the model's pieces as they come"),
    works("include-hook-events", No, "show hooks as they run"),
    works("init", No, "run Setup hooks (init) first"),
    works("init-only", No, "run Setup and SessionStart hooks, then exit"),
    works("maintenance", No, "run Setup hooks (maintenance) first"),
    works("replay-user-messages", No, "echo accepted prompts on stdout"),
    works("prompt-suggestions", No, "guess what the user will say next, after each turn but the first"),
    works("forward-subagent-text", No, "also show what subagents say"),
    works("json-schema", One, "require a result that fits this JSON Schema"),
    works("max-turns", One, "stop after N model answers"),
    works("max-budget-usd", One, "stop once this much is spent"),
    works("task-budget", One, "token budget told to the model"),
    works("model", One, "haiku, sonnet, opus, fable, default, best, or a full id"),
    works("fallback-model", One, "models to try in order when the first is overloaded"),
    works("effort", One, "low, medium, high, xhigh or max"),
    works("thinking", One, "adaptive or disabled"),
    works("max-thinking-tokens", One, "thinking budget; 0 turns thinking off"),
    works("thinking-display", One, "summarized or omitted"),
    works("betas", Many, "extra API betas"),
    works("system-prompt", One, "replace the system prompt"),
    works("system-prompt-file", One, "replace the system prompt with a file's text"),
    works("append-system-prompt", One, "add to the system prompt"),
    works("append-system-prompt-file", One, "add a file's text to the system prompt"),
    works("append-subagent-system-prompt", One, "add to every subagent's prompt"),
    works("exclude-dynamic-system-prompt-sections", No, "move what differs per machine out of the system prompt"),
    works("tools", Many, "which built-in tools exist: names, \"default\", or \"\" for none"),
    also(works("allowedTools", Many, "rules for calls that need no permission"), &["allowed-tools"]),
    also(works("disallowedTools", Many, "rules for calls that are refused"), &["disallowed-tools"]),
    works("permission-mode", One, "default, acceptEdits, plan, dontAsk or bypassPermissions"),
    works("dangerously-skip-permissions", No, "allow everything that no rule denies"),
    works("allow-dangerously-skip-permissions", No, "let a client switch to bypassPermissions later"),
    works("permission-prompt-tool", One, "who answers permission questions: stdio (the client), or an MCP tool"),
    works("permission-prompts", One, "none: whatever would ask is denied"),
    works(
        "sandbox",
        Named(&["off", "read-only", "workspace"]),
        "confine commands and file tools: workspace (if no value is given), read-only, or off",
    ),
    works("mcp-config", Many, "MCP servers: a file, or JSON"),
    works("strict-mcp-config", No, "only the servers of --mcp-config"),
    works("settings", One, "a settings file, or settings as JSON"),
    works("setting-sources", One, "which settings files count: user,project,local"),
    works("managed-settings", One, "policy settings as JSON, given by the parent program"),
    works("add-dir", Many, "more folders to work in"),
    works("session-id", One, "use this UUID for the session"),
    short(works("continue", No, "go on with the latest session of this folder"), 'c'),
    short(works("resume", Optional, "go on with the session of this id or title"), 'r'),
    works("fork-session", No, "resume into a new session"),
    works("resume-session-at", One, "resume up to and including this message"),
    works("resume-drops-turn", One, "resume only if this prompt's turn is all that is lost"),
    works("session-mirror", No, "show every transcript entry on stdout too"),
    works("no-session-persistence", No, "write no transcript"),
    short(works("name", One, "a title for the session"), 'n'),
    works("agent", One, "run as this agent"),
    works("agents", One, "more agents, as JSON"),
    works("plugin-dir", Repeat, "load the plugin in this folder or zip archive"),
    works("project-config-root", One, "take the project's configuration from this folder"),
    works("plugin-dir-no-mcp", Repeat, "the same without its MCP servers"),
    works("plugin-url", Repeat, "load the plugin in the zip archive at this https address"),
    works("await-initialize", No, "take no prompt before the client's initialize"),
    works("disable-slash-commands", No, "no skills, no commands"),
    works("bare", No, "Bash, Read and Edit only; no project configuration"),
    works("safe-mode", No, "ignore every customisation of the project and the user"),
    works("autocompact", One, "auto, or the context size that triggers compaction"),
    short(works("debug", OptionalInline, "log to a file, never to stdout"), 'd'),
    works("debug-file", One, "log to this file"),
    works("debug-to-stderr", No, "log to stderr"),
    short(works("version", No, "print the version"), 'v'),
    short(works("help", No, "print this help"), 'h'),
    // Nothing to do for these headless, whatever they say.
    silent("mcp-debug", No),
    silent("enable-auto-mode", No),
    silent("chrome", No),
    silent("no-chrome", No),
    silent("ide", No),
    silent("ax-screen-reader", No),
    silent("teammate-mode", One),
    silent("advisor", One),
    silent("channels", Many),
    silent("dangerously-load-development-channels", Many),
    // Interactive or cloud: refused by name.
    short(elsewhere("worktree", Optional), 'w'),
    elsewhere("tmux", OptionalInline),
    also(elsewhere("bg", No), &["background"]),
    elsewhere("exec", One),
    elsewhere("cloud", Optional),
    elsewhere("remote", Optional),
    elsewhere("environment", One),
    elsewhere("ref", One),
    elsewhere("from-pr", Optional),
    also(elsewhere("remote-control", Optional), &["rc"]),
    elsewhere("remote-control-session-name-prefix", One),
    elsewhere("teleport", Optional),
];

impl Flag {
    pub fn long(name: &str) -> Option<&'static Self> {
        FLAGS.iter().find(|flag| flag.name == name || flag.aliases.contains(&name))
    }

    pub fn short(letter: char) -> Option<&'static Self> {
        FLAGS.iter().find(|flag| flag.short == Some(letter))
    }

    pub fn all_names() -> impl Iterator<Item = &'static str> {
        FLAGS.iter().flat_map(|flag| std::iter::once(flag.name).chain(flag.aliases.iter().copied()))
    }
}

/// The agent's options as they are typed, with what they do.
pub(crate) fn agent_option_lines() -> Vec<(String, &'static str)> {
    let works = FLAGS.iter().filter(|flag| flag.standing == Standing::Works);
    let line = |flag: &Flag| {
        let short = flag.short.map_or(String::new(), |letter| format!("-{letter}, "));
        let value = match flag.arity {
            No => "",
            One | Repeat => " <value>",
            Optional | Named(_) => " [value]",
            OptionalInline => "[=value]",
            Many => " <values…>",
        };
        (format!("{short}--{}{value}", flag.name), flag.help)
    };
    works.map(line).collect()
}
