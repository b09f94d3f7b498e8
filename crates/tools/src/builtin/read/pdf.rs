//! PDF files: short ones whole, long ones by page range, always as a document the model can see.
//!
//! Deliberately absent: rendering and text extraction. Models read the pages themselves.

use super::error::{PagesError, ReadError};
use crate::ToolOutcome;
use crate::workspace::Target;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lopdf::{Document, LoadOptions};
use serde_json::{Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// With base64 on top this stays under the API's request limit of 32 MB.
const MAX_SENT_BYTES: usize = 20 * 1024 * 1024;
/// Larger files may be read in part, if they fit in memory.
pub(crate) const MAX_BYTES: u64 = 100 * 1024 * 1024;
/// A longer document must be asked for by pages: each page costs the model thousands of tokens.
const MAX_WHOLE_PAGES: u32 = 10;
const MAX_PAGES: u32 = 20;
/// In error messages.
const KIND: &str = "PDF file";
/// One stream of a sane file stays far below; a decompression bomb fails here.
const MAX_STREAM_BYTES: usize = 64 * 1024 * 1024;

pub(super) fn read(bytes: &[u8], pages: Option<&str>, target: &Target) -> Result<ToolOutcome, ReadError> {
    // Parsers of hostile bytes may panic; that costs this call, not the run.
    catch_unwind(AssertUnwindSafe(|| extract(bytes, pages, target)))
        .unwrap_or_else(|_panicked| Err(ReadError::Broken { path: target.shown(), kind: KIND }))
}

fn extract(bytes: &[u8], pages: Option<&str>, target: &Target) -> Result<ToolOutcome, ReadError> {
    let path = target.shown();
    let options = LoadOptions { max_decompressed_size: Some(MAX_STREAM_BYTES), ..LoadOptions::default() };
    let mut document = Document::load_mem_with_options(bytes, options).map_err(|error| ReadError::Unreadable {
        path: path.clone(),
        kind: KIND,
        cause: error.to_string(),
    })?;
    if document.is_encrypted() {
        return Err(ReadError::Encrypted { path });
    }
    let total = document.get_pages().len() as u32;
    let Some(pages) = pages else {
        if total > MAX_WHOLE_PAGES {
            return Err(ReadError::TooManyPages { path, total, whole: MAX_WHOLE_PAGES, most: MAX_PAGES });
        }
        return sent(
            bytes,
            target,
            |base64| json!({"type": "pdf", "file": {"filePath": path, "base64": base64, "originalSize": bytes.len()}}),
        );
    };
    let (first, last) = parse_pages(pages, total).map_err(|cause| ReadError::Pages { path: path.clone(), cause })?;
    let others: Vec<u32> = (1..=total).filter(|page| !(first..=last).contains(page)).collect();
    document.delete_pages(&others);
    document.prune_objects();
    let mut part = Vec::new();
    document.save_to(&mut part).map_err(|error| {
        let cause = error.to_string();
        ReadError::NotCut { path: path.clone(), first, last, cause }
    })?;
    sent(&part, target, |_| {
        json!({"type": "parts", "file": {
            "filePath": path, "originalSize": bytes.len(), "count": last - first + 1,
            "firstPage": first, "lastPage": last, "totalPages": total,
        }})
    })
}

fn sent(bytes: &[u8], target: &Target, structured: impl FnOnce(&str) -> Value) -> Result<ToolOutcome, ReadError> {
    if bytes.len() > MAX_SENT_BYTES {
        return Err(ReadError::TooMuchPdf { path: target.shown(), bytes: bytes.len(), max: MAX_SENT_BYTES });
    }
    let base64 = STANDARD.encode(bytes);
    let structured = structured(&base64);
    let source = json!({"type": "base64", "media_type": "application/pdf", "data": base64});
    Ok(ToolOutcome::blocks(vec![json!({"type": "document", "source": source})], structured))
}

/// `3`, `1-5` or `4-` (to the end).
fn parse_pages(text: &str, total: u32) -> Result<(u32, u32), PagesError> {
    let page = |text: &str| text.trim().parse::<u32>().ok().filter(|&page| page > 0);
    let range = match text.split_once('-') {
        None => page(text).map(|only| (only, only)),
        Some((first, last)) if last.trim().is_empty() => page(first).map(|first| (first, total)),
        Some((first, last)) => page(first).zip(page(last)),
    };
    let (first, last) =
        range.filter(|(first, last)| first <= last).ok_or_else(|| PagesError::NoRange(text.to_owned()))?;
    if first > total {
        return Err(PagesError::PastEnd { page: first, total });
    }
    let last = last.min(total);
    if last - first >= MAX_PAGES {
        return Err(PagesError::TooMany { asked: last - first + 1, most: MAX_PAGES });
    }
    Ok((first, last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Content;
    use lopdf::{Object, dictionary};
    use std::path::PathBuf;

    fn pdf(pages: usize) -> Vec<u8> {
        let mut document = Document::with_version("1.5");
        let tree = document.new_object_id();
        let kids: Vec<Object> =
            (0..pages).map(|_| document.add_object(dictionary! {"Type" => "Page", "Parent" => tree}).into()).collect();
        let count = kids.len() as i64;
        document
            .objects
            .insert(tree, Object::Dictionary(dictionary! {"Type" => "Pages", "Kids" => kids, "Count" => count}));
        let catalog = document.add_object(dictionary! {"Type" => "Catalog", "Pages" => tree});
        document.trailer.set("Root", catalog);
        let mut bytes = Vec::new();
        document.save_to(&mut bytes).unwrap();
        bytes
    }

    fn target() -> Target {
        Target { given: PathBuf::from("/d.pdf"), real: PathBuf::from("/d.pdf"), write: false }
    }

    fn sent_pages(outcome: &ToolOutcome) -> usize {
        let Content::Blocks(blocks) = &outcome.content else { panic!("no blocks") };
        let data = blocks[0]["source"]["data"].as_str().unwrap();
        Document::load_mem(&STANDARD.decode(data).unwrap()).unwrap().get_pages().len()
    }

    #[test]
    fn a_short_document_goes_whole() {
        let outcome = read(&pdf(3), None, &target()).unwrap();
        assert_eq!(outcome.structured["type"], "pdf");
        assert_eq!(sent_pages(&outcome), 3);
    }

    #[test]
    fn a_long_document_goes_by_pages() {
        let bytes = pdf(12);
        assert!(read(&bytes, None, &target()).unwrap_err().to_string().contains("12 pages"));
        let outcome = read(&bytes, Some("2-5"), &target()).unwrap();
        assert_eq!((outcome.structured["type"].as_str(), sent_pages(&outcome)), (Some("parts"), 4));
    }

    #[test]
    fn page_ranges() {
        for (text, range) in [("3", (3, 3)), (" 1-5 ", (1, 5)), ("4-", (4, 12)), ("11-99", (11, 12))] {
            assert_eq!(parse_pages(text, 12), Ok(range), "{text}");
        }
        for text in ["", "0", "a", "5-1", "-3", "1-2-3", "13", "1,2"] {
            assert!(parse_pages(text, 12).is_err(), "{text}");
        }
        assert!(parse_pages("1-21", 99).is_err());
        assert!(parse_pages("1-20", 99).is_ok());
    }

    #[test]
    fn garbage_is_an_error() {
        for bytes in [&b"%PDF-"[..], b"%PDF-1.7\n1 0 obj\n<<", b"%PDF-1.4\nxref\n0 99999999\ntrailer<</Size 1>>"] {
            assert!(read(bytes, None, &target()).is_err());
        }
    }
}
