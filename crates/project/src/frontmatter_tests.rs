use proptest::prelude::*;
use serde_json::json;

use super::*;

fn meta(block: &str) -> Option<Value> {
    parse(&format!("---\n{block}\n---\nbody\n")).map(|document| Value::Object(document.meta.0))
}

#[test]
fn blocks_are_split_off() {
    for (text, body_expected) in [
        ("---\nname: x\n---\nbody\n", "body\n"),
        ("---\r\nname: x\r\n---\r\nbody\r\n", "body\r\n"),
        ("---\nname: x\n---", ""),
        ("no block\n---\n", "no block\n---\n"),
        ("--- title\ntext", "--- title\ntext"),
        ("---\n---\nbody", "body"),
        ("", ""),
    ] {
        assert_eq!(parse(text).map(|document| document.body), Some(body_expected), "{text:?}");
    }
    assert!(parse("---\nname: x\n").is_none());
    assert!(!is_closed("---\nname: x\n"));
}

#[test]
fn blocks_are_read_tolerantly() {
    for (block, expected) in [
        ("name: x", Some(json!({"name": "x"}))),
        ("description: Use when: the user asks", Some(json!({"description": "Use when: the user asks"}))),
        ("description: it's [odd] {text}: yes", Some(json!({"description": "it's [odd] {text}: yes"}))),
        ("tools:\n  - Read\n  - Bash(git:*)", Some(json!({"tools": ["Read", "Bash(git:*)"]}))),
        ("tools: [Read, Grep]", Some(json!({"tools": ["Read", "Grep"]}))),
        ("a: >\n  folded\n  text\nb: |\n  kept", Some(json!({"a": "folded text\n", "b": "kept\n"}))),
        ("# comment\nname: x # trailing", Some(json!({"name": "x"}))),
        ("name: 'quoted'", Some(json!({"name": "quoted"}))),
        ("a: yes\nb: 3\nc: true", Some(json!({"a": "yes", "b": 3, "c": true}))),
        ("a: x\na: y", Some(json!({"a": "y"}))),
        ("", Some(json!({}))),
        (
            "argument-hint: [file] [line]\ntools: [a, b]",
            Some(json!({"argument-hint": "[file] [line]", "tools": ["a", "b"]})),
        ),
        ("a: 'open", None),
        ("- a\n- b", None),
        ("name: [", None),
        ("just text", None),
    ] {
        assert_eq!(meta(block), expected, "{block:?}");
    }
}

#[test]
fn values_are_read_as_people_mean_them() {
    let document =
        parse("---\ny: yes\nn: off\none: 1\nodd: maybe\nnum: 12\ntools: Read, Bash(git add:*) Grep\nempty:\n---\n")
            .unwrap();
    let meta = &document.meta;
    assert_eq!([meta.flag("y"), meta.flag("n"), meta.flag("one")], [Some(true), Some(false), Some(true)]);
    assert_eq!((meta.flag("odd"), meta.flag("none")), (None, None));
    assert_eq!((meta.number("num"), meta.text("num").as_deref()), (Some(12), Some("12")));
    assert_eq!(meta.list("tools"), ["Read", "Bash(git add:*)", "Grep"]);
    let hint = parse("---\nhint: [file]\n---\n").unwrap().meta.literal("hint");
    assert_eq!(hint.as_deref(), Some("[file]"));
    assert!(meta.has("empty") && meta.text("empty").is_none());
}

#[test]
fn hostile_blocks_are_refused_quickly() {
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
        d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n\
        g: &g [*f,*f,*f,*f,*f,*f,*f,*f,*f]\nh: [*g,*g,*g,*g,*g,*g,*g,*g,*g]";
    assert_eq!(meta(bomb), None);
    assert!(meta(&format!("a: {}", "[".repeat(100_000))).is_none());
}

proptest! {
    /// The quick reader may refuse, but must never disagree with YAML.
    #[test]
    fn the_quick_reader_agrees_with_yaml(block in "([a-zA-Z_-]{1,6}: {1,2}[ -~é]{0,12}\n){1,3}") {
        if let Some(quick) = plain(&block) {
            prop_assert_eq!(Some(quick), yaml(&block));
        }
    }

    #[test]
    fn the_quick_reader_agrees_on_words(key in "[a-z]{1,5}", value in "[a-zA-Z][a-zA-Z0-9 .,_+:#()*-]{0,10}") {
        let block = format!("{key}: {value}\n");
        if let Some(quick) = plain(&block) {
            prop_assert_eq!(Some(quick), yaml(&block));
        }
    }

    #[test]
    fn the_quick_reader_agrees_on_quotes_numbers_and_truth(
        value in r#""[ a:#é'\[\]{}&*-]{0,8}"|[0-9_.e]{1,9}|true|false|True|yes|null|0x1|1e3"#,
    ) {
        let block = format!("key: {value}\n");
        if let Some(quick) = plain(&block) {
            prop_assert_eq!(Some(quick), yaml(&block));
        }
    }

    #[test]
    fn any_text_is_survived(text in "(---\n)?[ -~\n\t]{0,80}(\n---\n)?.{0,20}") {
        let _ = parse(&text);
    }
}
