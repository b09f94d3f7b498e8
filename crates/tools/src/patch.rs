//! The difference of two texts as hunks for clients.

use serde_json::{Value, json};
use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, DiffTag, group_diff_ops};
use std::time::{Duration, Instant};

const CONTEXT: usize = 3;
/// Past this the diff is a coarser one; nobody waits for a smaller patch of a generated file.
const DEADLINE: Duration = Duration::from_millis(300);
/// Beyond this size a patch helps nobody and would not fit on a line of the wire.
const MAX_BYTES: usize = 4 * 1024 * 1024;
/// How unified diffs mark a last line without a newline.
const NO_NEWLINE: &str = "\\ No newline at end of file";

/// `[{oldStart, oldLines, newStart, newLines, lines}]`; empty if nothing differs, or too much does.
pub(crate) fn structured(old: &str, new: &str) -> Vec<Value> {
    if old.len().max(new.len()) > MAX_BYTES {
        return Vec::new();
    }
    let (old, new) = (lines(old), lines(new));
    group_diff_ops(operations(&old, &new), CONTEXT).iter().filter_map(|ops| hunk(&old, &new, ops)).collect()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// What `similar::TextDiff` does for lines, with one algorithm: it would bring five into the program, each for several kinds of text.
fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let mut captured = Compact::new(Replace::new(Capture::new()), old, new);
    let deadline = Some(Instant::now() + DEADLINE);
    // Nothing in this chain refuses an operation.
    let Ok(()) = myers::diff_deadline(&mut captured, old, 0..old.len(), new, 0..new.len(), deadline);
    captured.into_inner().into_inner().into_ops()
}

fn hunk(old_lines: &[&str], new_lines: &[&str], ops: &[DiffOp]) -> Option<Value> {
    let (first, last) = (ops.first()?, ops.last()?);
    let old = first.old_range().start..last.old_range().end;
    let new = first.new_range().start..last.new_range().end;
    let mut lines = Vec::with_capacity(old.len() + new.len());
    let mut push = |sign: char, changed: Option<&[&str]>| {
        for line in changed.unwrap_or_default() {
            lines.push(format!("{sign}{}", line.strip_suffix('\n').unwrap_or(line)));
            if !line.ends_with('\n') {
                lines.push(NO_NEWLINE.to_owned());
            }
        }
    };
    for op in ops {
        if op.tag() == DiffTag::Equal {
            push(' ', old_lines.get(op.old_range()));
        } else {
            push('-', old_lines.get(op.old_range()));
            push('+', new_lines.get(op.new_range()));
        }
    }
    Some(json!({
        "oldStart": old.start + 1,
        "oldLines": old.len(),
        "newStart": new.start + 1,
        "newLines": new.len(),
        "lines": lines,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hunks_as_clients_expect_them() {
        for (old, new, hunks) in [
            ("a\n", "a\n", json!([])),
            (
                "hello world\nsecond line\nthird\n",
                "hello world\n2nd line\nthird\n",
                json!([{"oldStart":1,"oldLines":3,"newStart":1,"newLines":3,
                    "lines":[" hello world","-second line","+2nd line"," third"]}]),
            ),
            (
                "hello world\n2nd line\nthird\n",
                "heLLo worLd\n2nd Line\nthird\n",
                json!([{"oldStart":1,"oldLines":3,"newStart":1,"newLines":3,
                    "lines":["-hello world","-2nd line","+heLLo worLd","+2nd Line"," third"]}]),
            ),
            ("", "a", json!([{"oldStart":1,"oldLines":0,"newStart":1,"newLines":1,"lines":["+a",NO_NEWLINE]}])),
            (
                "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n",
                "1\nx\n3\n4\n5\n6\n7\n8\n9\n10\ny\n12\n",
                json!([
                    {"oldStart":1,"oldLines":5,"newStart":1,"newLines":5,"lines":[" 1","-2","+x"," 3"," 4"," 5"]},
                    {"oldStart":8,"oldLines":5,"newStart":8,"newLines":5,
                        "lines":[" 8"," 9"," 10","-11","+y"," 12"]},
                ]),
            ),
        ] {
            assert_eq!(json!(structured(old, new)), hunks, "{old:?} -> {new:?}");
        }
    }

    /// A patch that clients can apply gives the new text.
    fn apply(old: &str, hunks: &[Value]) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let mut new = String::new();
        let mut at = 0;
        for hunk in hunks {
            let start = hunk["oldStart"].as_u64().unwrap() as usize - 1;
            new.extend(old[at..start].iter().copied());
            at = start + hunk["oldLines"].as_u64().unwrap() as usize;
            for line in hunk["lines"].as_array().unwrap() {
                let line = line.as_str().unwrap();
                if line == NO_NEWLINE {
                    continue;
                }
                if !line.starts_with('-') {
                    new.push_str(&line[1..]);
                    new.push('\n');
                }
            }
        }
        new.extend(old[at..].iter().copied());
        new
    }

    proptest! {
        #[test]
        fn patches_apply(old in "([a-d]\n){0,30}", new in "([a-d]\n){0,30}") {
            prop_assert_eq!(apply(&old, &structured(&old, &new)), new);
        }
    }
}
