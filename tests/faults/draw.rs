//! From a seed to a schedule.

use crate::dice::Dice;
use crate::model::{Counts, Told, marked};
use crate::plan::{Face, Habits, Home, Permits, Plan, SIGHUP, SIGINT, SIGKILL, SIGTERM, Stderr, Stdout, Strike, When};
use crate::spoil::FAULTS;
use crate::toolbox;
use mock::ScriptedAnswer;
use serde_json::{Value, json};
use std::time::Duration;

/// Answers that are drawn; plain ones follow.
const DRAWN_MAX: usize = 8;

pub fn plan(seed: u64) -> Plan {
    let mut dice = Dice::new(seed);
    let dice = &mut dice;
    let servers = if dice.chance(20) { toolbox::servers(dice) } else { json!({}) };
    let has_server = servers != json!({});
    let count = 1 + dice.below(DRAWN_MAX);
    let stdout = stdout(dice);
    let face = face(dice, stdout != Stdout::Closed);
    Plan {
        seed,
        partials: dice.chance(30) && !matches!(face, Face::Argument("text" | "json")),
        face,
        model: (0..count).map(|number| told(dice, number, has_server)).collect(),
        settings: if dice.chance(30) { toolbox::settings(dice) } else { json!({}) },
        servers,
        home: home(dice),
        stdout,
        stderr: *dice.pick(&[Stderr::Read, Stderr::Read, Stderr::Read, Stderr::Ignored, Stderr::Gone]),
        strikes: strikes(dice),
        interrupt_after: dice.chance(15).then(|| dice.below(12)),
        max_turns: dice.chance(8).then(|| 1 + dice.below(3)),
    }
}

fn told(dice: &mut Dice, number: usize, has_server: bool) -> Told {
    let mut content: Vec<Value> = Vec::new();
    if dice.chance(60) {
        content.push(json!({"type": "text", "text": "Let me see what is there, and then say it. Ä😀"}));
    }
    for _ in 0..*dice.pick(&[0, 0, 1, 1, 1, 2]) {
        content.push(toolbox::call(dice, has_server));
    }
    if content.is_empty() {
        content.push(json!({"type": "text", "text": "Said."}));
    }
    let mut turn = ScriptedAnswer { content, usage: Some(marked(number)), ..ScriptedAnswer::default() };
    if dice.chance(50) {
        return Told { turn, fault: "none", counts: Counts::Once };
    }
    let (fault, counts, spoil) = *dice.pick(&FAULTS);
    spoil(dice, &mut turn);
    Told { turn, fault, counts }
}

/// A client that hears nothing cannot wait for results.
fn face(dice: &mut Dice, hears: bool) -> Face {
    match dice.below(10) {
        0 => Face::Argument("text"),
        1 => Face::Argument("json"),
        2 | 3 => Face::Argument("stream-json"),
        _ => Face::Duplex(Habits {
            prompts: 1 + dice.below(3),
            hurried: dice.chance(40) || !hears,
            leaves_early: dice.chance(50) || !hears,
            garbage: dice.chance(15),
            half_a_line: dice.chance(8),
            initializes: dice.chance(30),
            permits: dice.chance(25).then(|| permits(dice)),
        }),
    }
}

fn permits(dice: &mut Dice) -> Permits {
    *dice.pick(&[Permits::Yes, Permits::Yes, Permits::No, Permits::Nonsense, Permits::Never])
}

fn home(dice: &mut Dice) -> Home {
    match dice.below(20) {
        0 | 1 => Home::ReadOnly,
        2..=4 => Home::Full(dice.below(48) as u32),
        5 => Home::InTheWay(dice.pick::<&str>(&[".claude", ".claude/projects", ".claude.json/x"])),
        6 | 7 => Home::Limited(dice.below(40) as u32),
        _ => Home::Normal,
    }
}

fn stdout(dice: &mut Dice) -> Stdout {
    match dice.below(20) {
        0..=2 => Stdout::Slow(Duration::from_millis(1 + dice.below(60) as u64)),
        3 | 4 => Stdout::Leaves(dice.below(12)),
        5 => Stdout::Closed,
        _ => Stdout::Read,
    }
}

fn strikes(dice: &mut Dice) -> Vec<Strike> {
    if !dice.chance(35) {
        return Vec::new();
    }
    let signals = [SIGINT, SIGINT, SIGINT, SIGTERM, SIGTERM, SIGHUP, SIGKILL];
    let when = if dice.chance(60) {
        When::Lines(dice.below(10))
    } else {
        When::After(Duration::from_millis(dice.below(1200) as u64))
    };
    let first = Strike { signal: *dice.pick(&signals), when };
    if !dice.chance(25) {
        return vec![first];
    }
    // Both are waited for from the start; which comes first is part of the draw.
    let when = When::After(Duration::from_millis(dice.below(1500) as u64));
    vec![first, Strike { signal: *dice.pick(&signals), when }]
}

#[test]
fn every_fault_is_drawn_sooner_or_later() {
    let plans: Vec<Plan> = (0..2000).map(plan).collect();
    let drawn = |name: &str| plans.iter().flat_map(|plan| &plan.model).filter(|told| told.fault == name).count();
    for (name, ..) in FAULTS {
        assert!(drawn(name) > 20, "{name}: {}", drawn(name));
    }
    let some = |what: &str, is: &dyn Fn(&Plan) -> bool| {
        assert!(plans.iter().filter(|plan| is(plan)).count() > 40, "{what} is rare");
    };
    some("a full disk", &|plan| matches!(plan.home, Home::Full(_)));
    some("a read-only home", &|plan| plan.home == Home::ReadOnly);
    some("a slow reader", &|plan| matches!(plan.stdout, Stdout::Slow(_)));
    some("a reader that leaves", &|plan| matches!(plan.stdout, Stdout::Leaves(_)));
    some("an ignored stderr", &|plan| plan.stderr == Stderr::Ignored);
    some("a server", &|plan| plan.servers != json!({}));
    some("a hook", &|plan| plan.settings != json!({}));
    for signal in [SIGHUP, SIGINT, SIGTERM, SIGKILL] {
        some("a signal", &|plan| plan.strikes.iter().any(|strike| strike.signal == signal));
    }
    some("a run left alone", &Plan::is_undisturbed);
}
