use super::*;
use cycle::LoopEvent;

/// A recorded run, with words in every place that an agent or a person can write to.
fn recording(words: &str) -> Report {
    let lines = [
        r#"{"at":1763229600000,"type":"run_started","schema":1,"run":"20251115-180000","folder":"/home/me/W","title":"W","backend":"builtin","model":"sonnet","limits":{"iterations":5,"iteration":{},"run":{},"day":{}},"checks":["W"],"head":"4da300d"}"#,
        r#"{"at":1763229601000,"type":"warning","iteration":null,"text":"W"}"#,
        r#"{"at":1763229602000,"type":"check_finished","iteration":1,"command":"cargo test W","passed":false,"exit_code":101,"output":"W","duration_ms":4200}"#,
        r#"{"at":1763229603000,"type":"iteration_ended","iteration":1,"receipt":{"outcome":{"kind":"not_done"},"summary":"W","changed":{"known":true,"files":[{"path":"W","added":1,"removed":2}],"more_files":0,"commits":["abcdef1 W"]},"blocking":"W","evidence":[],"cost_usd":0.42,"tokens":{"input":1000,"output":100,"cache_read":0,"cache_write":0},"duration_ms":61000,"tool_calls":3}}"#,
        r#"{"at":1763229604000,"type":"question","iteration":2,"id":"q","about":"words","text":"W","options":["W"]}"#,
        r#"{"at":1763229605000,"type":"answered","id":"q","text":"W"}"#,
        r#"{"at":1763229605500,"type":"steered","iteration":2,"text":"W"}"#,
        r#"{"at":1763229606000,"type":"check_finished","iteration":2,"command":"cargo test W","passed":true,"exit_code":0,"output":"","duration_ms":3100}"#,
        r#"{"at":1763229607000,"type":"iteration_ended","iteration":2,"receipt":{"outcome":{"kind":"done"},"summary":"W","changed":{"known":true,"files":[],"more_files":0,"commits":[]},"evidence":["passed: W"],"cost_usd":0.11,"tokens":{"input":500,"output":50,"cache_read":0,"cache_write":0},"duration_ms":20000,"tool_calls":1}}"#,
        r#"{"at":1763229608000,"type":"verdict","verdict":"done","reason":"W","exit_code":0,"iterations":2,"cost_usd":0.53,"tokens":{"input":1500,"output":150,"cache_read":0,"cache_write":0},"elapsed_ms":81000}"#,
    ];
    let mut report = Report::default();
    for line in lines {
        report.fold(&LoopEvent::parse(&line.replace('W', words)).unwrap());
    }
    report
}

fn extras(words: &str) -> Extras {
    let diff = format!("diff --git a/src/a.rs b/src/a.rs\n@@ -1 +1 @@ {words}\n {words}\n-old {words}\n+new {words}\n");
    Extras {
        sources: vec![(".ralph/prompt.md".into(), format!("Mend it. {words}"))],
        diff: Some(diff),
        zone_offset_ms: 0,
    }
}

#[test]
fn a_report_of_a_run() {
    insta::assert_snapshot!("html", html(&recording("the parser"), &extras("the parser")));
    insta::assert_snapshot!("markdown", crate::markdown(&recording("the parser"), &extras("the parser")));
}

/// A page's tags, without what is between them.
fn tags(page: &str) -> Vec<String> {
    let names = page.split('<').skip(1).filter_map(|rest| rest.split(['>', ' ', '\n']).next());
    names.map(|name| name.trim_start_matches('/').to_ascii_lowercase()).collect()
}

#[test]
fn hostile_words_stay_words() {
    // As JSON has it: what the agent wrote is a quote, a tag that closes ours, and a script.
    let hostile = r#"</pre></style><script>alert(1)</script><img src=x onerror=alert(2)>\" onload=\"x' &#60; \u202egpj \u001b[2J"#;
    let said = "</pre></style><script>alert(1)</script><img src=x onerror=alert(2)>\" onload=\"x' &#60; \u{202e}gpj";
    let page = html(&recording(hostile), &extras(said));
    let known = [
        "!doctype",
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "header",
        "h1",
        "h2",
        "div",
        "p",
        "ul",
        "li",
        "b",
        "span",
        "figure",
        "figcaption",
        "svg",
        "rect",
        "path",
        "text",
        "details",
        "summary",
        "pre",
        "code",
        "blockquote",
    ];
    let odd: Vec<String> = tags(&page).into_iter().filter(|tag| !known.contains(&tag.as_str())).collect();
    assert_eq!(odd, Vec::<String>::new());
    assert_eq!(page.matches("<style").count(), 1);
    assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'), "text that reverses or commands");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    // Nothing is loaded, and every attribute of ours is closed.
    for part in ["src=\"", "href=", "url(", "@import", "http:", "https:"] {
        assert!(!page.contains(part), "{part}");
    }
    let same_tags = tags(&html(&recording("plain"), &extras("plain")));
    assert_eq!(tags(&page), same_tags, "words change no structure");
}

#[test]
fn a_page_has_a_bound() {
    let mut report = recording("plain");
    let one = report.iterations[0].clone();
    for number in 0..3000 {
        let mut many = one.clone();
        many.number = number;
        many.receipt.summary = "<".repeat(100_000);
        report.iterations.push(many);
    }
    report.iterations.truncate(2000);
    let huge =
        Extras { diff: Some(format!("diff --git a/x b/x\n@@ @@\n{}", "+<\n".repeat(1_000_000))), ..extras("plain") };
    let page = html(&report, &huge);
    assert!(page.len() < 16 * 1024 * 1024, "{}", page.len());
    assert!(crate::markdown(&report, &huge).len() < 256 * 1024);
}

#[test]
fn a_run_without_anything_is_a_page_too() {
    let page = html(&Report::default(), &Extras::default());
    assert!(page.contains("not ended") && page.ends_with("</html>\n"));
    assert!(crate::markdown(&Report::default(), &Extras::default()).contains("not ended"));
}
