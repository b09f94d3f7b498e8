use super::*;
use crate::testbed::Bed;

fn found(bed: &Bed) -> Vec<Skill> {
    skills(&bed.places, Sources::default(), &[])
}

fn names(skills: &[Skill]) -> Vec<&str> {
    skills.iter().map(|skill| skill.name.as_str()).collect()
}

#[test]
fn all_places_are_searched_and_a_name_is_taken_once() {
    let mut bed = Bed::new();
    bed.dir("work/.git");
    bed.file("etc/.claude/skills/policy/SKILL.md", "managed");
    bed.file("home/.claude/skills/same/SKILL.md", "---\ndescription: mine\n---\n");
    bed.file("work/.claude/skills/same/SKILL.md", "---\ndescription: project\n---\n");
    bed.file("work/.claude/skills/near/SKILL.md", "---\ndescription: root\n---\n");
    bed.file("work/sub/.claude/skills/near/SKILL.md", "---\ndescription: near\n---\n");
    bed.file("work/.claude/skills/synced/SKILL.md", "reserved");
    bed.file("work/.claude/commands/same.md", "a command loses to a skill");
    bed.file("work/.claude/commands/fix.md", "---\nname: ignored\ndescription: fixes\n---\nbody");
    bed.file("work/.claude/commands/web/page.md", "Make a page.");
    bed.file("work/.claude/library/style.md", "Style guide.");
    bed.file("work/.claude/library/db/SKILL.md", "---\nname: database\n---\n# Tables\nof things\n\nmore");
    bed.file("CLAUDE/.claude/skills/out/SKILL.md", "outside the checkout");
    bed.places.cwd = bed.path("work/sub");
    let skills = found(&bed);
    assert_eq!(names(&skills), ["policy", "same", "near", "database", "style", "fix", "page"]);
    let by = |name: &str| find_skill(&skills, name).unwrap();
    assert_eq!((by("same").description.as_str(), by("same").source), ("mine", "user"));
    assert_eq!(by("near").description, "near");
    assert_eq!(by("/web:page").name, "page");
    assert_eq!((by("db").name.as_str(), by("db").description.as_str()), ("database", "Tables of things"));
    assert_eq!(by("style").kind, SkillKind::Library);
    assert!(find_skill(&skills, "ignored").is_none());
    assert_eq!(by("fix").body().unwrap(), "body");
}

#[test]
fn frontmatter_is_understood() {
    let bed = Bed::new();
    bed.file(
        "work/.claude/skills/s/SKILL.md",
        "---\nname: greet\ndescription: Greets: people\nwhen_to_use: on hello\nargument-hint: <who>\narguments: [who, how]\n\
         disable-model-invocation: yes\nuser-invocable: no\nallowed-tools: Read, Bash(git log:*)\nmodel: haiku\ncontext: fork\n\
         agent: Explore\n---\nHello $who\n",
    );
    let skills = found(&bed);
    let skill = &skills[0];
    assert_eq!((skill.name.as_str(), skill.aliases.as_slice()), ("greet", ["s".to_owned()].as_slice()));
    assert_eq!(skill.listing(), "Greets: people - on hello");
    assert_eq!(skill.argument_names, ["who", "how"]);
    assert_eq!(skill.allowed_tools, ["Read", "Bash(git log:*)"]);
    assert!(!skill.model_invocable && !skill.user_invocable && skill.fork && !skill.may_grant);
    assert_eq!((skill.model.as_deref(), skill.agent.as_deref()), (Some("haiku"), Some("Explore")));
    assert_eq!(skill.body().unwrap(), "Hello $who\n");
    assert_eq!(skill.dir, bed.path("work/.claude/skills/s"));
    bed.trust("work");
    assert!(found(&bed)[0].may_grant);
}

#[test]
fn a_restriction_that_cannot_be_read_restricts() {
    let bed = Bed::new();
    bed.file("work/.claude/skills/s/SKILL.md", "---\ndisable-model-invocation: sometimes\n---\nx");
    assert!(!found(&bed)[0].model_invocable);
}

#[test]
fn broken_or_deceiving_documents_are_skipped() {
    let bed = Bed::new();
    bed.file("work/.claude/skills/broken/SKILL.md", "---\nname: [\n---\n");
    bed.file("work/.claude/skills/unclosed/SKILL.md", "---\nname: x\n");
    bed.file("work/.claude/skills/binary/SKILL.md", "a\0b");
    bed.file("work/.claude/skills/empty-folder/notes.txt", "");
    bed.file("work/.claude/skills/zero\u{200B}width/SKILL.md", "x");
    bed.file("work/.claude/commands/two words.md", "x");
    bed.file("work/.claude/commands/not-markdown.txt", "x");
    assert!(found(&bed).is_empty(), "{:?}", names(&found(&bed)));
    bed.file("work/.claude/skills/odd/SKILL.md", "---\nname: bad\u{202E}name\ndescription: a\u{202E}b\n---\n");
    let skills = found(&bed);
    assert_eq!((skills[0].name.as_str(), skills[0].description.as_str()), ("odd", "a[U+202E]b"));
}

#[test]
fn a_skill_that_links_to_a_key_is_not_listed() {
    let bed = Bed::new();
    let key = bed.file("home/.ssh/id_rsa", "SECRET");
    bed.link(&key, "work/.claude/skills/s/SKILL.md");
    bed.link(&key, "work/.claude/commands/c.md");
    bed.link(&key, "work/.claude/skillsets/k.md");
    bed.link(&bed.path("home/.ssh"), "work/.claude/library/keys");
    bed.trust("work");
    assert!(found(&bed).is_empty());
}

#[test]
fn linked_folders_inside_the_project_are_followed() {
    let bed = Bed::new();
    bed.file("work/shared/s/SKILL.md", "shared");
    bed.link(&bed.path("work/shared/s"), "work/.claude/skills/s");
    bed.link(&bed.path("work/.claude/commands"), "work/.claude/commands/loop");
    bed.file("work/.claude/commands/c.md", "c");
    assert_eq!(names(&found(&bed)), ["s", "c"]);
}

#[test]
fn a_skillset_loads_each_member_once() {
    let bed = Bed::new();
    for name in ["a", "b", "c"] {
        bed.file(&format!("work/.claude/library/{name}.md"), &format!("body {name}"));
    }
    bed.file("work/.claude/skillsets/list.md", "---\nskills: [a, b]\n---\nintro");
    bed.file("work/.claude/skillsets/bullets.md", "Set\n\n- `a`: first\n* c\n");
    bed.file("work/.claude/skillsets/json.json", r#"{"description":"d","skills":["list","c","json"]}"#);
    bed.file("work/.claude/skillsets/plain.json", r#"["b"]"#);
    bed.file("work/.claude/skillsets/missing.json", r#"["nobody"]"#);
    bed.file("work/.claude/skillsets/broken.json", "[");
    let skills = found(&bed);
    let bodies = |name: &str| -> Vec<String> {
        let loaded = load_skill(find_skill(&skills, name).unwrap(), &skills).unwrap();
        loaded.into_iter().map(|(_, body)| body).collect()
    };
    assert_eq!(bodies("list"), ["intro", "body a", "body b"]);
    assert_eq!(bodies("bullets")[1..], ["body a", "body c"]);
    assert_eq!(bodies("json"), ["intro", "body a", "body b", "body c"]);
    assert_eq!(bodies("plain"), ["body b"]);
    assert_eq!(bodies("a"), ["body a"]);
    let error = load_skill(find_skill(&skills, "missing").unwrap(), &skills).unwrap_err().to_string();
    assert!(error.contains("nobody"), "{error}");
    assert!(find_skill(&skills, "broken").is_none());
}

#[test]
fn a_head_longer_than_one_read_is_found() {
    let bed = Bed::new();
    let long = "word ".repeat(4000);
    bed.file("work/.claude/skills/s/SKILL.md", &format!("---\ndescription: {long}\nmodel: haiku\n---\nbody"));
    let skills = found(&bed);
    assert_eq!(skills[0].model.as_deref(), Some("haiku"));
    assert_eq!(skills[0].listing().chars().count(), 1536);
}

#[test]
fn sources_and_added_folders_choose_the_shelves() {
    let bed = Bed::new();
    bed.file("home/.claude/skills/u/SKILL.md", "u");
    bed.file("work/.claude/skills/p/SKILL.md", "p");
    bed.file("more/.claude/skills/m/SKILL.md", "m");
    let list = |sources: &str, extra: &[PathBuf]| -> Vec<String> {
        let skills = skills(&bed.places, Sources::parse(sources).unwrap(), extra);
        skills.into_iter().map(|skill| skill.name).collect()
    };
    assert_eq!(list("user", &[]), ["u"]);
    assert_eq!(list("project", &[]), ["p"]);
    assert_eq!(list("", &[bed.path("more")]), ["m"]);
}
