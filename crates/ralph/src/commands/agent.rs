//! The agent face: `claude …`.

use super::{auth, doctor, mcp, plugin};
use crate::environment::Environment;
use crate::failure::{Ended, Failure};
use crate::resolve::{self, CONTRACT_VERSION, Refusal};
use crate::runtime::runtime;
use crate::say;
use agent::{InputFormat, OutputFormat};
use arguments::Arguments;
use arguments::help;
use wire::ExitCode;

/// Subcommands of the reference that clients call, and those we know but do not have.
const SUBCOMMANDS: [&str; 6] = ["auth", "doctor", "help", "update", "mcp", "plugin"];

pub fn run(mut words: Vec<String>, mut environment: Environment) -> Ended {
    let command = command_words(&mut words);
    let typed = arguments::parse(words)?;
    if typed.version {
        say::out(&format!("{CONTRACT_VERSION} (Claude Code)\n"));
        return Ok(ExitCode::Success);
    }
    if typed.help {
        say::out(&help::agent());
        return Ok(ExitCode::Success);
    }
    match command.as_deref() {
        Some([name, rest @ ..]) if name == "auth" => return auth::run(rest, &environment, Some(&typed)),
        Some([name, rest @ ..]) if name == "mcp" => return mcp::run(rest, &environment),
        Some([_, rest @ ..]) => return plugin::run(rest, &environment),
        _ => {}
    }
    if let Some(exit) = subcommand(&typed, &environment) {
        return exit;
    }
    let resolved = match resolve::options(&typed, &mut environment) {
        Ok(resolved) => resolved,
        Err(refusal) => return refused(&typed, refusal),
    };
    if is_interactive(&typed, &resolved.options, &environment) {
        let why = Failure::agent("Error: this agent has no interactive mode");
        return Err(why.hint("Give a prompt with -p, or pipe one in."));
    }
    for warning in &resolved.warnings {
        say::err(warning);
    }
    process::adopt_orphans();
    process::watch_over();
    let sandbox = resolved.options.tools.shell.sandbox.clone();
    process::harden();
    let runtime = runtime()?;
    let exit = runtime.block_on(stdio::run(resolved.options));
    // A thread may still sit in a read of stdin; nothing waits for it.
    runtime.shutdown_background();
    if let Some(sandbox) = sandbox {
        sandbox.close();
    }
    Ok(exit)
}

/// Commands with flags of their own, by their first two words.
const COMMANDS: [(&[&str], &[&str]); 3] =
    [(&["auth"], &["status", "login", "logout"]), (&["plugin", "plugins"], plugin::NAMES), (&["mcp"], mcp::NAMES)];

/// `… auth status --json`: flags of ours may come before, flags after are the command's own. The same
/// words in a prompt, or as a flag's value, are no command.
fn command_words(words: &mut Vec<String>) -> Option<Vec<String>> {
    let is_command = |pair: &[String]| {
        COMMANDS.iter().any(|(names, next)| names.contains(&pair[0].as_str()) && next.contains(&pair[1].as_str()))
    };
    let at = words.windows(2).position(is_command)?;
    let before = arguments::parse(words[..at].iter().cloned()).ok()?;
    if before.print || !before.positionals.is_empty() || words[..at].iter().any(|word| word == "--") {
        return None;
    }
    Some(words.split_off(at))
}

fn refused(typed: &Arguments, refusal: Refusal) -> Ended {
    let (input, output) = resolve::formats(typed).unwrap_or((InputFormat::Text, OutputFormat::Text));
    match runtime() {
        Ok(runtime) if refusal.as_result => Ok(runtime.block_on(stdio::failed_start(input, output, refusal.text))),
        _ => Err(refusal.into()),
    }
}

/// Nobody gave a prompt and a person sits at both ends.
fn is_interactive(typed: &Arguments, options: &agent::Options, environment: &Environment) -> bool {
    options.stdin == agent::StdinKind::Terminal
        && environment.stdout_is_terminal
        && options.prompt.is_none()
        && !typed.print
        && options.input == InputFormat::Text
        && options.preparation != Some(agent::Preparation::InitOnly)
}

/// A first word that is a command, unless `-p` says that it is a prompt.
fn subcommand(typed: &Arguments, environment: &Environment) -> Option<Ended> {
    let (first, rest) = typed.positionals.split_first()?;
    if typed.print || typed.input_format.is_some() {
        return None;
    }
    Some(match first.as_str() {
        "doctor" if rest.is_empty() => doctor::run(environment, false, false),
        "help" if rest.is_empty() => {
            say::out(&help::agent());
            Ok(ExitCode::Success)
        }
        "plugin" | "plugins" if is_bare_command(rest) => plugin::run(rest, environment),
        "mcp" if is_bare_command(rest) => mcp::run(rest, environment),
        "update" | "install" if rest.len() < 4 && is_bare_command(rest) => {
            Err(Failure::agent(format!("Error: '{first}' is not part of this agent yet.")))
        }
        word if rest.is_empty() && !word.contains(char::is_whitespace) => {
            let near = arguments::nearest(word, SUBCOMMANDS.into_iter()).filter(|_| word.len() > 2)?;
            let why = Failure::usage(format!("unknown command '{word}' (did you mean '{near}'?)"));
            Err(why.hint("A prompt goes after -p."))
        }
        _ => return None,
    })
}

fn is_bare_command(rest: &[String]) -> bool {
    rest.iter().all(|word| !word.contains(char::is_whitespace))
}
