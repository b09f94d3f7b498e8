//! Output styles in files: text for the system prompt, chosen by name with `outputStyle`.
//!
//! Absent: the built-in styles, which the agent adds.

use std::path::Path;

use crate::documents::{self, Shelf, is_markdown};
use crate::frontmatter;
use crate::reach::Reach;
use settings::text::visible;
use settings::{Places, Sources};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputStyle {
    pub name: String,
    pub description: Option<String>,
    /// Whether the instructions about coding stay beside it.
    pub keep_coding_instructions: bool,
    pub prompt: String,
    /// A plugin's style that counts wherever the plugin is switched on.
    pub forced: bool,
    /// `managed`, `user`, `project` or `plugin`.
    pub source: &'static str,
}

/// The administrator's first, then the nearest project's, then the user's; a name is taken once.
pub fn output_styles(places: &Places, sources: Sources) -> Vec<OutputStyle> {
    let reach = Reach::new(places, &[]);
    let mut shelves = documents::shelves(places, sources);
    shelves.sort_by_key(|shelf| ["managed", "project", "user"].iter().position(|source| *source == shelf.source));
    let mut found: Vec<OutputStyle> = Vec::new();
    for shelf in &shelves {
        for style in below(&shelf.dir.join("output-styles"), shelf, &reach) {
            if !found.iter().any(|known| known.name == style.name) {
                found.push(style);
            }
        }
    }
    found
}

/// The styles of a file or of the files below a folder.
pub(crate) fn below(base: &Path, shelf: &Shelf, reach: &Reach) -> Vec<OutputStyle> {
    let paths = if is_markdown(base) { vec![base.to_owned()] } else { documents::markdown_below(base) };
    paths
        .into_iter()
        .filter_map(|path| {
            let head = documents::head(&path, shelf, reach)?;
            let meta = frontmatter::parse(&head)?.meta;
            let stem = || path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
            Some(OutputStyle {
                name: visible(&meta.text("name").or_else(stem)?).into_owned(),
                description: meta.text("description").map(|text| visible(&text).into_owned()),
                keep_coding_instructions: meta.flag("keep-coding-instructions").unwrap_or(false),
                forced: shelf.source == "plugin" && meta.flag("force-for-plugin") == Some(true),
                prompt: documents::body(&path).ok()?.trim().to_owned(),
                source: shelf.source,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::Bed;

    #[test]
    fn nearest_style_of_a_name_wins() {
        let bed = Bed::new();
        bed.file("home/.claude/output-styles/terse.md", "---\nname: terse\n---\nuser\n");
        bed.file("work/.claude/output-styles/terse.md", "---\nkeep-coding-instructions: yes\n---\nproject\n");
        bed.file("work/.claude/output-styles/broken.md", "---\nname: [\n---\nx\n");
        let styles = output_styles(&bed.places, Sources::default());
        assert_eq!(styles.len(), 1);
        assert_eq!((styles[0].prompt.as_str(), styles[0].keep_coding_instructions), ("project", true));
        let styles = output_styles(&bed.places, Sources { project: false, ..Sources::default() });
        assert_eq!((styles[0].prompt.as_str(), styles[0].source), ("user", "user"));
    }
}
