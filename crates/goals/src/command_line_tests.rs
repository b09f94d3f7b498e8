use super::*;

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

fn parsed(text: &str) -> Result<GoalCommand, GoalUsageError> {
    goal(&words(text)).map(|(command, _)| command)
}

#[test]
fn a_goal_is_made_of_words_and_options() {
    let GoalCommand::Add(fields) =
        parsed("add make it --after 3,4 --after 5 --check=true --max-cost $5 --land push --review=claude:opus:x")
            .unwrap()
    else {
        panic!()
    };
    assert_eq!(fields.text.as_deref(), Some("make it"));
    assert_eq!(fields.after, Some(vec![3, 4, 5]));
    assert_eq!((fields.max_cost, fields.land), (Some(5.0), Some(LandingMode::Push)));
    assert_eq!(fields.review, Some(Reviewer { backend: Some("claude".into()), model: Some("opus:x".into()) }));
    assert!(goal(&words("list --json")).unwrap().1);
}

#[test]
fn reviewers_are_split_at_the_first_colon_after_a_known_backend() {
    let of = |backend: Option<&str>, model: Option<&str>| Reviewer {
        backend: backend.map(str::to_owned),
        model: model.map(str::to_owned),
    };
    for (text, expected) in [
        ("", of(None, None)),
        ("claude", of(Some("claude"), None)),
        ("claude:opus", of(Some("claude"), Some("opus"))),
        ("builtin:vendor:model", of(Some("builtin"), Some("vendor:model"))),
        ("vendor:model", of(None, Some("vendor:model"))),
        ("claude-opus-4", of(None, Some("claude-opus-4"))),
        ("/opt/agent:m", of(Some("/opt/agent"), Some("m"))),
    ] {
        assert_eq!(reviewer(text), expected, "{text}");
    }
}

#[test]
fn mistakes_are_one_line_with_what_to_do() {
    for (text, message) in [
        ("", USAGE),
        ("show", "usage: ralph goal show N"),
        ("show x", "'x' is no number of a goal. 'ralph goal list' shows them."),
        ("show -1", "unknown option '--1'. See 'ralph goal --help'."),
        ("add x --after y", "'y' is no number of a goal. 'ralph goal list' shows them."),
        ("add x --chek y", "unknown option '--chek'. Did you mean '--check'? See 'ralph goal --help'."),
        ("add x --max-cost lots", "option '--max-cost' needs an amount in USD, not 'lots'."),
        ("add x --max-cost -5", "option '--max-cost' needs an amount in USD, not '-5'."),
        ("add x --land away", "option '--land' is branch, push or pr, not 'away'."),
        (
            "budget everything 5",
            "'everything' is no budget. usage: ralph goal budget [all|repo:PATH|label:NAME] [USD] [--tokens N] [--remove]",
        ),
    ] {
        assert_eq!(parsed(text).unwrap_err().to_string(), message, "{text}");
    }
    assert!(work(&words("--slots 0")).is_err() && work(&words("x")).is_err() && work(&words("--slots x")).is_err());
    assert_eq!(work(&words("--slots 4 --drain")).unwrap().slots, 4);
}
