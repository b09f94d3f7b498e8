//! Pictures for the model: sent as they are when small enough, made smaller otherwise.

use super::error::ReadError;
use crate::ToolOutcome;
use crate::workspace::Target;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use image::codecs::jpeg::JpegEncoder;
use image::error::{LimitError, LimitErrorKind};
use image::{DynamicImage, ImageDecoder as _, ImageError, ImageFormat, ImageReader, Limits, RgbaImage, imageops};
use serde_json::{Value, json};
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// No camera or screenshot comes near; what does is not meant to be looked at.
pub(crate) const MAX_BYTES: u64 = 32 * 1024 * 1024;
/// Models scale larger pictures down themselves, and refuse them when there are many in a conversation.
const MAX_EDGE: u32 = 2000;
/// Above this a picture is sent as JPEG, so that a conversation with many stays under the request limit.
const MAX_PLAIN_BYTES: usize = 500 * 1024;
/// A picture of 40 megapixels decoded takes 160 MB. What its header says is held against this before anything is
/// decoded: a file of 400 KB can say 60,000 × 60,000, and in one bit a dot it takes 3.6 GB.
const MAX_DECODED_BYTES: u64 = 256 * 1024 * 1024;
/// Bytes of a decoded dot: four channels. Decoders of some formats use as much for a picture of one bit a dot.
const DOT_BYTES: u64 = 4;
const JPEG_QUALITY: u8 = 80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    Png,
    Jpeg,
    Gif,
    Webp,
}

impl Media {
    pub(crate) fn sniff(head: &[u8]) -> Option<Self> {
        if head.starts_with(b"\x89PNG\r\n\x1a\n") {
            Some(Self::Png)
        } else if head.starts_with(b"\xff\xd8\xff") {
            Some(Self::Jpeg)
        } else if head.starts_with(b"GIF87a") || head.starts_with(b"GIF89a") {
            Some(Self::Gif)
        } else if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
            Some(Self::Webp)
        } else {
            None
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Webp => "image/webp",
        }
    }

    fn format(self) -> ImageFormat {
        match self {
            Self::Png => ImageFormat::Png,
            Self::Jpeg => ImageFormat::Jpeg,
            Self::Gif => ImageFormat::Gif,
            Self::Webp => ImageFormat::WebP,
        }
    }
}

pub(super) fn read(bytes: &[u8], media: Media, target: &Target) -> Result<ToolOutcome, ReadError> {
    let (path, kind) = (target.shown(), media.name());
    // Decoders of hostile bytes may panic; that costs this call, not the run.
    let shown = catch_unwind(AssertUnwindSafe(|| fit(bytes, media)));
    let picture = match shown {
        Ok(Ok(picture)) => picture,
        Ok(Err(error)) => return Err(ReadError::Unreadable { path, kind, cause: error.to_string() }),
        Err(_panicked) => return Err(ReadError::Broken { path, kind }),
    };
    let base64 = STANDARD.encode(&picture.bytes);
    let name = picture.media.name();
    let block = block(name, &base64);
    let structured = json!({
        "type": "image",
        "file": {
            "base64": base64,
            "type": name,
            "originalSize": bytes.len(),
            "dimensions": {
                "originalWidth": picture.original.0,
                "originalHeight": picture.original.1,
                "displayWidth": picture.shown.0,
                "displayHeight": picture.shown.1,
            },
        },
    });
    Ok(ToolOutcome::blocks(vec![block], structured))
}

pub(crate) fn block(media_type: &str, base64: &str) -> Value {
    json!({"type": "image", "source": {"type": "base64", "media_type": media_type, "data": base64}})
}

struct Picture {
    bytes: Vec<u8>,
    media: Media,
    original: (u32, u32),
    shown: (u32, u32),
}

fn fit(bytes: &[u8], media: Media) -> Result<Picture, ImageError> {
    let original = ImageReader::with_format(Cursor::new(bytes), media.format()).into_dimensions()?;
    if u64::from(original.0) * u64::from(original.1) * DOT_BYTES > MAX_DECODED_BYTES {
        return Err(too_large());
    }
    let fits = original.0.max(original.1) <= MAX_EDGE;
    if fits && bytes.len() <= MAX_PLAIN_BYTES {
        return Ok(Picture { bytes: bytes.to_vec(), media, original, shown: original });
    }
    let mut picture = decode(bytes, media)?;
    if !fits {
        picture = picture.resize(MAX_EDGE, MAX_EDGE, imageops::FilterType::Triangle);
    }
    let shown = (picture.width(), picture.height());
    let (smaller, smaller_media) = encode(picture)?;
    if fits && smaller.len() >= bytes.len() {
        return Ok(Picture { bytes: bytes.to_vec(), media, original, shown: original });
    }
    Ok(Picture { bytes: smaller, media: smaller_media, original, shown })
}

fn decode(bytes: &[u8], media: Media) -> Result<DynamicImage, ImageError> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), media.format());
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    reader.limits(limits);
    let mut decoder = reader.into_decoder()?;
    // Two bytes a channel take more than the dots alone say.
    if decoder.total_bytes() > MAX_DECODED_BYTES {
        return Err(too_large());
    }
    // The new file does not say which side is up, so the pixels must.
    let orientation = decoder.orientation()?;
    let mut picture = DynamicImage::from_decoder(decoder)?;
    picture.apply_orientation(orientation);
    Ok(picture)
}

fn too_large() -> ImageError {
    ImageError::Limits(LimitError::from_kind(LimitErrorKind::DimensionError))
}

/// Drawings and screenshots stay sharp as PNG; what is large that way is a photograph.
fn encode(picture: DynamicImage) -> Result<(Vec<u8>, Media), ImageError> {
    let mut png = Cursor::new(Vec::new());
    picture.write_to(&mut png, ImageFormat::Png)?;
    if png.get_ref().len() <= MAX_PLAIN_BYTES {
        return Ok((png.into_inner(), Media::Png));
    }
    let mut jpeg = Vec::new();
    on_white(picture).write_with_encoder(JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY))?;
    Ok((jpeg, Media::Jpeg))
}

/// JPEG knows no transparency, and what lies under it is often black.
fn on_white(picture: DynamicImage) -> DynamicImage {
    if !picture.color().has_alpha() {
        return DynamicImage::ImageRgb8(picture.into_rgb8());
    }
    let mut page = RgbaImage::from_pixel(picture.width(), picture.height(), image::Rgba([255; 4]));
    imageops::overlay(&mut page, &picture.into_rgba8(), 0, 0);
    DynamicImage::ImageRgb8(DynamicImage::ImageRgba8(page).into_rgb8())
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
