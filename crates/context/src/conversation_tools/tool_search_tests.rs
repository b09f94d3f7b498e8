use super::*;

const TOOLS: [Findable<'static>; 4] = [
    Findable { name: "CronCreate", description: "Repeat a prompt by the clock" },
    Findable { name: "mcp__mail__list_messages", description: "Newest messages" },
    Findable { name: "mcp__mail__send", description: "Send a letter to somebody" },
    Findable { name: "mcp__slack__send_message", description: "Say something in a channel" },
];

#[test]
fn queries_and_what_they_find() {
    for (query, most, expected) in [
        ("select:mcp__mail__send", 5, &["mcp__mail__send"][..]),
        ("select: croncreate , nothing,CronCreate", 5, &["CronCreate"]),
        ("select:", 5, &[]),
        ("send", 5, &["mcp__mail__send", "mcp__slack__send_message"]),
        ("send", 1, &["mcp__mail__send"]),
        ("+slack send", 5, &["mcp__slack__send_message"]),
        ("clock", 5, &["CronCreate"]),
        ("mail letter", 5, &["mcp__mail__send", "mcp__mail__list_messages"]),
        ("a", 5, &[]),
        ("++ !! ,", 5, &[]),
        ("nothing like that", 5, &[]),
    ] {
        assert_eq!(find(&TOOLS, query, most), expected, "{query}");
    }
}

#[test]
fn what_is_found_is_referred_to() {
    let result = run(&TOOLS, &json!({"query": "clock", "max_results": 1e9}));
    let CallContent::Blocks(blocks) = &result.content else { panic!("{result:?}") };
    assert_eq!(blocks, &[json!({"type": "tool_reference", "tool_name": "CronCreate"})]);
    assert_eq!(result.structured, json!({"matches": ["CronCreate"], "query": "clock", "total_deferred_tools": 4}));
    let nothing = run(&TOOLS, &json!({"query": "zzz", "max_results": -1}));
    assert!(!nothing.is_error() && nothing.words().contains("No tool fits"));
}

#[test]
fn the_list_of_names_has_an_end() {
    let names: Vec<String> = (0..5_000).map(|at| format!("mcp__server__tool_{at}")).collect();
    let text = description(names.iter().map(String::as_str));
    assert!(text.len() < LISTING_CHARS + 100 && text.ends_with("and more"));
    assert!(check(&json!({"query": " "})).is_err() && check(&json!({"query": "x"})).is_ok());
}
