//! Rules that do not fit a table: builtins with a syntax of their own, and checks of values.

use super::effects::{Arg, Effects};
use super::options::Parsed;

pub(super) fn effects(program: &str, args: &[Arg]) -> Option<Effects> {
    let harmless = match program {
        "printf" => printf(args),
        "command" => args.split_first().is_some_and(|(flag, names)| {
            !flag.glob
                && matches!(flag.text.as_str(), "-v" | "-V")
                && names.iter().all(|name| !name.may_become_option())
        }),
        "[" => args.split_last().is_some_and(|(last, args)| last.text == "]" && !last.glob && test(args)),
        "test" => test(args),
        // Whatever the options of `echo` are, they change how it prints.
        _ => true,
    };
    let reads = args.iter().filter(|arg| arg.glob).cloned().collect();
    harmless.then(|| Effects { reads, ..Effects::default() })
}

/// The builtin of bash sets a variable by `-v NAME`, and by `%n` in the format.
fn printf(args: &[Arg]) -> bool {
    let format = match args.first() {
        Some(first) if first.text == "--" => args.get(1),
        Some(first) if first.text.starts_with('-') || first.may_become_option() => return false,
        first => first,
    };
    format.is_some_and(|format| !format.glob && prints_only(&format.text))
}

fn prints_only(format: &str) -> bool {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let after = &rest[at + 1..];
        let spec = after.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #'.*hlLjtz".contains(c));
        let letter = spec.chars().next();
        rest = match letter {
            Some('%') if after.len() == spec.len() => &spec[1..],
            Some('(') => match spec[1..].split_once(")T") {
                // Another bracket would make bash start again right behind the sign.
                Some((time, rest)) if !time.contains(['(', ')']) => rest,
                _ => return false,
            },
            Some(letter) if "diouxXeEfFgGaAcsbqQ".contains(letter) => &spec[1..],
            _ => return false,
        };
    }
    true
}

/// `-v` and `-R` look up a variable whose subscript is evaluated, and a subscript may hold a command. The other
/// tests compare text and look at the names, times and sizes of files; they open nothing.
fn test(args: &[Arg]) -> bool {
    const OPERATORS: &str = "-a -b -c -d -e -f -g -h -k -p -r -s -t -u -w -x -G -L -N -O -S -z -n -nt -ot -ef -eq -ne \
        -lt -le -gt -ge -o";
    args.iter().all(|arg| {
        let text = arg.text.as_str();
        let after = text.strip_prefix('-').unwrap_or_default();
        let operator = !after.bytes().all(|b| b.is_ascii_digit());
        !arg.may_become_option()
            && (!operator || (!arg.glob && OPERATORS.split_whitespace().any(|known| known == text)))
    })
}

/// An operand that does not start with `+` sets the clock.
pub(super) fn date_shows(parsed: &Parsed) -> bool {
    parsed.operands.iter().all(|arg| arg.text.starts_with('+') && !arg.glob) && names_no_zone(parsed)
}

/// A zone in a date names a file.
pub(super) fn names_no_zone(parsed: &Parsed) -> bool {
    parsed.values(&["-d", "--date"]).all(|value| !value.contains("TZ"))
}

/// `strings` replaces any word `@FILE` with the words in that file.
pub(super) fn no_file_of_words(parsed: &Parsed) -> bool {
    let values = parsed.given.iter().filter_map(|(_, value)| value.as_deref());
    !parsed.operands.iter().map(|arg| arg.text.as_str()).chain(values).any(|text| text.starts_with('@'))
}

/// `--arg NAME VALUE` as one value, since the parser of options knows no pairs.
pub(super) fn join_pairs(args: &[Arg]) -> Option<Vec<Arg>> {
    let mut out = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        match arg.text.as_str() {
            // Old and new versions disagree about what comes after it.
            "--" => return None,
            "--arg" | "--argjson" => {
                let pair = [rest.next()?, rest.next()?];
                if pair.iter().any(|value| value.glob) {
                    return None;
                }
                out.push(arg.clone());
                out.push(Arg::new(""));
            }
            text if text.starts_with("--") && text.contains('=') => return None,
            _ => out.push(arg.clone()),
        }
    }
    Some(out)
}

/// A filter may read modules and data (`import`, `include`) and show the environment (`env`, `$ENV`).
pub(super) fn jq_filter(parsed: &Parsed) -> bool {
    const REFUSED: [&str; 6] = ["import", "include", "modulemeta", "env", "ENV", "get_search_list"];
    let Some(filter) = parsed.operands.first() else { return true };
    if filter.glob {
        return false;
    }
    let text = filter.text.as_str();
    let mut start = None;
    let mut words = Vec::new();
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let in_word = c.is_alphanumeric() || c == '_';
        match (start, in_word) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                words.push((from, &text[from..at]));
                start = None;
            }
            _ => {}
        }
    }
    // `.env` is a field.
    let is_field = |from: usize| text[..from].ends_with('.') && !text[..from].ends_with("..");
    words.into_iter().all(|(from, word)| !REFUSED.contains(&word) || is_field(from))
}
