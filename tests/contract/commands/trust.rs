//! `ralph trust`: the folder's settings may grant things from now on. What they grant is tested with invocations.

use super::{World, plain, run};
use serde_json::{Value, json};

fn state(world: &World) -> Value {
    serde_json::from_str(&std::fs::read_to_string(world.home().join(".claude.json")).unwrap()).unwrap()
}

#[test]
fn it_says_what_it_did_and_keeps_the_rest_of_the_file() {
    let world = plain();
    let file = world.home().join(".claude.json");
    std::fs::write(
        &file,
        r#"{"primaryApiKey": "sk-ant-x", "projects": {"/other": {"hasTrustDialogAccepted": false}}}"#,
    )
    .unwrap();
    let outcome = run(&world, &["trust"]);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    let wd = world.wd().display().to_string();
    assert_eq!(
        outcome.lines,
        [format!("Trusted: {wd}"), "Its allow rules, permission mode and extra folders now count.".into()]
    );
    let now = state(&world);
    let first = now["projects"][&wd]["ralphFirstCommit"].as_str().unwrap().to_owned();
    assert!(
        first.len() == 40 && world.wd().join(".git/objects").join(&first[..2]).join(&first[2..]).is_file(),
        "{first}"
    );
    assert_eq!(now["projects"][&wd], json!({"hasTrustDialogAccepted": true, "ralphFirstCommit": first}));
    assert_eq!(
        (&now["primaryApiKey"], &now["projects"]["/other"]),
        (&json!("sk-ant-x"), &json!({"hasTrustDialogAccepted": false}))
    );
    let bytes = std::fs::read(&file).unwrap();
    assert_eq!(run(&world, &["trust"]).code, Some(0));
    assert_eq!(std::fs::read(&file).unwrap(), bytes, "a second time changes nothing");
}

#[test]
fn it_makes_a_missing_file_and_leaves_a_broken_one() {
    let world = plain();
    assert_eq!(run(&world, &["trust"]).code, Some(0));
    assert_eq!(state(&world)["projects"][world.wd().display().to_string()]["hasTrustDialogAccepted"], true);
    let file = world.home().join(".claude.json");
    std::fs::write(&file, "{broken").unwrap();
    let outcome = run(&world, &["trust"]);
    assert_eq!((outcome.code, outcome.lines.len()), (Some(1), 0));
    assert!(
        outcome.stderr.starts_with(&format!("Error: {} was left untouched: ", file.display())),
        "{}",
        outcome.stderr
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{broken");
}
