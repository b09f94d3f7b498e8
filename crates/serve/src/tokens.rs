//! The two tokens, kept in files that only their owner can read, so that a restarted server knows its clients.

use crate::guard::Tokens;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Shorter ones can be guessed.
const TOKEN_MIN: usize = 16;
const TOKEN_MAX: u64 = 4096;

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("{} cannot be used for a token: {source}", file.display())]
    Io { file: PathBuf, source: io::Error },
    #[error("{} can be read by others; make it yours alone: chmod 600", .0.display())]
    Open(PathBuf),
    #[error("{} holds no token of at least {TOKEN_MIN} letters and digits", .0.display())]
    Weak(PathBuf),
}

/// The tokens of this folder: `token` and `read-token`, made where they are missing, or anew.
pub fn load_tokens(folder: &Path, renew: bool) -> Result<Tokens, TokenError> {
    let failed = |source| TokenError::Io { file: folder.to_owned(), source };
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let one = |name: &str| {
        let file = folder.join(name);
        if renew
            && let Err(source) = std::fs::remove_file(&file)
            && source.kind() != io::ErrorKind::NotFound
        {
            return Err(TokenError::Io { file, source });
        }
        load_or_make(&file)
    };
    Ok(Tokens { full: one("token")?, read: one("read-token")? })
}

fn load_or_make(file: &Path) -> Result<String, TokenError> {
    let failed = |source| TokenError::Io { file: file.to_owned(), source };
    let made = File::options().write(true).create_new(true).mode(0o600).open(file);
    match made {
        Ok(mut made) => {
            let token = fresh();
            writeln!(made, "{token}").map_err(failed)?;
            Ok(token)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => load(file),
        Err(error) => Err(failed(error)),
    }
}

fn load(path: &Path) -> Result<String, TokenError> {
    let failed = |source| TokenError::Io { file: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let data = file.metadata().map_err(failed)?;
    if !data.is_file() || data.permissions().mode() & 0o077 != 0 {
        return Err(TokenError::Open(path.to_owned()));
    }
    let mut text = String::new();
    file.take(TOKEN_MAX).read_to_string(&mut text).map_err(failed)?;
    let token = text.trim();
    // Anything else could not stand in a header or a cookie.
    let is_fine =
        token.len() >= TOKEN_MIN && token.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-');
    if is_fine { Ok(token.to_owned()) } else { Err(TokenError::Weak(path.to_owned())) }
}

/// Two random numbers: 244 bits that nobody guesses.
fn fresh() -> String {
    format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_made_once_kept_private_and_renewed_on_request() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("serve");
        let first = load_tokens(&folder, false).unwrap();
        assert!(first.full.len() == 64 && first.full != first.read);
        assert_eq!(load_tokens(&folder, false).unwrap(), first);
        let mode = std::fs::metadata(folder.join("token")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_ne!(load_tokens(&folder, true).unwrap(), first);
    }

    #[test]
    fn open_and_weak_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        std::fs::write(&file, "0123456789abcdef").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(load_tokens(dir.path(), false), Err(TokenError::Open(_))));
        for weak in ["", "short", "has a space in it, and is long"] {
            std::fs::write(&file, weak).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            assert!(matches!(load_tokens(dir.path(), false), Err(TokenError::Weak(_))), "{weak}");
        }
    }
}
