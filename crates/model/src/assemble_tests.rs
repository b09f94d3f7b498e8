use super::*;
use crate::frame::parse;

/// Feeds events; returns the blocks in the order they were finished and the assembler.
fn run(events: &[Value]) -> (Vec<Finished>, Assembler) {
    let mut assembler = Assembler::default();
    let mut blocks = Vec::new();
    for event in events {
        let text = event.to_string();
        let frame = parse(&text).unwrap();
        if let FrameOutcome::Block(finished) = assembler.take(&frame).unwrap() {
            blocks.push(finished);
        }
    }
    (blocks, assembler)
}

fn start() -> Value {
    json!({"type":"message_start","message":{"id":"msg_1","model":"m","content":[],
        "usage":{"input_tokens":100,"cache_read_input_tokens":3,"output_tokens":1,"service_tier":"standard"}}})
}

/// One block, opened as `block`, grown by `deltas`, closed.
fn one_block(block: &Value, deltas: &[Value]) -> Finished {
    let mut events = vec![start(), json!({"type":"content_block_start","index":0,"content_block":block})];
    events.extend(deltas.iter().map(|delta| json!({"type":"content_block_delta","index":0,"delta":delta})));
    events.push(json!({"type":"content_block_stop","index":0}));
    run(&events).0.remove(0)
}

#[test]
fn blocks_of_every_kind() {
    let tool = json!({"type":"tool_use","id":"t","name":"Bash","input":{}});
    for (block, deltas, expected) in [
        (
            json!({"type":"text","text":""}),
            vec![json!({"type":"text_delta","text":"a "}), json!({"type":"text_delta","text":"b\n\"é"})],
            json!({"type":"text","text":"a b\n\"é"}),
        ),
        (
            json!({"type":"text","text":"x","citations":[]}),
            vec![json!({"type":"citations_delta","citation":{"n":1}})],
            json!({"type":"text","text":"x","citations":[{"n":1}]}),
        ),
        (
            json!({"type":"thinking","thinking":""}),
            vec![json!({"type":"thinking_delta","thinking":"hm"}), json!({"type":"signature_delta","signature":"s=="})],
            json!({"type":"thinking","thinking":"hm","signature":"s=="}),
        ),
        (json!({"type":"thinking","thinking":""}), vec![], json!({"type":"thinking","thinking":"","signature":""})),
        (json!({"type":"redacted_thinking","data":"zz"}), vec![], json!({"type":"redacted_thinking","data":"zz"})),
        (
            tool.clone(),
            vec![
                json!({"type":"input_json_delta","partial_json":"{\"command\": \"ec"}),
                json!({"type":"input_json_delta","partial_json":"ho\"}"}),
            ],
            json!({"type":"tool_use","id":"t","name":"Bash","input":{"command":"echo"}}),
        ),
        (tool.clone(), vec![], tool.clone()),
        (
            json!({"type":"tool_use","id":"t","name":"B"}),
            vec![],
            json!({"type":"tool_use","id":"t","name":"B","input":{}}),
        ),
        (
            json!({"type":"tool_use","id":"t","name":"B","input":{"whole":1}}),
            vec![json!({"type":"input_json_delta","partial_json":""})],
            json!({"type":"tool_use","id":"t","name":"B","input":{"whole":1}}),
        ),
        (
            json!({"type":"server_tool_use","id":"s","name":"web_search","input":{}}),
            vec![json!({"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"})],
            json!({"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}}),
        ),
        (
            json!({"type":"web_search_tool_result","tool_use_id":"s","content":[{"url":"u"}]}),
            vec![],
            json!({"type":"web_search_tool_result","tool_use_id":"s","content":[{"url":"u"}]}),
        ),
        (
            json!({"type":"of_the_future","x":[1]}),
            vec![json!({"type":"future_delta","y":2})],
            json!({"type":"of_the_future","x":[1]}),
        ),
    ] {
        let finished = one_block(&block, &deltas);
        assert_eq!((finished.block, finished.bad_input), (expected, None), "{block}");
    }
}

#[test]
fn unreadable_tool_input_is_told_and_stands_inside_an_object() {
    for input in ["{\"command\": \"ec", "[1]", "nonsense", &"{\"a\":".repeat(300)] {
        let block = json!({"type":"tool_use","id":"t","name":"Bash","input":{}});
        let finished = one_block(&block, &[json!({"type":"input_json_delta","partial_json":input})]);
        let unparsed = &finished.block["input"]["__unparsedToolInput"];
        assert_eq!((&unparsed["raw"], &unparsed["len"]), (&json!(input), &json!(input.len())));
        let why = finished.bad_input.unwrap();
        assert!(why.contains(&input[..5.min(input.len())]) && why.len() < 400, "{why}");
    }
}

#[test]
fn interleaved_blocks_keep_apart() {
    let (blocks, _) = run(&[
        start(),
        json!({"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}),
        json!({"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}),
        json!({"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"zero"}}),
        json!({"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"one"}}),
        json!({"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"lost"}}),
        json!({"type":"content_block_stop","index":1}),
        json!({"type":"content_block_stop","index":9}),
        json!({"type":"content_block_stop","index":0}),
    ]);
    let texts: Vec<_> = blocks.iter().map(|one| (one.index, one.block["text"].as_str().unwrap())).collect();
    assert_eq!(texts, [(1, "one"), (0, "zero")]);
}

#[test]
fn the_end_tells_reason_and_final_usage() {
    let (_, assembler) = run(&[
        start(),
        json!({"type":"ping"}),
        json!({"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null,"stop_details":{"category":"c"}},
            "usage":{"output_tokens":25,"input_tokens":0,"cache_read_input_tokens":null,"server_tool_use":{"web_search_requests":2}}}),
    ]);
    assert_eq!(assembler.progress(), StreamProgress::End);
    let reply = assembler.into_reply();
    assert_eq!((reply.id.as_str(), reply.model.as_str()), ("msg_1", "m"));
    assert_eq!((reply.stop_reason.as_deref(), reply.stop_details), (Some("refusal"), Some(json!({"category":"c"}))));
    assert_eq!(reply.start_usage["output_tokens"], 1);
    let usage = reply.usage;
    assert_eq!((usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens), (100, 3, 25));
    assert_eq!(usage.server_tool_use.web_search_requests, 2);
}

#[test]
fn mad_counts_do_not_lose_the_sane_ones() {
    let counts = json!({"input_tokens":7,"output_tokens":-1,"cache_creation":{"ephemeral_5m_input_tokens":1.5},
        "server_tool_use":[],"service_tier":3,"iterations":[1],"cache_read_input_tokens":{}});
    let Value::Object(counts) = counts else { unreachable!() };
    assert_eq!(usage(counts), wire::Usage { input_tokens: 7, ..wire::Usage::default() });
}

#[test]
fn how_far_a_cut_message_came() {
    let open = json!({"type":"content_block_start","index":0,"content_block":{"type":"text","text":"half"}});
    assert_eq!(run(&[start(), open.clone()]).1.progress(), StreamProgress::Nothing);
    let closed = [start(), open.clone(), json!({"type":"content_block_stop","index":0})];
    assert_eq!(run(&closed).1.progress(), StreamProgress::Blocks);
    let unsure = json!({"type":"message_delta","delta":{"stop_reason":null},"usage":{"output_tokens":2}});
    assert_eq!(run(&[start(), unsure]).1.progress(), StreamProgress::Nothing);
    let (_, mut ended) = run(&[start(), open, json!({"type":"message_stop"})]);
    assert_eq!(ended.close_open().unwrap().block["text"], "half");
    assert_eq!(ended.close_open(), None);
}

#[test]
fn errors_and_damage_are_told() {
    let mut assembler = Assembler::default();
    let text = json!({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}).to_string();
    let expected = FrameOutcome::Error { kind: "overloaded_error".into(), message: "Overloaded".into() };
    assert_eq!(assembler.take(&parse(&text).unwrap()), Ok(expected));
    let text = json!({"type":"of_the_future","index":0}).to_string();
    assert_eq!(assembler.take(&parse(&text).unwrap()), Ok(FrameOutcome::Nothing));
    let text = json!({"type":"content_block_stop","index":0}).to_string();
    assert_eq!(assembler.take(&parse(&text).unwrap()), Err(Damage::NoStart));
}

#[test]
fn every_call_of_a_message_has_an_id_of_its_own() {
    let call = |index: usize, id: Value| {
        [
            json!({"type":"content_block_start","index":index,"content_block":{"type":"tool_use","id":id,"name":"Bash"}}),
            json!({"type":"content_block_stop","index":index}),
        ]
    };
    let ids = [json!("same"), json!("same"), json!("other"), json!(""), Value::Null, json!("same_1"), json!("same")];
    let calls = ids.into_iter().enumerate().flat_map(|(index, id)| call(index, id));
    let (blocks, assembler) = run(&std::iter::once(start()).chain(calls).collect::<Vec<_>>());
    let named: Vec<&str> = blocks.iter().filter_map(|finished| finished.block["id"].as_str()).collect();
    assert_eq!(named, ["same", "same_1", "other", "toolu_3", "toolu_4", "same_1_5", "same_6"]);
    let kept: Vec<&Value> = assembler.reply.blocks.iter().map(|block| &block["id"]).collect();
    assert_eq!(kept, named.iter().map(|name| json!(name)).collect::<Vec<_>>().iter().collect::<Vec<_>>());
}
