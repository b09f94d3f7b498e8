use super::*;
use crate::testing::{Bench, text};
use proptest::prelude::*;
use serde_json::json;
use std::io::{Seek as _, SeekFrom, Write as _};

async fn read(bench: &Bench, name: &str) -> ToolOutcome {
    bench.call("Read", json!({"file_path": bench.path(name)})).await
}

#[tokio::test]
async fn captured_reads() {
    let bench = Bench::captured();
    std::fs::write(bench.root().join("empty"), "").unwrap();
    let path = bench.path("a.txt");
    let outcome = bench.call("Read", json!({"file_path": path, "offset": 2, "limit": 1})).await;
    assert_eq!(text(&outcome), "2\tsecond line");
    assert_eq!(
        outcome.structured,
        json!({"type":"text","file":{"filePath":path,"content":"second line","numLines":1,"startLine":2,"totalLines":4}})
    );
    let outcome = read(&bench, "a.txt").await;
    assert_eq!(text(&outcome), "1\thello world\n2\tsecond line\n3\tthird\n4\t");
    assert_eq!(
        outcome.structured,
        json!({"type":"text","file":{"filePath":path,"content":"hello world\nsecond line\nthird\n",
            "numLines":4,"startLine":1,"totalLines":4}})
    );
    let outcome = read(&bench, "empty").await;
    assert!(text(&outcome).contains("empty") && !outcome.is_error());
    assert_eq!(
        outcome.structured,
        json!({"type":"text","file":{"filePath":bench.path("empty"),"content":"","numLines":1,"startLine":1,"totalLines":1}})
    );
    for name in ["none.txt", "src", "a.txt/x"] {
        let outcome = read(&bench, name).await;
        assert!(outcome.is_error() && text(&outcome).contains(&bench.path(name)), "{outcome:?}");
    }
}

#[tokio::test]
async fn an_offset_past_the_end_is_told() {
    let bench = Bench::captured();
    let outcome = bench.call("Read", json!({"file_path": bench.path("a.txt"), "offset": 9})).await;
    assert!(!outcome.is_error() && text(&outcome).contains("4 lines"), "{outcome:?}");
    assert_eq!(outcome.structured["file"]["numLines"], 0);
}

#[tokio::test]
async fn a_long_file_is_shown_in_part_and_paged() {
    let content = "0123456789\n".repeat(20_000);
    let bench = Bench::new(&[("long", &content)]);
    let outcome = read(&bench, "long").await;
    let file = &outcome.structured["file"];
    let shown = file["numLines"].as_u64().unwrap();
    assert!(text(&outcome).contains("PARTIAL view: lines 1-") && text(&outcome).contains("offset"), "{file}");
    assert_eq!((file["truncatedByTokenCap"].as_bool(), file["totalLines"].as_u64()), (Some(true), Some(20_001)));
    assert!(text(&outcome).len() < 110_000 && shown > 1000);
    let outcome = bench.call("Read", json!({"file_path": bench.path("long"), "offset": 5, "limit": 19_000})).await;
    assert!(outcome.is_error() && text(&outcome).contains("limit"), "{outcome:?}");
    let outcome = bench.call("Read", json!({"file_path": bench.path("long"), "offset": 20_000, "limit": 9})).await;
    assert_eq!(text(&outcome), "20000\t0123456789\n20001\t");
}

#[tokio::test]
async fn encodings_that_announce_themselves_are_read() {
    let utf16 = |unit: fn(u16) -> [u8; 2]| "\u{feff}é\r\nx".encode_utf16().flat_map(unit).collect::<Vec<u8>>();
    let (little, big) = (utf16(u16::to_le_bytes), utf16(u16::to_be_bytes));
    let bench = Bench::bytes(&[
        ("bom", "\u{feff}é\r\nx".as_bytes()),
        ("little", &little),
        ("big", &big),
        ("latin", b"caf\xe9\nx"),
    ]);
    for (name, shown) in
        [("bom", "1\té\n2\tx"), ("little", "1\té\n2\tx"), ("big", "1\té\n2\tx"), ("latin", "1\tcaf\u{fffd}\n2\tx")]
    {
        assert_eq!(text(&read(&bench, name).await), shown, "{name}");
    }
}

#[tokio::test]
async fn binary_files_are_named_not_shown() {
    let bench = Bench::bytes(&[
        ("elf", b"\x7fELF\x02\x01\0\0"),
        ("zip", b"PK\x03\x04\0\0"),
        ("zstd", b"\x28\xb5\x2f\xfdabc"),
        ("raw", b"a\0b"),
    ]);
    for (name, kind) in [("elf", "ELF"), ("zip", "ZIP"), ("zstd", "zstd"), ("raw", "a binary file")] {
        let outcome = read(&bench, name).await;
        assert!(outcome.is_error() && text(&outcome).contains(kind), "{outcome:?}");
    }
}

/// Adversary 18: nothing a path can name makes Read hang or grow.
#[tokio::test]
async fn special_and_enormous_files_are_bounded() {
    let bench = Bench::new(&[]);
    let sparse = File::create(bench.root().join("sparse")).unwrap();
    sparse.set_len(5 << 30).unwrap();
    let mut late = File::create(bench.root().join("late")).unwrap();
    late.write_all(&b"text\n".repeat(4000)).unwrap();
    late.seek(SeekFrom::Start(5 << 30)).unwrap();
    late.write_all(b"end\n").unwrap();
    for path in ["sparse", "/dev/zero", "/dev/null", "/"] {
        let outcome = bench.call("Read", json!({"file_path": path})).await;
        assert!(outcome.is_error(), "{path}: {outcome:?}");
    }
    let outcome = read(&bench, "late").await;
    assert!(!outcome.is_error() && text(&outcome).len() < 200_000);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn files_without_a_size_are_read() {
    let bench = Bench::new(&[]);
    let outcome = bench.call("Read", json!({"file_path": "/proc/self/status"})).await;
    assert!(text(&outcome).starts_with("1\tName:"), "{outcome:?}");
}

#[tokio::test]
async fn an_unchanged_file_is_not_sent_twice() {
    let bench = Bench::captured();
    read(&bench, "a.txt").await;
    let again = read(&bench, "a.txt").await;
    assert_eq!(again.structured, json!({"type":"file_unchanged","file":{"filePath":bench.path("a.txt")}}));
    let other = bench.call("Read", json!({"file_path": bench.path("a.txt"), "limit": 1})).await;
    assert_eq!(other.structured["type"], "text");
    std::fs::write(bench.root().join("a.txt"), "new content, new length\n").unwrap();
    assert_eq!(read(&bench, "a.txt").await.structured["type"], "text");
    bench.ctx.reads.forget_answers();
    assert_eq!(read(&bench, "a.txt").await.structured["type"], "text");
}

#[tokio::test]
async fn a_picture_is_known_by_its_bytes() {
    let mut png = Cursor::new(Vec::new());
    image::DynamicImage::new_rgb8(2, 2).write_to(&mut png, image::ImageFormat::Png).unwrap();
    let bench = Bench::bytes(&[("picture.txt", png.get_ref())]);
    assert_eq!(read(&bench, "picture.txt").await.structured["type"], "image");
}

#[tokio::test]
async fn a_link_to_a_file_reads_the_file() {
    let bench = Bench::captured();
    std::os::unix::fs::symlink("a.txt", bench.root().join("link")).unwrap();
    let outcome = bench.call("Read", json!({"file_path": "link", "limit": "1"})).await;
    assert_eq!(text(&outcome), "1\thello world");
    assert_eq!(outcome.structured["file"]["filePath"], "link", "as it was given");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever bytes a file holds, Read answers.
    #[test]
    fn any_bytes_get_an_answer(magic in 0usize..7, bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let magics: [&[u8]; 7] = [b"", b"%PDF-1.4\n", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", b"\xff\xfe", b"RIFF\0\0\0\0WEBP"];
        let content = [magics[magic], &bytes].concat();
        let bench = Bench::bytes(&[("f", &content)]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let outcome = runtime.block_on(read(&bench, "f"));
        prop_assert!(outcome.is_error() || outcome.structured["type"].is_string());
    }
}
