//! Small versions of the soak (`benches/soak`): many at once, and many turns in one.

use std::time::Duration;

/// Enough to see what a thousand would do.
const AGENTS: usize = 40;

/// A debug build, idle after its first answer; a fifth of it is the binary itself.
const MIB_EACH: f64 = 40.0;

/// Three summaries of the conversation, so that what a summary leaves behind shows.
const TURNS: usize = 300;

/// Allocators keep a little of what was freed.
const GROWTH_MIB: f64 = 2.0;

#[test]
fn many_agents_idle_at_once_cost_little_and_leave_well() {
    let idle = soak::idle(&crate::binary(), AGENTS).unwrap();
    assert_eq!(idle.left_well, AGENTS);
    assert!(idle.mib_each < MIB_EACH, "{idle:?}");
    assert!(idle.cpu_per_second < Duration::from_millis(50), "idle is idle: {:?}", idle.cpu_per_second);
}

#[test]
fn a_long_conversation_needs_no_more_memory_than_a_short_one() {
    let turns = soak::turns(&crate::binary(), TURNS).unwrap();
    assert!(turns.left_well);
    assert!(turns.growth() < GROWTH_MIB, "{:.2} MiB more; {:?}", turns.growth(), turns.samples);
}

/// A night in small: outages, limits, crashes and restarts happen in it at least once each.
const NIGHT: usize = 60;

#[test]
fn a_night_of_the_loop_ends_done_and_checked() {
    let night = soak::night(&crate::binary(), NIGHT).unwrap();
    assert_eq!((night.exit_code, night.verdict.as_str(), night.checked), (Some(0), "done", true), "{night:?}");
    assert!(night.restarts == 3 && night.put_off >= 3 && night.crashes >= 1, "{night:?}");
    assert!(night.growth() < GROWTH_MIB, "{night:?}");
}
