//! `${NAME}` and `${NAME:-default}` in a configured text. Pure, and never expanded twice.

/// The text with its variables filled in, and the names of those that are not set: they stay as written.
pub(crate) fn expand(text: &str, var: &dyn Fn(&str) -> Option<String>) -> (String, Vec<String>) {
    let (mut filled, mut missing) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        filled.push_str(&rest[..start]);
        let Some((reference, length)) = reference(&rest[start..]) else {
            filled.push_str("${");
            rest = &rest[start + 2..];
            continue;
        };
        if let Some(value) = var(reference.name).or_else(|| reference.default.map(str::to_owned)) {
            filled.push_str(&value);
        } else {
            missing.push(reference.name.to_owned());
            filled.push_str(&rest[start..start + length]);
        }
        rest = &rest[start + length..];
    }
    filled.push_str(rest);
    (filled, missing)
}

struct Reference<'a> {
    name: &'a str,
    default: Option<&'a str>,
}

/// What stands at the beginning of `text`, and how long it is; `None` when it is no reference.
fn reference(text: &str) -> Option<(Reference<'_>, usize)> {
    let inside = text.strip_prefix("${")?;
    let end = inside.find('}')?;
    let (name, default) = match inside[..end].split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (&inside[..end], None),
    };
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let named = name.starts_with(first) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    named.then_some((Reference { name, default }, "${".len() + end + "}".len()))
}

#[cfg(test)]
mod tests {
    use super::expand;
    use proptest::prelude::*;

    fn var(name: &str) -> Option<String> {
        match name {
            "HOME" => Some("/home/me".into()),
            "EMPTY" => Some(String::new()),
            "NESTED" => Some("${HOME}".into()),
            _ => None,
        }
    }

    #[test]
    fn variables_are_filled_in_once() {
        for (text, expected, missing) in [
            ("plain", "plain", vec![]),
            ("${HOME}/bin", "/home/me/bin", vec![]),
            ("${NOPE:-/usr}/bin", "/usr/bin", vec![]),
            ("${HOME:-/usr}", "/home/me", vec![]),
            ("${EMPTY:-x}", "", vec![]),
            ("${NOPE:-}", "", vec![]),
            ("a${NOPE}b", "a${NOPE}b", vec!["NOPE"]),
            ("${NESTED}", "${HOME}", vec![]),
            ("$HOME ${} ${a b} ${1A} ${", "$HOME ${} ${a b} ${1A} ${", vec![]),
            ("${${HOME}", "${/home/me", vec![]),
            ("é${HOME}é", "é/home/meé", vec![]),
        ] {
            let (filled, names) = expand(text, &var);
            assert_eq!(
                (filled.as_str(), names),
                (expected, missing.iter().map(ToString::to_string).collect()),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_where_nothing_is_set(text in "[${}:a-z_é-]{0,40}") {
            let kept = |text: &str| text.matches(":-").count() == 0;
            prop_assume!(kept(&text));
            prop_assert_eq!(expand(&text, &|_| None).0, text);
        }
    }
}
