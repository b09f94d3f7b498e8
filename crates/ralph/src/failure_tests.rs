use super::*;

const KINDS: [FailureKind; 5] =
    [FailureKind::Form, FailureKind::Usage, FailureKind::Settings, FailureKind::Failed, FailureKind::Agent];

#[test]
fn the_table_of_kinds_is_api() {
    let row = |kind: &FailureKind| format!("{kind:?} {} {:?}\n", kind.exit().code(), kind.prefix());
    let table: String = KINDS.iter().map(row).collect();
    assert_eq!(table, "Form 1 \"\"\nUsage 1 \"error: \"\nSettings 1 \"error: \"\nFailed 1 \"error: \"\nAgent 1 \"\"\n");
    // The documented table of exit codes is the other half: `wire::exit_table`.
    for kind in KINDS {
        assert!(wire::exit_table().contains(&format!("{:>3}  ", kind.exit().code())), "{kind:?}");
    }
}

#[test]
fn a_line_is_what_failed_and_what_to_do() {
    let plain = Failure::failed("x cannot be read");
    assert_eq!(plain.line(), "error: x cannot be read");
    assert_eq!(plain.hint("Try y.").line(), "error: x cannot be read. Try y.");
    assert_eq!(Failure::form("usage: ralph x").line(), "usage: ralph x");
    let goal = Failure::from(goals::GoalError::UnknownGoal(7));
    assert_eq!(goal.line(), "error: there is no goal 7. 'ralph goal list --all' shows the goals.");
    let start = Failure::from(goals::GoalError::Start("no clone".into()));
    assert_eq!(start.line(), "error: no clone", "no hint, no dot");
}
