use super::*;
use proptest::prelude::*;

fn parsed(request: &Request) -> Value {
    serde_json::from_slice(&request.body().unwrap()).unwrap()
}

fn with_messages(messages: Vec<Value>) -> Request {
    Request { model: "m".into(), max_tokens: 9, messages: Arc::new(messages), ..Request::default() }
}

fn marks(body: &Value) -> Vec<String> {
    fn walk(value: &Value, path: &str, out: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    if key == CACHE_KEY {
                        out.push(path.to_owned());
                    } else {
                        walk(value, &format!("{path}/{key}"), out);
                    }
                }
            }
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| walk(item, &format!("{path}/{at}"), out));
            }
            _ => {}
        }
    }
    let mut out = Vec::new();
    walk(body, "", &mut out);
    out
}

#[test]
fn the_bytes_are_these() {
    let request = Request {
        system: vec![json!({"type":"text","text":"s"})],
        tools: [json!({"name":"A"}), json!({"name":"B"})].map(ToolDefinition::from).into(),
        thinking: Some(json!({"type":"adaptive"})),
        effort: Some("high".into()),
        task_budget: Some(5000),
        metadata: Some(json!({"user_id":"u"})),
        ..with_messages(vec![json!({"role":"user","content":"hi"})])
    };
    assert_eq!(
        String::from_utf8(request.body().unwrap()).unwrap(),
        concat!(
            r#"{"model":"m","max_tokens":9,"stream":true,"thinking":{"type":"adaptive"},"#,
            r#""output_config":{"effort":"high","task_budget":{"type":"tokens","total":5000}},"metadata":{"user_id":"u"},"#,
            r#""system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"#,
            r#""tools":[{"name":"A"},{"name":"B","cache_control":{"type":"ephemeral"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#,
        )
    );
    assert_eq!(request.all_betas().collect::<Vec<_>>(), [TASK_BUDGET_BETA]);
    let count = serde_json::from_slice::<Value>(&request.count_body().unwrap()).unwrap();
    let keys: Vec<_> = count.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["model", "thinking", "system", "tools", "messages"]);
}

#[test]
fn empty_lists_and_marks_nobody_wants_are_left_out() {
    let request = Request { cache: CachePolicy::Off, ..with_messages(vec![json!({"role":"user","content":"hi"})]) };
    assert_eq!(
        parsed(&request),
        json!({"model":"m","max_tokens":9,"stream":true,"messages":[{"role":"user","content":"hi"}]})
    );
    let hour = Request { cache: CachePolicy::OneHour, ..request };
    assert_eq!(parsed(&hour)["messages"][0]["content"][0][CACHE_KEY], json!({"type":"ephemeral","ttl":"1h"}));
}

#[test]
fn thinking_and_empty_text_take_no_mark() {
    let request = Request {
        system: vec![json!({"type":"text","text":"s"}), json!({"type":"text","text":""})],
        tools: [json!({"name":"A"}), json!({"name":"B","defer_loading":true})].map(ToolDefinition::from).into(),
        ..with_messages(vec![
            json!({"role":"user","content":[{"type":"text","text":"q"},{"type":"image","source":{}}]}),
            json!({"role":"assistant","content":[{"type":"thinking","thinking":"t","signature":""},
                {"type":"redacted_thinking","data":"d"},{"type":"text","text":""}]}),
        ])
    };
    assert_eq!(marks(&parsed(&request)), ["/system/0", "/tools/0", "/messages/0/content/1"]);
}

#[test]
fn foreign_marks_are_replaced_by_ours() {
    let block = json!({"type":"text","text":"q","cache_control":{"type":"ephemeral","ttl":"1h"}});
    let message = json!({"role":"user","content":[block, block, block]});
    let request = with_messages(vec![message.clone(), message.clone(), message]);
    assert_eq!(marks(&parsed(&request)), ["/messages/2/content/2"]);
}

#[test]
fn a_second_mark_stands_fifteen_blocks_back() {
    let message =
        |text: &str| json!({"role":"user","content":[{"type":"text","text":text},{"type":"text","text":"b"}]});
    let request = with_messages((0..20).map(|n| message(&format!("{n}"))).collect());
    assert_eq!(marks(&parsed(&request)), ["/messages/12/content/0", "/messages/19/content/1"]);
}

#[test]
fn the_extra_body_has_the_last_word() {
    let request = Request {
        effort: Some("high".into()),
        thinking: Some(json!({"type":"adaptive"})),
        extra_body: Some(json!({"output_config":{"format":1},"thinking":null,"max_tokens":1,"new":2,"messages":[]})),
        ..with_messages(vec![json!({"role":"user","content":"hi"})])
    };
    assert_eq!(
        parsed(&request),
        json!({"model":"m","max_tokens":1,"stream":true,"output_config":{"effort":"high","format":1},"new":2,"messages":[]})
    );
}

fn any_block() -> impl Strategy<Value = Value> {
    prop_oneof![
        "[a-z]{0,2}".prop_map(|text| json!({"type":"text","text":text})),
        Just(json!({"type":"thinking","thinking":"","signature":"s"})),
        Just(json!({"type":"tool_use","id":"t","name":"n","input":{}})),
        Just(json!({"type":"tool_result","tool_use_id":"t","content":"","cache_control":{"type":"ephemeral"}})),
    ]
}

proptest! {
    #[test]
    fn never_over_four_marks_and_nothing_else_changes(
        messages in prop::collection::vec(prop::collection::vec(any_block(), 0..6), 0..12),
    ) {
        let messages: Vec<Value> = messages.into_iter().map(|blocks| json!({"role":"user","content":blocks})).collect();
        let request = Request {
            system: vec![json!({"type":"text","text":"s"})],
            tools: [json!({"name":"A"})].map(ToolDefinition::from).into(),
            ..with_messages(messages)
        };
        let body = parsed(&request);
        prop_assert!(marks(&body).len() <= 4);
        let without = |value: &Value| {
            let mut value = value.clone();
            for message in value.as_array_mut().unwrap() {
                for block in message["content"].as_array_mut().unwrap() {
                    let had = block.as_object_mut().unwrap().shift_remove(CACHE_KEY).is_some();
                    assert!(!had || takes_mark(block));
                }
            }
            value
        };
        prop_assert_eq!(without(&body["messages"]), without(&json!(*request.messages)));
    }
}
