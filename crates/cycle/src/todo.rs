//! A todo file's checkboxes.

use crate::{TodoItem, TodoState};

/// A screen shows fewer; a list longer than this is not read by anybody.
const ITEMS_MAX: usize = 500;
const TEXT_MAX: usize = 200;

/// The checkboxes of a markdown list: `- [ ]` open, `- [x]` done, `- [~]` and `- [>]` in work.
pub fn todo_items(markdown: &str) -> Vec<TodoItem> {
    markdown.lines().filter_map(item).take(ITEMS_MAX).collect()
}

fn item(line: &str) -> Option<TodoItem> {
    let line = line.trim_start();
    let rest = line.strip_prefix(['-', '*', '+'])?.trim_start().strip_prefix('[')?;
    let (mark, text) = rest.split_once(']')?;
    let state = match mark {
        " " | "" => TodoState::Open,
        "x" | "X" => TodoState::Done,
        "~" | ">" | "/" | "-" => TodoState::Active,
        _ => return None,
    };
    Some(TodoItem { text: crate::bounded(text.trim(), TEXT_MAX), state })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkboxes_are_items_and_nothing_else_is() {
        let items = todo_items("# Todo\n- [ ] one\n  - [x] two\n* [~] three\n- four\n[link](x)\n- [a](b)\n");
        let expected = [("one", TodoState::Open), ("two", TodoState::Done), ("three", TodoState::Active)];
        assert_eq!(items, expected.map(|(text, state)| TodoItem { text: text.into(), state }));
    }
}
