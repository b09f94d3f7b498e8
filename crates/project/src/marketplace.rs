//! `.claude-plugin/marketplace.json`: a list of plugins and where each of them is. Pure, but for reading the file.
//!
//! Absent: fetching anything. A source that is not a folder of the marketplace comes back as the address it names.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::document_error::{DocumentError, FieldError};
use crate::plugins::{is_plugin_name, json as read_json};
use settings::text::one_line;

/// More plugins than anybody could choose from.
const PLUGINS_MAX: usize = 5_000;

#[derive(Debug, Clone, PartialEq)]
pub struct Marketplace {
    pub name: String,
    pub root: PathBuf,
    pub plugins: Vec<Offer>,
}

/// One plugin of a marketplace.
#[derive(Debug, Clone, PartialEq)]
pub struct Offer {
    pub name: String,
    pub description: Option<String>,
    pub version: Option<String>,
    pub source: Source,
}

/// Where a marketplace or a plugin can be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A folder of this machine.
    Folder(PathBuf),
    /// A repository that git knows how to clone, at a branch, tag or commit where one is named.
    Git { url: String, at: Option<String> },
    /// Known to the reference and not to us.
    Unsupported(String),
}

impl Source {
    /// As a person types it: a folder, an address, or `owner/repository`.
    pub fn typed(written: &str, cwd: &Path) -> Self {
        let written = written.trim();
        let path = cwd.join(written);
        if path.is_dir() && !path.join("HEAD").is_file() {
            return Self::Folder(path);
        }
        if path.is_dir() {
            return Self::Git { url: path.display().to_string(), at: None };
        }
        let (address, at) = match written.split_once('#') {
            Some((address, at)) if !at.is_empty() => (address, Some(at.to_owned())),
            _ => (written, None),
        };
        if address.contains("://") || address.starts_with("git@") {
            return Self::Git { url: address.to_owned(), at };
        }
        match hosted(address) {
            Some(url) => Self::Git { url, at },
            None => Self::Unsupported(format!("{written} is neither a folder nor the address of a repository")),
        }
    }

    /// As the entries of marketplaces and of settings have it: a path, or an object.
    pub(crate) fn written(value: &Value, root: &Path) -> Self {
        let text = |key: &str| value.get(key).and_then(Value::as_str);
        let at = || text("ref").or(text("sha")).or(text("commit")).map(str::to_owned);
        match (value.as_str(), text("source")) {
            (Some(path), _) => inside(root, path),
            (None, Some("github")) => match text("repo").and_then(hosted) {
                Some(url) => Self::Git { url, at: at() },
                None => Self::Unsupported("its `repo` is not owner/repository".to_owned()),
            },
            (None, Some("git" | "url")) => match text("url").filter(|url| !url.is_empty()) {
                Some(url) => Self::Git { url: url.to_owned(), at: at() },
                None => Self::Unsupported("its `url` is missing".to_owned()),
            },
            (None, Some("directory" | "local")) => match text("path") {
                Some(path) => Self::Folder(root.join(path)),
                None => Self::Unsupported("its `path` is missing".to_owned()),
            },
            (None, Some(other)) => Self::Unsupported(format!("sources of the kind {other:?} are not supported")),
            (None, None) => Self::Unsupported("it names no source".to_owned()),
        }
    }

    /// As the state files and the policy lists have it.
    pub fn to_value(&self) -> Value {
        match self {
            Self::Folder(path) => json!({"source": "directory", "path": path}),
            Self::Git { url, at: None } => json!({"source": "git", "url": url}),
            Self::Git { url, at: Some(at) } => json!({"source": "git", "url": url, "ref": at}),
            Self::Unsupported(what) => json!({"source": "unsupported", "reason": what}),
        }
    }

    /// The same place, however it is spelled.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let plain = |url: &str| url.trim_end_matches('/').trim_end_matches(".git").to_ascii_lowercase();
        match (self, other) {
            (Self::Git { url: one, .. }, Self::Git { url: two, .. }) => plain(one) == plain(two),
            (Self::Folder(one), Self::Folder(two)) => one.canonicalize().ok() == two.canonicalize().ok(),
            _ => false,
        }
    }
}

fn hosted(repository: &str) -> Option<String> {
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    let (owner, name) = repository.split_once('/')?;
    (is_part(owner) && is_part(name)).then(|| format!("https://github.com/{owner}/{name}.git"))
}

/// A path of the marketplace, which must stay in it.
fn inside(root: &Path, path: &str) -> Source {
    match root.join(path).canonicalize() {
        Ok(real) if root.canonicalize().is_ok_and(|root| real.starts_with(root)) && real.is_dir() => {
            Source::Folder(real)
        }
        Ok(_) => Source::Unsupported(format!("{path} is no folder inside the marketplace")),
        Err(error) => Source::Unsupported(format!("{path}: {error}")),
    }
}

/// Reads the marketplace in a folder.
pub fn marketplace(root: &Path) -> Result<Marketplace, DocumentError> {
    let file = root.join(".claude-plugin/marketplace.json");
    let Some(value) = read_json(&file)? else { return Err(DocumentError::Missing(file)) };
    parse(&value, root).map_err(|error| DocumentError::Field { file, error })
}

fn parse(value: &Value, root: &Path) -> Result<Marketplace, FieldError> {
    let map = value.as_object().ok_or(FieldError::NotObject)?;
    let name = map.get("name").and_then(Value::as_str).ok_or(FieldError::NoName)?;
    if !is_plugin_name(name) || name.contains('@') {
        return Err(FieldError::BadName(name.to_owned()));
    }
    let listed = map.get("plugins").and_then(Value::as_array).ok_or(FieldError::Plugins)?;
    let base = map.get("metadata").and_then(|metadata| metadata.get("pluginRoot")).and_then(Value::as_str);
    let base = base.map_or_else(|| root.to_owned(), |inner| root.join(inner));
    let plugins =
        listed.iter().take(PLUGINS_MAX).filter_map(Value::as_object).filter_map(|entry| offer(entry, root, &base));
    Ok(Marketplace { name: name.to_owned(), root: root.to_owned(), plugins: plugins.collect() })
}

/// An entry without a usable name cannot be asked for, so it is passed over.
fn offer(entry: &Map<String, Value>, root: &Path, base: &Path) -> Option<Offer> {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).map(one_line);
    let name = text("name").filter(|name| is_plugin_name(name) && !name.contains('@'))?;
    let source = entry.get("source").map_or_else(
        || Source::Unsupported("it names no source".to_owned()),
        |source| match source.as_str() {
            // `./x` is the marketplace's, a bare name is below the root that it names for plugins.
            Some(path) if !path.starts_with('.') && base.join(path).is_dir() && base.starts_with(root) => {
                inside(root, &base.join(path).to_string_lossy())
            }
            _ => Source::written(source, root),
        },
    );
    Some(Offer { name, description: text("description"), version: text("version"), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::Bed;

    fn git(url: &str) -> Source {
        Source::Git { url: url.to_owned(), at: None }
    }

    #[test]
    fn sources_are_read_as_people_type_them() {
        let bed = Bed::new();
        let market = bed.dir("work/market");
        bed.file("work/bare.git/HEAD", "ref: refs/heads/main");
        for (written, expected) in [
            ("market", Source::Folder(market.clone())),
            ("./market", Source::Folder(bed.path("work/./market"))),
            ("bare.git", git(&bed.path("work/bare.git").display().to_string())),
            ("https://a.test/b.git", git("https://a.test/b.git")),
            ("git@a.test:b.git", git("git@a.test:b.git")),
            ("owner/repo", git("https://github.com/owner/repo.git")),
            ("owner/repo#v1", Source::Git { url: "https://github.com/owner/repo.git".into(), at: Some("v1".into()) }),
        ] {
            assert_eq!(Source::typed(written, &bed.places.cwd), expected, "{written}");
        }
        for written in ["nothing", "--upload-pack=x", "a/b/c", "../x", "a/-b"] {
            assert!(matches!(Source::typed(written, &bed.places.cwd), Source::Unsupported(_)), "{written}");
        }
    }

    #[test]
    fn a_marketplace_lists_what_can_be_asked_for() {
        let bed = Bed::new();
        bed.dir("market/plugins/one");
        bed.dir("market/two");
        bed.dir("secret");
        bed.file(
            "market/.claude-plugin/marketplace.json",
            r#"{"name":"m","owner":{"name":"x"},"metadata":{"pluginRoot":"./plugins"},"plugins":[
                {"name":"one","source":"one","version":"1.0"},
                {"name":"two","source":"./two","description":"second"},
                {"name":"three","source":{"source":"github","repo":"o/r","ref":"v2"}},
                {"name":"four","source":{"source":"npm","package":"p"}},
                {"name":"five","source":"../secret"},
                {"name":"bad name","source":"./two"}, "rubbish", {"name":"six"}
            ]}"#,
        );
        let market = marketplace(&bed.path("market")).unwrap();
        assert_eq!(market.name, "m");
        let names: Vec<&str> = market.plugins.iter().map(|offer| offer.name.as_str()).collect();
        assert_eq!(names, ["one", "two", "three", "four", "five", "six"]);
        let source = |at: usize| &market.plugins[at].source;
        assert_eq!(*source(0), Source::Folder(bed.path("market/plugins/one")));
        assert_eq!(*source(1), Source::Folder(bed.path("market/two")));
        assert_eq!(*source(2), Source::Git { url: "https://github.com/o/r.git".into(), at: Some("v2".into()) });
        assert!([3, 4, 5].into_iter().all(|at| matches!(source(at), Source::Unsupported(_))), "{:?}", market.plugins);
    }

    #[test]
    fn a_broken_marketplace_says_what_is_wrong() {
        for (text, expected) in [
            ("{", "is not JSON"),
            ("[]", "not a JSON object"),
            (r#"{"plugins":[]}"#, "`name` is missing"),
            (r#"{"name":"a b","plugins":[]}"#, "use letters"),
            (r#"{"name":"m","plugins":{}}"#, "must be a list"),
        ] {
            let bed = Bed::new();
            bed.file("market/.claude-plugin/marketplace.json", text);
            let problem = marketplace(&bed.path("market")).unwrap_err().to_string();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
