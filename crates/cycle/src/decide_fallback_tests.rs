//! Other ways to a model while the run's own is limited.

use super::*;
use crate::FallbackModel;

const MINUTE: u64 = 60_000;

fn with_fallback(names: &[&str]) -> Plan {
    let way = |name: &&str| FallbackModel {
        name: (*name).to_owned(),
        model: name.split_once(':').map_or(*name, |(_, model)| model).to_owned(),
    };
    Plan {
        model: "own".into(),
        fallback: names.iter().map(way).collect(),
        fallback_after_ms: 5 * MINUTE,
        ..Plan::default()
    }
}

/// The model and the way of the agent that was started last, with what was said about it.
fn started(bench: &Bench) -> Option<(String, usize)> {
    bench.started().map(|start| (start.model, start.way))
}

fn said(bench: &Bench) -> Vec<String> {
    let text = |event: &EventKind| match event {
        EventKind::Warning { text, .. } => Some(text.clone()),
        _ => None,
    };
    bench.events.iter().filter_map(text).collect()
}

#[test]
fn a_long_limit_goes_on_another_way_and_comes_back() {
    let mut bench = Bench::new(with_fallback(&["bedrock:b", "local:l"]));
    assert_eq!(started(&bench), Some(("own".into(), 0)));
    let until = bench.now + 60 * MINUTE;
    bench.give(Input::AgentEnded(limited(Some(until))));
    assert_eq!(started(&bench), Some(("b".into(), 1)));
    assert_eq!(said(&bench), ["going on with bedrock:b while the limit lasts"]);
    bench.said("a step");
    assert_eq!(started(&bench), Some(("b".into(), 1)), "the limit lasts");
    bench.now = until + MINUTE;
    bench.said("a step");
    assert_eq!(started(&bench), Some(("own".into(), 0)));
    assert_eq!(said(&bench).last().map(String::as_str), Some("the limit is over; going back to own"));
}

#[test]
fn a_short_limit_is_waited_for() {
    let mut bench = Bench::new(with_fallback(&["bedrock:b"]));
    let until = bench.now + 2 * MINUTE;
    bench.give(Input::AgentEnded(limited(Some(until))));
    assert_eq!(started(&bench), None);
    bench.wake();
    assert_eq!(started(&bench), Some(("own".into(), 0)));
    assert_eq!(said(&bench), Vec::<String>::new());
}

#[test]
fn where_all_are_limited_the_first_that_is_free_ends_the_wait() {
    let mut bench = Bench::new(with_fallback(&["bedrock:b"]));
    let now = bench.now;
    bench.give(Input::AgentEnded(limited(Some(now + 90 * MINUTE))));
    assert_eq!(started(&bench), Some(("b".into(), 1)));
    bench.give(Input::AgentEnded(limited(Some(now + 30 * MINUTE))));
    assert_eq!(started(&bench), None);
    assert!(bench.last.contains(&Effect::Wake(now + 30 * MINUTE + 1_000)), "{:?}", bench.last);
    bench.wake();
    assert_eq!(started(&bench), Some(("b".into(), 1)));
}

#[test]
fn without_another_way_a_limit_waits_as_ever() {
    let mut bench = Bench::new(Plan { fallback_after_ms: 0, ..Plan::default() });
    bench.give(Input::AgentEnded(limited(Some(500_000))));
    assert!(bench.last.contains(&Effect::Wake(501_000)), "{:?}", bench.last);
}
