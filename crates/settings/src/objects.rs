//! Commits in a repository's object store, read from its files: loose, packed and borrowed ones.
//!
//! Enough to find the first commit of a history when a folder is trusted, and to ask at every start whether that
//! commit is there. Deliberately absent: trees, blobs, checking hashes. Whoever can plant a commit of a known name
//! can also fork the repository that has it.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::files;

/// A reference is a name or a hash; `packed-refs` of a large project has some 100,000 lines.
const REFERENCE_MAX: u64 = 4 * 1024;
const PACKED_REFS_MAX: u64 = 64 * 1024 * 1024;
/// A commit is a few hundred bytes; one with a novel for a message ends the walk.
const COMMIT_MAX: usize = 1024 * 1024;
const COMMIT_USUAL: usize = 4 * 1024;
/// Symbolic references and borrowed object stores that lead on for longer lead nowhere.
const LINKS_MAX: usize = 5;
/// Deltas of commits; git itself makes at most 50 in a row.
const DELTAS_MAX: usize = 64;
/// A person waits while a folder is trusted. A longer history is known by the oldest commit reached until then.
const WALK_MAX: Duration = Duration::from_secs(5);

const COMMIT: u8 = 1;
const OFFSET_DELTA: u8 = 6;
const REFERENCE_DELTA: u8 = 7;

/// The oldest commit along first parents from `HEAD`; `None` where there is no commit yet.
pub(crate) fn first_commit(git_dir: &Path) -> Option<String> {
    let common = common_dir(git_dir);
    let mut id = head(git_dir, &common)?;
    let store = Store::open(&common);
    let started = Instant::now();
    while started.elapsed() < WALK_MAX {
        match store.commit(&id, 0).and_then(|commit| parent(&commit)) {
            Some(parent) if store.has(&parent) => id = parent,
            _ => break,
        }
    }
    store.has(&id).then_some(id)
}

pub(crate) fn has_commit(git_dir: &Path, id: &str) -> bool {
    is_id(id) && Store::open(&common_dir(git_dir)).has(id)
}

/// A linked worktree of a bare repository has a `HEAD` of its own and shares the rest.
fn common_dir(git_dir: &Path) -> PathBuf {
    match files::read_text(&git_dir.join("commondir"), REFERENCE_MAX) {
        Ok(Some(written)) => git_dir.join(written.trim()),
        _ => git_dir.to_owned(),
    }
}

pub(crate) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn parent(commit: &[u8]) -> Option<String> {
    let mut header = commit.split(|byte| *byte == b'\n').take_while(|line| !line.is_empty());
    let id = header.find_map(|line| line.strip_prefix(b"parent "))?;
    std::str::from_utf8(id).ok().filter(|id| is_id(id)).map(str::to_owned)
}

fn head(git_dir: &Path, common: &Path) -> Option<String> {
    let mut text = files::read_text(&git_dir.join("HEAD"), REFERENCE_MAX).ok()??;
    for _ in 0..LINKS_MAX {
        let Some(name) = text.trim().strip_prefix("ref:").map(str::trim) else {
            return Some(text.trim().to_owned()).filter(|id| is_id(id));
        };
        let is_plain = name.starts_with("refs/") && !name.split('/').any(|part| matches!(part, "" | "." | ".."));
        let name = Some(name).filter(|_| is_plain)?.to_owned();
        match files::read_text(&common.join(&name), REFERENCE_MAX) {
            Ok(Some(next)) => text = next,
            _ => return packed_reference(common, &name),
        }
    }
    None
}

fn packed_reference(git_dir: &Path, name: &str) -> Option<String> {
    let text = files::read_text(&git_dir.join("packed-refs"), PACKED_REFS_MAX).ok()??;
    let found = text.lines().filter_map(|line| line.split_once(' ')).find(|(_, known)| known.trim() == name)?;
    Some(found.0.to_owned()).filter(|id| is_id(id))
}

struct Store {
    folders: Vec<PathBuf>,
    packs: Vec<Pack>,
}

impl Store {
    fn open(git_dir: &Path) -> Self {
        let mut folders = vec![git_dir.join("objects")];
        for at in 0..LINKS_MAX {
            let Some(folder) = folders.get(at) else { break };
            let borrowed = files::read_text(&folder.join("info/alternates"), REFERENCE_MAX).ok().flatten();
            let paths = borrowed.iter().flat_map(|text| text.lines()).filter(|line| !line.is_empty());
            let paths: Vec<PathBuf> = paths.map(|line| folder.join(line)).collect();
            folders.extend(paths);
        }
        let indexes = folders.iter().filter_map(|folder| folder.join("pack").read_dir().ok()).flatten().flatten();
        let packs = indexes.filter_map(|entry| Pack::open(&entry.path())).collect();
        Self { folders, packs }
    }

    fn has(&self, id: &str) -> bool {
        self.loose(id).any(|file| file.is_file()) || self.packs.iter().any(|pack| pack.offset(id).is_some())
    }

    fn loose(&self, id: &str) -> impl Iterator<Item = PathBuf> {
        let name = format!("{}/{}", &id[..2], &id[2..]);
        self.folders.iter().map(move |folder| folder.join(&name))
    }

    /// The text of a commit; `None` where it is missing or something else.
    fn commit(&self, id: &str, deltas: usize) -> Option<Vec<u8>> {
        for file in self.loose(id) {
            if let Ok(Some(packed)) = files::read(&file, COMMIT_MAX as u64) {
                let text = inflate(&packed)?;
                let end = text.iter().position(|byte| *byte == 0)?;
                return text.starts_with(b"commit ").then(|| text[end + 1..].to_vec());
            }
        }
        self.packs.iter().find_map(|pack| pack.object(pack.offset(id)?, self, deltas))
    }
}

/// One pack and its index, of the second version (since 2007 the only one that is written).
struct Pack {
    index: File,
    data: File,
    count: u32,
    length: u64,
}

impl Pack {
    fn open(path: &Path) -> Option<Self> {
        if path.extension()? != "idx" {
            return None;
        }
        let (index, data) = (File::open(path).ok()?, File::open(path.with_extension("pack")).ok()?);
        let mut head = [0; 8];
        index.read_exact_at(&mut head, 0).ok()?;
        let length = index.metadata().ok()?.len();
        let read = Self { index, data, count: 0, length };
        let count = read.word(8 + 255 * 4)?;
        (head == *b"\xfftOc\0\0\0\x02").then_some(Self { count, ..read })
    }

    fn word(&self, at: u64) -> Option<u32> {
        let mut word = [0; 4];
        self.index.read_exact_at(&mut word, at).ok()?;
        Some(u32::from_be_bytes(word))
    }

    /// The names are sorted, and a table of 256 numbers says where those with one first byte end.
    fn offset(&self, id: &str) -> Option<u64> {
        let wanted = bytes(id)?;
        let size = wanted.len() as u64;
        let count = u64::from(self.count);
        let names = 8 + 256 * 4;
        // Names of another length would be read as something else.
        if self.length < names + count * (size + 8) {
            return None;
        }
        let first = u64::from(*wanted.first()?);
        let mut low = if first == 0 { 0 } else { u64::from(self.word(8 + (first - 1) * 4)?) };
        let mut high = u64::from(self.word(8 + first * 4)?).min(count);
        let mut name = vec![0; wanted.len()];
        while low < high {
            let middle = low.midpoint(high);
            self.index.read_exact_at(&mut name, names + middle * size).ok()?;
            match name.cmp(&wanted) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return self.place(names + count * (size + 4), count, middle),
            }
        }
        None
    }

    fn place(&self, offsets: u64, count: u64, nth: u64) -> Option<u64> {
        let short = self.word(offsets + nth * 4)?;
        if short & 0x8000_0000 == 0 {
            return Some(u64::from(short));
        }
        let mut long = [0; 8];
        let at = offsets + count * 4 + u64::from(short & 0x7fff_ffff) * 8;
        self.index.read_exact_at(&mut long, at).ok()?;
        Some(u64::from_be_bytes(long))
    }

    fn object(&self, at: u64, store: &Store, deltas: usize) -> Option<Vec<u8>> {
        // How long it is packed is not written down: most are short, and the rest of a read is its neighbours.
        [COMMIT_USUAL, COMMIT_MAX].into_iter().find_map(|most| self.object_within(at, most, store, deltas))
    }

    fn object_within(&self, at: u64, most: usize, store: &Store, deltas: usize) -> Option<Vec<u8>> {
        if deltas > DELTAS_MAX {
            return None;
        }
        let mut packed = vec![0; most];
        let mut filled = 0;
        while filled < most {
            match self.data.read_at(&mut packed[filled..], at + filled as u64).ok()? {
                0 => break,
                count => filled += count,
            }
        }
        let mut rest = packed[..filled].iter();
        let first = *rest.next()?;
        let mut byte = first;
        while byte & 0x80 != 0 {
            byte = *rest.next()?;
        }
        match (first >> 4) & 7 {
            COMMIT => inflate(rest.as_slice()),
            OFFSET_DELTA => {
                let mut byte = *rest.next()?;
                let mut back = u64::from(byte & 0x7f);
                while byte & 0x80 != 0 {
                    byte = *rest.next()?;
                    back = (back.checked_add(1)?.checked_mul(128)?) | u64::from(byte & 0x7f);
                }
                let base = self.object(at.checked_sub(back).filter(|_| back > 0)?, store, deltas + 1)?;
                apply_delta(&base, &inflate(rest.as_slice())?)
            }
            // The name of the base is as long as all names here; those of SHA-1 are all that such packs had.
            REFERENCE_DELTA => {
                let (name, delta) = rest.as_slice().split_at_checked(20)?;
                let id: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
                apply_delta(&store.commit(&id, deltas + 1)?, &inflate(delta)?)
            }
            _ => None,
        }
    }
}

fn inflate(packed: &[u8]) -> Option<Vec<u8>> {
    miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, COMMIT_MAX).ok()
}

/// A delta: two lengths, then copies from the base and new bytes.
fn apply_delta(base: &[u8], delta: &[u8]) -> Option<Vec<u8>> {
    let mut rest = delta.iter();
    for _ in 0..2 {
        while *rest.next()? & 0x80 != 0 {}
    }
    let mut text = Vec::new();
    while let Some(&step) = rest.next() {
        if step & 0x80 == 0 {
            let (new, later) = rest.as_slice().split_at_checked(usize::from(step)).filter(|_| step > 0)?;
            text.extend_from_slice(new);
            rest = later.iter();
        } else {
            let mut number = |bits: std::ops::Range<u32>| -> Option<usize> {
                let mut value = 0;
                for (nth, bit) in bits.enumerate() {
                    if step & (1 << bit) != 0 {
                        value |= usize::from(*rest.next()?) << (8 * nth);
                    }
                }
                Some(value)
            };
            let start = number(0..4)?;
            let length = match number(4..7)? {
                0 => 0x10000,
                length => length,
            };
            text.extend_from_slice(base.get(start..start.checked_add(length)?)?);
        }
        if text.len() > COMMIT_MAX {
            return None;
        }
    }
    Some(text)
}

fn bytes(id: &str) -> Option<Vec<u8>> {
    let pairs = id.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).ok());
    pairs.map(|pair| u8::from_str_radix(pair?, 16).ok()).collect()
}

#[cfg(test)]
#[path = "objects_tests.rs"]
mod tests;
