//! What commands print. The agent has its own writer; this is for commands that answer a person.

use std::io::Write as _;

/// To stdout. A reader that left is no error.
#[expect(clippy::disallowed_methods, reason = "the commands' one way to stdout")]
pub fn out(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// To stderr, a message of one line or a few. Names, values and answers of others stand in it, so it is cleaned as for
/// a terminal.
pub fn err(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", wire::clean::block(text));
}

/// The help of one command, from the table of commands.
pub fn help(name: &str) -> wire::ExitCode {
    if let Some(command) = arguments::Command::find(name) {
        out(&arguments::help::command(command));
    }
    wire::ExitCode::Success
}
