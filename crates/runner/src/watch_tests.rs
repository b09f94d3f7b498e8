//! Each place, with a stand-in for what answers there.

use super::*;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

fn block<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

fn folder() -> (tempfile::TempDir, Folder) {
    let dir = tempfile::tempdir().unwrap();
    let folder = Folder::new(dir.path());
    std::fs::create_dir(folder.ralph()).unwrap();
    (dir, folder)
}

fn names(open: Open) -> Vec<String> {
    open.into_keys().collect()
}

fn env(path: &Path) -> Env {
    vec![("PATH".into(), format!("{}:/usr/bin:/bin", path.display()).into())]
}

/// Work that appears while somebody waits for it.
async fn waited(folder: &Folder, settings: &Settings, env: &Env, appear: impl FnOnce()) -> WorkItem {
    let mut watch = Watch::begin(folder, settings, env).await;
    let first = timeout(Duration::from_millis(1200), watch.next()).await;
    assert!(first.is_err(), "what is open already is not new: {first:?}");
    appear();
    timeout(Duration::from_secs(20), watch.next()).await.expect("new work is seen")
}

#[test]
fn a_new_line_in_the_todo_list_is_new_work() {
    let (dir, folder) = folder();
    std::fs::write(folder.todo(), "- [ ] old\n").unwrap();
    let settings = Settings::default();
    let work = block(waited(&folder, &settings, &env(dir.path()), || {
        std::fs::write(folder.todo(), "- [ ] old\n- [x] finished\n- [ ] new\n").unwrap();
    }));
    assert_eq!((work.title.as_str(), work.id), ("new", None));
    let elsewhere = dir.path().join("TASKS.md");
    std::fs::write(&elsewhere, "").unwrap();
    let settings = Settings { todo: Some("TASKS.md".into()), ..settings };
    let work = block(waited(&folder, &settings, &env(dir.path()), || {
        std::fs::write(&elsewhere, "- [ ] of another list\n").unwrap();
    }));
    assert_eq!(work.title, "of another list");
    assert!(work.close.unwrap().contains("TASKS.md"));
}

#[test]
fn issues_are_read_from_the_file_the_program_and_the_daemon() {
    let (dir, folder) = folder();
    let beads = dir.path().join(".beads");
    std::fs::create_dir(&beads).unwrap();
    let issue = |id: &str, status: &str| json!({"id": id, "title": "t", "status": status}).to_string();
    let file = beads.join("issues.jsonl");
    std::fs::write(&file, format!("{}\nbroken\n{}\n", issue("bd-1", "open"), issue("bd-2", "closed"))).unwrap();
    let empty = env(&dir.path().join("none"));
    let look = |env: &Env| {
        let sources = sources(&folder, &Settings::default(), env);
        block(async { sources[1].look().await }).map(names)
    };
    assert_eq!(look(&empty), Some(vec!["bd-1 t".to_owned()]));

    let program = dir.path().join("br");
    std::fs::write(
        &program,
        "#!/bin/sh\n[ \"$*\" = 'ready --json' ] && echo '[{\"id\":\"bd-3\",\"title\":\"cli\"}]'\n",
    )
    .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(look(&env(dir.path())), Some(vec!["bd-3 cli".to_owned()]));

    block(async {
        let listener = tokio::net::UnixListener::bind(beads.join("bd.sock")).unwrap();
        let serving = tokio::spawn(serve(
            listener,
            vec![
                ("ready", r#"{"success":true,"data":null}"#),
                ("get_mutations", r#"{"success":true,"data":null}"#),
                ("ready", r#"{"success":true,"data":[{"id":"bd-4","title":"daemon","status":"open"}]}"#),
                ("get_mutations", r#"{"success":false,"error":"unknown operation"}"#),
                ("ready", r#"{"success":true,"data":[]}"#),
                ("get_mutations", HAPPENED),
            ],
        ));
        let sources = sources(&folder, &Settings::default(), &empty);
        let looks = [vec![], vec!["bd-4 daemon".to_owned()], vec!["bd-5 New".to_owned(), "bd-7 Again".to_owned()]];
        for expected in looks {
            assert_eq!(sources[1].look().await.map(names), Some(expected));
        }
        let since: Vec<i64> = serving.await.unwrap();
        assert!(since.iter().all(|at| *at > 1_600_000_000_000) && since[0] == since[2], "{since:?}");
        assert_eq!(sources[1].look().await, None, "a daemon that is gone says nothing");
    });
}

const HAPPENED: &str = r#"{"success":true,"data":[{"Type":"create","IssueID":"bd-5","Title":"New","Actor":"me"},{"Type":"comment","IssueID":"bd-6","Title":"Old"},{"Type":"status","IssueID":"bd-7","Title":"Again","old_status":"closed","new_status":"open"},{"Type":"status","IssueID":"bd-8","Title":"Gone","new_status":"closed"}]}"#;

/// Answers each question once, in this order; the moments that were asked about come back.
async fn serve(listener: tokio::net::UnixListener, answers: Vec<(&'static str, &'static str)>) -> Vec<i64> {
    let mut since = Vec::new();
    for (operation, answer) in answers {
        let (stream, _) = listener.accept().await.unwrap();
        let (reading, mut writing) = stream.into_split();
        let mut line = String::new();
        BufReader::new(reading).read_line(&mut line).await.unwrap();
        let request: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(request["operation"], operation);
        since.extend(request["args"]["since"].as_i64());
        writing.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
    }
    since
}

#[test]
fn new_work_comes_with_its_text_and_how_to_close_it() {
    let (dir, folder) = folder();
    let beads = dir.path().join(".beads");
    std::fs::create_dir(&beads).unwrap();
    let none = env(&dir.path().join("none"));
    let settings = Settings::default();
    let file = beads.join("issues.jsonl");
    std::fs::write(&file, "").unwrap();
    let issue = json!({"id": "bd-1", "title": "Door", "description": "It squeaks.", "status": "open"});
    let found = block(async {
        let mut watch = Watch::begin(&folder, &settings, &none).await;
        std::fs::write(&file, issue.to_string()).unwrap();
        timeout(Duration::from_secs(20), watch.next()).await.unwrap()
    });
    assert_eq!((found.id.as_deref(), found.text.as_str()), (Some("bd-1"), "It squeaks."));
    assert!(found.close.unwrap().contains("issues.jsonl"));
    assert!(block(is_open(&folder, &settings, &none, "bd-1")));
    assert!(!block(is_open(&folder, &settings, &none, "bd-2")));

    block(async {
        let listener = tokio::net::UnixListener::bind(beads.join("bd.sock")).unwrap();
        tokio::spawn(serve(
            listener,
            vec![
                ("ready", r#"{"success":true,"data":null}"#),
                ("get_mutations", r#"{"success":true,"data":null}"#),
                ("ready", r#"{"success":true,"data":null}"#),
                ("get_mutations", HAPPENED),
                ("show", r#"{"success":true,"data":{"id":"bd-5","title":"New","description":"All of it."}}"#),
            ],
        ));
        let mut watch = Watch::begin(&folder, &settings, &none).await;
        let found = timeout(Duration::from_secs(20), watch.next()).await.unwrap();
        assert_eq!((found.id.as_deref(), found.text.as_str()), (Some("bd-5"), "All of it."));
        assert_eq!(found.close.as_deref(), Some("Close it when it is done: bd close bd-5"));
    });
}

#[test]
fn the_socket_of_a_tracker_is_named_unless_its_folder_is_a_link() {
    let (dir, folder) = folder();
    assert_eq!(beads_socket(&folder), None);
    let real = dir.path().canonicalize().unwrap();
    std::fs::create_dir_all(real.join("elsewhere/.beads")).unwrap();
    std::os::unix::fs::symlink(real.join("elsewhere/.beads"), real.join(".beads")).unwrap();
    assert_eq!(beads_socket(&folder), None, "an agent can make a link");
    std::fs::remove_file(real.join(".beads")).unwrap();
    std::fs::create_dir(real.join(".beads")).unwrap();
    let socket = real.join(".beads/bd.sock");
    assert_eq!(beads_socket(&folder), Some(socket.clone()), "whether a daemon runs or not");
    std::fs::create_dir_all(real.join("a/b")).unwrap();
    assert_eq!(beads_socket(&Folder::new(real.join("a/b"))), Some(socket), "the next one upwards");
}
