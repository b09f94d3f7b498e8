use super::*;
use proptest::prelude::*;

fn plain(text: &str, growing: bool, width: usize) -> Vec<String> {
    render(text, growing, width).iter().map(|row| row.to_string().trim_end().to_owned()).collect()
}

#[test]
fn blocks_become_rows() {
    for (text, rows) in [
        ("", vec![]),
        ("one\ntwo", vec!["one", "two"]),
        ("src/a.rs\nsrc/b.rs\n", vec!["src/a.rs", "src/b.rs"]),
        ("2*3*4 and a**b**c", vec!["2*3*4 and a**b**c"]),
        ("*.rs and *.md", vec!["*.rs and *.md"]),
        ("- one\n  more of it", vec!["• one", "  more of it"]),
        ("# Title\n\ntext", vec!["Title", "", "text"]),
        ("- a\n- b\n  - c", vec!["• a", "• b", "  • c"]),
        ("3. x\n4. y", vec!["3. x", "4. y"]),
        ("- [x] done\n- [ ] open", vec!["• ☑ done", "• ☐ open"]),
        ("```rust\nfn x() {\n\n}\n```", vec!["rust", "  fn x() {", "", "  }"]),
        ("> quoted", vec!["│ quoted"]),
        ("a `b` **c** *d*", vec!["a b c d"]),
        ("| a | b |\n|---|---|\n| long | x |", vec!["a     b", "long  x"]),
        ("<promise>COMPLETE</promise>", vec!["<promise>COMPLETE</promise>"]),
        ("x\n\n---\n\ny", vec!["x", "", "───", "", "y"]),
    ] {
        assert_eq!(plain(text, false, 40), rows, "{text:?}");
    }
}

#[test]
fn rows_after_the_first_hang_under_their_item() {
    assert_eq!(plain("- one two three", false, 9), ["• one two", "  three"]);
}

#[test]
fn spelled_out_characters_are_neutralised() {
    assert_eq!(plain("a&#x202e;b&#27;[2J", false, 40), ["a⟨U+202E⟩b␛[2J"]);
}

#[test]
fn growing_text_does_not_flicker() {
    for (text, rows) in [
        ("some **bo", vec!["some bo"]),
        ("some **", vec!["some"]),
        ("run `cargo te", vec!["run cargo te"]),
        ("run `", vec!["run"]),
        ("text\n-", vec!["text"]),
        ("text\n===", vec!["text"]),
        ("```\nlet x = **y", vec!["  let x = **y"]),
        ("5 apples", vec!["5 apples"]),
        ("x\n\n| a | b", vec!["x"]),
        ("x\n\n| a | b |\n|--", vec!["x"]),
        ("| a | b |\n|---|---|\n| 1", vec!["a  b"]),
    ] {
        assert_eq!(plain(text, true, 40), rows, "{text:?}");
    }
}

#[test]
fn marks_are_styled() {
    let rows = render("**b** `c`", false, 40);
    let style = |word: &str| rows[0].spans.iter().find(|span| span.content == word).map(|span| span.style);
    assert_eq!(style("b"), Some(theme::STRONG));
    assert_eq!(style("c"), Some(theme::CODE));
}

proptest! {
    #[test]
    fn any_text_renders_within_its_width(text in "[-a-z0-9 \n`*_#>|\\[\\]()<&;:世~=]{0,200}", growing: bool, width in 2usize..60) {
        for row in render(&text, growing, width) {
            prop_assert!(row.width() <= width.max(2), "{row:?}");
        }
    }
}
