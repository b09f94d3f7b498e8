use super::*;
use crate::testing::{Bench, set_modified, text};
use std::sync::Arc;

async fn find(bench: &Bench, input: Value) -> (String, Value) {
    let outcome = bench.call("Glob", input).await;
    (text(&outcome).to_owned(), outcome.structured)
}

#[tokio::test]
async fn captured_globs() {
    let bench = Bench::captured();
    for (input, shown) in [
        (json!({"pattern":"**/*.rs"}), vec!["src/main.rs", "src/lib.rs", "target/junk.rs"]),
        (json!({"pattern":"*.md"}), vec!["docs/x.md"]),
        (json!({"pattern":"*.nope"}), vec![]),
        (json!({"pattern":"*","path":bench.path("src")}), vec!["src/main.rs", "src/lib.rs"]),
    ] {
        let (text, mut structured) = find(&bench, input.clone()).await;
        assert!(structured["durationMs"].is_u64());
        structured["durationMs"] = json!("any");
        assert_eq!(text, if shown.is_empty() { "No files found".into() } else { shown.join("\n") }, "{input}");
        assert_eq!(
            structured,
            json!({"filenames":shown,"durationMs":"any","numFiles":shown.len(),"truncated":false,
                "totalMatches":shown.len(),"countIsComplete":true})
        );
    }
}

#[tokio::test]
async fn patterns() {
    let bench = Bench::new(&[("a.rs", ""), ("x/a.rs", ""), ("x/y/a.rs", ""), ("x/.hid/b.ts", ""), (".git/a.rs", "")]);
    let root = bench.root().display().to_string();
    for (pattern, mut shown) in [
        ("a.rs", vec!["a.rs", "x/a.rs", "x/y/a.rs"]),
        ("./a.rs", vec!["a.rs"]),
        ("x/*.rs", vec!["x/a.rs"]),
        ("x/**", vec!["x/a.rs", "x/y/a.rs", "x/.hid/b.ts"]),
        ("**/y/*", vec!["x/y/a.rs"]),
        ("*.{rs,ts}", vec!["a.rs", "x/a.rs", "x/y/a.rs", "x/.hid/b.ts"]),
        ("[a-c].ts", vec!["x/.hid/b.ts"]),
        (&format!("{root}/x/*.rs"), vec!["x/a.rs"]),
        (&format!("{root}/a.rs"), vec!["a.rs"]),
        ("!a.rs", vec![]),
        ("x", vec![]),
    ] {
        let (text, structured) = find(&bench, json!({"pattern": pattern})).await;
        let mut found: Vec<&str> =
            structured["filenames"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
        found.sort_unstable();
        shown.sort_unstable();
        assert_eq!(found, shown, "{pattern}: {text}");
    }
}

#[tokio::test]
async fn a_hundred_names_oldest_first() {
    let names: Vec<String> = (0..120).map(|n| format!("{n:03}.txt")).collect();
    let bench = Bench::new(&names.iter().map(|name| (name.as_str(), "")).collect::<Vec<_>>());
    for (age, name) in names.iter().rev().enumerate() {
        set_modified(&bench.root().join(name), 1000 + age as u64);
    }
    let (text, structured) = find(&bench, json!({"pattern":"*.txt"})).await;
    assert!(text.starts_with("119.txt\n118.txt\n") && text.contains("100 of 120"), "{text}");
    assert_eq!(
        (&structured["numFiles"], &structured["totalMatches"], &structured["truncated"]),
        (&json!(100), &json!(120), &json!(true))
    );
}

#[tokio::test]
async fn ignored_and_hidden_files_can_be_left_out() {
    let mut bench = Bench::captured();
    bench.ctx.limits.glob_no_ignore = false;
    bench.ctx.limits.glob_hidden = false;
    let (_, structured) = find(&bench, json!({"pattern":"*"})).await;
    assert_eq!(structured["numFiles"], 4, "{structured}");
}

/// Adversary 16.
#[tokio::test]
async fn denied_files_are_not_listed_and_links_not_followed() {
    let bench = Bench::new(&[("secret/key", ""), ("open", "")]);
    let secret = bench.root().join("secret");
    std::os::unix::fs::symlink(&secret, bench.root().join("door")).unwrap();
    let bench = bench.denying(Arc::new(move |path| path.starts_with(&secret)));
    let (text, _) = find(&bench, json!({"pattern":"**"})).await;
    assert_eq!(text, "open");
}

#[tokio::test]
async fn bad_patterns_and_places_are_errors() {
    let bench = Bench::new(&[("file", "")]);
    for input in [
        json!({"pattern":"[a"}),
        json!({"pattern":"{a"}),
        json!({"pattern":""}),
        json!({"pattern":"a\0"}),
        json!({"pattern":"*","path":"nowhere"}),
        json!({"pattern":"*","path":"file"}),
    ] {
        assert!(bench.call("Glob", input.clone()).await.is_error(), "{input}");
    }
}

#[tokio::test]
async fn a_search_without_time_says_that_it_is_incomplete() {
    let mut bench = Bench::new(&[("a", "")]);
    bench.ctx.limits.glob_timeout = std::time::Duration::ZERO;
    let (text, structured) = find(&bench, json!({"pattern":"*"})).await;
    assert!(text.contains("stopped"), "{text}");
    assert_eq!((&structured["countIsComplete"], &structured["truncated"]), (&json!(false), &json!(true)));
}
