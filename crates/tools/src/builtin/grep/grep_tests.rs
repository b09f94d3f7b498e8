use crate::testing::{Bench, text};
use serde_json::{Value, json};
use std::sync::Arc;

async fn find(bench: &Bench, input: Value) -> (String, Value) {
    let outcome = bench.call("Grep", input).await;
    (text(&outcome).to_owned(), outcome.structured)
}

fn content(lines: &str) -> Value {
    json!({"mode":"content","numFiles":0,"filenames":[],"content":lines,"numLines":lines.lines().count()})
}

#[tokio::test]
async fn captured_searches() {
    let bench = Bench::captured();
    let lib = bench.path("src/lib.rs");
    let context = "1-pub fn add(a: i32, b: i32) -> i32 { a + b }\n2:// TODO: sub";
    let functions = "src/main.rs:1:fn main() {\nsrc/lib.rs:1:pub fn add(a: i32, b: i32) -> i32 { a + b }";
    let todos = "docs/x.md:2:TODO write\nsrc/lib.rs:2:// TODO: sub";
    let counts = "docs/x.md:1\nsrc/lib.rs:1";
    let two = "a.txt:1:hello world\na.txt:2:second line";
    let mut limited = content(two);
    limited["appliedLimit"] = 2.into();
    for (input, shown, structured) in [
        (
            json!({"pattern":"TODO"}),
            "Found 2 files\ndocs/x.md\nsrc/lib.rs".to_owned(),
            json!({"mode":"files_with_matches","filenames":["docs/x.md","src/lib.rs"],"numFiles":2}),
        ),
        (json!({"pattern":"TODO","output_mode":"content"}), todos.to_owned(), content(todos)),
        (
            json!({"pattern":"TODO","output_mode":"content","-n":false}),
            "docs/x.md:TODO write\nsrc/lib.rs:// TODO: sub".to_owned(),
            content("docs/x.md:TODO write\nsrc/lib.rs:// TODO: sub"),
        ),
        (json!({"pattern":"sub","path":lib,"output_mode":"content","-B":1}), context.to_owned(), content(context)),
        (
            json!({"pattern":"todo","output_mode":"count","-i":true}),
            format!("{counts}\n\nFound 2 total occurrences across 2 files."),
            json!({"mode":"count","numFiles":2,"filenames":[],"content":counts,"numMatches":2}),
        ),
        (json!({"pattern":"fn .*\\(","glob":"*.rs","output_mode":"content"}), functions.to_owned(), content(functions)),
        (
            json!({"pattern":"nope"}),
            "No files found".to_owned(),
            json!({"mode":"files_with_matches","filenames":[],"numFiles":0}),
        ),
        (
            json!({"pattern":"TODO","type":"md"}),
            "Found 1 file\ndocs/x.md".to_owned(),
            json!({"mode":"files_with_matches","filenames":["docs/x.md"],"numFiles":1}),
        ),
        (
            json!({"pattern":"hello.*\\n.*second","multiline":true,"output_mode":"content"}),
            two.to_owned(),
            content(two),
        ),
        (
            json!({"pattern":"l","output_mode":"content","head_limit":2}),
            format!("{two}\n\n[Showing results with pagination = limit: 2]"),
            limited,
        ),
    ] {
        assert_eq!(find(&bench, input.clone()).await, (shown, structured), "{input}");
    }
}

#[tokio::test]
async fn lines_around_matches() {
    let lines = (1..=9).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let bench = Bench::new(&[("a", &lines), ("b", "line 5\n")]);
    let (shown, _) = find(&bench, json!({"pattern":"[28]$","output_mode":"content","-C":1,"path":"a"})).await;
    assert_eq!(shown, "1-line 1\n2:line 2\n3-line 3\n--\n7-line 7\n8:line 8\n9-line 9");
    let (shown, _) = find(&bench, json!({"pattern":"5","output_mode":"content","-A":1,"-n":false})).await;
    assert_eq!(shown, "a:line 5\na-line 6\n--\nb:line 5");
    let (shown, _) = find(&bench, json!({"pattern":"[0-9]","output_mode":"content","-o":true,"path":"b"})).await;
    assert_eq!(shown, "1:5");
}

#[tokio::test]
async fn pages() {
    let bench = Bench::new(&[("a", "1\n2\n3\n4\n5\n")]);
    let page = |mode: &str, limit: u64, offset: u64| json!({"pattern":".","output_mode":mode,"head_limit":limit,"offset":offset});
    let (shown, structured) = find(&bench, page("content", 2, 1)).await;
    assert_eq!(shown, "a:2:2\na:3:3\n\n[Showing results with pagination = limit: 2, offset: 1]");
    assert_eq!((&structured["appliedLimit"], &structured["appliedOffset"]), (&json!(2), &json!(1)));
    let (shown, structured) = find(&bench, page("content", 0, 4)).await;
    assert_eq!(shown, "a:5:5\n\n[Showing results with pagination = offset: 4]");
    assert!(structured.get("appliedLimit").is_none());
    for mode in ["content", "files_with_matches", "count"] {
        let (shown, _) = find(&bench, page(mode, 2, 99)).await;
        assert!(shown.starts_with("No entries at this offset"), "{mode}: {shown}");
    }
}

#[tokio::test]
async fn without_limits_a_search_is_still_bounded() {
    let bench = Bench::new(&[("long", &"some words to find\n".repeat(300_000))]);
    let (shown, structured) = find(&bench, json!({"pattern":"words","output_mode":"content"})).await;
    assert_eq!((structured["numLines"].as_u64(), structured["appliedLimit"].as_u64()), (Some(250), Some(250)));
    assert!(shown.len() < 10_000);
    let (shown, _) = find(&bench, json!({"pattern":"words","output_mode":"content","head_limit":0})).await;
    assert!(shown.len() < 101_000 && shown.contains("go on with offset"), "{}", shown.len());
    let (_, counted) = find(&bench, json!({"pattern":"words","output_mode":"count"})).await;
    assert_eq!(counted["numMatches"], 300_000);
}

#[tokio::test]
async fn what_is_searched() {
    let bench = Bench::bytes(&[
        (".hidden/a", b"find me\n"),
        (".git/a", b"find me\n"),
        ("binary", b"find me\n\0\n"),
        (
            "wide",
            &"find me\n".encode_utf16().fold(vec![0xff, 0xfe], |mut bytes, unit| {
                bytes.extend(unit.to_le_bytes());
                bytes
            }),
        ),
        ("latin", b"find me \xe9\n"),
        ("long", [b"find me ".to_vec(), b"x".repeat(1 << 20)].concat().as_slice()),
    ]);
    let (shown, _) = find(&bench, json!({"pattern":"find me","output_mode":"content","-n":false})).await;
    let lines: Vec<&str> = shown.lines().collect();
    for line in [".hidden/a:find me", "wide:find me", "latin:find me \u{fffd}"] {
        assert!(lines.contains(&line), "{line} not in {shown}");
    }
    assert_eq!(lines.len(), 4, "{shown}");
    assert!(lines.iter().all(|line| line.len() < 600));
}

#[tokio::test]
async fn globs_and_types() {
    let bench = Bench::new(&[("a.rs", "x"), ("src/b.rs", "x"), ("c.ts", "x"), ("d.tsx", "x"), ("e.md", "x")]);
    for (glob, count) in
        [("*.rs", 2), ("*.{ts,tsx}", 2), ("*.rs *.md", 3), ("*.rs,*.md", 3), ("src/**", 1), ("!*.rs", 3)]
    {
        let (_, structured) = find(&bench, json!({"pattern":"x","glob":glob})).await;
        assert_eq!(structured["numFiles"], count, "{glob}");
    }
    let (_, structured) = find(&bench, json!({"pattern":"x","type":"ts"})).await;
    assert_eq!(structured["numFiles"], 2);
}

/// Complaint: a bad pattern is an error, not "no matches".
#[tokio::test]
async fn bad_input_is_an_error_with_a_reason() {
    let bench = Bench::captured();
    for (input, reason) in [
        (json!({"pattern":"("}), "unclosed group"),
        (json!({"pattern":"a\\nb"}), "not allowed"),
        (json!({"pattern":"x","type":"klingon"}), "klingon"),
        (json!({"pattern":"x","glob":"[a"}), "glob"),
        (json!({"pattern":"x","path":"nowhere"}), "nowhere"),
        (json!({"pattern":"x","path":"/dev/zero"}), "character device"),
    ] {
        let outcome = bench.call("Grep", input.clone()).await;
        assert!(outcome.is_error() && text(&outcome).contains(reason), "{input}: {outcome:?}");
    }
}

/// Adversary 16.
#[tokio::test]
async fn denied_files_are_not_searched_and_links_not_followed() {
    let bench = Bench::new(&[("secret/key", "token"), ("open", "token")]);
    let secret = bench.root().join("secret");
    std::os::unix::fs::symlink(secret.join("key"), bench.root().join("door")).unwrap();
    let bench = bench.denying(Arc::new(move |path| path.starts_with(&secret)));
    for mode in ["content", "files_with_matches", "count"] {
        let (shown, _) = find(&bench, json!({"pattern":"token","output_mode":mode})).await;
        assert!(shown.contains("open") && !shown.contains("key") && !shown.contains("door"), "{shown}");
    }
}

#[tokio::test]
async fn many_files_are_found_in_order_by_many_threads() {
    let files: Vec<(String, String)> =
        (0..1200).map(|n| (format!("d{:02}/f{n:04}", n % 12), format!("n{n}\n"))).collect();
    let bench = Bench::new(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    let (_, structured) = find(&bench, json!({"pattern":"n","output_mode":"content","head_limit":0})).await;
    let mut wanted: Vec<String> = files.iter().map(|(path, text)| format!("{path}:1:{}", text.trim())).collect();
    wanted.sort();
    assert_eq!(structured["content"], wanted.join("\n"));
}

/// Few that match, many, and so many that those searched first are not all of the page.
#[tokio::test]
async fn the_newest_come_first_however_many_match() {
    const FILES: usize = 1_500;
    let text = |n: usize| {
        format!("all\n{}{}", if n.is_multiple_of(3) { "third\n" } else { "" }, if n % 700 == 7 { "few" } else { "" })
    };
    let files: Vec<(String, String)> = (0..FILES).map(|n| (format!("d{}/f{n:04}", n % 7), text(n))).collect();
    let bench = Bench::new(&files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect::<Vec<_>>());
    // The order of times is neither that of names nor that of making.
    let age = |n: usize| std::time::Duration::from_secs((n * 677 % FILES) as u64);
    let now = std::time::SystemTime::now();
    for (n, (path, _)) in files.iter().enumerate() {
        let file = std::fs::File::options().write(true).open(bench.root().join(path)).unwrap();
        file.set_modified(now - age(n)).unwrap();
    }
    for (pattern, limit) in [("few", 250), ("third", 250), ("third", 0), ("all", 5), ("all", 250), ("all", 0)] {
        let (_, structured) = find(&bench, json!({"pattern":pattern,"head_limit":limit})).await;
        let mut wanted: Vec<usize> = (0..FILES).filter(|&n| text(n).contains(pattern)).collect();
        wanted.sort_by_key(|&n| age(n));
        wanted.truncate(if limit == 0 { FILES } else { limit });
        let wanted: Vec<&str> = wanted.into_iter().map(|n| files[n].0.as_str()).collect();
        assert_eq!(structured["filenames"], json!(wanted), "{pattern} {limit}");
    }
}
