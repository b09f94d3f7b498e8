use super::*;
use serde_json::{Value, json};

#[test]
fn names_and_switches_are_read_and_mistakes_are_named() {
    for name in ProfileName::ALL {
        assert_eq!(parse_profile(name.as_str()).unwrap(), Profile::named(name));
    }
    let local = parse_profile(" local , maxTokens=4096, contextWindow=8192,effort=on, betas=on ").unwrap();
    assert_eq!((local.effort, local.has(Feature::Betas)), (EffortRule::ThreeLevels, true));
    for (text, expected) in [
        ("ollama", "'ollama' is no profile"),
        ("", "'' is no profile"),
        ("local,nonsense=1", "'nonsense' is no switch"),
        ("local,betas", "'betas' is no switch"),
        ("local,betas=perhaps", "betas is 'perhaps'; it takes on or off"),
        ("local,maxTokens=0", "maxTokens is '0'; it takes a number above zero"),
        ("local,effort=xhigh", "effort is 'xhigh'; it takes model, on or off"),
    ] {
        let error = parse_profile(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn answers_are_capped_where_a_profile_says_so() {
    for (text, asked, expected) in [
        ("gateway", 64_000, 64_000),
        ("local", 64_000, 8192),
        ("local", 100, 100),
        ("local,contextWindow=8192", 64_000, 2048),
        ("local,maxTokens=20000", 64_000, 20_000),
        ("openai-chat", 64_000, 64_000),
        ("openai-chat,maxTokens=4096", 64_000, 4096),
    ] {
        assert_eq!(parse_profile(text).unwrap().capped(asked), expected, "{text}");
    }
}

fn shaped(profile: &str, mut body: Value) -> Value {
    shape(&mut body, &parse_profile(profile).unwrap());
    body
}

#[test]
fn a_local_request_holds_only_what_the_servers_take() {
    let body = json!({
        "model": "qwen", "max_tokens": 32000, "stream": true,
        "thinking": {"type": "adaptive", "display": "omitted"},
        "output_config": {"effort": "xhigh", "task_budget": {"type": "tokens", "total": 5}},
        "tool_choice": {"type": "tool", "name": "Read"},
        "system": [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}],
        "tools": [
            {"type": "web_search_20250305", "name": "web_search"},
            {"name": "Read", "input_schema": {"$schema": "x", "type": "object", "required": ["pattern"], "properties": {
                "pattern": {"type": "string", "pattern": "\\d+", "format": "uri", "default": "a"},
                "list": {"type": "array", "items": {"type": "string", "pattern": "x"}}}}},
        ],
        "messages": [
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "tool_use", "id": "t", "name": "Read", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [
                    {"type": "text", "text": "seen"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}]},
                {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}},
                {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"}},
            ]},
            {"role": "user", "content": "plain"},
        ],
    });
    let expected = json!({
        "model": "qwen", "max_tokens": 8192, "stream": true,
        "system": [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}],
        "tools": [{"name": "Read", "input_schema": {"type": "object", "required": ["pattern"], "properties": {
            "pattern": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}}}}}],
        "messages": [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "Read", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "seen"}]},
                {"type": "text", "text": "[An image stood here. This endpoint takes no images by address.]"},
                {"type": "text", "text": "words"},
                {"type": "text", "text": "[A document stood here. This endpoint takes no documents.]"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
            ]},
            {"role": "user", "content": "plain"},
        ],
    });
    assert_eq!(shaped("local", body), expected);
}

#[test]
fn each_switch_can_be_set_alone() {
    let body = json!({"max_tokens": 5, "thinking": {"type": "enabled", "budget_tokens": 3, "display": "omitted"},
        "output_config": {"effort": "max"}, "system": [{"type": "text", "text": "a"}],
        "tool_choice": {"type": "any"}});
    let rows = [
        ("gateway", body.clone()),
        (
            "local,thinking=budget,effort=on,toolChoice=on",
            json!({"max_tokens": 5, "thinking": {"type": "enabled", "budget_tokens": 3},
                "output_config": {"effort": "high"}, "system": [{"type": "text", "text": "a"}], "tool_choice": {"type": "any"}}),
        ),
        ("local,systemBlocks=off", json!({"max_tokens": 5, "system": "a"})),
        (
            "gateway,thinkingDisplay=off,effort=off",
            json!({"max_tokens": 5, "thinking": {"type": "enabled", "budget_tokens": 3},
            "system": [{"type": "text", "text": "a"}], "tool_choice": {"type": "any"}}),
        ),
    ];
    for (profile, expected) in rows {
        assert_eq!(shaped(profile, body.clone()), expected, "{profile}");
    }
    assert!(Profile::default().is_plain() && !parse_profile("gateway,betas=off").unwrap().is_plain());
}
