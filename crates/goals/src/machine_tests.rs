use super::*;
use GoalState::{Blocked, Cancelled, Done, Draft, Failed, Landing, Queued, Review, Running, Waiting};

fn standing(state: GoalState) -> GoalFacts {
    GoalFacts { state, attempts: 0, max_attempts: 3, rounds: 0, has_reviewer: false, is_held: true }
}

fn why() -> String {
    "why".into()
}

/// Every happening, once.
fn happenings() -> Vec<GoalEvent> {
    vec![
        GoalEvent::Worked { changed: true },
        GoalEvent::Worked { changed: false },
        GoalEvent::AttemptFailed { why: why() },
        GoalEvent::Limited { until: 9, why: why() },
        GoalEvent::Asked { question: why() },
        GoalEvent::Trouble { at: 9, why: why() },
        GoalEvent::Released,
        GoalEvent::Hopeless { why: why() },
        GoalEvent::Approved,
        GoalEvent::Findings { text: why() },
        GoalEvent::Landed { commit: "c".into(), from: None },
        GoalEvent::LandingRefused { why: why() },
        GoalEvent::NothingToLand,
        GoalEvent::WorkerLost { lost: 1 },
        GoalEvent::Cancel,
        GoalEvent::Answer { text: why() },
        GoalEvent::Retry,
        GoalEvent::Publish,
    ]
}

#[test]
fn the_table_of_states() {
    let next = |state, happening| step(standing(state), happening).map(|change| change.state).ok();
    for (state, happening, expected) in [
        (Draft, GoalEvent::Publish, Some(Queued)),
        (Running, GoalEvent::Worked { changed: true }, Some(Landing)),
        (Running, GoalEvent::Worked { changed: false }, Some(Done)),
        (Running, GoalEvent::AttemptFailed { why: why() }, Some(Queued)),
        (Running, GoalEvent::Limited { until: 9, why: why() }, Some(Waiting)),
        (Running, GoalEvent::Asked { question: why() }, Some(Blocked)),
        (Review, GoalEvent::Asked { question: why() }, Some(Blocked)),
        (Running, GoalEvent::Trouble { at: 9, why: why() }, Some(Waiting)),
        (Landing, GoalEvent::Trouble { at: 9, why: why() }, Some(Landing)),
        (Running, GoalEvent::Released, Some(Queued)),
        (Landing, GoalEvent::Released, Some(Landing)),
        (Review, GoalEvent::Approved, Some(Landing)),
        (Review, GoalEvent::Findings { text: why() }, Some(Queued)),
        (Landing, GoalEvent::Landed { commit: "c".into(), from: None }, Some(Done)),
        (Landing, GoalEvent::LandingRefused { why: why() }, Some(Queued)),
        (Running, GoalEvent::WorkerLost { lost: 1 }, Some(Queued)),
        (Running, GoalEvent::WorkerLost { lost: LOST_MAX }, Some(Failed)),
        (Landing, GoalEvent::WorkerLost { lost: 1 }, Some(Landing)),
        (Blocked, GoalEvent::Answer { text: why() }, Some(Queued)),
        (Queued, GoalEvent::Answer { text: why() }, None),
        (Failed, GoalEvent::Retry, Some(Queued)),
        (Cancelled, GoalEvent::Retry, Some(Queued)),
        (Waiting, GoalEvent::Retry, Some(Queued)),
        (Running, GoalEvent::Retry, None),
        (Done, GoalEvent::Retry, None),
        (Done, GoalEvent::Cancel, None),
        (Queued, GoalEvent::Landed { commit: "c".into(), from: None }, None),
        (Running, GoalEvent::Landed { commit: "c".into(), from: None }, None),
    ] {
        assert_eq!(next(state, happening.clone()), expected, "{state}, {happening:?}");
    }
}

#[test]
fn a_review_comes_between_work_and_landing() {
    let reviewed = GoalFacts { has_reviewer: true, ..standing(Running) };
    assert_eq!(step(reviewed, GoalEvent::Worked { changed: true }).unwrap().state, Review);
    let last = GoalFacts { rounds: ROUNDS_MAX - 1, ..standing(Review) };
    let change = step(last, GoalEvent::Findings { text: "bug".into() }).unwrap();
    assert_eq!((change.state, change.rounds), (Blocked, ROUNDS_MAX));
    assert!(change.question.unwrap().contains("bug"));
    let asked = GoalFacts { rounds: ROUNDS_MAX, ..standing(Blocked) };
    assert_eq!(step(asked, GoalEvent::Answer { text: "Approve ".into() }).unwrap().state, Landing);
    let other = step(asked, GoalEvent::Answer { text: "do it differently".into() }).unwrap();
    assert_eq!((other.state, other.rounds), (Queued, 0));
}

#[test]
fn attempts_are_used_up() {
    for (attempts, expected) in [(0, Queued), (1, Queued), (2, Failed), (7, Failed)] {
        let change =
            step(GoalFacts { attempts, ..standing(Landing) }, GoalEvent::LandingRefused { why: why() }).unwrap();
        assert_eq!((change.state, change.attempts), (expected, attempts + 1));
        assert_eq!(change.context.as_deref(), Some("why"));
    }
}

#[test]
fn a_held_goal_is_asked_and_a_free_one_is_cancelled() {
    let held = step(standing(Running), GoalEvent::Cancel).unwrap();
    assert!(held.ask_to_cancel && !held.releases && held.state == Running);
    let free = step(GoalFacts { is_held: false, ..standing(Queued) }, GoalEvent::Cancel).unwrap();
    assert!(!free.ask_to_cancel && free.state == Cancelled);
}

#[test]
fn what_is_over_changes_only_by_a_person() {
    for state in GoalState::ALL.into_iter().filter(|state| state.is_over()) {
        for happening in happenings() {
            let changed = step(GoalFacts { is_held: false, ..standing(state) }, happening.clone());
            assert!(changed.is_err() || happening == GoalEvent::Retry, "{state}, {happening:?}");
        }
    }
}

#[test]
fn only_a_landing_lands() {
    for state in GoalState::ALL {
        for happening in happenings() {
            let Ok(change) = step(standing(state), happening.clone()) else { continue };
            assert!(change.landed.is_none() || (state == Landing && change.state == Done), "{state}, {happening:?}");
            let nothing = [GoalEvent::Worked { changed: false }, GoalEvent::NothingToLand];
            let done_without = nothing.contains(&happening);
            assert!(change.state != Done || change.landed.is_some() || done_without, "{state}, {happening:?}");
        }
    }
}
