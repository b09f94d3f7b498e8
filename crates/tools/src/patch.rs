//! The difference of two texts as hunks for clients.

use serde_json::{Value, json};
use similar::{ChangeTag, DiffOp, TextDiff};
use std::time::Duration;

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
    let diff = TextDiff::configure().timeout(DEADLINE).diff_lines(old, new);
    diff.grouped_ops(CONTEXT).iter().filter_map(|ops| hunk(&diff, ops)).collect()
}

fn hunk(diff: &TextDiff<'_, '_, str>, ops: &[DiffOp]) -> Option<Value> {
    let (first, last) = (ops.first()?, ops.last()?);
    let old = first.old_range().start..last.old_range().end;
    let new = first.new_range().start..last.new_range().end;
    let mut lines = Vec::with_capacity(old.len() + new.len());
    for change in ops.iter().flat_map(|op| diff.iter_changes(op)) {
        let sign = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        let line = change.value();
        lines.push(format!("{sign}{}", line.strip_suffix('\n').unwrap_or(line)));
        if !line.ends_with('\n') {
            lines.push(NO_NEWLINE.to_owned());
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
