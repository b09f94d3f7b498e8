//! Children that stay and talk on their pipes.

use ralph_process::{Output, Piped, Spec, Stdin};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

fn shell(script: &str) -> Spec {
    Spec {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        stdin: Stdin::Null,
        output: Output::Pipes,
        arg0: None,
    }
}

#[tokio::test]
async fn it_is_talked_with_and_ends_when_its_stdin_does() {
    let mut piped = Piped::spawn(shell("while read line; do echo got $line; done; exit 4")).unwrap();
    let (mut stdin, stdout) = piped.take_pipes().unwrap();
    assert!(piped.take_pipes().is_none());
    let mut lines = BufReader::new(stdout).lines();
    for word in ["one", "two"] {
        stdin.write_all(format!("{word}\n").as_bytes()).await.unwrap();
        assert_eq!(lines.next_line().await.unwrap().unwrap(), format!("got {word}"));
    }
    drop(stdin);
    assert_eq!(piped.wait().await.code, Some(4));
}

#[tokio::test]
async fn standard_error_never_blocks_and_its_end_is_kept() {
    let script = "head -c 1000000 /dev/zero | tr '\\0' x >&2; echo the reason >&2; exit 1";
    let mut piped = Piped::spawn(shell(script)).unwrap();
    assert_eq!(piped.wait().await.code, Some(1));
    let words = piped.stderr_tail();
    assert!(words.ends_with("xthe reason"), "{words}");
    assert!(words.len() <= 4 * 1024, "{}", words.len());
}

#[tokio::test]
async fn dropping_it_kills_it_and_what_it_started() {
    let mut piped = Piped::spawn(shell("sleep 600 & echo ready; wait")).unwrap();
    let (_stdin, mut stdout) = piped.take_pipes().unwrap();
    let mut said = [0; 6];
    stdout.read_exact(&mut said).await.unwrap();
    drop(piped);
    // The grandchild holds stdout too: its end means that both are gone.
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(20), stdout.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert_eq!(rest, b"");
}
