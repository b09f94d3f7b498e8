use super::*;
use proptest::prelude::*;

fn user(content: Value) -> Value {
    [("role".to_owned(), "user".into()), ("content".to_owned(), content)].into_iter().collect()
}

fn block(id: &str, block: Value) -> Value {
    let content = Value::Array(vec![block]);
    [("role".to_owned(), "assistant".into()), ("id".to_owned(), id.into()), ("content".to_owned(), content)]
        .into_iter()
        .collect()
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn call(id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "X", "input": {}})
}

fn result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": "r"})
}

fn lost(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": NO_RESULT, "is_error": true})
}

#[test]
fn blocks_of_a_message_and_results_of_its_calls_come_together() {
    let messages = messages([
        user(json!("go")),
        block("m1", text("a")),
        block("m1", call("1")),
        block("m1", call("2")),
        user(json!([result("2")])),
        user(json!([result("1")])),
        user(json!([text("reminder")])),
        block("m2", text("done")),
    ]);
    assert_eq!(
        messages,
        [
            user(json!("go")),
            json!({"role": "assistant", "content": [text("a"), call("1"), call("2")]}),
            user(json!([result("1"), result("2"), text("reminder")])),
            json!({"role": "assistant", "content": [text("done")]}),
        ]
    );
}

#[test]
fn calls_without_a_result_get_a_stand_in_and_results_without_a_call_are_dropped() {
    for (stored, expected) in [
        (vec![user(json!("go")), block("m", call("1"))], vec![user(json!([lost("1")]))]),
        (
            vec![user(json!("go")), block("m", call("1")), user(json!("again"))],
            vec![user(json!([lost("1"), text("again")]))],
        ),
        (
            vec![user(json!("go")), block("m", call("1")), block("n", text("x"))],
            vec![user(json!([lost("1")])), json!({"role": "assistant", "content": [text("x")]})],
        ),
        (vec![user(json!("go")), block("m", text("x")), user(json!([result("9")]))], vec![]),
        (
            vec![user(json!("go")), block("m", call("1")), user(json!([result("9"), result("1"), result("1")]))],
            vec![user(json!([result("1")]))],
        ),
    ] {
        assert_eq!(&messages(stored.clone())[2..], expected, "{stored:?}");
    }
}

#[test]
fn what_the_api_would_refuse_is_left_out() {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let synthetic = json!({"role": "assistant", "model": "<synthetic>", "content": [text("API error")]});
    let messages = messages([
        block("m0", text("an answer to nothing")),
        user(json!("one")),
        block("m1", thought.clone()),
        synthetic,
        user(json!([text(" "), text("two")])),
        user(json!("")),
        user(json!(7)),
        json!({"role": "system", "content": "x"}),
        block("m2", thought.clone()),
        block("m2", text("said")),
    ]);
    assert_eq!(
        messages,
        [user(json!([text("one"), text("two")])), json!({"role": "assistant", "content": [thought, text("said")]})]
    );
}

fn any_block() -> impl Strategy<Value = Value> {
    let id = prop::sample::select(vec!["1", "2", "3"]);
    prop_oneof![
        id.clone().prop_map(call),
        id.prop_map(result),
        prop::sample::select(vec!["", "hi"]).prop_map(text),
        Just(json!({"type": "thinking", "thinking": "t", "signature": "s"})),
        Just(json!({"odd": true})),
        Just(json!("not a block")),
    ]
}

fn any_message() -> impl Strategy<Value = Value> {
    let role = prop::sample::select(vec!["user", "assistant", "other"]);
    let content = prop_oneof![
        prop::collection::vec(any_block(), 0..4).prop_map(Value::Array),
        prop::sample::select(vec!["", "text"]).prop_map(Value::from),
        Just(Value::Null),
    ];
    let id = prop::sample::select(vec!["m1", "m2"]);
    (role, content, id).prop_map(|(role, content, id)| json!({"role": role, "content": content, "id": id}))
}

proptest! {
    #[test]
    fn whatever_was_stored_the_api_accepts_what_is_sent(stored in prop::collection::vec(any_message(), 0..12)) {
        let sent = messages(stored);
        let empty = Vec::new();
        let mut open: Vec<String> = Vec::new();
        for (position, message) in sent.iter().enumerate() {
            let role = message["role"].as_str().unwrap();
            prop_assert_eq!(position == 0 && role != "user", false);
            prop_assert!(position == 0 || role == "user" || sent[position - 1]["role"] == "user");
            prop_assert!(!message["content"].as_str().is_some_and(str::is_empty));
            let blocks = message["content"].as_array().unwrap_or(&empty);
            prop_assert!(message["content"].is_string() || !blocks.is_empty());
            if role == "user" {
                let ids: Vec<String> = blocks.iter().take_while(|block| is_result(block))
                    .map(|block| block["tool_use_id"].as_str().unwrap().to_owned()).collect();
                prop_assert_eq!(&ids, &open, "results answer exactly the calls before them");
                prop_assert!(!blocks[ids.len()..].iter().any(is_result), "results come first");
                open = Vec::new();
            } else {
                prop_assert!(open.is_empty());
                open = blocks.iter().filter(|block| block["type"] == "tool_use")
                    .map(|block| block["id"].as_str().unwrap().to_owned()).collect();
                let unique: std::collections::HashSet<&String> = open.iter().collect();
                prop_assert_eq!(unique.len(), open.len());
            }
        }
        prop_assert!(open.is_empty(), "the last call is answered too");
    }
}
