//! Skills, commands, library documents and skillsets: what a person calls with `/name` and a model with the
//! Skill tool. Only heads are read here; a body is read when it is used.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::documents::{self, Shelf, is_markdown, sorted_entries};
use crate::frontmatter::{self, Meta};
use crate::globs::Scope;
use crate::reach::Reach;
use crate::{PluginFolders, ProjectError};
use settings::text::{is_plain_name, visible};
use settings::{Places, Sources, files};

/// The contract's cut for one entry of the listing that a model sees.
const LISTING_MAX: usize = 1536;
/// A bundle that names more is a mistake, and its text would fill any context.
const MEMBERS_MAX: usize = 50;
/// A bundle's JSON is a list of names.
const BUNDLE_MAX: u64 = 256 * 1024;
/// Kept for skills that come from a server.
const RESERVED_FOLDER: &str = "synced";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SkillKind {
    Skill,
    Command,
    /// `.claude/library`: a document to load.
    Library,
    /// `.claude/skillsets`: loading it loads each member.
    Skillset {
        members: Vec<String>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// Other names it answers to: its folder's, or `group:name` of a command in a subfolder.
    pub aliases: Vec<String>,
    pub kind: SkillKind,
    pub description: String,
    pub when_to_use: Option<String>,
    pub path: PathBuf,
    pub dir: PathBuf,
    pub model_invocable: bool,
    pub user_invocable: bool,
    pub allowed_tools: Vec<String>,
    /// Whether `allowed_tools` may grant: not those of a folder that the user has not trusted.
    pub may_grant: bool,
    pub disallowed_tools: Vec<String>,
    pub argument_hint: Option<String>,
    pub argument_names: Vec<String>,
    pub model: Option<String>,
    pub effort: Option<String>,
    /// `context: fork`: runs as a subagent of the kind in `agent`.
    pub fork: bool,
    pub agent: Option<String>,
    pub paths: Vec<String>,
    /// What runs once it was called; not those of a folder that the user has not trusted.
    pub hooks: Option<Value>,
    /// `managed`, `user`, `project` or `plugin`.
    pub source: &'static str,
    /// The plugin it came with.
    pub plugin: Option<PluginFolders>,
}

impl Skill {
    /// The text below the frontmatter, read now.
    pub fn body(&self) -> Result<String, ProjectError> {
        documents::body(&self.path)
    }

    /// What a model is told about it.
    pub fn listing(&self) -> String {
        let text = match &self.when_to_use {
            Some(when) => format!("{} - {when}", self.description),
            None => self.description.clone(),
        };
        text.chars().take(LISTING_MAX).collect()
    }
}

/// Everything callable by name, stronger first; a name is taken once.
pub fn skills(places: &Places, sources: Sources, extra_dirs: &[PathBuf]) -> Vec<Skill> {
    let reach = Reach::new(places, extra_dirs);
    let mut shelves = documents::shelves(places, sources);
    let added = extra_dirs.iter().filter_map(|dir| dir.canonicalize().ok());
    shelves.extend(added.map(|dir| Shelf { dir: dir.join(".claude"), source: "project" }));
    let mut found: Vec<Skill> = Vec::new();
    for collect in [folders_of_skills, library, skillsets, commands] {
        for shelf in &shelves {
            for skill in collect(shelf, &reach) {
                if !found.iter().any(|known| known.name == skill.name) {
                    found.push(skill);
                }
            }
        }
    }
    found
}

/// The skills of a folder below the working folder, for when its files are touched. Where a name is taken, the folder
/// stands before it.
pub fn skills_below(places: &Places, folder: &Path, known: &[Skill]) -> Vec<Skill> {
    let reach = Reach::new(places, &[]);
    let shelf = Shelf { dir: folder.join(".claude"), source: "project" };
    let inner = folder.strip_prefix(places.project_dir()).unwrap_or(folder).to_string_lossy().replace('/', ":");
    let mut found = folders_of_skills(&shelf, &reach);
    for skill in &mut found {
        if known.iter().any(|known| known.name == skill.name) {
            skill.name = format!("{inner}:{}", skill.name);
        }
    }
    found.retain(|skill| is_plain_name(&skill.name) && !known.iter().any(|known| known.path == skill.path));
    found
}

impl Skill {
    /// Whether it is for this file; one without `paths` is for everything from the start.
    pub fn is_for(&self, places: &Places, file: &Path) -> bool {
        let scope = Scope::new(self.paths.clone());
        !self.paths.is_empty() && [places.project_dir(), &places.cwd].iter().any(|base| scope.covers(base, file))
    }
}

/// By name first, then by another name; `/` in front is how people write it.
pub fn find_skill<'a>(skills: &'a [Skill], name: &str) -> Option<&'a Skill> {
    let name = name.trim().trim_start_matches('/');
    let by_alias = || skills.iter().find(|skill| skill.aliases.iter().any(|alias| alias == name));
    skills.iter().find(|skill| skill.name == name).or_else(by_alias)
}

/// The bodies that a skill stands for: its own, or for a set its own text and each member's.
pub fn load_skill<'a>(skill: &'a Skill, all: &'a [Skill]) -> Result<Vec<(&'a Skill, String)>, ProjectError> {
    let mut waiting = vec![skill];
    let mut taken: Vec<&Path> = Vec::new();
    let mut loaded = Vec::new();
    while let Some(next) = waiting.pop() {
        if taken.contains(&next.path.as_path()) {
            continue;
        }
        taken.push(&next.path);
        let fail = |reason: String| ProjectError::Document { file: next.path.clone(), reason };
        if taken.len() > MEMBERS_MAX {
            return Err(fail(format!("a skillset may load at most {MEMBERS_MAX} skills")));
        }
        if let SkillKind::Skillset { members } = &next.kind {
            for member in members.iter().rev() {
                let member = find_skill(all, member)
                    .ok_or_else(|| fail(format!("it names the skill `{member}`, which does not exist")))?;
                waiting.push(member);
            }
        }
        if is_markdown(&next.path) {
            loaded.push((next, next.body()?));
        }
    }
    Ok(loaded)
}

fn folders_of_skills(shelf: &Shelf, reach: &Reach) -> Vec<Skill> {
    let folders = sorted_entries(&shelf.dir.join("skills"));
    let folders = folders.into_iter().filter(|dir| dir.file_name().is_some_and(|name| name != RESERVED_FOLDER));
    folders.filter_map(|dir| in_folder(&dir, SkillKind::Skill, shelf, reach)).collect()
}

fn library(shelf: &Shelf, reach: &Reach) -> Vec<Skill> {
    let entries = sorted_entries(&shelf.dir.join("library")).into_iter();
    entries
        .filter_map(|path| {
            if is_markdown(&path) {
                let name = path.file_stem()?.to_str()?.to_owned();
                document(&path, &name, SkillKind::Library, shelf, reach)
            } else {
                in_folder(&path, SkillKind::Library, shelf, reach)
            }
        })
        .collect()
}

pub(crate) fn in_folder(dir: &Path, kind: SkillKind, shelf: &Shelf, reach: &Reach) -> Option<Skill> {
    let name = dir.file_name()?.to_str()?;
    document(&dir.join("SKILL.md"), name, kind, shelf, reach)
}

fn commands(shelf: &Shelf, reach: &Reach) -> Vec<Skill> {
    commands_below(&shelf.dir.join("commands"), shelf, reach)
}

pub(crate) fn commands_below(base: &Path, shelf: &Shelf, reach: &Reach) -> Vec<Skill> {
    let paths = documents::markdown_below(base).into_iter();
    paths
        .filter_map(|path| {
            let name = path.file_stem()?.to_str()?.to_owned();
            let mut command = document(&path, &name, SkillKind::Command, shelf, reach)?;
            let inner = path.strip_prefix(base).ok()?.with_extension("");
            if inner.components().count() > 1 {
                command.aliases.push(inner.to_str()?.replace('/', ":"));
            }
            Some(command)
        })
        .collect()
}

fn skillsets(shelf: &Shelf, reach: &Reach) -> Vec<Skill> {
    let entries = sorted_entries(&shelf.dir.join("skillsets")).into_iter();
    entries.filter_map(|path| skillset(&path, shelf, reach)).collect()
}

fn skillset(path: &Path, shelf: &Shelf, reach: &Reach) -> Option<Skill> {
    let stem = path.file_stem()?.to_str()?;
    if is_markdown(path) {
        let head = documents::head(path, shelf, reach)?;
        let parsed = frontmatter::parse(&head)?;
        let mut members = parsed.meta.list("skills");
        if members.is_empty() {
            members = bullets(parsed.body);
        }
        return document(path, stem, SkillKind::Skillset { members }, shelf, reach);
    }
    if path.extension()? != "json" || (shelf.is_folder() && !reach.may_hold(path)) {
        return None;
    }
    let json: Value = serde_json::from_str(&files::read_text(path, BUNDLE_MAX).ok()??).ok()?;
    let members = frontmatter::list(json.get("skills").unwrap_or(&json));
    if members.is_empty() {
        return None;
    }
    let text = |key: &str| json.get(key).and_then(Value::as_str).map(|text| visible(text.trim()).into_owned());
    let name = text("name").filter(|name| is_plain_name(name)).unwrap_or_else(|| stem.to_owned());
    let description = text("description").unwrap_or_else(|| format!("Loads {}", members.join(", ")));
    let skill = new(path, name, stem, SkillKind::Skillset { members }, shelf);
    Some(Skill { description, ..skill }).filter(|skill| is_plain_name(&skill.name))
}

/// `- name` lines, the way people write a list of skills.
fn bullets(body: &str) -> Vec<String> {
    let items = body.lines().filter_map(|line| line.trim().strip_prefix("- ").or(line.trim().strip_prefix("* ")));
    let names = items.filter_map(|item| item.split_whitespace().next());
    names.map(|name| name.trim_matches(['`', '*', ':', ',']).to_owned()).filter(|name| is_plain_name(name)).collect()
}

fn document(path: &Path, file_name: &str, kind: SkillKind, shelf: &Shelf, reach: &Reach) -> Option<Skill> {
    let head = documents::head(path, shelf, reach)?;
    let frontmatter::Document { meta, body } = frontmatter::parse(&head)?;
    let named = meta.text("name").filter(|name| kind != SkillKind::Command && is_plain_name(name));
    let name = named.unwrap_or_else(|| file_name.to_owned());
    if !is_plain_name(&name) {
        return None;
    }
    let described = meta.text("description").unwrap_or_else(|| first_paragraph(body));
    let allowed_tools = meta.list("allowed-tools");
    Some(Skill {
        description: visible(&described).into_owned(),
        when_to_use: meta.text("when_to_use").map(|text| visible(&text).into_owned()),
        model_invocable: !stated(&meta, "disable-model-invocation"),
        user_invocable: meta.flag("user-invocable").unwrap_or(true),
        may_grant: allowed_tools.is_empty() || !shelf.is_folder() || reach.is_trusted(),
        allowed_tools,
        disallowed_tools: meta.list("disallowed-tools"),
        argument_hint: meta.literal("argument-hint"),
        argument_names: meta.list("arguments"),
        model: meta.text("model"),
        effort: meta.text("effort"),
        fork: meta.text("context").is_some_and(|context| context == "fork"),
        agent: meta.text("agent"),
        paths: meta.globs("paths"),
        hooks: meta.value("hooks").filter(|_| !shelf.is_folder() || reach.is_trusted()).cloned(),
        ..new(path, name, file_name, kind, shelf)
    })
}

fn new(path: &Path, name: String, file_name: &str, kind: SkillKind, shelf: &Shelf) -> Skill {
    let aliases = if name == file_name { Vec::new() } else { vec![file_name.to_owned()] };
    Skill {
        name,
        aliases,
        kind,
        description: String::new(),
        when_to_use: None,
        path: path.to_owned(),
        dir: path.parent().unwrap_or(&shelf.dir).to_owned(),
        model_invocable: true,
        user_invocable: true,
        allowed_tools: Vec::new(),
        may_grant: true,
        disallowed_tools: Vec::new(),
        argument_hint: None,
        argument_names: Vec::new(),
        model: None,
        effort: None,
        fork: false,
        agent: None,
        paths: Vec::new(),
        hooks: None,
        source: shelf.source,
        plugin: None,
    }
}

/// A restriction that was written but cannot be read as no counts as yes.
fn stated(meta: &Meta, key: &str) -> bool {
    meta.has(key) && meta.flag(key).unwrap_or(true)
}

fn first_paragraph(body: &str) -> String {
    let lines = body.trim_start().lines().map(str::trim).take_while(|line| !line.is_empty());
    let text = lines.map(|line| line.trim_start_matches('#').trim_start()).collect::<Vec<_>>().join(" ");
    text.chars().take(LISTING_MAX).collect()
}

#[cfg(test)]
#[path = "skills_tests.rs"]
mod tests;
