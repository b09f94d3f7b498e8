//! Every byte offset of a stream is a cut: sampled here through the binary, all of them in `model`.

use crate::drive::Stage;
use crate::model::{Counts, Told, events, marked, script, sse};
use crate::plan::Plan;
use crate::{invariants, knobs};
use mock::ScriptedAnswer;
use serde_json::json;

/// Every so many bytes; `RALPH_CUT_EVERY=1` for each.
const EVERY: u64 = 61;

#[test]
fn a_stream_cut_anywhere_is_one_result_and_one_booking() {
    let every = knobs::number("RALPH_CUT_EVERY", EVERY).max(1) as usize;
    let content = vec![
        json!({"type": "text", "text": "First a word. Ä😀"}),
        json!({"type": "tool_use", "name": "Bash", "input": {"command": "echo cut"}}),
    ];
    let turn = ScriptedAnswer { content, usage: Some(marked(0)), ..ScriptedAnswer::default() };
    let whole = sse(&events(&turn, "msg_cut"));
    for at in (0..whole.len()).step_by(every) {
        let told = Told {
            turn: ScriptedAnswer {
                raw_sse: Some(whole.clone()),
                cut_after_bytes: Some(at),
                ..ScriptedAnswer::default()
            },
            fault: "cut",
            counts: Counts::AtMostOnce,
        };
        let plan = Plan::quiet(at as u64, vec![told]);
        let mut stage = Stage::new(&plan);
        let seen = stage.play(&plan);
        let broken = invariants::broken(&plan, &mut stage, &seen);
        assert!(broken.is_empty(), "cut at {at}: {broken:#?}\n{:#?}\n{}", seen.lines, seen.stderr);
        assert_eq!(seen.code, Some(0), "cut at {at}: what was cut is asked again or gone on with: {}", seen.stderr);
        assert!(script(&plan.model).turns.len() > seen.requests.len(), "cut at {at}");
    }
}
