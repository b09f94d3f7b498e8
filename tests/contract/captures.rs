//! The recorded conversations, one test each, and those that belong to features not built yet.

use crate::binary;
use testkit::captures::{dir, load, load_dir, run};

macro_rules! captures {
    (pass: $($name:ident)*; later: $($later:ident)*;) => {
        const PASS: &[&str] = &[$(stringify!($name)),*];
        const LATER: &[&str] = &[$(stringify!($later)),*];

        $(
            #[test]
            fn $name() {
                play(stringify!($name)).unwrap_or_else(|difference| panic!("{difference}"));
            }
        )*

        mod expected_failures {
            $(
                /// Fails the day the feature works, so that the list stays honest.
                #[test]
                fn $later() {
                    assert!(super::play(stringify!($later)).is_err(), "it passes now: move it to the others");
                }
            )*
        }
    };
}

captures! {
    pass:
        accept_edits allow_rule bad_flag bad_input bash_background bash_basic bash_loop_text budget cut_stream
        deny_default_bash edit_ok fork glob hooks_pre_deny hooks_stop_block grep_modes ink_partial json max_turns no_prompt orchestrator_stream
        overloaded_then_ok parallel_tools plan_mode read_lines resume runs_basic runs_no_tool_call
        control_can_use_tool control_init runs_schema_violation session_id skill slash_command stream_needs_verbose subagent text tools_restricted
        two_messages write_unread;
    later:
        mcp_stdio;
}

fn play(name: &str) -> Result<(), String> {
    let capture = load(&dir().join(format!("{name}.json"))).expect("a capture");
    run(&capture, &binary())
}

#[test]
fn every_capture_is_listed() {
    let mut listed: Vec<&str> = PASS.iter().chain(LATER).copied().collect();
    listed.sort_unstable();
    let mut there: Vec<String> =
        load_dir(&dir()).expect("the captures").into_iter().map(|capture| capture.name).collect();
    there.sort();
    assert_eq!(listed, there);
}
