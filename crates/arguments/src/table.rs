//! Every command of `ralph` in one table: help, suggestions, completions and the man page are made from it.
//!
//! Deliberately absent: what a command does. The options of a run are in [`crate::loop_flags`], those of the agent in
//! [`crate::FLAGS`].

/// Where a command's options come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Options {
    /// Flag with its value, and what it does.
    Listed(&'static [(&'static str, &'static str)]),
    /// Those of a run: [`crate::loop_flags`].
    OfTheLoop,
    /// Those of the agent: [`crate::FLAGS`].
    OfTheAgent,
}

use Options::{Listed, OfTheAgent, OfTheLoop};

#[derive(Debug)]
pub struct Command {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    /// What follows the name on the command line.
    pub arguments: &'static str,
    pub summary: &'static str,
    /// Paragraphs for the command's own help.
    pub details: &'static str,
    /// Words that may follow.
    pub words: &'static [&'static str],
    pub options: Options,
    /// A command line, and what it does.
    pub examples: &'static [(&'static str, &'static str)],
}

const JSON: (&str, &str) = ("--json", "one line of JSON, for programs");

pub const COMMANDS: &[Command] = &[
    Command {
        name: "init",
        aliases: &[],
        arguments: "",
        summary: "set up a loop here: .ralph/prompt.md, todo.md, config.toml",
        details: "Files that exist stay as they are.",
        words: &[],
        options: Listed(&[]),
        examples: &[("ralph init && ralph 5", "set up a loop, then run five iterations")],
    },
    Command {
        name: "resume",
        aliases: &[],
        arguments: "[RUN] [options]",
        summary: "go on with a run that was stopped",
        details: "Without RUN it is the newest run of this folder. Options are those of a run.",
        words: &[],
        options: OfTheLoop,
        examples: &[("ralph resume --max-cost 20", "go on with the newest run, with another limit")],
    },
    Command {
        name: "answer",
        aliases: &[],
        arguments: "[--run RUN] TEXT",
        summary: "answer what a run asks; one that has ended goes on with 'ralph resume'",
        details: "",
        words: &[],
        options: Listed(&[("--run RUN", "which run, where several ask")]),
        examples: &[("ralph answer 'use port 8080'", "answer the question of the newest run")],
    },
    Command {
        name: "attach",
        aliases: &[],
        arguments: "[RUN]",
        summary: "look at a run that works elsewhere; q leaves it at work",
        details: "",
        words: &[],
        options: Listed(&[]),
        examples: &[("ralph attach", "the newest run of this folder")],
    },
    Command {
        name: "steer",
        aliases: &[],
        arguments: "[RUN] TEXT",
        summary: "words to the agent of a run that works elsewhere",
        details: "",
        words: &[],
        options: Listed(&[]),
        examples: &[("ralph steer 'leave the tests alone'", "tell the agent something")],
    },
    Command {
        name: "pause",
        aliases: &[],
        arguments: "[RUN]",
        summary: "hold a run after this iteration",
        details: "",
        words: &[],
        options: Listed(&[]),
        examples: &[("ralph pause", "hold the run of this folder")],
    },
    Command {
        name: "unpause",
        aliases: &[],
        arguments: "[RUN]",
        summary: "let a run go on that was held",
        details: "",
        words: &[],
        options: Listed(&[]),
        examples: &[("ralph unpause", "go on")],
    },
    Command {
        name: "stop",
        aliases: &[],
        arguments: "[RUN] [--now]",
        summary: "end a run after this iteration",
        details: "",
        words: &[],
        options: Listed(&[("--now", "end it at once")]),
        examples: &[("ralph stop --now", "end the run of this folder at once")],
    },
    Command {
        name: "runs",
        aliases: &[],
        arguments: "[--json]",
        summary: "what ran here, and what is at work",
        details: "",
        words: &[],
        options: Listed(&[JSON]),
        examples: &[("ralph runs", "list the runs of this folder")],
    },
    Command {
        name: "show",
        aliases: &[],
        arguments: "[RUN] [--json]",
        summary: "what a run did, iteration by iteration",
        details: "Without RUN it is the newest run of this folder.",
        words: &[],
        options: Listed(&[JSON]),
        examples: &[("ralph show", "the newest run"), ("ralph show --json", "its events, a line of JSON each")],
    },
    Command {
        name: "report",
        aliases: &[],
        arguments: "[RUN] [options]",
        summary: "a run as one HTML file, or as Markdown, or its screen as SVG",
        details: "",
        words: &[],
        options: Listed(&[
            ("-o FILE", "where to write it"),
            ("--md", "as Markdown"),
            ("--screen", "the screen as SVG"),
        ]),
        examples: &[("ralph report -o run.html", "the newest run as a page")],
    },
    Command {
        name: "goal",
        aliases: &["goals"],
        arguments: "COMMAND …",
        summary: "goals for many loops: add, import, list, show, log, answer, …",
        details: crate::GOAL_HELP,
        words: &[
            "add", "import", "list", "show", "log", "diff", "comment", "attach", "answer", "retry", "cancel", "queue",
            "edit", "budget",
        ],
        options: Listed(&[JSON]),
        examples: &[
            ("ralph goal add 'Mend the flaky test' --check 'make test'", "a goal with a check"),
            ("ralph goal list", "goals that are not over"),
        ],
    },
    Command {
        name: "work",
        aliases: &[],
        arguments: "[options]",
        summary: "work on goals until stopped; --drain: until none is left",
        details: "Ctrl-C, or SIGTERM, ends it in order: what was done is kept, and another worker goes on with it.",
        words: &[],
        options: Listed(&[
            ("--slots N", "goals at the same time (1)"),
            ("--drain", "end when nothing is left to do"),
            ("--lease SPAN", "how long a goal stays with a worker that is not heard of any more (60s)"),
            ("--notify WHERE", "a command (the event as JSON on stdin), a web address, or 'terminal'; repeatable"),
            ("--json", "one line of JSON for each goal that leaves a slot"),
        ]),
        examples: &[("ralph work --slots 4 --drain", "work on all goals, four at a time")],
    },
    Command {
        name: "board",
        aliases: &[],
        arguments: "",
        summary: "the goals on a screen",
        details: "Goals by state. Enter opens a goal's run, q leaves.",
        words: &[],
        options: Listed(&[]),
        examples: &[("ralph board", "watch the goals")],
    },
    Command {
        name: "serve",
        aliases: &[],
        arguments: "[FOLDER…] [options]",
        summary: "runs, goals and agents over HTTP, with a page",
        details: "The first line that it prints is a link that opens the page with all rights; the second only looks. Programs send the token\n\
            as 'Authorization: Bearer TOKEN'. /openapi.json describes the interface,\n\
            which holds that of sandbox-agent: its SDK works with this server. Runs that are started here do not end with the server.",
        words: &[],
        options: Listed(&[
            ("--listen ADDRESS", "127.0.0.1:4747; an address with its port, a port, or the path of a Unix socket"),
            (
                "--host NAME",
                "a further name that the server answers to, as proxies and other machines call it; repeatable",
            ),
            ("--token-folder PATH", "where the two tokens are kept (serve/ in ralph's state folder)"),
            ("--new-token", "make both tokens anew: links and cookies from before are over"),
            ("--no-token", "with a Unix socket only, which nobody else can open"),
            ("--allow-exec", "clients may run commands in the served folders, in the sandbox"),
            ("--streams N", "event streams at the same time (64)"),
        ]),
        examples: &[
            ("ralph serve", "this folder, on this machine"),
            ("ralph serve ~/work/api ~/work/web", "two folders"),
            ("ralph serve --listen unix:ralph.sock --no-token", "a socket that only this user can open"),
            ("ralph serve --listen 0.0.0.0:4747 --host build.example", "reachable by others: put TLS before it"),
        ],
    },
    Command {
        name: "agent",
        aliases: &[],
        arguments: "[options] [prompt]",
        summary: "the agent; the same as calling this binary as 'claude'",
        details: "",
        words: &[],
        options: OfTheAgent,
        examples: &[("ralph agent -p 'What does this do?'", "one answer on stdout")],
    },
    Command {
        name: "acp",
        aliases: &[],
        arguments: "[login] [options]",
        summary: "the agent for editors and other ACP clients, on stdin and stdout",
        details: "'ralph acp' speaks the protocol (version 1); 'ralph acp login' keeps an API key for later sessions, and asks for it in a\n\
            terminal. Each session is a process of its own. In an editor, give 'ralph' as the command and 'acp' as its argument.",
        words: &["login"],
        options: Listed(&[(
            "--sandbox[=LEVEL]",
            "confine every session's commands and file tools: workspace (without a level), read-only, off",
        )]),
        examples: &[
            ("ralph acp", "started by an editor"),
            ("ralph acp --sandbox", "the same; commands write in the session's folder only"),
        ],
    },
    Command {
        name: "demo",
        aliases: &[],
        arguments: "",
        summary: "see a loop mend a failing test, offline, in a scratch folder",
        details: "",
        words: &[],
        options: Listed(&[]),
        examples: &[("ralph demo", "no key and no network are needed")],
    },
    Command {
        name: "mock",
        aliases: &[],
        arguments: "SCRIPT.json | --record FILE",
        summary: "a scripted Messages API on loopback, for rehearsals and tests; --record: a relay before the real one",
        details: "With --record it is a relay before the real API that writes down what goes by.",
        words: &[],
        options: Listed(&[
            ("--port N", "listen on this port"),
            ("--log FILE", "write down every request"),
            ("--record FILE", "pass requests on, and record the answers"),
            ("--upstream URL", "the API behind the relay"),
        ]),
        examples: &[("ralph mock script.json --port 8080", "play a script on port 8080")],
    },
    Command {
        name: "link",
        aliases: &[],
        arguments: "[FOLDER]",
        summary: "put a 'claude' link to this binary on your PATH; never overwrites one",
        details: "",
        words: &[],
        options: Listed(&[]),
        examples: &[("ralph link ~/.local/bin", "clients that start 'claude' now start this agent")],
    },
    Command {
        name: "explain",
        aliases: &[],
        arguments: "[agent's options] CALL…",
        summary: "which rule of which file decides a call such as 'Bash(git push)'",
        details: "",
        words: &[],
        options: OfTheAgent,
        examples: &[("ralph explain 'Bash(git push)' 'Read(~/.ssh/id_rsa)'", "two calls")],
    },
    Command {
        name: "trust",
        aliases: &[],
        arguments: "",
        summary: "let this folder's settings grant permissions",
        details: "Trust is for one repository: by path and first commit.",
        words: &[],
        options: Listed(&[]),
        examples: &[("ralph trust", "trust the repository of this folder")],
    },
    Command {
        name: "auth",
        aliases: &[],
        arguments: "status [--json|--text]",
        summary: "which credential is used, and why the others are not",
        details: "",
        words: &["status"],
        options: Listed(&[JSON, ("--text", "lines for people")]),
        examples: &[("ralph auth status --text", "no secret is shown")],
    },
    Command {
        name: "mcp",
        aliases: &[],
        arguments: "add|add-json|list|get|remove|login|logout|serve|reset-project-choices …",
        summary: "MCP servers of this folder and of yours",
        details: "",
        words: &["add", "add-json", "list", "get", "remove", "login", "logout", "serve", "reset-project-choices"],
        options: Listed(&[
            ("-s, --scope SCOPE", "local, project or user"),
            ("-t, --transport KIND", "stdio, http or sse"),
            ("-e, --env NAME=VALUE", "a variable for the server; repeatable"),
            ("-H, --header 'NAME: VALUE'", "a header for the server; repeatable"),
            ("--client-id ID", "the client id for a login, where the server registers none itself"),
            ("--callback-port PORT", "where a login takes the browser's answer, for such a client"),
            ("--no-browser", "login: show the page's address and open no browser"),
        ]),
        examples: &[
            ("ralph mcp add files npx -y some-server", "a server that is a program"),
            ("ralph mcp login tracker", "log in to a remote server"),
            ("ralph mcp serve", "our own tools for another client, on stdin and stdout"),
        ],
    },
    Command {
        name: "plugin",
        aliases: &["plugins"],
        arguments: "marketplace|install|uninstall|enable|disable|update|list|validate …",
        summary: "plugins and marketplaces",
        details: "",
        words: &["marketplace", "install", "uninstall", "enable", "disable", "update", "list", "validate"],
        options: Listed(&[
            ("-s, --scope SCOPE", "user, project or local"),
            JSON,
            ("-y, --yes", "accepted, and without effect: nothing asks"),
        ]),
        examples: &[
            ("ralph plugin marketplace add ./plugins", "a marketplace in a folder"),
            ("ralph plugin install review@plugins", "a plugin of it"),
        ],
    },
    Command {
        name: "doctor",
        aliases: &[],
        arguments: "[--json] [--endpoint]",
        summary: "what is set up here, and what is wrong with it",
        details: "",
        words: &[],
        options: Listed(&[
            JSON,
            ("--endpoint", "ask the endpoint one question, and say which profile it would need; may cost a few tokens"),
        ]),
        examples: &[("ralph doctor", "also tries whether the sandbox holds")],
    },
    Command {
        name: "completions",
        aliases: &[],
        arguments: "bash|zsh|fish",
        summary: "a script that completes commands and options in a shell",
        details: "",
        words: &["bash", "zsh", "fish"],
        options: Listed(&[]),
        examples: &[
            ("ralph completions bash > ~/.local/share/bash-completion/completions/ralph", "for bash"),
            ("ralph completions fish > ~/.config/fish/completions/ralph.fish", "for fish"),
        ],
    },
    Command {
        name: "man",
        aliases: &[],
        arguments: "[--markdown]",
        summary: "the manual page, in the format of man(1)",
        details: "",
        words: &[],
        options: Listed(&[("--markdown", "as Markdown")]),
        examples: &[("ralph man | man -l -", "read it")],
    },
    Command {
        name: "help",
        aliases: &[],
        arguments: "[COMMAND]",
        summary: "this text, or that of one command",
        details: "",
        words: &[],
        options: Listed(&[]),
        examples: &[("ralph help goal", "the same as 'ralph goal --help'")],
    },
    Command {
        name: "version",
        aliases: &[],
        arguments: "",
        summary: "the version of this binary",
        details: "",
        words: &[],
        options: Listed(&[]),
        examples: &[("ralph version", "the same as 'ralph --version'")],
    },
];

impl Command {
    pub fn find(name: &str) -> Option<&'static Self> {
        COMMANDS.iter().find(|command| command.name == name || command.aliases.contains(&name))
    }

    /// The command line without options spelled out.
    pub fn usage(&self) -> String {
        format!("ralph {} {}", self.name, self.arguments).trim_end().to_owned()
    }

    /// Its options as they are typed, with what they do.
    pub fn option_lines(&self) -> Vec<(String, &'static str)> {
        match self.options {
            Listed(options) => options.iter().map(|(option, help)| ((*option).to_owned(), *help)).collect(),
            OfTheLoop => crate::loop_flags::option_lines(),
            OfTheAgent => crate::flags::agent_option_lines(),
        }
    }
}
