//! `ralph link [FOLDER]`: a `claude` that is us, on the PATH. Never overwrites one that is there.

use crate::failure::{Ended, Failure};
use crate::say;
use resolve::Environment;
use std::path::{Path, PathBuf};
use wire::ExitCode;

pub fn run(words: &[String], environment: &Environment) -> Ended {
    let folder = match words {
        [folder] if !folder.starts_with('-') => environment.cwd.join(folder),
        [_, ..] => return Err(Failure::form("usage: ralph link [FOLDER]")),
        [] => match default_folder(environment) {
            Some(folder) => folder,
            None => return fail("no home folder is known. Say where the link should be: ralph link FOLDER"),
        },
    };
    let link = folder.join("claude");
    match std::fs::read_link(&link) {
        Ok(target) if target == environment.exe => {
            let what = format!("{} is already a link to this binary.\n", link.display());
            return Ok(done(&what, environment, &folder, &link));
        }
        _ if link.symlink_metadata().is_ok() => {
            return fail(&format!(
                "{} exists and is not ours; it stays as it is. Choose another folder: ralph link FOLDER",
                link.display()
            ));
        }
        _ => {}
    }
    if let Err(error) =
        std::fs::create_dir_all(&folder).and_then(|()| std::os::unix::fs::symlink(&environment.exe, &link))
    {
        return fail(&format!("{} cannot be made: {error}", link.display()));
    }
    Ok(done(&format!("{} -> {}\n", link.display(), environment.exe.display()), environment, &folder, &link))
}

fn done(what: &str, environment: &Environment, folder: &Path, link: &Path) -> ExitCode {
    say::out(what);
    if let Some(hint) = hint(environment, folder, link) {
        say::out(&hint);
    }
    ExitCode::Success
}

fn fail(why: &str) -> Ended {
    Err(Failure::agent(format!("Error: {why}")))
}

fn default_folder(environment: &Environment) -> Option<PathBuf> {
    Some(environment.home.as_ref()?.join(".local/bin"))
}

/// What still stands between the link and its use.
fn hint(environment: &Environment, folder: &Path, link: &Path) -> Option<String> {
    let path = environment.get("PATH").unwrap_or_default();
    let mut folders = path.split(':').map(Path::new);
    if !folders.clone().any(|one| one == folder) {
        return Some(format!("{} is not on your PATH yet.\n", folder.display()));
    }
    let first = folders.find(|one| one.join("claude").exists())?;
    (first != folder).then(|| {
        format!(
            "Another claude comes first on your PATH: {}. Ours is {}.\n",
            first.join("claude").display(),
            link.display()
        )
    })
}
