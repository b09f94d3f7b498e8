//! Every flag we know, as a table: its spelling, whether it takes a value, and where it stands today.

use crate::typed::{Arguments, OptionalValue};

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
    /// Puts one use of the flag, with its value if there is one, into the arguments.
    pub(crate) set: Set,
}

type Set = fn(&mut Arguments, Option<String>);

/// A flag that is given or not.
macro_rules! on {
    ($field:ident) => {
        |arguments, _| arguments.$field = true
    };
}

/// A flag with one value: the last one counts.
macro_rules! one {
    ($field:ident) => {
        |arguments, value| arguments.$field = value
    };
}

/// A flag whose value may be left out: the last use counts.
macro_rules! optional {
    ($field:ident) => {
        |arguments, value| arguments.$field = OptionalValue { is_given: true, value }
    };
}

/// A flag whose values add up.
macro_rules! many {
    ($field:ident) => {
        |arguments, value| arguments.$field.extend(value)
    };
}

const fn works(name: &'static str, arity: Arity, help: &'static str, set: Set) -> Flag {
    Flag { name, aliases: &[], short: None, arity, standing: Standing::Works, help, set }
}

const fn silent(name: &'static str, arity: Arity) -> Flag {
    Flag { name, aliases: &[], short: None, arity, standing: Standing::Silent, help: "", set: |_, _| {} }
}

const fn elsewhere(name: &'static str, arity: Arity, set: Set) -> Flag {
    Flag { name, aliases: &[], short: None, arity, standing: Standing::Elsewhere, help: "", set }
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
    short(works("print", No, "answer and exit; the prompt is an argument or stdin", on!(print)), 'p'),
    works("output-format", One, "text (default), json, or stream-json", one!(output_format)),
    works("input-format", One, "text (default) or stream-json", one!(input_format)),
    works("verbose", No, "needed by stream-json; turns json into the list of all events", on!(verbose)),
    works("include-partial-messages", No, "stream the model's pieces as they come", on!(include_partial_messages)),
    works("include-hook-events", No, "show hooks as they run", on!(include_hook_events)),
    works("init", No, "run Setup hooks (init) first", on!(init)),
    works("init-only", No, "run Setup and SessionStart hooks, then exit", on!(init_only)),
    works("maintenance", No, "run Setup hooks (maintenance) first", on!(maintenance)),
    works("replay-user-messages", No, "echo accepted prompts on stdout", on!(replay_user_messages)),
    works(
        "prompt-suggestions",
        No,
        "guess what the user will say next, after each turn but the first",
        on!(prompt_suggestions),
    ),
    works("forward-subagent-text", No, "also show what subagents say", on!(forward_subagent_text)),
    works("json-schema", One, "require a result that fits this JSON Schema", one!(json_schema)),
    works("max-turns", One, "stop after N model answers", one!(max_turns)),
    works("max-budget-usd", One, "stop once this much is spent", one!(max_budget_usd)),
    works("task-budget", One, "token budget told to the model", one!(task_budget)),
    works("model", One, "haiku, sonnet, opus, fable, default, best, or a full id", one!(model)),
    works("fallback-model", One, "models to try in order when the first is overloaded", one!(fallback_model)),
    works("effort", One, "low, medium, high, xhigh or max", one!(effort)),
    works("thinking", One, "adaptive or disabled", one!(thinking)),
    works("max-thinking-tokens", One, "thinking budget; 0 turns thinking off", one!(max_thinking_tokens)),
    works("thinking-display", One, "summarized or omitted", one!(thinking_display)),
    works("betas", Many, "extra API betas", many!(betas)),
    works("system-prompt", One, "replace the system prompt", one!(system_prompt)),
    works("system-prompt-file", One, "replace the system prompt with a file's text", one!(system_prompt_file)),
    works("append-system-prompt", One, "add to the system prompt", one!(append_system_prompt)),
    works("append-system-prompt-file", One, "add a file's text to the system prompt", one!(append_system_prompt_file)),
    works("append-subagent-system-prompt", One, "add to every subagent's prompt", one!(append_subagent_system_prompt)),
    works(
        "exclude-dynamic-system-prompt-sections",
        No,
        "move what differs per machine out of the system prompt",
        on!(exclude_dynamic_system_prompt_sections),
    ),
    works(
        "plan-mode-instructions",
        One,
        "how to work in plan mode, instead of the usual text",
        one!(plan_mode_instructions),
    ),
    works("tools", Many, "which built-in tools exist: names, \"default\", or \"\" for none", many!(tools)),
    also(
        works("allowedTools", Many, "rules for calls that need no permission", many!(allowed_tools)),
        &["allowed-tools"],
    ),
    also(
        works("disallowedTools", Many, "rules for calls that are refused", many!(disallowed_tools)),
        &["disallowed-tools"],
    ),
    works("permission-mode", One, "default, acceptEdits, plan, dontAsk or bypassPermissions", one!(permission_mode)),
    works(
        "dangerously-skip-permissions",
        No,
        "allow everything that no rule denies",
        on!(dangerously_skip_permissions),
    ),
    works(
        "allow-dangerously-skip-permissions",
        No,
        "let a client switch to bypassPermissions later",
        on!(allow_dangerously_skip_permissions),
    ),
    works(
        "permission-prompt-tool",
        One,
        "who answers permission questions: stdio (the client), or an MCP tool",
        one!(permission_prompt_tool),
    ),
    works(
        "permission-prompts",
        One,
        "none: whatever would ask is denied; host: the client that sends messages is asked",
        one!(permission_prompts),
    ),
    works(
        "restricted",
        No,
        "no tools that run code, no WebFetch, no settings files of the user or the folder, no bypassPermissions",
        on!(restricted),
    ),
    works(
        "sandbox",
        Named(&["off", "read-only", "workspace"]),
        "confine commands and file tools: workspace (if no value is given), read-only, or off",
        optional!(sandbox),
    ),
    works(
        "beads-socket",
        One,
        "commands in the sandbox may ask the beads daemon at this socket about issues, and no other socket",
        one!(beads_socket),
    ),
    works("mcp-config", Many, "MCP servers: a file, or JSON", many!(mcp_config)),
    works("strict-mcp-config", No, "only the servers of --mcp-config", on!(strict_mcp_config)),
    works("settings", One, "a settings file, or settings as JSON", one!(settings)),
    works("setting-sources", One, "which settings files count: user,project,local", one!(setting_sources)),
    works("managed-settings", One, "policy settings as JSON, given by the parent program", one!(managed_settings)),
    works("add-dir", Many, "more folders to work in", many!(add_dir)),
    works("session-id", One, "use this UUID for the session", one!(session_id)),
    short(works("continue", No, "go on with the latest session of this folder", on!(continue_latest)), 'c'),
    short(works("resume", Optional, "go on with the session of this id or title", optional!(resume)), 'r'),
    works("fork-session", No, "resume into a new session", on!(fork_session)),
    works("resume-session-at", One, "resume up to and including this message", one!(resume_session_at)),
    works("resume-drops-turn", One, "resume only if this prompt's turn is all that is lost", one!(resume_drops_turn)),
    works(
        "rewind-files",
        One,
        "with --resume: restore the files to their state before this prompt, then exit",
        one!(rewind_files),
    ),
    works("session-mirror", No, "show every transcript entry on stdout too", on!(session_mirror)),
    works("no-session-persistence", No, "write no transcript", on!(no_session_persistence)),
    short(works("name", One, "a title for the session", one!(name)), 'n'),
    works("agent", One, "run as this agent", one!(agent)),
    works("agents", One, "more agents: JSON, or a file with it", one!(agents)),
    works("plugin-dir", Repeat, "load the plugin in this folder or zip archive", many!(plugin_dir)),
    works("project-config-root", One, "take the project's configuration from this folder", one!(project_config_root)),
    works("plugin-dir-no-mcp", Repeat, "the same without its MCP servers", many!(plugin_dir_no_mcp)),
    works("plugin-url", Repeat, "load the plugin in the zip archive at this https address", many!(plugin_url)),
    works("await-initialize", No, "take no prompt before the client's initialize", on!(await_initialize)),
    works("disable-slash-commands", No, "no skills, no commands", on!(disable_slash_commands)),
    works("bare", No, "Bash, Read and Edit only; no project configuration", on!(bare)),
    works("safe-mode", No, "ignore every customisation of the project and the user", on!(safe_mode)),
    works("autocompact", One, "auto, or the context size that triggers compaction", one!(autocompact)),
    short(works("debug", OptionalInline, "log to a file, never to stdout", optional!(debug)), 'd'),
    works("debug-file", One, "log to this file", one!(debug_file)),
    short(
        works(
            "worktree",
            Optional,
            "work in a checkout of its own: .claude/worktrees/<name>, on the branch worktree-<name>",
            optional!(worktree),
        ),
        'w',
    ),
    works("debug-to-stderr", No, "log to stderr", on!(debug_to_stderr)),
    short(works("version", No, "print the version", on!(version)), 'v'),
    short(works("help", No, "print this help", on!(help)), 'h'),
    // Nothing to do for these headless, whatever they say.
    silent("mcp-debug", No),
    silent("brief", No),
    silent("system-prompt-snapshot", One),
    silent("workload", One),
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
    elsewhere("tmux", OptionalInline, |arguments, _| arguments.refuse("tmux")),
    also(elsewhere("bg", No, |arguments, _| arguments.refuse("bg")), &["background"]),
    elsewhere("exec", One, |arguments, _| arguments.refuse("exec")),
    elsewhere("cloud", Optional, |arguments, _| arguments.refuse("cloud")),
    elsewhere("remote", Optional, |arguments, _| arguments.refuse("remote")),
    elsewhere("environment", One, |arguments, _| arguments.refuse("environment")),
    elsewhere("ref", One, |arguments, _| arguments.refuse("ref")),
    elsewhere("from-pr", Optional, |arguments, _| arguments.refuse("from-pr")),
    also(elsewhere("remote-control", Optional, |arguments, _| arguments.refuse("remote-control")), &["rc"]),
    elsewhere("remote-control-session-name-prefix", One, |arguments, _| {
        arguments.refuse("remote-control-session-name-prefix");
    }),
    elsewhere("teleport", Optional, |arguments, _| arguments.refuse("teleport")),
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
