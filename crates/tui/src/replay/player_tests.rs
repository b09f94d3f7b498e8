use super::*;
use crate::fixture::{START, ended, run_started, says, started};
use crate::replay::RecordingContext;

/// Ten iterations of ten seconds, with an hour of silence in each.
fn recording() -> Recording {
    let mut lines = vec![run_started().at(START).to_line()];
    for number in 0..10u32 {
        let at = START + u64::from(number) * 3_610_000;
        let kinds = [(0, started(number + 1)), (10_000, says(number + 1, "hm")), (3_610_000, ended(number + 1, 0.1))];
        lines.extend(kinds.map(|(after, kind)| kind.at(at + after).to_line()));
    }
    Recording::read(lines.join("\n").as_bytes(), RecordingContext::default()).unwrap()
}

fn playing() -> (Player, ScreenState) {
    (Player::new(recording()), ScreenState::default())
}

#[test]
fn time_shows_events_and_silences_are_short() {
    let (mut player, mut state) = playing();
    assert!(player.step(&mut state, 0));
    assert_eq!((state.iteration, state.feed.entries().len()), (1, 1));
    player.step(&mut state, SILENCE_MAX_MS);
    assert_eq!(state.feed.entries().len(), 2);
    assert_eq!(player.length(), 10 * 2 * SILENCE_MAX_MS);
    player.step(&mut state, u64::MAX);
    assert!(player.at_end() && state.iteration == 10);
    assert!(!player.step(&mut state, 1_000), "nothing changes after the end");
}

#[test]
fn pause_and_speed() {
    let (mut player, mut state) = playing();
    player.step(&mut state, 0);
    player.control(&mut state, Control::Toggle);
    assert!(!player.step(&mut state, 60_000));
    player.control(&mut state, Control::Toggle);
    player.control(&mut state, Control::Faster);
    player.step(&mut state, 1_000);
    assert_eq!(player.position, 2_000);
    for _ in 0..20 {
        player.control(&mut state, Control::Slower);
    }
    for _ in 0..8 {
        player.step(&mut state, 1);
    }
    assert_eq!(player.position, 2_002, "a quarter of a millisecond is not lost");
}

#[test]
fn seeking_back_is_as_if_the_rest_had_not_happened() {
    let (mut player, mut state) = playing();
    player.step(&mut state, 5_000);
    let (before, position) = (format!("{:?}", state.feed), player.position);
    player.control(&mut state, Control::On);
    assert_ne!(format!("{:?}", state.feed), before);
    player.control(&mut state, Control::Back);
    assert_eq!((format!("{:?}", state.feed), player.position), (before, position));
}

#[test]
fn iterations_are_steps() {
    let (mut player, mut state) = playing();
    for (control, iteration) in [
        (Control::NextIteration, 2),
        (Control::NextIteration, 3),
        (Control::PreviousIteration, 2),
        (Control::PreviousIteration, 1),
        (Control::PreviousIteration, 1),
        (Control::Tenth(5), 6),
        (Control::Tenth(0), 1),
    ] {
        player.control(&mut state, control);
        assert_eq!(state.iteration, iteration, "{control:?}");
    }
}

#[test]
fn a_recording_at_its_end_starts_again() {
    let (mut player, mut state) = playing();
    player.step(&mut state, u64::MAX);
    player.control(&mut state, Control::Toggle);
    assert_eq!((state.iteration, player.at_end()), (1, false));
}
