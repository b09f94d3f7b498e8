use super::*;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

fn folder() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().canonicalize().unwrap();
    (dir, path)
}

#[test]
fn only_the_listener_that_was_bound_at_the_path_is_the_daemon() {
    let (_dir, at) = folder();
    let (own, other) = (at.join("bd.sock"), at.join("other.sock"));
    assert_eq!(connect(&own).unwrap_err().kind(), io::ErrorKind::NotFound);
    let daemon = UnixListener::bind(&own).unwrap();
    let _other = UnixListener::bind(&other).unwrap();
    assert!(connect(&own).is_ok());

    let refused = |why: &str| {
        let error = connect(&own).expect_err(why);
        assert!(!matches!(error.kind(), io::ErrorKind::NotFound), "{why}: {error}");
    };
    std::fs::rename(&own, at.join("away")).unwrap();
    std::fs::rename(&other, &own).unwrap();
    refused("another socket was moved there");
    std::fs::rename(&own, &other).unwrap();
    std::os::unix::fs::symlink(&other, &own).unwrap();
    refused("a link to another socket");
    std::fs::remove_file(&own).unwrap();
    std::os::unix::fs::symlink(at.join("away"), &own).unwrap();
    refused("a link, wherever it leads");
    std::fs::remove_file(&own).unwrap();
    std::fs::hard_link(&other, &own).unwrap();
    refused("another name of another socket");
    std::fs::remove_file(&own).unwrap();
    std::fs::write(&own, "").unwrap();
    refused("a file");
    std::fs::remove_file(&own).unwrap();
    std::fs::rename(at.join("away"), &own).unwrap();
    assert!(connect(&own).is_ok(), "back in its place");
    drop(daemon);
    refused("nobody listens");
    std::fs::remove_file(&own).unwrap();
    let _again = UnixListener::bind(&own).unwrap();
    assert!(connect(&own).is_ok(), "a daemon that was started again");
}

#[test]
fn a_folder_that_was_replaced_by_a_link_leads_nowhere() {
    let (_dir, at) = folder();
    std::fs::create_dir_all(at.join("elsewhere")).unwrap();
    let _other = UnixListener::bind(at.join("elsewhere/bd.sock")).unwrap();
    std::os::unix::fs::symlink("elsewhere", at.join(".beads")).unwrap();
    assert!(connect(&at.join(".beads/bd.sock")).is_err());
}

#[test]
fn requests_that_may_not_pass_never_reach_the_daemon() {
    let (client, inside) = UnixStream::pair().unwrap();
    let (daemon, outside) = UnixStream::pair().unwrap();
    let carrying = std::thread::spawn(move || carry(inside, outside));
    let serving = std::thread::spawn(move || {
        let mut asked = Vec::new();
        let mut answers = daemon.try_clone().unwrap();
        for line in BufReader::new(daemon).lines() {
            asked.push(line.unwrap());
            answers.write_all(b"{\"success\":true}\n").unwrap();
        }
        asked
    });
    let mut to = client.try_clone().unwrap();
    to.write_all(b"{\"operation\":\"export\",\"args\":{}}\n{\"operation\":\"close\",\"args\":{\"id\":\"bd-1\"}}\n")
        .unwrap();
    to.write_all(b"torn").unwrap();
    to.shutdown(std::net::Shutdown::Write).unwrap();
    let said: Vec<String> = BufReader::new(client).lines().map(Result::unwrap).collect();
    assert!(said[0].contains("export") && said[0].contains("\"success\":false"), "{said:?}");
    assert_eq!(said[1..], ["{\"success\":true}"]);
    drop(to);
    carrying.join().unwrap().unwrap();
    assert_eq!(serving.join().unwrap(), [r#"{"operation":"close","args":{"id":"bd-1"}}"#]);
}
