//! The imports of a crate, read from the text of its sources: `crate::…`, `super::…`, and paths through child modules.
//! A name that a module only passes on (`pub use`) counts as an import of the file that has it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module's path within its crate; empty for the root.
type Module = Vec<String>;

pub struct Crate {
    /// Every module that is not for tests, with its file's name below `src`.
    files: BTreeMap<Module, String>,
    /// The code of each, without comments and tests.
    code: BTreeMap<Module, String>,
    /// Lines of every file, tests included.
    lengths: BTreeMap<String, usize>,
    /// Lines of the crate without tests.
    lines: usize,
    /// The modules of the root, lowest first.
    order: Vec<String>,
}

/// The source files below a folder, in order.
pub fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in folder.read_dir().expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn is_test(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let file = parts.last().copied().unwrap_or_default();
    file.ends_with("_tests.rs") || file == "testing.rs" || parts.contains(&"tests")
}

/// The modules that a file declares for tests only.
fn test_modules(module: &[String], text: &str) -> Vec<Module> {
    let after = text.split("#[cfg(test)]\n").skip(1);
    let items = after.filter_map(|rest| rest.lines().find(|line| !line.starts_with("#[")));
    items.flat_map(declared).map(|child| join(module, &child)).collect()
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`.
fn module_of(name: &str) -> Module {
    let path = name.trim_end_matches(".rs");
    let mut parts: Module = path.split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| last == "mod") || matches!(path, "lib" | "main") {
        parts.pop();
    }
    parts
}

/// The text without what is only compiled for tests.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            skip_item(&mut lines, &line[..line.len() - line.trim_start().len()]);
        } else {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

fn without_comments(text: &str) -> String {
    text.lines().filter(|line| !line.trim_start().starts_with("//")).map(|line| format!("{line}\n")).collect()
}

/// Passes by one item: a line that ends with `;`, or everything up to the brace that closes at the item's own indent.
fn skip_item<'t>(lines: &mut impl Iterator<Item = &'t str>, indent: &str) {
    let mut first = true;
    for line in lines {
        let trimmed = line.trim();
        if first && (trimmed.starts_with("#[") || trimmed.starts_with("//")) {
            continue;
        }
        let ends_here = first && (trimmed.ends_with(';') || trimmed.ends_with('}') || trimmed.ends_with(','));
        let closes = ["}", "};", ")", ");"].iter().any(|end| line == format!("{indent}{end}"));
        if ends_here || closes {
            return;
        }
        first = false;
    }
}

/// Whether the second argument of the `Result` whose arguments begin here is `String`.
fn error_is_text(arguments: &str) -> bool {
    let (mut depth, mut comma) = (0_i32, None);
    let mut before = ' ';
    for (at, letter) in arguments.char_indices() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' if before == '-' => {}
            '>' if depth == 0 => {
                let error = comma.map_or("", |comma: usize| &arguments[comma + 1..at]);
                return error.trim().trim_end_matches(',').trim() == "String";
            }
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 && comma.is_none() => comma = Some(at),
            _ => {}
        }
        before = letter;
    }
    false
}

impl Crate {
    pub fn read(src: &Path) -> Self {
        let mut found = Self {
            files: BTreeMap::new(),
            code: BTreeMap::new(),
            lengths: BTreeMap::new(),
            lines: 0,
            order: Vec::new(),
        };
        let mut texts = BTreeMap::new();
        for path in sources(src) {
            let name = path.strip_prefix(src).expect("below src").to_str().expect("a name").to_owned();
            let text = std::fs::read_to_string(&path).expect("a source file");
            found.lengths.insert(name.clone(), text.lines().count());
            texts.insert(name, text);
        }
        let for_tests: Vec<Module> =
            texts.iter().flat_map(|(name, text)| test_modules(&module_of(name), text)).collect();
        for (name, text) in texts {
            let module = module_of(&name);
            if !is_test(&name) && !for_tests.iter().any(|tests| module.starts_with(tests)) {
                let text = without_tests(&text);
                found.lines += text.lines().count();
                found.code.insert(module.clone(), without_comments(&text));
                found.files.insert(module, name);
            }
        }
        found.order = found.code.get(&Module::new()).map(|code| declared(code)).unwrap_or_default();
        found
    }

    pub fn lines(&self) -> usize {
        self.lines
    }

    pub fn long_files(&self, most: usize) -> Vec<(&str, usize)> {
        self.lengths.iter().filter(|(_, lines)| **lines > most).map(|(name, lines)| (name.as_str(), *lines)).collect()
    }

    /// Every `Result<_, String>` outside of tests, with its file.
    pub fn text_errors(&self) -> Vec<String> {
        let of_file = |(module, code): (&Module, &String)| {
            let found = code.match_indices("Result<").filter(|(at, _)| error_is_text(&code[at + "Result<".len()..]));
            let line = |at: usize| code[at..].lines().next().unwrap_or_default().to_owned();
            let file = &self.files[module];
            found.map(|(at, _)| format!("{file}: {}", line(at))).collect::<Vec<_>>()
        };
        self.code.iter().flat_map(of_file).collect()
    }

    /// Which files each file imports; the root passes names on and is left out.
    fn imports(&self) -> BTreeMap<&Module, BTreeSet<Module>> {
        let mut found = BTreeMap::new();
        for (module, code) in self.code.iter().filter(|(module, _)| !module.is_empty()) {
            let targets = self.paths(module, code).into_iter().map(|path| self.resolve(&path, 0));
            let targets: BTreeSet<Module> = targets.filter(|target| !target.is_empty() && target != module).collect();
            found.insert(module, targets);
        }
        found
    }

    /// Every path in a module's code that stays in the crate, from the root.
    fn paths(&self, module: &Module, code: &str) -> Vec<Module> {
        let mut found = Vec::new();
        for (at, word) in words(code) {
            let rest = &code[at + word.len()..];
            let is_start = !code[..at].ends_with("::") && !code[..at].ends_with('$');
            if !rest.starts_with("::") || !is_start || is_passed_on(code, at) {
                continue;
            }
            let base = match word {
                "crate" => Module::new(),
                "super" => module[..module.len().saturating_sub(1)].to_vec(),
                "self" => module.clone(),
                child if self.files.contains_key(&join(module, child)) => join(module, child),
                _ => continue,
            };
            expand(&base, &rest[2..], &mut found);
        }
        found
    }

    /// The module that a path leads to; a name that a module passes on is followed to where it comes from.
    fn resolve(&self, path: &[String], depth: usize) -> Module {
        let known = (0..=path.len()).rev().find(|length| self.files.contains_key(&path[..*length]));
        let Some(length) = known else { return Module::new() };
        let module = path[..length].to_vec();
        let Some(name) = path.get(length).filter(|_| depth < 8) else { return module };
        let passed = self.passed_on(&module, name);
        passed.map_or(module, |origin| self.resolve(&origin, depth + 1))
    }

    /// Where a module takes a name from that it passes on.
    fn passed_on(&self, module: &Module, name: &str) -> Option<Module> {
        let code = self.code.get(module)?;
        code.match_indices("use ").find_map(|(at, _)| {
            let before = code[..at].rsplit('\n').next().unwrap_or_default().trim();
            if !before.starts_with("pub") {
                return None;
            }
            let tree = &code[at + 4..];
            let first = words(tree).next().map(|(_, word)| word)?;
            let (base, tree) = match first {
                "crate" => (Module::new(), tree.strip_prefix("crate::")?),
                "self" => (module.clone(), tree.strip_prefix("self::")?),
                "super" => (module[..module.len().saturating_sub(1)].to_vec(), tree.strip_prefix("super::")?),
                child if self.files.contains_key(&join(module, child)) => (module.clone(), tree),
                _ => return None,
            };
            let mut paths = Vec::new();
            expand(&base, tree, &mut paths);
            paths.into_iter().find(|path| path.last().is_some_and(|last| last == name) && path.len() > module.len())
        })
    }

    /// Groups of files that import each other, the largest first; single files are none.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let imports = self.imports();
        let reach = |from: &Module| {
            let mut seen: BTreeSet<&Module> = BTreeSet::new();
            let mut next: Vec<&Module> = imports.get(from).into_iter().flatten().collect();
            while let Some(module) = next.pop() {
                if seen.insert(module) {
                    next.extend(imports.get(module).into_iter().flatten());
                }
            }
            seen.into_iter().cloned().collect::<BTreeSet<Module>>()
        };
        let reached: BTreeMap<&Module, BTreeSet<Module>> =
            imports.keys().map(|module| (*module, reach(module))).collect();
        let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
        for (module, seen) in reached.iter().filter(|(module, seen)| seen.contains(**module)) {
            let back = seen.iter().filter(|other| reached.get(other).is_some_and(|theirs| theirs.contains(*module)));
            let mut names: Vec<String> = back.map(|other| self.files[other].clone()).collect();
            names.sort();
            circles.insert(names);
        }
        let mut circles: Vec<Vec<String>> = circles.into_iter().collect();
        circles.sort_by_key(|circle| std::cmp::Reverse(circle.len()));
        circles
    }

    /// Imports of a module that the root lists after the importing one, as `from -> to`.
    pub fn upward(&self) -> BTreeSet<String> {
        let place = |module: &Module| self.order.iter().position(|name| Some(name) == module.first());
        let mut found = BTreeSet::new();
        for (from, targets) in self.imports() {
            for to in targets.iter().filter(|to| place(to) > place(from)) {
                found.insert(format!("{} -> {}", self.files[from], self.files[to]));
            }
        }
        found
    }
}

fn join(module: &[String], child: &str) -> Module {
    module.iter().cloned().chain([child.to_owned()]).collect()
}

/// Whether the path at this place is that of a `pub use`: names that are passed on are not used.
fn is_passed_on(code: &str, at: usize) -> bool {
    let line = code[..at].rsplit('\n').next().unwrap_or_default().trim_start();
    line.starts_with("pub") && line.ends_with("use ")
}

/// The modules that a file declares, in its order.
fn declared(code: &str) -> Vec<String> {
    let names = code.lines().filter_map(|line| {
        let line = line.trim().trim_start_matches("pub(crate) ").trim_start_matches("pub ");
        line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)
    });
    names.collect()
}

/// Words of code with their places.
fn words(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + code[at..].find(is_part)?;
        let end = code[start..].find(|letter| !is_part(letter)).map_or(code.len(), |length| start + length);
        at = end;
        Some((start, &code[start..end]))
    })
}

/// The paths of a use tree: `a::{b, c::d}` below `base`.
fn expand(base: &Module, tree: &str, found: &mut Vec<Module>) {
    let mut path = base.clone();
    let mut rest = tree;
    loop {
        rest = rest.trim_start();
        if let Some(inner) = rest.strip_prefix('{') {
            for part in parts(inner) {
                expand(&path, part, found);
            }
            return;
        }
        let word = words(rest).next().filter(|(at, _)| *at == 0).map(|(_, word)| word);
        let Some(word) = word else { break };
        match word {
            "super" => drop(path.pop()),
            "self" => {}
            _ => path.push(word.to_owned()),
        }
        let Some(after) = rest[word.len()..].strip_prefix("::") else { break };
        rest = after;
    }
    found.push(path);
}

/// The parts of a list up to the brace that closes it.
fn parts(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => {
                found.push(&list[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.into_iter().filter(|part| !part.trim().is_empty()).collect()
}
