use super::*;
use crate::Content;
use std::path::PathBuf;

fn target() -> Target {
    Target { given: PathBuf::from("/p.png"), real: PathBuf::from("/p.png"), write: false }
}

fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    DynamicImage::new_rgba8(width, height).write_to(&mut bytes, ImageFormat::Png).unwrap();
    bytes.into_inner()
}

#[test]
fn a_small_picture_is_sent_as_it_is() {
    let bytes = png(3, 2);
    assert_eq!(Media::sniff(&bytes), Some(Media::Png));
    let outcome = read(&bytes, Media::Png, &target()).unwrap();
    let base64 = STANDARD.encode(&bytes);
    assert_eq!(outcome.content, Content::Blocks(vec![block("image/png", &base64)]));
    assert_eq!(
        outcome.structured,
        json!({"type":"image","file":{"base64":base64,"type":"image/png","originalSize":bytes.len(),
            "dimensions":{"originalWidth":3,"originalHeight":2,"displayWidth":3,"displayHeight":2}}})
    );
}

#[test]
fn a_wide_picture_is_made_smaller() {
    let outcome = read(&png(4000, 10), Media::Png, &target()).unwrap();
    let shown = &outcome.structured["file"]["dimensions"];
    assert_eq!((shown["displayWidth"].as_u64(), shown["displayHeight"].as_u64()), (Some(2000), Some(5)));
}

#[test]
fn a_broken_picture_is_an_error() {
    let mut bytes = png(3, 2);
    bytes.truncate(20);
    let error = read(&bytes, Media::Png, &target()).unwrap_err();
    assert!(error.contains("/p.png is not a readable image/png"), "{error}");
}

#[test]
fn media_by_magic_bytes() {
    for (head, media) in [
        (&b"\xff\xd8\xff\xe0"[..], Some(Media::Jpeg)),
        (b"GIF89a..", Some(Media::Gif)),
        (b"RIFF\0\0\0\0WEBPVP8 ", Some(Media::Webp)),
        (b"RIFF\0\0\0\0WAVEfmt ", None),
        (b"RIFF", None),
        (b"", None),
    ] {
        assert_eq!(Media::sniff(head), media, "{head:?}");
    }
}

fn chunk(kind: [u8; 4], data: &[u8]) -> Vec<u8> {
    let mut body = kind.to_vec();
    body.extend_from_slice(data);
    let mut crc = u32::MAX;
    for byte in &body {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let length = u32::try_from(data.len()).unwrap().to_be_bytes();
    [&length[..], &body, &(!crc).to_be_bytes()].concat()
}

fn png_header(width: u32, height: u32, depth: u8, colour: u8, animated: bool) -> Vec<u8> {
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[depth, colour, 0, 0, 0]].concat();
    let frames = if animated { chunk(*b"acTL", &[0, 0, 0, 9, 0, 0, 0, 0]) } else { Vec::new() };
    let palette = if colour == 3 { chunk(*b"PLTE", &[0; 6]) } else { Vec::new() };
    // An empty zlib stream: whoever decodes it has allocated before.
    let data = chunk(*b"IDAT", &[0x78, 0x9c, 0x03, 0, 0, 0, 0, 1]);
    [&b"\x89PNG\r\n\x1a\n"[..], &chunk(*b"IHDR", &header), &frames, &palette, &data, &chunk(*b"IEND", &[])].concat()
}

fn gif_header(width: u16, height: u16) -> Vec<u8> {
    let size = [width.to_le_bytes(), height.to_le_bytes()].concat();
    let frame = [&b",\0\0\0\0"[..], &size, &[0, 2, 2, 0x4c, 1, 0]].concat();
    [&b"GIF89a"[..], &size, &[0x80, 0, 0, 0, 0, 0, 255, 255, 255], &frame, &frame, b";"].concat()
}

fn jpeg_header(width: u16, height: u16) -> Vec<u8> {
    let (width, height) = (width.to_be_bytes(), height.to_be_bytes());
    let start = [&[0xff, 0xc0, 0, 11, 8][..], &height, &width, &[1, 1, 0x11, 0]].concat();
    let scan = [0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0, 0, 0xff, 0xd9];
    [&[0xff, 0xd8][..], &start, &scan].concat()
}

fn webp_header(width: u32, height: u32, animated: bool) -> Vec<u8> {
    let size = [&(width - 1).to_le_bytes()[..3], &(height - 1).to_le_bytes()[..3]].concat();
    let flags = [if animated { 2 } else { 0 }, 0, 0, 0];
    let body = [&b"WEBPVP8X\x0a\0\0\0"[..], &flags, &size, b"ANIM\x06\0\0\0\0\0\0\0\0\0"].concat();
    let length = u32::try_from(body.len()).unwrap().to_le_bytes();
    [&b"RIFF"[..], &length, &body].concat()
}

/// The kernel's count of the most memory that this process ever had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

#[test]
fn a_picture_that_is_too_large_to_decode_is_refused_by_its_header() {
    let before = peak();
    for (name, bytes, media) in [
        ("1 bit", png_header(60_000, 60_000, 1, 0, false), Media::Png),
        ("1 bit, palette", png_header(60_000, 60_000, 1, 3, false), Media::Png),
        ("animated", png_header(30_000, 30_000, 8, 6, true), Media::Png),
        ("16 bit", png_header(7_000, 6_000, 16, 6, false), Media::Png),
        ("one long line", png_header(200_000_000, 1, 1, 0, false), Media::Png),
        ("the largest number", png_header(0x7fff_ffff, 0x7fff_ffff, 1, 0, false), Media::Png),
        ("gif", gif_header(65_000, 65_000), Media::Gif),
        ("jpeg", jpeg_header(65_000, 65_000), Media::Jpeg),
        ("webp", webp_header(16_383, 16_383, false), Media::Webp),
        ("animated webp", webp_header(16_383, 16_383, true), Media::Webp),
    ] {
        assert_eq!(Media::sniff(&bytes), Some(media), "{name}");
        let error = read(&bytes, media, &target()).unwrap_err();
        assert!(error.contains("/p.png is"), "{name}: {error}");
    }
    let more = peak().saturating_sub(before);
    assert!(more < 200 * 1024 * 1024, "refusing took {more} bytes");
}
