use crate::testing::{Bench, text};
use serde_json::{Value, json};

const NOTEBOOK: &str = r#"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "é"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "calc",
   "metadata": {},
   "outputs": [
    {
     "output_type": "stream",
     "text": "2"
    }
   ],
   "source": "1+1"
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"#;

async fn opened() -> Bench {
    let bench = Bench::new(&[("n.ipynb", NOTEBOOK)]);
    assert!(!bench.call("Read", json!({"file_path": bench.path("n.ipynb")})).await.is_error());
    bench
}

async fn edit(bench: &Bench, mut fields: Value) -> crate::ToolOutcome {
    fields["notebook_path"] = bench.path("n.ipynb").into();
    bench.call("NotebookEdit", fields).await
}

fn cells(bench: &Bench) -> Vec<Value> {
    let document: Value = serde_json::from_slice(&bench.file("n.ipynb")).unwrap();
    document["cells"].as_array().unwrap().clone()
}

#[tokio::test]
async fn replacing_changes_one_cell_and_nothing_else() {
    let bench = opened().await;
    let outcome = edit(&bench, json!({"cell_id":"intro","new_source":"# T\nx"})).await;
    let wanted = NOTEBOOK.replace("    \"é\"\n", "    \"# T\\n\",\n    \"x\"\n");
    assert_eq!(String::from_utf8(bench.file("n.ipynb")).unwrap(), wanted);
    assert_eq!(
        outcome.structured,
        json!({"new_source":"# T\nx","old_source":"é","cell_id":"intro","cell_type":"markdown","language":"python",
            "edit_mode":"replace","error":"","notebook_path":bench.path("n.ipynb"),"original_file":NOTEBOOK,
            "updated_file":wanted})
    );
}

#[tokio::test]
async fn replacing_code_clears_its_outputs() {
    let bench = opened().await;
    edit(&bench, json!({"cell_id":"cell-1","new_source":"2+2"})).await;
    assert_eq!(
        cells(&bench)[1],
        json!({"cell_type":"code","execution_count":null,"id":"calc","metadata":{},"outputs":[],"source":["2+2"]})
    );
}

#[tokio::test]
async fn inserting_and_deleting() {
    let bench = opened().await;
    edit(&bench, json!({"cell_id":"intro","new_source":"x","cell_type":"code","edit_mode":"insert"})).await;
    edit(&bench, json!({"new_source":"first","cell_type":"markdown","edit_mode":"insert"})).await;
    edit(&bench, json!({"cell_id":"calc","new_source":"","edit_mode":"delete"})).await;
    let sources: Vec<Value> = cells(&bench).iter().map(|cell| cell["source"][0].clone()).collect();
    assert_eq!(sources, ["first", "é", "x"]);
    let mut ids: Vec<Value> = cells(&bench).iter().map(|cell| cell["id"].clone()).collect();
    ids.dedup();
    assert!(ids.len() == 3 && ids.iter().all(Value::is_string), "{ids:?}");
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_and_changes_nothing() {
    let unread = Bench::new(&[("n.ipynb", NOTEBOOK)]);
    assert!(text(&edit(&unread, json!({"cell_id":"calc","new_source":"x"})).await).contains("not been read"));
    let bench = opened().await;
    for (fields, hint) in [
        (json!({"cell_id":"nope","new_source":"x"}), "intro, calc"),
        (json!({"cell_id":"cell-2","new_source":"x"}), "no cell"),
        (json!({"new_source":"x"}), "cell_id"),
        (json!({"new_source":"x","edit_mode":"insert"}), "cell_type"),
        (json!({"new_source":"x","edit_mode":"frob"}), "edit_mode"),
    ] {
        let outcome = edit(&bench, fields.clone()).await;
        assert!(outcome.is_error() && text(&outcome).contains(hint), "{fields}: {outcome:?}");
    }
    let outcome = bench.call("NotebookEdit", json!({"notebook_path":"a.txt","cell_id":"x","new_source":""})).await;
    assert!(outcome.is_error());
    assert_eq!(bench.file("n.ipynb"), NOTEBOOK.as_bytes());
}

#[tokio::test]
async fn what_is_no_cell_is_an_error_and_no_panic() {
    let odd = r#"{"cells": [1, "x", null, [], {"source": {}, "cell_type": 3}], "nbformat": 4}"#;
    let bench = Bench::new(&[("n.ipynb", odd)]);
    bench.call("Read", json!({"file_path": bench.path("n.ipynb")})).await;
    for at in 0..4 {
        let outcome = edit(&bench, json!({"cell_id": format!("cell-{at}"), "new_source": "x"})).await;
        assert!(outcome.is_error() && text(&outcome).contains("no cell"), "{at}: {}", text(&outcome));
    }
    edit(&bench, json!({"cell_id": "cell-4", "new_source": "x", "cell_type": "code"})).await;
}
