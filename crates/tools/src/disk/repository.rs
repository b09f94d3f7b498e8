//! Could git, run in a folder, start programs because the repository's own files say so?
//!
//! A repository may have come as files, with a configuration that somebody else wrote: filters, drivers and the like run
//! programs even in commands that only read. The answer is "no" only where every key of the configuration is on a list of
//! harmless ones and nothing leads to another repository. What cannot be read counts as "yes". Deliberately absent:
//! the user's own configuration, which the user wrote.

use std::path::{Path, PathBuf};

/// A repository's configuration is a few hundred bytes.
const CONFIG_MAX: u64 = 256 * 1024;
/// `.git` of a linked checkout is one line.
const LINK_MAX: u64 = 16 * 1024;

/// Keys of `core` that start nothing. `core.fsmonitor` does, but the commands that run unasked switch it off.
const CORE: [&str; 22] = [
    "repositoryformatversion",
    "filemode",
    "bare",
    "logallrefupdates",
    "ignorecase",
    "precomposeunicode",
    "symlinks",
    "autocrlf",
    "eol",
    "safecrlf",
    "quotepath",
    "abbrev",
    "untrackedcache",
    "fsmonitor",
    "commitgraph",
    "compression",
    "longpaths",
    "protectntfs",
    "whitespace",
    "trustctime",
    "checkstat",
    "sharedrepository",
];
const REMOTE: [&str; 8] = ["url", "pushurl", "fetch", "push", "mirror", "tagopt", "prune", "prunetags"];
/// Sections whose keys are all data.
const DATA: [&str; 14] = [
    "branch", "user", "init", "pull", "push", "fetch", "color", "gc", "pack", "index", "status", "advice", "rerere",
    "rebase",
];

/// Looks at the repository that git finds from here.
pub(crate) fn runs_programs(folder: &Path) -> bool {
    let Some(top) = folder.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok()) else {
        return false;
    };
    let Some(git_dir) = git_dir(&top.join(".git")) else { return true };
    let common = small(&git_dir.join("commondir"), LINK_MAX).ok().flatten().map(|text| git_dir.join(text.trim()));
    let common = common.unwrap_or_else(|| git_dir.clone());
    // Submodules are repositories of their own, and git looks into them.
    if top.join(".gitmodules").symlink_metadata().is_ok() || common.join("modules").symlink_metadata().is_ok() {
        return true;
    }
    let configs = [common.join("config"), git_dir.join("config.worktree"), common.join("config.worktree")];
    !configs.iter().all(|file| small(file, CONFIG_MAX).is_ok_and(|text| text.is_none_or(|text| is_harmless(&text))))
}

fn git_dir(link: &Path) -> Option<PathBuf> {
    let kind = link.symlink_metadata().ok()?.file_type();
    if kind.is_dir() {
        return Some(link.to_owned());
    }
    let text = small(link, LINK_MAX).ok()??;
    let named = text.trim().strip_prefix("gitdir:")?.trim();
    Some(link.parent()?.join(named))
}

/// The text of a small regular file; `Ok(None)` where there is no such file.
fn small(file: &Path, most: u64) -> Result<Option<String>, ()> {
    match file.symlink_metadata() {
        Ok(facts) if facts.is_file() && facts.len() <= most => std::fs::read_to_string(file).map(Some).map_err(drop),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Ok(_) | Err(_) => Err(()),
    }
}

fn is_harmless(text: &str) -> bool {
    let mut section = String::new();
    for line in text.lines() {
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        // A line that goes on in the next one can hide a key.
        if line.ends_with('\\') {
            return false;
        }
        if let Some(header) = line.strip_prefix('[') {
            let Some((name, rest)) = header.split_once(']') else { return false };
            if !rest.trim().is_empty() {
                return false;
            }
            section = name.split([' ', '\t', '.', '"']).next().unwrap_or_default().to_ascii_lowercase();
            continue;
        }
        let key = line.split('=').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_listed = match section.as_str() {
            "core" => CORE.contains(&key.as_str()),
            "remote" => REMOTE.contains(&key.as_str()),
            other => DATA.contains(&other),
        };
        if !is_listed {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_keys_are_harmless() {
        let plain = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = git@x:y\n\
                     \tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n";
        assert!(is_harmless(plain));
        assert!(is_harmless(""));
        for evil in [
            "[filter \"x\"]\nclean = evil\n",
            "[core]\nhooksPath = x\n",
            "[core]\nworktree = /\n",
            "[CORE]\nPager = evil\n",
            "[diff]\nexternal = evil\n",
            "[diff \"x\"]\ntextconv = evil\n",
            "[include]\npath = x\n",
            "[includeIf \"gitdir:/\"]\npath = x\n",
            "[remote \"o\"]\nuploadpack = evil\n",
            "[remote \"o\"]\npromisor = true\n",
            "[gpg]\nprogram = evil\n",
            "[alias]\nstatus = !evil\n",
            "[extensions]\nworktreeConfig = true\n",
            "[core]\nbare = false \\\n[filter \"x\"]\n",
            "[user] name = x\n[filter \"x\"]\nclean = evil\n",
            "[core\nbare = false\n",
        ] {
            assert!(!is_harmless(evil), "{evil}");
        }
    }

    #[test]
    fn what_leads_elsewhere_or_cannot_be_read_runs_programs() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        assert!(!runs_programs(top), "no repository");
        let git = top.join(".git");
        std::fs::create_dir(&git).unwrap();
        assert!(!runs_programs(&top.join("sub/below")));
        std::fs::write(git.join("config"), "[core]\nbare = false\n").unwrap();
        assert!(!runs_programs(top));
        std::fs::write(top.join(".gitmodules"), "").unwrap();
        assert!(runs_programs(top), "submodules");
        std::fs::remove_file(top.join(".gitmodules")).unwrap();
        std::fs::remove_file(git.join("config")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", git.join("config")).unwrap();
        assert!(runs_programs(top), "a link in place of the configuration");
        std::fs::remove_dir_all(&git).unwrap();
        std::fs::write(&git, "nonsense").unwrap();
        assert!(runs_programs(top), "a link file that leads nowhere");
    }
}
