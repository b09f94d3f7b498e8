//! What agents and repositories write is shown, never obeyed.

use crate::world::{PROMISE, leave, looped, with_files};

/// As JSON escapes: a title, a cleared screen, the end of the borrowed screen, a clipboard, a bell.
const SEQUENCES: &str =
    r"\u001b]0;owned\u0007\u001b[2J\u001b[?1049l\u001b[?25h\u001b]52;c;ZXZpbA==\u0007\u0007\u009b2J";
/// Reversed, invisible, joined, and spelled with tags.
const HIDDEN: &str = r"a\u202eb\u2066c\u200bd\u200de\ufefff\udb40\udc41g";

#[test]
fn adversary_24_nothing_of_an_agents_text_reaches_the_terminal_as_more_than_text() {
    let prompt = "# Build \u{1b}]0;owned\u{7}it \u{202e}now\u{200b}\n";
    let todo = "- [ ] one\u{1b}[2J\u{e0041}\n- [ ] skill\u{2067}name\n";
    let world = with_files([(".ralph/prompt.md", prompt), (".ralph/todo.md", todo)]);
    let call = r#"{"type":"assistant","message":{"id":"t","content":[{"type":"tool_use","id":"t1","name":"Ba\u202esh","input":{"command":"echo TEXT"}}]}}"#;
    let answer = r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"TEXT"}]}}"#;
    let hostile = |template: &str| template.replace("TEXT", &format!("{SEQUENCES}{HIDDEN}"));
    let script = format!(
        "hear; work; say 'one {SEQUENCES}'; say 'two {HIDDEN}'\ncat <<'END'\n{}\n{}\nEND\nresult '{SEQUENCES}{PROMISE}'",
        hostile(call),
        hostile(answer),
    );
    let terminal = looped(&world, &script, &["--check", "printf '\\033]0;owned\\007\\342\\200\\256'; true"]);
    let end = terminal.wait_for("q leaves").unwrap();
    for part in [
        "one ␛]0;owned␇␛[2J␛[?1049l␛[?25h␛]52;c;ZXZpbA==␇␇⟨U+009B⟩2J",
        "two a⟨U+202E⟩b⟨U+2066⟩c⟨U+200B⟩d⟨U+200D⟩e⟨U+FEFF⟩f⟨U+E0041⟩g",
        "Ba⟨U+202E⟩sh",
        "one␛[2J",
    ] {
        assert!(end.shows(part), "{part}:\n{}", end.text());
    }
    assert!(end.alternate && end.cursor_hidden);
    let left = leave(terminal);
    assert_eq!(left.obeyed, 0, "titles, clipboards and bells are not the agent's");
    let text = String::from_utf8_lossy(&left.bytes);
    for hidden in
        ['\u{202e}', '\u{2066}', '\u{2067}', '\u{200b}', '\u{200d}', '\u{feff}', '\u{e0041}', '\u{9b}', '\u{7}']
    {
        assert!(!text.contains(hidden), "{hidden:?} was written");
    }
}
