use super::*;
use crate::testbed::Bed;

fn remembered(bed: &Bed, sources: Sources, settings: &Settings) -> Vec<(String, &'static str, String)> {
    named(bed, memory(&bed.places, sources, settings, &MemoryOptions::default()).1)
}

fn named(bed: &Bed, files: Vec<MemoryFile>) -> Vec<(String, &'static str, String)> {
    files
        .into_iter()
        .filter_map(|file| {
            let name = file.path.strip_prefix(bed.path("")).ok()?.display().to_string();
            Some((name, file.kind, file.text.trim().to_owned()))
        })
        .collect()
}

fn texts(bed: &Bed) -> Vec<String> {
    remembered(bed, Sources::default(), &Settings::default()).into_iter().map(|(_, _, text)| text).collect()
}

#[test]
fn the_hierarchy_is_read_from_far_to_near() {
    let mut bed = Bed::new();
    for (file, text) in [
        ("etc/CLAUDE.md", "managed"),
        ("home/.claude/CLAUDE.md", "user"),
        ("home/.claude/rules/a.md", "user rule"),
        ("work/CLAUDE.md", "outer"),
        ("work/.claude/rules/deep/r.md", "---\ndescription: x\n---\nrule"),
        ("work/.claude/rules/scoped.md", "---\npaths: src/**\n---\nscoped"),
        ("work/.claude/rules/broken.md", "---\npaths: [\n---\nbroken"),
        ("work/CLAUDE.local.md", "outer local"),
        ("work/sub/.claude/CLAUDE.md", "inner"),
        ("work/sub/below/CLAUDE.md", "not loaded"),
    ] {
        bed.file(file, text);
    }
    bed.places.cwd = bed.path("work/sub");
    let found = remembered(&bed, Sources::default(), &Settings::default());
    let expected = [
        ("Managed", "managed"),
        ("User", "user"),
        ("User", "user rule"),
        ("Project", "outer"),
        ("Project", "rule"),
        ("Local", "outer local"),
        ("Project", "inner"),
    ];
    let got: Vec<(&str, &str)> = found.iter().map(|(_, kind, text)| (*kind, text.as_str())).collect();
    assert_eq!(got, expected);
    let kinds = |list: &str| -> Vec<&str> {
        let found = remembered(&bed, Sources::parse(list).unwrap(), &Settings::default());
        found.into_iter().map(|(_, kind, _)| kind).collect()
    };
    assert_eq!(kinds(""), ["Managed"]);
    assert_eq!(kinds("user"), ["Managed", "User", "User"]);
    assert_eq!(kinds("local"), ["Managed", "Local"]);
}

#[test]
fn agents_md_stands_in_only_where_claude_md_is_missing() {
    let mut bed = Bed::new();
    bed.file("work/AGENTS.md", "agents outer");
    bed.file("work/sub/AGENTS.md", "agents inner");
    bed.file("work/sub/CLAUDE.md", "claude inner");
    bed.places.cwd = bed.path("work/sub");
    assert_eq!(texts(&bed), ["agents outer", "claude inner"]);
}

#[test]
fn a_link_to_agents_md_is_read_once() {
    let bed = Bed::new();
    let agents = bed.file("work/AGENTS.md", "shared");
    bed.link(&agents, "work/CLAUDE.md");
    assert_eq!(texts(&bed), ["shared"]);
}

#[test]
fn the_users_memory_is_not_a_projects_below_home() {
    let mut bed = Bed::new();
    bed.file("home/.claude/CLAUDE.md", "user");
    bed.places.cwd = bed.dir("home/src");
    let found = remembered(&bed, Sources::default(), &Settings::default());
    assert_eq!(found.iter().map(|(_, kind, _)| *kind).collect::<Vec<_>>(), ["User"]);
    assert!(remembered(&bed, Sources::parse("project,local").unwrap(), &Settings::default()).is_empty());
}

#[test]
fn imports_are_followed_four_deep_and_once() {
    let bed = Bed::new();
    bed.file("work/CLAUDE.md", "top @d/1.md, and `@d/code.md`");
    for n in 1..=6 {
        bed.file(&format!("work/d/{n}.md"), &format!("level {n} @{}.md @../CLAUDE.md", n + 1));
    }
    bed.file("work/d/code.md", "code");
    let texts = texts(&bed);
    let words: Vec<&str> = texts.iter().map(|text| &text[..text.find(" @").unwrap()]).collect();
    assert_eq!(words, ["top", "level 1", "level 2", "level 3", "level 4"]);
}

#[test]
fn adversary_16_imports_stay_where_they_belong() {
    let bed = Bed::new();
    bed.dir("work/.git");
    bed.file("home/.ssh/id_rsa", "SECRET");
    bed.file("home/.claude/.credentials.json", "SECRET");
    bed.file("home/.claude/settings.json", "SECRET");
    bed.file("home/.claude/.hidden/notes.md", "SECRET");
    bed.file("home/diary.md", "SECRET");
    bed.file("home/.claude/notes.md", "notes @settings.json @../.ssh/id_rsa");
    bed.file("outside.txt", "SECRET");
    bed.link(&bed.path("home/.ssh"), "work/keys");
    bed.file("work/ok.md", "ok");
    let absolute = bed.path("home/.ssh/id_rsa");
    bed.file(
        "work/CLAUDE.md",
        &format!(
            "@ok.md @../home/.ssh/id_rsa @~/.ssh/id_rsa @{} @keys/id_rsa @~/.claude/.credentials.json \
             @~/.claude/settings.json @~/.claude/.hidden/notes.md @~/diary.md @../outside.txt @~/.claude/notes.md",
            absolute.display()
        ),
    );
    let texts = texts(&bed);
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts[0].starts_with("@ok.md") && texts[1] == "ok" && texts[2].starts_with("notes"));
    assert!(!texts.concat().contains("SECRET"));
}

#[test]
fn memory_that_links_to_a_key_is_not_read() {
    for name in ["CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md", "CLAUDE.local.md", ".claude/rules/r.md"] {
        let bed = Bed::new();
        let key = bed.file("home/.ssh/id_rsa", "SECRET");
        bed.link(&key, &format!("work/{name}"));
        assert!(texts(&bed).is_empty(), "{name}");
        bed.trust("work");
        assert!(texts(&bed).is_empty(), "{name} in a trusted folder");
    }
}

#[test]
fn a_trusted_folder_may_link_to_shared_notes() {
    let bed = Bed::new();
    let shared = bed.file("home/shared/rules.md", "shared");
    bed.link(&shared, "work/CLAUDE.md");
    assert!(texts(&bed).is_empty());
    bed.trust("work");
    assert_eq!(texts(&bed), ["shared"]);
}

#[test]
fn the_users_own_memory_reaches_into_home() {
    let bed = Bed::new();
    bed.file("home/notes/a.md", "a");
    bed.file("home/.aws/credentials", "SECRET");
    bed.file("home/.claude/CLAUDE.md", "@~/notes/a.md @~/.aws/credentials");
    assert_eq!(texts(&bed).get(1).map(String::as_str), Some("a"));
    assert_eq!(texts(&bed).len(), 2);
}

#[test]
fn odd_files_are_skipped_or_cleaned() {
    let bed = Bed::new();
    bed.file("work/CLAUDE.md", &"x".repeat(4 * 1024 * 1024 + 1));
    assert!(texts(&bed).is_empty(), "too large");
    bed.file("work/CLAUDE.md", "bin\0ary");
    assert!(texts(&bed).is_empty(), "binary");
    bed.file("work/CLAUDE.md", "\u{FEFF}a\n<!-- hidden @x.md -->\nb\u{E0041}\u{202E}");
    assert_eq!(texts(&bed), ["a\nb[U+E0041][U+202E]"]);
    bed.file("work/CLAUDE.md", "  \n");
    assert!(texts(&bed).is_empty(), "blank");
}

#[test]
fn excludes_take_files_out_but_not_the_administrators() {
    let bed = Bed::new();
    bed.file("etc/CLAUDE.md", "managed");
    bed.file("work/CLAUDE.md", "project");
    let settings = Settings { claude_md_excludes: vec!["**/CLAUDE.md".into(), "[".into()], ..Settings::default() };
    let found = remembered(&bed, Sources::default(), &settings);
    assert_eq!(found.iter().map(|(_, kind, _)| *kind).collect::<Vec<_>>(), ["Managed"]);
}

#[test]
fn added_folders_come_last() {
    let bed = Bed::new();
    bed.file("work/CLAUDE.md", "work");
    bed.file("more/CLAUDE.md", "more");
    let options = MemoryOptions { extra_dirs: vec![bed.path("more")], ..MemoryOptions::default() };
    let (_, found) = memory(&bed.places, Sources::default(), &Settings::default(), &options);
    let ours = found.iter().filter(|file| file.path.starts_with(bed.path("")));
    assert_eq!(ours.map(|file| file.text.as_str()).collect::<Vec<_>>(), ["work", "more"]);
}

fn begun(bed: &Bed) -> Memory {
    memory(&bed.places, Sources::default(), &Settings::default(), &MemoryOptions::default()).0
}

fn near(memory: &mut Memory, bed: &Bed, file: &str) -> Vec<String> {
    named(bed, memory.near(&bed.path(file))).into_iter().map(|(_, _, text)| text).collect()
}

#[test]
fn a_touched_file_brings_the_memory_of_its_folders_once() {
    let bed = Bed::new();
    bed.file("work/CLAUDE.md", "top");
    bed.file("work/api/CLAUDE.md", "api @notes.md");
    bed.file("work/api/notes.md", "imported");
    bed.file("work/api/v1/AGENTS.md", "agents of v1");
    bed.file("work/api/v1/CLAUDE.local.md", "local of v1");
    bed.file("work/api/v1/.claude/rules/r.md", "rule of v1");
    bed.file("work/web/CLAUDE.md", "web");
    let mut memory = begun(&bed);
    assert!(near(&mut memory, &bed, "work/main.rs").is_empty());
    assert_eq!(
        near(&mut memory, &bed, "work/api/v1/deep/x.rs"),
        ["api @notes.md", "imported", "agents of v1", "rule of v1", "local of v1"]
    );
    assert!(near(&mut memory, &bed, "work/api/v1/deep/y.rs").is_empty());
    assert!(near(&mut memory, &bed, "elsewhere/x.rs").is_empty());
    assert_eq!(near(&mut memory, &bed, "work/web/x"), ["web"]);
}

#[test]
fn a_rule_with_paths_waits_for_its_files() {
    let bed = Bed::new();
    bed.file("home/.claude/rules/mine.md", "---\npaths: \"**/*.sql\"\n---\nuser rule");
    bed.file(
        "work/.claude/rules/api.md",
        "---\npaths:\n  - src/api/**/*.{ts,tsx}\n  - **/*.proto\n---\napi rule @../../more.md",
    );
    bed.file("work/more.md", "imported");
    bed.file("work/.claude/rules/none.md", "---\npaths: []\n---\nnever");
    bed.file("work/sub/.claude/rules/inner.md", "---\npaths: a/*.rs, b/*.{rs,md}\n---\ninner rule");
    let mut memory = begun(&bed);
    assert!(near(&mut memory, &bed, "work/src/lib.rs").is_empty());
    assert_eq!(near(&mut memory, &bed, "work/x/y.sql"), ["user rule"]);
    assert_eq!(near(&mut memory, &bed, "work/src/api/v/x.tsx"), ["api rule @../../more.md", "imported"]);
    assert!(near(&mut memory, &bed, "work/y.proto").is_empty(), "it came already");
    assert!(near(&mut memory, &bed, "work/sub/c.rs").is_empty());
    assert_eq!(near(&mut memory, &bed, "work/sub/b/c.md"), ["inner rule"]);
}

#[test]
fn every_document_says_why_it_was_read() {
    let bed = Bed::new();
    bed.file("work/CLAUDE.md", "top @a.md");
    bed.file("work/a.md", "a");
    bed.file("work/sub/CLAUDE.md", "sub");
    bed.file("work/.claude/rules/r.md", "---\npaths: sub/*\n---\nrule");
    let (mut memory, start) = memory(&bed.places, Sources::default(), &Settings::default(), &MemoryOptions::default());
    let file = bed.path("work/sub/x");
    let later = memory.near(&file);
    let causes: Vec<Cause> = start.into_iter().chain(later).map(|file| file.cause).collect();
    let import = Cause::Import { by: bed.path("work/CLAUDE.md") };
    let below = Cause::Below { file: file.clone() };
    assert_eq!(causes, [Cause::Start, import, below, Cause::Paths { globs: vec!["sub/*".into()], file }]);
}

#[test]
fn excluded_and_linked_memory_of_subfolders_stays_out() {
    let bed = Bed::new();
    bed.file("work/sub/CLAUDE.md", "sub");
    bed.link(&bed.file("home/.ssh/id_rsa", "SECRET"), "work/other/CLAUDE.md");
    let settings = Settings { claude_md_excludes: vec!["**/sub/CLAUDE.md".into()], ..Settings::default() };
    let (mut memory, _) = memory(&bed.places, Sources::default(), &settings, &MemoryOptions::default());
    assert!(near(&mut memory, &bed, "work/sub/x").is_empty());
    assert!(near(&mut memory, &bed, "work/other/x").is_empty());
}

#[test]
fn of_the_automatic_memory_only_the_beginning_is_read() {
    let bed = Bed::new();
    let read = |text: &str| {
        let index = bed.file("home/.claude/projects/p/memory/MEMORY.md", text);
        let options = MemoryOptions { auto: Some(index), ..MemoryOptions::default() };
        let (_, found) = memory(&bed.places, Sources::default(), &Settings::default(), &options);
        found.into_iter().map(|file| (file.kind, file.text)).next()
    };
    assert_eq!(read("one\n@two.md\n"), Some(("Auto", "one\n@two.md\n".to_owned())));
    assert_eq!(read(" \n"), None);
    assert_eq!(read(&"line\n".repeat(1000)).map(|(_, text)| text.lines().count()), Some(AUTO_LINES));
    assert_eq!(read(&"x".repeat(100_000)).map(|(_, text)| text.len()), Some(AUTO_BYTES));
}
