use super::*;
use crate::fixture::{calls, fold_kinds, returns, started};
use cycle::{Changes, FileChange, IterationFailure};
use serde_json::json;

#[test]
fn a_receipt_in_one_line() {
    let file = |added, removed| FileChange { path: "x".into(), added, removed };
    let changed =
        Changes { known: true, files: vec![file(3, 1), file(4, 0)], more_files: 1, commits: vec!["abc x".into()] };
    for (outcome, words) in [
        (IterationOutcome::Progress, "progress · 3 files +7 −1 · 1 commit · 1 call · $0.25 · 1m 01s"),
        (
            IterationOutcome::Failed { failure: IterationFailure::Silence },
            "the agent fell silent and was stopped · 3 files +7 −1 · 1 commit · 1 call · $0.25 · 1m 01s",
        ),
    ] {
        let receipt = Receipt {
            outcome,
            changed: changed.clone(),
            cost_usd: 0.25,
            duration_ms: 61_000,
            tool_calls: 1,
            ..Receipt::default()
        };
        assert_eq!(receipt_words(&receipt).replace(STICKY, " "), words);
    }
}

#[test]
fn a_receipt_is_folded_between_its_facts() {
    let receipt = Receipt { cost_usd: 0.25, duration_ms: 4_200, tool_calls: 12, ..Receipt::default() };
    let state = fold_kinds([started(1), cycle::EventKind::IterationEnded { iteration: 1, receipt: Box::new(receipt) }]);
    let rows = Look::new(&state, 34).rows(&state.feed.entries()[1]);
    let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
    assert_eq!(rows, ["  └ progress · 12 calls · $0.25 ·", "    4.2 s"]);
}

#[test]
fn searched_words_are_marked_across_styles() {
    let row = Line::from(vec![Span::raw("one T"), Span::styled("wo", theme::STRONG), Span::raw(" three")]);
    let marked = highlighted(row, "two");
    let spans: Vec<_> = marked.spans.iter().map(|span| (span.content.as_ref(), span.style)).collect();
    let strong = theme::STRONG.patch(theme::MATCH);
    assert_eq!(spans, [("one ", theme::PLAIN), ("T", theme::MATCH), ("wo", strong), (" three", theme::PLAIN)]);
}

#[test]
fn no_row_is_wider_than_the_feed() {
    let long = "word ".repeat(100);
    let state = fold_kinds([
        started(1),
        calls(1, "a", &"LongName".repeat(20), json!({"command": long})),
        returns(1, "a", true, &long),
        calls(1, "b", "Write", json!({"file_path": long, "content": long})),
    ]);
    for width in [40, 49, 50, 80, 200] {
        for entry in state.feed.entries() {
            for row in Look::new(&state, width).rows(entry) {
                assert!(row.width() <= width, "{width}: {row}");
            }
        }
    }
}

#[test]
fn narrow_feeds_have_no_durations() {
    let state = fold_kinds([started(1), calls(1, "a", "Bash", json!({"command": "ls"})), returns(1, "a", false, "")]);
    let row = |width| Look::new(&state, width).rows(&state.feed.entries()[1])[0].to_string();
    assert!(row(60).ends_with("1.0 s") && row(40).ends_with("ls"), "{} {}", row(60), row(40));
}
