use super::*;

fn show(result: &Value, limits: Limits) -> (Called, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let spill = Spill::new(folder.path().to_owned());
    let called = ResultWriter { server: "srv", tool: "t", limits, spill: &spill }.called(result);
    (called, folder)
}

const WIDE: Limits = Limits { tokens: 1000, chars: None };

fn texts(called: &Called) -> Vec<&str> {
    called.content.iter().filter_map(|block| block["text"].as_str()).collect()
}

#[test]
fn blocks_are_what_the_api_takes() {
    let png = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    for (item, expected) in [
        (json!({"type": "text", "text": "5", "annotations": {}, "_meta": {}}), json!({"type": "text", "text": "5"})),
        (json!({"type": "image", "data": "AAAA", "mimeType": "image/png"}), png.clone()),
        (json!({"type": "resource", "resource": {"uri": "a:b", "blob": "AAAA", "mimeType": "image/png"}}), png),
        (
            json!({"type": "resource", "resource": {"uri": "a:b", "text": "body"}}),
            text_block("[Resource of srv: a:b]\nbody"),
        ),
        (
            json!({"type": "resource_link", "uri": "a:b", "name": "n", "description": "d"}),
            text_block("[Resource link: n, a:b: d]"),
        ),
        (json!({"type": "new", "x": 1}), text_block(r#"{"type":"new","x":1}"#)),
        (json!({"type": "text"}), text_block(r#"{"type":"text"}"#)),
        (json!("loose"), text_block("\"loose\"")),
    ] {
        let (called, _folder) = show(&json!({"content": [item]}), WIDE);
        assert_eq!(called, Called { content: vec![expected], is_error: false, structured: None }, "{item}");
    }
}

#[test]
fn what_a_model_cannot_be_shown_is_saved() {
    for (item, ending) in [
        (json!({"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}), ".wav]"),
        (json!({"type": "image", "data": "aGk=", "mimeType": "image/tiff"}), ".bin]"),
        (
            json!({"type": "resource", "resource": {"uri": "a:b", "blob": "aGk=", "mimeType": "application/pdf"}}),
            ".pdf]",
        ),
    ] {
        let (called, folder) = show(&json!({"content": [item]}), WIDE);
        assert!(texts(&called)[0].ends_with(ending), "{:?}", called.content);
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
        assert_eq!(std::fs::read(file.path()).unwrap(), b"hi");
    }
    let huge = json!({"type": "image", "data": "A".repeat(IMAGE_MAX + 4), "mimeType": "image/png"});
    assert!(texts(&show(&json!({"content": [huge]}), WIDE).0)[0].contains("is saved in"));
}

#[test]
fn errors_and_structures_are_told() {
    let (called, _folder) = show(&json!({"isError": true, "content": [{"type": "text", "text": "boom"}]}), WIDE);
    assert!(called.is_error);
    let (called, _folder) = show(&json!({"structuredContent": {"a": 1}}), WIDE);
    assert_eq!((texts(&called), called.structured.clone()), (vec![r#"{"a":1}"#], Some(json!({"a": 1}))));
    let both = json!({"structuredContent": {"a": 1}, "content": [{"type": "text", "text": "one"}]});
    assert_eq!(texts(&show(&both, WIDE).0), ["one"]);
    for nothing in [json!({}), json!(null), json!({"content": []}), json!({"content": 5})] {
        assert_eq!(show(&nothing, WIDE).0.content, Vec::<Value>::new(), "{nothing}");
    }
}

#[test]
fn text_over_the_limit_is_saved_whole_and_shown_in_part() {
    let (first, second) = ("a".repeat(3000), "b".repeat(3000));
    let result = json!({"content": [
        {"type": "text", "text": first}, {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "text", "text": second}]});
    let (called, folder) = show(&result, WIDE);
    assert_eq!(called.content.len(), 2);
    assert_eq!(called.content[1]["type"], "image");
    let note = texts(&called)[0];
    assert!(note.contains("about 1501 tokens") && note.len() < 3000, "{note}");
    let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
    assert!(note.contains(&*file.path().to_string_lossy()));
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), format!("{first}\n{second}"));
}

#[test]
fn a_tools_own_limit_counts_instead() {
    let result = json!({"content": [{"type": "text", "text": "x".repeat(6000)}]});
    let own = |chars| Limits { tokens: 1000, chars: Some(chars) };
    assert_eq!(texts(&show(&result, own(6000)).0)[0].len(), 6000);
    assert!(texts(&show(&result, own(5999)).0)[0].contains("saved whole"));
}

#[test]
fn resources_tell_text_or_where_the_bytes_are() {
    let folder = tempfile::tempdir().unwrap();
    let spill = Spill::new(folder.path().to_owned());
    let result = json!({"contents": [
        {"uri": "a:1", "mimeType": "text/plain", "text": "hello", "_meta": {}},
        {"uri": "a:2", "mimeType": "application/pdf", "blob": "aGk="}, {"uri": "a:3", "blob": "*"}]});
    let shown = read_resource("srv", &result, WIDE, &spill);
    assert_eq!(shown[0], json!({"uri": "a:1", "mimeType": "text/plain", "text": "hello"}));
    assert_eq!(std::fs::read(shown[1]["blobSavedTo"].as_str().unwrap()).unwrap(), b"hi");
    assert!(shown[2]["text"].as_str().unwrap().contains("base64"));
}
