//! Help texts, made from the tables they describe.

use crate::agent_commands::{AGENT_COMMANDS, AgentCommand};
use crate::flags::agent_option_lines;
use crate::loop_flags;
use crate::table::{COMMANDS, Command};

/// Wide enough for the longest command line that has its summary on the same line.
const USAGE_WIDTH: usize = 24;

pub fn ralph() -> String {
    let mut text = String::from("ralph: a coding agent and the loop around it\n\n");
    let mut line = |usage: &str, summary: &str| {
        if usage.len() > USAGE_WIDTH {
            text.push_str(&format!("  {usage}\n  {:USAGE_WIDTH$} {summary}\n", ""));
        } else {
            text.push_str(&format!("  {usage:USAGE_WIDTH$} {summary}\n"));
        }
    };
    line("ralph [N] [options]", "run the loop, at most N iterations");
    line("ralph --replay [RUN]", "a run again, on the screen");
    for command in COMMANDS {
        line(&command.usage(), command.summary);
    }
    text.push_str("\n'ralph help COMMAND' explains a command, with examples.\n\nOptions of a run:\n");
    push_options(&mut text, &loop_flags::option_lines());
    text.push_str("\nExit codes:\n");
    text + &wire::exit_table()
}

/// The help of one command of `ralph`.
pub fn command(command: &Command) -> String {
    command_of(command, "ralph") + "\n'ralph help' lists all commands, and the options of 'ralph [N]'.\n"
}

/// The help of one command of the agent.
pub fn agent_command(command: &AgentCommand) -> String {
    let last = "\n'claude --help' lists the options of the agent.\n";
    if let Some(shared) = Command::find(command.name).filter(|_| command.summary.is_empty()) {
        return command_of(shared, "claude") + last;
    }
    let usage = format!("claude {} {}", command.name, command.arguments);
    format!("Usage: {}\n\n{}\n{last}", usage.trim_end(), command.summary)
}

/// Commands that both programs have are described once, by the name of `ralph`.
fn command_of(command: &Command, program: &str) -> String {
    let called = |line: &str| match line.strip_prefix("ralph ") {
        Some(rest) => format!("{program} {rest}"),
        None => line.to_owned(),
    };
    let mut text = format!("Usage: {}\n\n{}\n", called(&command.usage()), command.summary);
    if !command.details.is_empty() {
        text.push_str(&format!("\n{}\n", command.details.trim_end()));
    }
    let options = command.option_lines();
    if !options.is_empty() {
        text.push_str("\nOptions:\n");
        push_options(&mut text, &options);
    }
    text.push_str("\nExamples:\n");
    for (example, meaning) in command.examples {
        text.push_str(&format!("  {}\n      {meaning}\n", called(example)));
    }
    text
}

fn push_options(text: &mut String, options: &[(String, &'static str)]) {
    for (option, help) in options {
        text.push_str(&format!("  {option:<28} {help}\n"));
    }
}

pub fn agent() -> String {
    let mut text = String::from(
        "Usage: claude [options] [prompt]

A headless coding agent. The prompt is an argument, stdin, or both; with --input-format stream-json
prompts are messages on stdin, one JSON object a line.

",
    );
    for (option, help) in agent_option_lines() {
        let indent = if option.starts_with("--") { "    " } else { "" };
        text.push_str(&format!("  {:<48} {help}\n", format!("{indent}{option}")));
    }
    text.push_str(
        "\nExamples:\n  claude -p 'What does this do?'\n      one answer on stdout\n  \
         git diff | claude -p 'Review this' --output-format json\n      a prompt with input, and the result as JSON\n",
    );
    text.push_str("\nCommands ('claude COMMAND --help' explains one):\n");
    for command in AGENT_COMMANDS.iter().filter(|command| command.instead.is_none()) {
        let shared = Command::find(command.name).filter(|_| command.summary.is_empty());
        let (arguments, summary) =
            shared.map_or((command.arguments, command.summary), |shared| (shared.arguments, shared.summary));
        text.push_str(&format!("  {:<48} {summary}\n", format!("{} {arguments}", command.name)));
    }
    text.push_str("\nExit codes:\n");
    text + &wire::exit_table()
}
