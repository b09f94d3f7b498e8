//! How the main conversation speaks: the output style that the settings name.
//!
//! A name that nobody knows changes nothing; clients are still told it, because they asked for it.
//! Deliberately absent: sub-agents, which bring their own prompts.

use options::{Choices, Options};
use project::OutputStyle;

/// What is chosen where nothing is.
const DEFAULT: &str = "default";

/// The styles that need no file. They add to how we work and take nothing away.
const BUILTIN: [(&str, &str); 4] = [
    (
        "Concise",
        "Say only what the reader cannot do without: the outcome first, then at most a few short lines. \
         No introductions, no recapitulation, no offers of more.",
    ),
    (
        "Explanatory",
        "Beside the work, teach: before and after a change of substance, explain in two or three sentences why it is \
         made this way in this code base, which alternatives there were, and what to remember from it.",
    ),
    (
        "Learning",
        "The user wants to learn by doing. Explain the choices as you go, and leave a small, well-chosen piece of the \
         work to them: mark its place with TODO(human), say what it should do and what to think about, and go on \
         around it.",
    ),
    (
        "Proactive",
        "Act rather than ask: where a reasonable person would decide, decide, say what you assumed in one line, and \
         carry the work through to a checked result. What destroys or publishes still needs to be asked for.",
    ),
];

/// The style in force; none where it is the default or unknown.
pub fn chosen(options: &Options, choices: &Choices) -> Option<OutputStyle> {
    let setup = choices.setup();
    let forced = setup.plugins.loaded.iter().flat_map(|plugin| &plugin.styles).find(|style| style.forced);
    if let Some(style) = forced {
        return Some(style.clone());
    }
    let name = choices.style();
    let name = name.as_deref()?;
    if name.eq_ignore_ascii_case(DEFAULT) {
        return None;
    }
    custom(options, choices).into_iter().find(|style| style.name == name).or_else(|| builtin(name))
}

/// Every name that may be chosen.
pub fn names(options: &Options, choices: &Choices) -> Vec<String> {
    let mut names = vec![DEFAULT.to_owned()];
    names.extend(BUILTIN.map(|(name, _)| name.to_owned()));
    for style in custom(options, choices) {
        if !names.contains(&style.name) {
            names.push(style.name);
        }
    }
    names
}

/// Those of files and plugins; they take precedence over built-in ones of the same name.
fn custom(options: &Options, choices: &Choices) -> Vec<OutputStyle> {
    let setup = choices.setup();
    let mut styles = project::output_styles(&options.places, options.sources);
    styles.extend(setup.plugins.loaded.iter().flat_map(|plugin| plugin.styles.iter().cloned()));
    styles
}

fn builtin(name: &str) -> Option<OutputStyle> {
    let (known, words) = BUILTIN.iter().find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(OutputStyle {
        name: (*known).to_owned(),
        description: None,
        keep_coding_instructions: true,
        prompt: (*words).to_owned(),
        forced: false,
        source: "builtin",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_styles_are_found_however_they_are_written_and_keep_the_coding_section() {
        for name in ["Concise", "concise", "EXPLANATORY", "Learning", "proactive"] {
            let style = builtin(name).unwrap_or_else(|| panic!("{name}"));
            assert!(style.keep_coding_instructions && !style.prompt.is_empty());
        }
        assert_eq!(builtin("local-test-style"), None);
    }
}
