//! Private keys in PEM form that are encrypted with a passphrase (PKCS #8, PBES2 with PBKDF2 and AES-CBC: what
//! `openssl genpkey -aes256` and `openssl pkcs8 -topk8` write). Pure.
//!
//! Deliberately absent: the older form with `Proc-Type` in its head, whose key is made with MD5.

use crate::aes_cbc;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::pbkdf2;
use std::num::NonZeroU32;

const BEGIN: &str = "-----BEGIN ENCRYPTED PRIVATE KEY-----";
const END: &str = "-----END ENCRYPTED PRIVATE KEY-----";
/// Minutes of work; no tool makes keys like that.
const ITERATIONS_MAX: u32 = 10_000_000;

const PBES2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0d];
const PBKDF2: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x05, 0x0c];
/// Without its last byte, which says which of them.
const HMAC_WITH: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02];
/// The same for AES.
const AES: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01];

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const OCTETS: u8 = 0x04;
const OID: u8 = 0x06;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("it is in a form that is not supported; convert it with 'openssl pkcs8 -topk8 -v2 aes256'")]
    Form,
    #[error("CLAUDE_CODE_CLIENT_KEY_PASSPHRASE does not open it")]
    Passphrase,
}

/// Whether a key in this text needs a passphrase.
pub(crate) fn is_encrypted(pem: &str) -> bool {
    pem.contains(BEGIN) || pem.contains("Proc-Type: 4,ENCRYPTED")
}

/// The same text with the key as it is.
pub(crate) fn decrypt(pem: &str, passphrase: &str) -> Result<String, KeyError> {
    let (before, rest) = pem.split_once(BEGIN).ok_or(KeyError::Form)?;
    let (body, after) = rest.split_once(END).ok_or(KeyError::Form)?;
    let text: String = body.split_whitespace().collect();
    let der = STANDARD.decode(text).map_err(|_| KeyError::Form)?;
    let sealed = read(&der).ok_or(KeyError::Form)?;
    let mut key = vec![0; sealed.key_bytes];
    pbkdf2::derive(sealed.hash, sealed.iterations, sealed.salt, passphrase.as_bytes(), &mut key);
    let plain = aes_cbc::decrypt(&key, sealed.iv, sealed.data).ok_or(KeyError::Passphrase)?;
    // A wrong key leaves a good padding now and then, but not a sequence as long as the whole.
    if Der(&plain).take(SEQUENCE).is_none() {
        return Err(KeyError::Passphrase);
    }
    let encoded = STANDARD.encode(plain);
    Ok(format!("{before}-----BEGIN PRIVATE KEY-----\n{encoded}\n-----END PRIVATE KEY-----\n{after}"))
}

struct Sealed<'a> {
    hash: pbkdf2::Algorithm,
    iterations: NonZeroU32,
    salt: &'a [u8],
    key_bytes: usize,
    iv: &'a [u8],
    data: &'a [u8],
}

fn read(der: &[u8]) -> Option<Sealed<'_>> {
    let mut whole = Der(Der(der).take(SEQUENCE)?);
    let mut scheme = Der(whole.take(SEQUENCE)?);
    let data = whole.take(OCTETS)?;
    if scheme.take(OID)? != PBES2 {
        return None;
    }
    let mut scheme = Der(scheme.take(SEQUENCE)?);
    let mut derivation = Der(scheme.take(SEQUENCE)?);
    if derivation.take(OID)? != PBKDF2 {
        return None;
    }
    let mut derivation = Der(derivation.take(SEQUENCE)?);
    let salt = derivation.take(OCTETS)?;
    let iterations = number(derivation.take(INTEGER)?).filter(|count| *count <= ITERATIONS_MAX)?;
    let _length = derivation.take(INTEGER);
    let hash = match derivation.take(SEQUENCE) {
        Some(function) => hash(Der(function).take(OID)?)?,
        None => pbkdf2::PBKDF2_HMAC_SHA1,
    };
    let mut cipher = Der(scheme.take(SEQUENCE)?);
    let key_bytes = match cipher.take(OID)?.strip_prefix(AES)? {
        [2] => 16,
        [22] => 24,
        [42] => 32,
        _ => return None,
    };
    let iv = cipher.take(OCTETS)?;
    Some(Sealed { hash, iterations: NonZeroU32::new(iterations)?, salt, key_bytes, iv, data })
}

fn hash(oid: &[u8]) -> Option<pbkdf2::Algorithm> {
    match oid.strip_prefix(HMAC_WITH)? {
        [7] => Some(pbkdf2::PBKDF2_HMAC_SHA1),
        [9] => Some(pbkdf2::PBKDF2_HMAC_SHA256),
        [10] => Some(pbkdf2::PBKDF2_HMAC_SHA384),
        [11] => Some(pbkdf2::PBKDF2_HMAC_SHA512),
        _ => None,
    }
}

fn number(bytes: &[u8]) -> Option<u32> {
    let bytes = bytes.strip_prefix(&[0]).unwrap_or(bytes);
    let fits = !bytes.is_empty() && bytes.len() <= 4;
    fits.then(|| bytes.iter().fold(0, |sum, byte| (sum << 8) | u32::from(*byte)))
}

/// What is left of an encoded value.
struct Der<'a>(&'a [u8]);

impl<'a> Der<'a> {
    /// The content of the next element, if it is of this kind.
    fn take(&mut self, kind: u8) -> Option<&'a [u8]> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, rest) = rest.split_first()?;
        let (length, rest) = if first < 0x80 {
            (usize::from(first), rest)
        } else {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (usize::try_from(number(bytes)?).ok()?, rest)
        };
        let (content, rest) = rest.split_at_checked(length)?;
        (tag == kind).then(|| {
            self.0 = rest;
            content
        })
    }
}

#[cfg(test)]
#[path = "encrypted_key_tests.rs"]
mod tests;
