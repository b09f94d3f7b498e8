use super::*;
use proptest::prelude::*;

const END: &[u8] = b"PK\x05\x06";
const ENTRY: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";

const STORED: u16 = 0;
const DEFLATED: u16 = 8;
const ENCRYPTED: u16 = 1;

/// What a writer of archives may choose for one file.
struct Packed<'a> {
    name: &'a str,
    content: &'a [u8],
    method: u16,
    mode: u32,
    flags: u16,
}

impl<'a> Packed<'a> {
    fn new(name: &'a str, content: &'a [u8]) -> Self {
        Self { name, content, method: DEFLATED, mode: 0o100_644, flags: 0 }
    }
}

/// Writes an archive as the usual programs do.
fn zip(files: &[Packed<'_>]) -> Vec<u8> {
    let (mut out, mut table) = (Vec::new(), Vec::new());
    for file in files {
        let data = if file.method == DEFLATED {
            miniz_oxide::deflate::compress_to_vec(file.content, 6)
        } else {
            file.content.to_vec()
        };
        let start = u32::try_from(out.len()).unwrap();
        let mut facts = Vec::new();
        for number in [file.flags, file.method, 0, 0] {
            facts.extend(number.to_le_bytes());
        }
        for number in [
            crc32fast::hash(file.content),
            u32::try_from(data.len()).unwrap(),
            u32::try_from(file.content.len()).unwrap(),
        ] {
            facts.extend(number.to_le_bytes());
        }
        facts.extend(u16::try_from(file.name.len()).unwrap().to_le_bytes());
        out.extend([LOCAL, &[20, 0], &facts, &[0, 0], file.name.as_bytes(), &data].concat());
        let place = [&[0; 6][..], &(file.mode << 16).to_le_bytes(), &start.to_le_bytes()].concat();
        table.extend([ENTRY, &[20, 3, 20, 0], &facts, &[0, 0], &place, file.name.as_bytes()].concat());
    }
    let (count, at) = (u16::try_from(files.len()).unwrap(), u32::try_from(out.len()).unwrap());
    let size = u32::try_from(table.len()).unwrap();
    out.extend(table);
    let counts = [count.to_le_bytes(), count.to_le_bytes()].concat();
    out.extend([END, &[0; 4], &counts, &size.to_le_bytes(), &at.to_le_bytes(), &[0, 0]].concat());
    out
}

#[test]
fn files_come_out_as_they_went_in() {
    let long = b"brick ".repeat(10_000);
    let archive = zip(&[
        Packed::new("kit/", b""),
        Packed::new("kit/./a.txt", b"hello"),
        Packed { method: STORED, mode: 0o100_755, ..Packed::new("kit/bin/run", b"#!/bin/sh\n") },
        Packed::new("kit/long", &long),
        Packed::new("kit/empty", b""),
    ]);
    for archive in [archive.clone(), [&archive[..], b"a comment behind its end"].concat()] {
        let files = read(&archive).unwrap();
        let told: Vec<(&str, usize, bool)> =
            files.iter().map(|file| (file.path.to_str().unwrap(), file.content.len(), file.is_program)).collect();
        let expected = [
            ("kit/a.txt", 5, false),
            ("kit/bin/run", 10, true),
            ("kit/long", long.len(), false),
            ("kit/empty", 0, false),
        ];
        assert_eq!(told, expected);
    }
}

#[test]
fn what_would_leave_its_folder_or_cannot_be_read_is_refused() {
    for name in ["../x", "/etc/x", "a/../../x", "a\\..\\x", "", "a\0b", ".."] {
        let error = read(&zip(&[Packed::new(name, b"x")])).unwrap_err().to_string();
        assert!(error.contains("leads out"), "{name:?}: {error}");
    }
    for (file, words) in [
        (Packed { mode: 0o120_777, ..Packed::new("l", b"/etc/passwd") }, "is a link"),
        (Packed { flags: ENCRYPTED, ..Packed::new("l", b"x") }, "is encrypted"),
        (Packed { method: 14, ..Packed::new("l", b"x") }, "not known"),
    ] {
        let error = read(&zip(&[file])).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
    for second in ["./a", "a"] {
        let error = read(&zip(&[Packed::new("a", b"1"), Packed::new(second, b"2")])).unwrap_err();
        assert_eq!(error, ArchiveError::Twice("a".into()));
    }
    for archive in [&b""[..], b"PK", b"no archive at all, but long enough to hold the end of one"] {
        assert_eq!(read(archive), Err(ArchiveError::NotAnArchive));
    }
}

#[test]
fn a_changed_byte_is_noticed() {
    let archive = zip(&[Packed { method: STORED, ..Packed::new("a", b"hello") }]);
    let at = archive.windows(5).position(|bytes| bytes == b"hello").unwrap();
    let mut changed = archive;
    changed[at] = b'j';
    assert_eq!(read(&changed), Err(ArchiveError::DamagedFile("a".into())));
}

/// A claim of size is no reason to take so much memory, and a lie about it is noticed.
#[test]
fn a_bomb_is_not_unpacked() {
    let content = vec![0; 1024 * 1024];
    let archive = zip(&[Packed::new("a", &content)]);
    let at = archive.windows(4).position(|bytes| bytes == ENTRY).unwrap();
    for (size, words) in [(u32::MAX, "larger than"), (10, "is damaged")] {
        let mut lying = archive.clone();
        lying[at + 24..at + 28].copy_from_slice(&size.to_le_bytes());
        let error = read(&lying).unwrap_err().to_string();
        assert!(error.contains(words), "{size}: {error}");
    }
}

#[test]
fn more_files_than_a_plugin_has_are_refused_before_they_are_read() {
    let names: Vec<String> = (0..=FILES_MAX).map(|number| number.to_string()).collect();
    let files: Vec<Packed<'_>> = names.iter().map(|name| Packed { method: STORED, ..Packed::new(name, b"") }).collect();
    assert_eq!(read(&zip(&files)), Err(ArchiveError::TooManyFiles));
}

proptest! {
    #[test]
    fn nothing_makes_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in any::<prop::sample::Index>()) {
        let _ = read(&bytes);
        bytes.extend(zip(&[Packed::new("a/b", b"hello hello hello")]));
        let _ = read(&bytes);
        let at = cut.index(bytes.len());
        bytes[at] ^= 0x55;
        let _ = read(&bytes);
    }
}
