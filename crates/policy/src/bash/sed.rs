//! Whether a `sed` script only edits text. `w` writes a file, `e` runs a command, `r` reads one: a script
//! is accepted only when every command in it is one of the harmless ones.

/// Accepts addresses with `p d q = n N D P G H g h x l` and `s`, `y` with harmless flags.
pub(super) fn harmless(script: &str) -> bool {
    let chars: Vec<char> = script.chars().collect();
    let mut at = 0;
    while at < chars.len() {
        if matches!(chars[at], ' ' | '\t' | '\n' | ';' | '}') {
            at += 1;
            continue;
        }
        match command(&chars, at) {
            Some(next) => at = next,
            None => return false,
        }
    }
    true
}

fn command(chars: &[char], at: usize) -> Option<usize> {
    let mut at = address(chars, at)?;
    if chars.get(at) == Some(&',') {
        at = address(chars, at + 1)?;
    }
    while matches!(chars.get(at), Some(' ' | '!')) {
        at += 1;
    }
    match chars.get(at)? {
        '{' => Some(at + 1),
        'p' | 'd' | '=' | 'n' | 'N' | 'D' | 'P' | 'G' | 'H' | 'g' | 'h' | 'x' | 'l' => ends(chars, at + 1),
        'q' | 'Q' => ends(chars, digits(chars, at + 1)),
        's' => ends(chars, flags(chars, parts(chars, at + 1)?)),
        'y' => ends(chars, parts(chars, at + 1)?),
        _ => None,
    }
}

fn ends(chars: &[char], at: usize) -> Option<usize> {
    let at = (at..chars.len()).find(|&i| chars[i] != ' ').unwrap_or(chars.len());
    match chars.get(at) {
        None | Some('}') => Some(at),
        Some(';' | '\n') => Some(at + 1),
        Some(_) => None,
    }
}

fn digits(chars: &[char], at: usize) -> usize {
    (at..chars.len()).find(|&i| !chars[i].is_ascii_digit()).unwrap_or(chars.len())
}

fn address(chars: &[char], at: usize) -> Option<usize> {
    match chars.get(at) {
        Some('$') => Some(at + 1),
        Some(c) if c.is_ascii_digit() || *c == '+' || *c == '~' => {
            let end = digits(chars, at + 1);
            if chars.get(end) == Some(&'~') { Some(digits(chars, end + 1)) } else { Some(end) }
        }
        Some('/') => {
            let end = delimited(chars, at + 1, '/')?;
            Some(if chars.get(end) == Some(&'I') { end + 1 } else { end })
        }
        _ => Some(at),
    }
}

/// After the closing delimiter of the second part of `s` or `y`.
fn parts(chars: &[char], at: usize) -> Option<usize> {
    let delimiter = *chars.get(at).filter(|c| !c.is_alphanumeric() && !matches!(c, '\n' | '\\' | ' '))?;
    let middle = delimited(chars, at + 1, delimiter)?;
    delimited(chars, middle, delimiter)
}

fn delimited(chars: &[char], mut at: usize, delimiter: char) -> Option<usize> {
    while let Some(c) = chars.get(at) {
        match c {
            '\\' => at += 2,
            '\n' => return None,
            // Whether a delimiter inside brackets closes differs between implementations.
            '[' if (at..chars.len()).take_while(|&i| chars[i] != ']').any(|i| chars[i] == delimiter) => return None,
            c if *c == delimiter => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

fn flags(chars: &[char], at: usize) -> usize {
    (at..chars.len()).find(|&i| !matches!(chars[i], 'g' | 'p' | 'i' | 'I' | '0'..='9')).unwrap_or(chars.len())
}
