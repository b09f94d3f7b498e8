use super::*;
use GoalState::{Blocked, Cancelled, Done, Draft, Failed, Landing, Queued, Review, Running, Waiting};

fn standing(state: GoalState) -> Standing {
    Standing { state, attempts: 0, max_attempts: 3, rounds: 0, has_reviewer: false, is_held: true }
}

fn why() -> String {
    "why".into()
}

/// Every happening, once.
fn happenings() -> Vec<Happening> {
    vec![
        Happening::Worked { changed: true },
        Happening::Worked { changed: false },
        Happening::AttemptFailed { why: why() },
        Happening::Limited { until: 9, why: why() },
        Happening::Asked { question: why() },
        Happening::Trouble { at: 9, why: why() },
        Happening::Released,
        Happening::Hopeless { why: why() },
        Happening::Approved,
        Happening::Findings { text: why() },
        Happening::Landed { commit: "c".into(), from: None },
        Happening::LandingRefused { why: why() },
        Happening::NothingToLand,
        Happening::WorkerLost { lost: 1 },
        Happening::Cancel,
        Happening::Answer { text: why() },
        Happening::Retry,
        Happening::Publish,
    ]
}

#[test]
fn the_table_of_states() {
    let next = |state, happening| step(standing(state), happening).map(|change| change.state).ok();
    for (state, happening, expected) in [
        (Draft, Happening::Publish, Some(Queued)),
        (Running, Happening::Worked { changed: true }, Some(Landing)),
        (Running, Happening::Worked { changed: false }, Some(Done)),
        (Running, Happening::AttemptFailed { why: why() }, Some(Queued)),
        (Running, Happening::Limited { until: 9, why: why() }, Some(Waiting)),
        (Running, Happening::Asked { question: why() }, Some(Blocked)),
        (Review, Happening::Asked { question: why() }, Some(Blocked)),
        (Running, Happening::Trouble { at: 9, why: why() }, Some(Waiting)),
        (Landing, Happening::Trouble { at: 9, why: why() }, Some(Landing)),
        (Running, Happening::Released, Some(Queued)),
        (Landing, Happening::Released, Some(Landing)),
        (Review, Happening::Approved, Some(Landing)),
        (Review, Happening::Findings { text: why() }, Some(Queued)),
        (Landing, Happening::Landed { commit: "c".into(), from: None }, Some(Done)),
        (Landing, Happening::LandingRefused { why: why() }, Some(Queued)),
        (Running, Happening::WorkerLost { lost: 1 }, Some(Queued)),
        (Running, Happening::WorkerLost { lost: LOST_MAX }, Some(Failed)),
        (Landing, Happening::WorkerLost { lost: 1 }, Some(Landing)),
        (Blocked, Happening::Answer { text: why() }, Some(Queued)),
        (Queued, Happening::Answer { text: why() }, None),
        (Failed, Happening::Retry, Some(Queued)),
        (Cancelled, Happening::Retry, Some(Queued)),
        (Waiting, Happening::Retry, Some(Queued)),
        (Running, Happening::Retry, None),
        (Done, Happening::Retry, None),
        (Done, Happening::Cancel, None),
        (Queued, Happening::Landed { commit: "c".into(), from: None }, None),
        (Running, Happening::Landed { commit: "c".into(), from: None }, None),
    ] {
        assert_eq!(next(state, happening.clone()), expected, "{state}, {happening:?}");
    }
}

#[test]
fn a_review_comes_between_work_and_landing() {
    let reviewed = Standing { has_reviewer: true, ..standing(Running) };
    assert_eq!(step(reviewed, Happening::Worked { changed: true }).unwrap().state, Review);
    let last = Standing { rounds: ROUNDS_MAX - 1, ..standing(Review) };
    let change = step(last, Happening::Findings { text: "bug".into() }).unwrap();
    assert_eq!((change.state, change.rounds), (Blocked, ROUNDS_MAX));
    assert!(change.question.unwrap().contains("bug"));
    let asked = Standing { rounds: ROUNDS_MAX, ..standing(Blocked) };
    assert_eq!(step(asked, Happening::Answer { text: "Approve ".into() }).unwrap().state, Landing);
    let other = step(asked, Happening::Answer { text: "do it differently".into() }).unwrap();
    assert_eq!((other.state, other.rounds), (Queued, 0));
}

#[test]
fn attempts_are_used_up() {
    for (attempts, expected) in [(0, Queued), (1, Queued), (2, Failed), (7, Failed)] {
        let change =
            step(Standing { attempts, ..standing(Landing) }, Happening::LandingRefused { why: why() }).unwrap();
        assert_eq!((change.state, change.attempts), (expected, attempts + 1));
        assert_eq!(change.context.as_deref(), Some("why"));
    }
}

#[test]
fn a_held_goal_is_asked_and_a_free_one_is_cancelled() {
    let held = step(standing(Running), Happening::Cancel).unwrap();
    assert!(held.ask_to_cancel && !held.releases && held.state == Running);
    let free = step(Standing { is_held: false, ..standing(Queued) }, Happening::Cancel).unwrap();
    assert!(!free.ask_to_cancel && free.state == Cancelled);
}

#[test]
fn what_is_over_changes_only_by_a_person() {
    for state in GoalState::ALL.into_iter().filter(|state| state.is_over()) {
        for happening in happenings() {
            let changed = step(Standing { is_held: false, ..standing(state) }, happening.clone());
            assert!(changed.is_err() || happening == Happening::Retry, "{state}, {happening:?}");
        }
    }
}

#[test]
fn only_a_landing_lands() {
    for state in GoalState::ALL {
        for happening in happenings() {
            let Ok(change) = step(standing(state), happening.clone()) else { continue };
            assert!(change.landed.is_none() || (state == Landing && change.state == Done), "{state}, {happening:?}");
            let nothing = [Happening::Worked { changed: false }, Happening::NothingToLand];
            let done_without = nothing.contains(&happening);
            assert!(change.state != Done || change.landed.is_some() || done_without, "{state}, {happening:?}");
        }
    }
}
