//! Reading a tar archive of files and folders: what `upload-batch` takes. Links and devices are refused, and so is an
//! archive that ends in the middle.

use std::path::{Component, Path, PathBuf};

const BLOCK: usize = 512;
/// Files and folders of one archive.
const ENTRIES_MAX: usize = 10_000;

#[derive(Debug, PartialEq, Eq)]
pub struct TarEntry<'a> {
    /// Relative, without dots.
    pub path: PathBuf,
    /// `None` for a folder.
    pub bytes: Option<&'a [u8]>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TarError {
    #[error("the archive is damaged at byte {0}")]
    Damaged(usize),
    #[error("'{0}' in the archive leaves the folder")]
    Outside(String),
    #[error("'{0}' in the archive is no file and no folder")]
    Kind(String),
    #[error("the archive has more than {ENTRIES_MAX} entries")]
    Many,
}

/// All entries, or the first reason why there are none.
pub fn entries(archive: &[u8]) -> Result<Vec<TarEntry<'_>>, TarError> {
    let mut found = Vec::new();
    let mut at = 0;
    let mut long_name: Option<String> = None;
    while let Some(header) = archive.get(at..at + BLOCK) {
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        if found.len() >= ENTRIES_MAX {
            return Err(TarError::Many);
        }
        let size = checked(header).ok_or(TarError::Damaged(at))?;
        let body = archive.get(at + BLOCK..).and_then(|rest| rest.get(..size)).ok_or(TarError::Damaged(at))?;
        let next = at + BLOCK + size.div_ceil(BLOCK) * BLOCK;
        match header[156] {
            // GNU and POSIX long names stand before the entry that they name.
            b'L' => long_name = Some(text(body)),
            b'x' => long_name = pax_path(body).or(long_name),
            b'g' => {}
            kind => {
                let name = long_name.take().unwrap_or_else(|| named(header));
                let path = relative(&name).ok_or_else(|| TarError::Outside(name.clone()))?;
                match kind {
                    b'0' | 0 => found.push(TarEntry { path, bytes: Some(body) }),
                    b'5' => found.push(TarEntry { path, bytes: None }),
                    _ => return Err(TarError::Kind(name)),
                }
            }
        }
        at = next;
    }
    Ok(found)
}

/// The size of the body, where the header's sum is right.
fn checked(header: &[u8]) -> Option<usize> {
    let sum: u64 =
        header.iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u64::from(*byte) }).sum();
    (octal(&header[148..156])? == sum).then_some(())?;
    usize::try_from(octal(&header[124..136])?).ok()
}

fn octal(field: &[u8]) -> Option<u64> {
    let digits = text(field);
    u64::from_str_radix(digits.trim(), 8).ok()
}

fn text(field: &[u8]) -> String {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    String::from_utf8_lossy(&field[..end]).into_owned()
}

fn named(header: &[u8]) -> String {
    let (name, prefix) = (text(&header[..100]), text(&header[345..500]));
    let is_ustar = &header[257..262] == b"ustar";
    if is_ustar && !prefix.is_empty() { format!("{prefix}/{name}") } else { name }
}

/// The `path` record of an extended header: `LENGTH path=VALUE\n`.
fn pax_path(body: &[u8]) -> Option<String> {
    let records = String::from_utf8_lossy(body).into_owned();
    let mut paths = records.lines().filter_map(|line| Some(line.split_once(' ')?.1.strip_prefix("path=")?.to_owned()));
    paths.next()
}

fn relative(name: &str) -> Option<PathBuf> {
    let mut path = PathBuf::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => path.push(part),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!name.contains('\0')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: u8, body: &[u8]) -> Vec<u8> {
        let mut header = vec![0; BLOCK];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[100..107].copy_from_slice(b"0000644");
        header[124..135].copy_from_slice(format!("{:011o}", body.len()).as_bytes());
        header[156] = kind;
        header[148..156].copy_from_slice(b"        ");
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        header.extend(body);
        header.resize(header.len().div_ceil(BLOCK) * BLOCK, 0);
        header
    }

    #[test]
    fn files_and_folders_are_read() {
        let archive = [entry("src/", b'5', b""), entry("./src/a.txt", b'0', b"hello"), vec![0; 1024]].concat();
        let found = entries(&archive).unwrap();
        assert_eq!(found[0], TarEntry { path: "src".into(), bytes: None });
        assert_eq!(found[1], TarEntry { path: "src/a.txt".into(), bytes: Some(b"hello") });
    }

    #[test]
    fn what_leaves_the_folder_or_is_no_file_is_refused() {
        for name in ["../x", "/etc/passwd", "a/../../x"] {
            assert_eq!(entries(&entry(name, b'0', b"x")), Err(TarError::Outside(name.into())));
        }
        for kind in [b'1', b'2', b'3', b'6'] {
            assert_eq!(entries(&entry("x", kind, b"")), Err(TarError::Kind("x".into())));
        }
        let long = [entry("././@LongLink", b'L', b"../out\0"), entry("x", b'0', b"x")].concat();
        assert_eq!(entries(&long), Err(TarError::Outside("../out".into())));
    }

    #[test]
    fn a_damaged_archive_is_an_error_and_never_a_panic() {
        let whole = entry("a.txt", b'0', &[7; 700]);
        for cut in BLOCK..whole.len() {
            let _ = entries(&whole[..cut]);
        }
        assert_eq!(entries(&whole[..BLOCK + 100]), Err(TarError::Damaged(0)));
        let mut wrong = whole.clone();
        wrong[0] ^= 1;
        assert_eq!(entries(&wrong), Err(TarError::Damaged(0)));
    }
}
