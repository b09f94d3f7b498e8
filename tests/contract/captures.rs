//! The recorded conversations, one test each.

use crate::binary;
use testkit::captures::{dir, load, load_dir, run};

macro_rules! captures {
    ($($name:ident)*) => {
        const LISTED: &[&str] = &[$(stringify!($name)),*];

        $(
            #[test]
            fn $name() {
                play(stringify!($name)).unwrap_or_else(|difference| panic!("{difference}"));
            }
        )*
    };
}

captures! {
    accept_edits allow_rule bad_flag bad_input bash_background bash_basic bash_loop_text budget control_can_use_tool
    control_init cut_stream deny_default_bash edit_ok fork glob grep_modes hooks_pre_deny hooks_stop_block ink_partial
    json max_turns mcp_stdio no_prompt orchestrator_stream overloaded_then_ok parallel_tools plan_mode read_lines resume
    runs_basic runs_no_tool_call runs_schema_violation session_id skill slash_command stream_needs_verbose subagent text
    tools_restricted two_messages write_unread
}

fn play(name: &str) -> Result<(), String> {
    let capture = load(&dir().join(format!("{name}.json"))).expect("a capture");
    run(&capture, &binary())
}

#[test]
fn every_capture_is_listed() {
    let mut listed: Vec<&str> = LISTED.to_vec();
    listed.sort_unstable();
    let mut there: Vec<String> =
        load_dir(&dir()).expect("the captures").into_iter().map(|capture| capture.name).collect();
    there.sort();
    assert_eq!(listed, there);
}
