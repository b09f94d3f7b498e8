//! Grep: searches the contents of files by regular expression, on ripgrep's own crates.

mod folder;
pub(crate) mod report;
mod search;

use self::search::{Hits, Style, Want};
use crate::context::{Files, ToolContext};
use crate::schema::{self, InputError};
use crate::tool::{Invocation, Tool, ToolFuture, ToolSpec, boxed};
use crate::walk;
use crate::worker::{self, Stop};
use crate::workspace::open::OpenFolder;
use crate::workspace::{Target, Workspace};
use crate::{ToolOutcome, file_error};
use grep_regex::RegexMatcher;
use ignore::WalkBuilder;
use ignore::overrides::OverrideBuilder;
use ignore::types::TypesBuilder;
use policy::{Targets, names};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

static SPEC: ToolSpec = ToolSpec::beside_others(
    &names::GREP,
    "Searches file contents with a regular expression (ripgrep syntax: escape literal braces, `\\{`). Use it \
        instead of grep or rg in Bash.\n\
        output_mode: files_with_matches (default, newest first), content (lines, with -A/-B/-C context and -n numbers) \
        or count. Narrow by path, glob (`*.{ts,tsx}`) or type (`rust`). Patterns match within a line unless multiline is \
        set. Files ignored by git and binary files are skipped; page through long results with head_limit and offset.",
    r#"{"type":"object","properties":{"pattern":{"type":"string","description":"The regular expression"},"path":{"type":"string","description":"File or folder to search; the working folder unless given"},"glob":{"type":"string","description":"Only files that match, such as *.rs or *.{ts,tsx}; several separated by spaces; ! excludes"},"type":{"type":"string","description":"Only files of this type, such as rust, py, js, md"},"output_mode":{"type":"string","enum":["content","files_with_matches","count"],"description":"files_with_matches unless given"},"-A":{"type":"integer","minimum":0,"description":"Lines to show after each match (content)"},"-B":{"type":"integer","minimum":0,"description":"Lines to show before each match (content)"},"-C":{"type":"integer","minimum":0,"description":"Lines to show around each match (content)"},"context":{"type":"integer","minimum":0,"description":"The same as -C"},"-n":{"type":"boolean","description":"Line numbers (content); true unless given"},"-i":{"type":"boolean","description":"Ignore case"},"-o":{"type":"boolean","description":"Only the matching parts of lines (content)"},"multiline":{"type":"boolean","description":"Let matches span lines; . matches newlines too"},"head_limit":{"type":"integer","minimum":0,"description":"At most this many lines or files; 250 unless given, 0 for no limit"},"offset":{"type":"integer","minimum":0,"description":"Skip this many lines or files first"}},"required":["pattern"],"additionalProperties":false}"#,
);

const DEADLINE: Duration = Duration::from_secs(20);
const DEFAULT_HEAD_LIMIT: usize = 250;
/// Lines of context beyond this are a Read, not a search.
const MAX_CONTEXT: usize = 1000;
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Input {
    pattern: String,
    glob: Option<String>,
    #[serde(rename = "type")]
    file_type: Option<String>,
    #[serde(default)]
    pub(crate) output_mode: Mode,
    #[serde(rename = "-A")]
    after: Option<usize>,
    #[serde(rename = "-B")]
    before: Option<usize>,
    #[serde(rename = "-C")]
    around: Option<usize>,
    context: Option<usize>,
    #[serde(rename = "-n")]
    line_numbers: Option<bool>,
    #[serde(rename = "-i", default)]
    ignore_case: bool,
    #[serde(rename = "-o", default)]
    only_matching: bool,
    #[serde(default)]
    multiline: bool,
    head_limit: Option<usize>,
    #[serde(default)]
    pub(crate) offset: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Mode {
    #[default]
    FilesWithMatches,
    Content,
    Count,
}

impl Input {
    fn style(&self) -> Style {
        let around = self.around.or(self.context);
        let lines = |side: Option<usize>| match self.output_mode {
            Mode::Content => side.or(around).unwrap_or(0).min(MAX_CONTEXT),
            Mode::FilesWithMatches | Mode::Count => 0,
        };
        Style {
            ignore_case: self.ignore_case,
            multiline: self.multiline,
            // Counting lines that nobody sees is a good part of a search.
            line_numbers: self.output_mode == Mode::Content && self.line_numbers.unwrap_or(true),
            only_matching: self.only_matching,
            before: lines(self.before),
            after: lines(self.after),
        }
    }

    /// `None`: no limit.
    pub(crate) fn head_limit(&self) -> Option<usize> {
        Some(self.head_limit.unwrap_or(DEFAULT_HEAD_LIMIT)).filter(|&limit| limit > 0)
    }

    /// How many lines or files must be found to fill the page and to know whether there are more.
    fn enough(&self) -> usize {
        self.head_limit().map_or(report::MAX_ENTRIES, |limit| {
            limit.saturating_add(self.offset).saturating_add(1).min(report::MAX_ENTRIES)
        })
    }
}

/// What a search came to, in printing order.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Lines, file names, or `name:count`, by mode.
    pub(crate) entries: Vec<String>,
    pub(crate) matches: u64,
    pub(crate) files: usize,
    /// False if time ran out, or there were too many files to search.
    pub(crate) complete: bool,
}

pub(crate) struct Grep;

impl Tool for Grep {
    fn spec(&self) -> &ToolSpec {
        &SPEC
    }

    fn targets(&self, input: &Value, workspace: &Workspace) -> Result<Targets, InputError> {
        let path = input.get("path").and_then(Value::as_str).unwrap_or(".");
        let root = workspace.resolve(path).map_err(|cause| InputError::Path { tool: SPEC.entry.name, cause })?;
        Ok(Targets::paths(vec![root]))
    }

    fn run<'a>(&'a self, call: Invocation<'a>, context: &'a ToolContext) -> ToolFuture<'a> {
        boxed(run(call, context))
    }
}

async fn run(call: Invocation<'_>, context: &ToolContext) -> Result<ToolOutcome, ToolOutcome> {
    let input: Input = schema::parse(SPEC.entry.name, call.input)?;
    let target = call.only_path()?;
    let files = context.files();
    let work = move |stop: &Stop| grep(&files, &target, &input, stop).unwrap_or_else(|refusal| refusal);
    Ok(worker::run(SPEC.entry.name, DEADLINE, work).await)
}

fn grep(files: &Files, root: &Target, input: &Input, stop: &Stop) -> Result<ToolOutcome, ToolOutcome> {
    let style = input.style();
    let matcher = search::matcher(&input.pattern, style)
        .map_err(|error| ToolOutcome::error(format!("The pattern is not a valid regular expression:\n{error}")))?;
    let meta = std::fs::symlink_metadata(&root.real)
        .map_err(|error| ToolOutcome::misuse(file_error::opening(root, &error, &files.workspace)))?;
    let search = Search { files, matcher: &matcher, input, style, single: !meta.is_dir(), stop };
    let findings = if meta.is_dir() {
        let walk = walk_of(files, &root.real, input)?;
        let folder = OpenFolder::open(&root.real)
            .map_err(|error| ToolOutcome::misuse(file_error::opening(root, &error, &files.workspace)))?;
        let harvest = walk::collect(&walk, None, stop, |path| !(files.denied)(path));
        search.folder(&folder, harvest.files, harvest.complete)
    } else {
        search.only(root)?
    };
    Ok(report::outcome(input, &findings))
}

fn walk_of(files: &Files, root: &Path, input: &Input) -> Result<WalkBuilder, ToolOutcome> {
    let wrong = |field: &str, error: ignore::Error| ToolOutcome::misuse(format!("Grep: `{field}`: {error}."));
    let cwd = files.workspace.real_cwd();
    let mut walk = walk::builder(root, &cwd);
    if let Some(name) = &input.file_type {
        let mut types = TypesBuilder::new();
        types.add_defaults().select(name);
        let types = types.build().map_err(|error| wrong("type", error))?;
        walk.types(types);
    }
    if let Some(globs) = &input.glob {
        let mut overrides = OverrideBuilder::new(if root.starts_with(&cwd) { &cwd } else { root });
        for glob in split_globs(globs) {
            overrides.add(glob).map_err(|error| wrong("glob", error))?;
        }
        walk.overrides(overrides.build().map_err(|error| wrong("glob", error))?);
    }
    Ok(walk)
}

/// Several globs in one text, separated by spaces or by commas outside braces.
fn split_globs(globs: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0usize;
    globs
        .split(move |c: char| {
            match c {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c.is_whitespace() || (c == ',' && depth == 0)
        })
        .filter(|glob| !glob.is_empty())
}

struct Search<'a> {
    files: &'a Files,
    matcher: &'a RegexMatcher,
    input: &'a Input,
    style: Style,
    /// One file was named: its lines need no name.
    single: bool,
    stop: &'a Stop,
}

impl Search<'_> {
    fn only(&self, target: &Target) -> Result<Findings, ToolOutcome> {
        let refuse = |error| ToolOutcome::error(file_error::opening(target, &error, &self.files.workspace));
        let file = self.files.workspace.open_read(target).map_err(refuse)?;
        let hits = self.search(&mut search::searcher(self.style), &target.real, &file);
        let hits = hits.map_err(|error| ToolOutcome::error(file_error::reading(target, &error)))?;
        let mut findings = Findings { complete: true, ..Findings::default() };
        self.add(&mut findings, &target.real, hits);
        Ok(findings)
    }

    fn search(
        &self,
        searcher: &mut grep_searcher::Searcher,
        path: &Path,
        file: &std::fs::File,
    ) -> std::io::Result<Hits> {
        let want = match self.input.output_mode {
            Mode::FilesWithMatches => Want::Any,
            Mode::Count => Want::Count,
            Mode::Content => Want::Lines(self.input.enough()),
        };
        let named = !self.single && matches!(want, Want::Lines(_));
        let name = named.then(|| self.files.workspace.display(path));
        search::search(searcher, self.matcher, file, name.as_deref(), self.style, want)
    }

    fn add(&self, findings: &mut Findings, path: &Path, hits: Hits) {
        if hits.count == 0 {
            return;
        }
        findings.files += 1;
        findings.matches += hits.count;
        let name = || self.files.workspace.display(path);
        match self.input.output_mode {
            Mode::FilesWithMatches => findings.entries.push(name()),
            Mode::Count => findings.entries.push(format!("{}:{}", name(), hits.count)),
            Mode::Content => {
                let context = self.style.before + self.style.after > 0 && !self.style.only_matching;
                if context && !findings.entries.is_empty() {
                    findings.entries.push("--".into());
                }
                findings.entries.extend(hits.lines);
            }
        }
    }
}

#[cfg(test)]
#[path = "grep_tests.rs"]
mod tests;
