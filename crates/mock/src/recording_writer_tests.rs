use super::*;
use crate::Script;
use crate::ScriptError;
use crate::recording::read;

fn request(key: &str, body: &Value) -> Request {
    Request {
        method: "POST".into(),
        path: "/v1/messages".into(),
        headers: vec![("x-api-key".into(), key.into()), ("user-agent".into(), "test".into())],
        body: body.to_string().into_bytes(),
    }
}

fn answered(text: &str) -> ParsedAnswer {
    let body = json!({"type": "message", "content": [{"type": "text", "text": text}]});
    ParsedAnswer { status: 200, headers: Vec::new(), body: body.to_string().into_bytes() }
}

#[test]
fn what_was_recorded_is_a_script_and_holds_no_secret() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("tape");
    let tape =
        RecordingWriter::new(private_file(&path).unwrap(), Path::new("/w"), Redactor::new(["other-secret".to_owned()]))
            .unwrap();
    let body = json!({"model": "m", "tools": [{"name": "Bash"}], "messages": [
        {"role": "user", "content": "first"},
        {"role": "assistant", "content": "spoke"},
        {"role": "user", "content": "the key is topsecretkey, the other is other-secret"},
    ]});
    tape.write(&request("topsecretkey", &body), 1, &answered("topsecretkey in /w/a and /w-evil/b and /w"));
    assert_eq!((tape.answers(), tape.trouble()), (1, None));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("topsecretkey") && !text.contains("other-secret") && !text.contains("spoke"), "{text}");
    let line: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    assert_eq!((&line["request"]["messages"], &line["request"]["opening"]), (&json!(3), &json!("first")));
    let script = Script::from_json(&text).unwrap();
    assert_eq!(script.recorded.len(), 1);
    assert_eq!(script.recorded[0].turn.content[0]["text"], "[redacted] in $WD/a and /w-evil/b and $WD");
    let moved = script.substitute("$WD", "/x");
    assert_eq!(moved.recorded[0].turn.content[0]["text"], "[redacted] in /x/a and /w-evil/b and /x");
}

#[test]
fn adversary_34_a_recording_is_new_private_and_no_link() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let (path, link) = (dir.path().join("tape"), dir.path().join("link"));
    let mode = private_file(&path).unwrap().metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(private_file(&path).is_err(), "what is there is not overwritten");
    std::os::unix::fs::symlink(dir.path().join("nothing"), &link).unwrap();
    assert!(private_file(&link).is_err() && !dir.path().join("nothing").exists());
}

#[test]
fn a_torn_tail_is_left_out_and_other_damage_is_named() {
    let line = json!({"request": {"model": "m"}, "turn": {"content": []}}).to_string();
    let head = json!({MARK: VERSION}).to_string();
    assert_eq!(read(&format!("{head}\n{line}\n{{\"requ")).unwrap().len(), 1);
    let broken = read(&format!("{head}\n{{\"requ\n{line}\n")).unwrap_err().to_string();
    assert!(broken.starts_with("line 2: "), "{broken}");
    let wrong = read(&format!("{head}\n{{\"request\": {{}}, \"turn\": {{\"x\": 1}}}}\n")).unwrap_err().to_string();
    assert!(wrong.starts_with("line 2: turn: unknown field `x`"), "{wrong}");
    assert!(matches!(Script::from_json(&head), Err(ScriptError::NothingRecorded)));
}
