//! The files of a folder that nobody trusts: read or skipped, and never a grant.

use project::MemoryOptions;
use settings::{Places, Sources};
use std::path::Path;

/// Where the bytes go; the first byte says.
const FILES: [&str; 8] = [
    "work/.claude/settings.json",
    "work/.claude/settings.local.json",
    "work/CLAUDE.md",
    "work/.claude/agents/a.md",
    "work/.claude/skills/s/SKILL.md",
    "work/.claude/commands/c.md",
    "work/.mcp.json",
    "work/.ralph/config.toml",
];

pub fn load(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let base = super::scratch();
    let name = FILES[usize::from(*first) % FILES.len()];
    let file = base.join(name);
    std::fs::create_dir_all(file.parent().unwrap_or(&base)).expect("a folder");
    std::fs::write(&file, rest).expect("a file");
    read(&base, &file, rest);
    std::fs::remove_file(&file).expect("the file is ours");
}

fn read(base: &Path, file: &Path, bytes: &[u8]) {
    let mut places = Places::new(base.join("work"), Some(base.join("home")), None);
    places.managed_dir = base.join("managed");
    let sources = Sources::parse("user,project,local").expect("the names of all sources");
    let Ok(loaded) = settings::load(&places, sources, None, None, false) else { return };
    let settings = &loaded.settings;
    let granted = (settings.permissions.allow.len(), settings.skip_permissions, settings.api_key_helper.is_some());
    assert!(!loaded.trusted, "nobody said so");
    assert_eq!(granted, (0, false, false), "a folder granted something: {:?}", String::from_utf8_lossy(bytes));
    project::memory(&places, sources, settings, &MemoryOptions::default());
    project::skills(&places, sources, &[]);
    // A broken definition is an error for whoever gave it, or skipped.
    let _ = project::agents(&places, sources, None);
    if let Ok(value) = serde_json::from_slice(bytes) {
        let _ = mcp::parse(&value, "project", &|_| None);
        let _ = project::agents_from_json(&value);
    }
    if file.ends_with("config.toml") {
        let _ = runner::Settings::load(file, &arguments::LoopOptions::default());
    }
}
