//! `ralph man`: the manual page, and the same as Markdown for `docs/commands.md`, made from the tables of commands and
//! flags.

use crate::flags::agent_option_lines;
use crate::loop_flags;
use crate::table::{COMMANDS, Options};

/// Text as `man` reads it: no line begins a request, dashes stay dashes, and everything is ASCII.
fn roff(text: &str) -> String {
    let escaped: String = text.chars().map(roff_letter).collect();
    let lines =
        escaped.lines().map(|line| if line.starts_with(['.', '\'']) { format!("\\&{line}") } else { line.to_owned() });
    lines.collect::<Vec<_>>().join("\n")
}

fn roff_letter(letter: char) -> String {
    match letter {
        '\\' => "\\e".to_owned(),
        '-' => "\\-".to_owned(),
        letter if letter.is_ascii() => letter.to_string(),
        letter => format!("\\[u{:04X}]", u32::from(letter)),
    }
}

/// The manual page.
pub fn roff_page() -> String {
    let mut text = format!(
        ".TH RALPH 1 \"\" \"ralph {}\" \"\"\n.SH NAME\nralph \\- a coding agent and the loop around it\n.SH SYNOPSIS\n",
        env!("CARGO_PKG_VERSION")
    );
    text.push_str(".B ralph\n[N] [options]\n.br\n.B ralph\nCOMMAND ...\n.SH OPTIONS OF A RUN\n");
    options(&mut text, &loop_flags::option_lines());
    text.push_str(".SH COMMANDS\n");
    for command in COMMANDS {
        text.push_str(&format!(".SS {}\n{}.\n", roff(&command.usage()), roff(command.summary)));
        if !command.details.is_empty() {
            text.push_str(&format!(".PP\n.nf\n{}\n.fi\n", roff(command.details.trim_end())));
        }
        if matches!(command.options, Options::OfTheLoop) {
            text.push_str(".PP\nOptions are those of a run.\n");
        } else {
            options(&mut text, &command.option_lines());
        }
        for (example, meaning) in command.examples {
            text.push_str(&format!(".PP\nExample ({}):\n.PP\n.nf\n.RS\n{}\n.RE\n.fi\n", roff(meaning), roff(example)));
        }
    }
    text.push_str(&format!(".SH EXIT STATUS\n.nf\n{}\n.fi\n", roff(wire::exit_table().trim_end())));
    text
}

fn options(text: &mut String, lines: &[(String, &'static str)]) {
    for (line, help) in lines {
        text.push_str(&format!(".TP\n.B {}\n{}\n", roff(line), roff(help)));
    }
}

/// `docs/commands.md`.
pub fn markdown() -> String {
    let mut text = String::from(
        "# Commands and options\n\nMade by `ralph man --markdown`; a test compares the two.\n\n## `ralph [N] [options]`: a run\n\n",
    );
    table(&mut text, &loop_flags::option_lines());
    text.push_str("\n## `ralph agent [options] [prompt]`, or `claude`: the agent\n\n");
    table(&mut text, &agent_option_lines());
    for command in COMMANDS.iter().filter(|command| command.name != "agent") {
        text.push_str(&format!("\n## `{}`\n\n{}\n", command.usage(), cell(command.summary)));
        if !command.details.is_empty() {
            text.push_str(&format!("\n```text\n{}\n```\n", command.details.trim_end()));
        }
        match command.options {
            Options::Listed([]) => {}
            Options::Listed(_) => {
                text.push('\n');
                table(&mut text, &command.option_lines());
            }
            Options::OfTheLoop => text.push_str("\nIts options are those of a run.\n"),
            Options::OfTheAgent => text.push_str("\nIts options are those of the agent.\n"),
        }
        for (example, meaning) in command.examples {
            text.push_str(&format!("\n`{example}`: {meaning}\n"));
        }
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}

fn table(text: &mut String, lines: &[(String, &'static str)]) {
    text.push_str("| option | what it does |\n|---|---|\n");
    for (line, help) in lines {
        text.push_str(&format!("| `{}` | {} |\n", line.replace('|', "\\|"), cell(help)));
    }
}

#[cfg(test)]
#[path = "manual_tests.rs"]
mod tests;
