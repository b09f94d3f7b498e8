//! The turn that a scheduled prompt begins: the model wrote the prompt, so it means no more than the model may do.
//!
//! `/model`, `/config` and `/clear` are for the user. From the model they are plain words, and so is a skill that the model may
//! not load by itself.

use crate::conversation::Conversation;
use crate::rules::Rules;
use context::{builtin_commands, bundled};
use options::{Options, Setup};
use policy::{Targets, Verdict};
use serde_json::json;
use wire::UserInput;

/// The prompt as the input of a turn.
pub fn scheduled_input(
    prompt: String,
    (options, setup): (&Options, &Setup),
    rules: &Rules,
    main: &Conversation,
) -> UserInput {
    let is_models = |name: &str| {
        let skill = project::find_skill(&setup.skills, name);
        skill.map_or_else(
            || bundled::offered(options).any(|bundled| bundled.name == name),
            |skill| {
                let input = json!({"skill": skill.name});
                let verdict = || rules.judge(main, "Skill", &input, &Targets::default(), false).verdict;
                skill.model_invocable && verdict() == Verdict::Allow
            },
        )
    };
    let is_command = builtin_commands::split(&prompt).is_some_and(|(name, _)| is_models(name));
    UserInput { client_composed: (!is_command).then_some(true), ..UserInput::text(prompt) }
}
