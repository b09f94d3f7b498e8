//! Complaint 25: a run with a schema ends with a value that fits it, or with an error.

use crate::common::{call, claude, finish, say, world};
use crate::kit::{only_result, stream};
use serde_json::{Value, json};

const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;

fn output(value: &Value) -> Value {
    call("StructuredOutput", value)
}

#[test]
fn c25_36033_a_value_that_fits_ends_the_run() {
    let good = json!({"n": 7});
    let rows = [
        ("at once", json!([output(&good)]), 1),
        ("after a wrong one", json!([output(&json!({"n": "seven"})), output(&good)]), 2),
        ("after text", json!([say("It is seven."), output(&good)]), 2),
        ("after broken JSON", json!([broken(), output(&good)]), 2),
        ("beside text", json!([{"content": [{"type": "text", "text": "So:"}, block(&good)]}]), 1),
    ];
    for (name, turns, asked) in rows {
        let world = world(turns);
        let outcome = finish(stream(&world, "go").args(["--json-schema", SCHEMA]));
        let result = only_result(&outcome);
        assert_eq!((&result["structured_output"], outcome.code), (&good, Some(0)), "{name}: {result}");
        assert_eq!((&result["subtype"], &result["is_error"]), (&json!("success"), &json!(false)), "{name}");
        assert_eq!(world.mock().requests().len(), asked, "{name}");
    }
}

#[test]
fn c25_18536_no_value_is_never_a_success() {
    let bad = output(&json!({"m": 1}));
    let retries = "error_max_structured_output_retries";
    let rows = [
        ("only text", json!([say("a"), say("b"), say("c")]), retries),
        ("never fits", json!([bad]), retries),
        ("nothing at all", json!([{}, {}, {}, {}]), retries),
        ("API error", json!([{"status": 400}]), "success"),
        ("refused", json!([{"stop_reason": "refusal"}]), "success"),
    ];
    for (name, turns, subtype) in rows {
        let world = world(turns);
        let outcome = finish(stream(&world, "go").args(["--json-schema", SCHEMA]));
        let result = only_result(&outcome);
        assert_eq!((&result["is_error"], outcome.code), (&json!(true), Some(1)), "{name}: {result}");
        assert_eq!(result["subtype"], subtype, "{name}");
        assert!(result["structured_output"].is_null(), "{name}: {result}");
        assert!(world.mock().requests().len() <= 6, "{name}: asked {} times", world.mock().requests().len());
    }
}

/// Values that a careless test for truth would take for "nothing".
#[test]
fn c25_77026_small_values_are_values() {
    for (schema, value) in [
        (r#"{"type":"object"}"#, json!({})),
        (r#"{"type":"object","properties":{"a":{"type":"array"}}}"#, json!({"a": []})),
        (r#"{"type":"object","properties":{"a":{"type":["string","null"]}}}"#, json!({"a": null})),
        (r#"{"type":"object","properties":{"a":{"type":"boolean"}}}"#, json!({"a": false})),
    ] {
        let world = world(json!([output(&value)]));
        let run = claude(&world).args(["-p", "go", "--output-format", "json", "--json-schema", schema]);
        let outcome = finish(run);
        let result = only_result(&outcome);
        assert_eq!((result.get("structured_output"), outcome.code), (Some(&value), Some(0)), "{schema}: {result}");
    }
}

#[test]
fn c25_9058_whatever_tools_are_listed() {
    for tools in ["", "Read", "StructuredOutput"] {
        let world = world(json!([output(&json!({"n": 1}))]));
        let outcome = finish(stream(&world, "go").args(["--json-schema", SCHEMA, "--tools", tools]));
        assert_eq!(only_result(&outcome)["structured_output"], json!({"n": 1}), "--tools {tools:?}");
    }
}

fn block(value: &Value) -> Value {
    json!({"type": "tool_use", "name": "StructuredOutput", "input": value})
}

fn broken() -> Value {
    json!({"content": [{"type": "tool_use", "name": "StructuredOutput", "input_json": "{\"n\": 7"}]})
}
