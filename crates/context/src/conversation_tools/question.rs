//! AskUserQuestion: the model asks a person to choose. The answer comes back the way permissions do, as a
//! changed input; there only where a client or a hook can give one.

use super::error::CallError;
use policy::names;
use serde_json::{Value, json};
use tools::ToolSpec;
use turn::CallResult;

pub const ASK_USER: &str = "AskUserQuestion";

pub static SPEC: ToolSpec = ToolSpec::alone(
    &names::ASK_USER_QUESTION,
    "Ask the user to decide between options, where the task leaves open what only they can know. \
                  One to four short questions, each with two to four options; the user may also answer in other words.",
    r#"{"type":"object","properties":{"questions":{"type":"array","minItems":1,"maxItems":4,"items":{"type":"object","properties":{"question":{"type":"string"},"header":{"type":"string","description":"One or two words"},"options":{"type":"array","minItems":2,"maxItems":4,"items":{"type":"object","properties":{"label":{"type":"string"},"description":{"type":"string"},"preview":{"type":"string"}},"required":["label","description"]}},"multiSelect":{"type":"boolean"}},"required":["question","header","options","multiSelect"]}}},"required":["questions"]}"#,
);

/// What the person answered, which came as a part of the input.
pub fn run(input: &Value) -> CallResult {
    let structured = json!({"questions": input["questions"], "answers": input["answers"]});
    CallResult::text(words(&input["answers"]), structured)
}

pub fn check(input: &Value) -> Result<(), CallError> {
    let questions = input["questions"].as_array().filter(|list| (1..=4).contains(&list.len()));
    let questions = questions.ok_or(CallError::Questions)?;
    for question in questions {
        if question["question"].as_str().is_none_or(str::is_empty) {
            return Err(CallError::QuestionText);
        }
        if question["options"].as_array().is_none_or(|options| !(2..=4).contains(&options.len())) {
            return Err(CallError::QuestionOptions);
        }
    }
    Ok(())
}

fn words(answers: &Value) -> String {
    let answers = answers.as_object().into_iter().flatten();
    let lines: Vec<String> = answers
        .map(|(question, answer)| match answer {
            Value::String(text) => format!("{question}: {text}"),
            other => format!("{question}: {other}"),
        })
        .collect();
    if lines.is_empty() {
        return "The user gave no answer. Decide yourself, and say what you assumed.".into();
    }
    format!("The user answered:\n{}", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_counted_before_anybody_is_bothered() {
        let question = |options: usize| json!({"question": "Which?", "options": vec![json!({"label": "x"}); options]});
        for (input, fits) in [
            (json!({"questions": [question(2)]}), true),
            (json!({"questions": vec![question(4); 4]}), true),
            (json!({"questions": vec![question(2); 5]}), false),
            (json!({"questions": []}), false),
            (json!({"questions": [question(1)]}), false),
            (json!({"questions": [question(5)]}), false),
            (json!({"questions": [{"options": [1, 2]}]}), false),
            (json!({}), false),
        ] {
            assert_eq!(check(&input).is_ok(), fits, "{input}");
        }
    }

    #[test]
    fn answers_are_told_and_their_absence_too() {
        assert_eq!(
            words(&json!({"Which?": "Red, Blue", "How many?": 2})),
            "The user answered:\nWhich?: Red, Blue\nHow many?: 2"
        );
        assert!(words(&Value::Null).starts_with("The user gave no answer"));
    }
}
