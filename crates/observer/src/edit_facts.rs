//! What an edit of a file was: its language, and the lines that it added and removed. Pure.

use serde_json::Value;

/// Tools whose decisions and lines are counted.
pub(crate) const EDITORS: [&str; 3] = ["Edit", "Write", "NotebookEdit"];

const LANGUAGES: [(&str, &[&str]); 34] = [
    ("Bash", &["sh", "bash", "zsh"]),
    ("C", &["c", "h"]),
    ("C#", &["cs"]),
    ("C++", &["cc", "cpp", "cxx", "hpp", "hh"]),
    ("CSS", &["css"]),
    ("Clojure", &["clj", "cljs"]),
    ("Dart", &["dart"]),
    ("Elixir", &["ex", "exs"]),
    ("Erlang", &["erl"]),
    ("Go", &["go"]),
    ("HTML", &["html", "htm"]),
    ("Haskell", &["hs"]),
    ("JSON", &["json"]),
    ("Java", &["java"]),
    ("JavaScript", &["js", "jsx", "mjs", "cjs"]),
    ("Julia", &["jl"]),
    ("Jupyter Notebook", &["ipynb"]),
    ("Kotlin", &["kt", "kts"]),
    ("Lua", &["lua"]),
    ("Markdown", &["md", "markdown"]),
    ("PHP", &["php"]),
    ("Perl", &["pl", "pm"]),
    ("Plain text", &["txt"]),
    ("Python", &["py", "pyi"]),
    ("R", &["r"]),
    ("Ruby", &["rb"]),
    ("Rust", &["rs"]),
    ("SQL", &["sql"]),
    ("Scala", &["scala"]),
    ("Swift", &["swift"]),
    ("TOML", &["toml"]),
    ("TypeScript", &["ts", "tsx", "mts", "cts"]),
    ("XML", &["xml"]),
    ("YAML", &["yaml", "yml"]),
];

pub(crate) fn language(input: &Value) -> &'static str {
    let path = input["file_path"].as_str().or(input["notebook_path"].as_str()).unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    let found = LANGUAGES.iter().find(|(_, endings)| endings.contains(&ending.as_str()));
    found.map_or("unknown", |(language, _)| language)
}

/// Lines added and removed, as the tool's structured result tells them. `None` where it tells nothing.
pub(crate) fn lines(result: &Value) -> Option<(u64, u64)> {
    let hunks = result["structuredPatch"].as_array()?;
    if result["type"] == "create" {
        return Some((result["content"].as_str()?.lines().count() as u64, 0));
    }
    let lines = hunks.iter().filter_map(|hunk| hunk["lines"].as_array()).flatten().filter_map(Value::as_str);
    let (mut added, mut removed) = (0, 0);
    for line in lines {
        added += u64::from(line.starts_with('+'));
        removed += u64::from(line.starts_with('-'));
    }
    Some((added, removed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn languages_go_by_the_ending() {
        for (path, expected) in [
            ("/a/b.py", "Python"),
            ("/a/B.TXT", "Plain text"),
            ("x.tsx", "TypeScript"),
            ("/a.rs/Makefile", "unknown"),
            ("", "unknown"),
        ] {
            assert_eq!(language(&json!({"file_path": path})), expected, "{path}");
        }
        assert_eq!(language(&json!({"notebook_path": "n.ipynb"})), "Jupyter Notebook");
    }

    #[test]
    fn lines_are_those_of_the_patch_or_of_a_new_file() {
        let patch = json!({"structuredPatch": [{"lines": [" a", "-b", "+c", "+d"]}, {"lines": ["+e"]}]});
        assert_eq!(lines(&patch), Some((3, 1)));
        let new = json!({"type": "create", "content": "a\nb\n", "structuredPatch": []});
        assert_eq!(lines(&new), Some((2, 0)));
        assert_eq!(lines(&json!({"filePath": "x"})), None);
        assert_eq!(lines(&json!("text")), None);
    }
}
