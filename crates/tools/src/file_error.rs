//! Failed file operations as sentences a model can act on.

use crate::workspace::{Target, Workspace};
use std::io::{Error, ErrorKind};

pub(crate) fn opening(target: &Target, error: &Error, workspace: &Workspace) -> String {
    let path = target.shown();
    match error.kind() {
        ErrorKind::NotFound => {
            format!(
                "File does not exist: {path}. The working folder is {}; Glob can find the file by name.",
                workspace.cwd().display()
            )
        }
        ErrorKind::PermissionDenied => {
            format!("No permission to open {path}: its owner or mode keeps this user out. `ls -l` in Bash shows both.")
        }
        ErrorKind::NotADirectory => {
            format!("{path} does not exist: a part of the path before the last is a file, not a folder.")
        }
        _ => format!("Cannot open {path}: {error}."),
    }
}

pub(crate) fn is_folder(target: &Target) -> String {
    format!("{} is a directory, not a file. Use Glob, or ls in Bash, to see what is in it.", target.shown())
}

pub(crate) fn reading(target: &Target, error: &Error) -> String {
    format!("Reading {} failed: {error}.", target.shown())
}

pub(crate) fn writing(target: &Target, error: &Error) -> String {
    let path = target.shown();
    match error.kind() {
        ErrorKind::AlreadyExists => {
            format!("{path} was not written: something else created it at this very moment. Read it, then decide.")
        }
        ErrorKind::PermissionDenied => {
            format!("No permission to write {path}. `ls -ld` on it and its folder in Bash shows owner and mode.")
        }
        ErrorKind::StorageFull => format!("{path} was not written: the disk is full. The old content is untouched."),
        _ => format!("{path} was not written: {error}."),
    }
}
