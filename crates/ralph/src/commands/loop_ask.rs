//! A question that one key answers. Without a terminal on both sides the answer is no.

use crate::say;
use rustix::termios::{OptionalActions, isatty, tcgetattr, tcsetattr};

/// `y`, `Y` and Enter are yes; everything else, Escape and Ctrl-C among it, is no.
pub fn yes(question: &str) -> bool {
    let (stdin, stdout) = (rustix::stdio::stdin(), rustix::stdio::stdout());
    if !isatty(stdin) || !isatty(stdout) {
        return false;
    }
    let Ok(before) = tcgetattr(stdin) else { return false };
    let mut raw = before.clone();
    raw.make_raw();
    // What was typed before the question is no answer to it; what is typed after it must not be lost.
    if tcsetattr(stdin, OptionalActions::Flush, &raw).is_err() {
        return false;
    }
    say::out(&format!("{question} [Y/n] "));
    let mut key = [0];
    let read = rustix::io::read(stdin, &mut key);
    // The terminal is as it was, whatever was typed.
    let _ = tcsetattr(stdin, OptionalActions::Flush, &before);
    let agreed = matches!((read, key[0]), (Ok(1), b'y' | b'Y' | b'\r' | b'\n'));
    say::out(if agreed { "yes\n" } else { "no\n" });
    agreed
}
