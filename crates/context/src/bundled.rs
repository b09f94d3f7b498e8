//! Commands that come with the agent and are prompts: reviews, simplifying, loops and goals, in our own words.
//!
//! A skill or command of the user's with the same name goes first. Deliberately absent: commands that act on the session
//! without a model.

use options::Options;

/// The one that waits for the clock.
const LOOP: &str = "loop";

/// One of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bundled {
    pub name: &'static str,
    pub description: &'static str,
    /// What may stand behind the name.
    pub hint: &'static str,
    prompt: &'static str,
}

pub const BUNDLED: [Bundled; 6] = [
    Bundled {
        name: "code-review",
        description: "have the model review changes for mistakes",
        hint: "[what to review]",
        prompt: include_str!("texts/bundled/code-review.md"),
    },
    Bundled {
        name: "goal",
        description: "have the model work until a condition holds",
        hint: "<condition>",
        prompt: include_str!("texts/bundled/goal.md"),
    },
    Bundled {
        name: LOOP,
        description: "have the model do a task again and again",
        hint: "[pause] [task]",
        prompt: include_str!("texts/bundled/loop.md"),
    },
    Bundled {
        name: "review",
        description: "have the model review a pull request",
        hint: "[number]",
        prompt: include_str!("texts/bundled/review.md"),
    },
    Bundled {
        name: "security-review",
        description: "have the model review the branch's changes for security",
        hint: "[what to review]",
        prompt: include_str!("texts/bundled/security-review.md"),
    },
    Bundled {
        name: "simplify",
        description: "have the model make changed code simpler",
        hint: "[what to simplify]",
        prompt: include_str!("texts/bundled/simplify.md"),
    },
];

/// Those that a session has.
pub fn offered(options: &Options) -> impl Iterator<Item = &'static Bundled> {
    let (all, by_clock) = (options.bundled, options.tools.scheduling);
    BUNDLED.iter().filter(move |bundled| all && (by_clock || bundled.name != LOOP))
}

/// The prompt that a command stands for, with the words behind its name.
pub fn expand(options: &Options, name: &str, args: &str) -> Option<String> {
    let bundled = offered(options).find(|bundled| bundled.name == name)?;
    Some(expanded(bundled, args))
}

fn expanded(bundled: &Bundled, args: &str) -> String {
    let prompt = bundled.prompt.trim_end();
    if args.is_empty() { prompt.to_owned() } else { format!("{prompt}\n\nNamed by the user: {args}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_prompt_and_takes_words() {
        for bundled in BUNDLED {
            let alone = expanded(&bundled, "");
            assert!(alone.len() > 200, "{}", bundled.name);
            let with = expanded(&bundled, "src/a.rs and more");
            assert!(with.starts_with(&alone) && with.ends_with("src/a.rs and more"), "{}", bundled.name);
        }
    }
}
