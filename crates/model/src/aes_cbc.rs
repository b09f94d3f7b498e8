//! AES-CBC, decryption only: for private keys that their owner has encrypted with a passphrase. Pure.

use aes::{Aes128, Aes192, Aes256};
use cbc::Decryptor;
use cbc::cipher::block_padding::Pkcs7;
use cbc::cipher::{BlockModeDecrypt as _, KeyIvInit as _};

/// The plain text, without its padding; `None` where key, vector or padding cannot be right.
pub(crate) fn decrypt(key: &[u8], iv: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let mut data = data.to_vec();
    let plain = match key.len() {
        16 => Decryptor::<Aes128>::new_from_slices(key, iv).ok()?.decrypt_padded::<Pkcs7>(&mut data),
        24 => Decryptor::<Aes192>::new_from_slices(key, iv).ok()?.decrypt_padded::<Pkcs7>(&mut data),
        _ => Decryptor::<Aes256>::new_from_slices(key, iv).ok()?.decrypt_padded::<Pkcs7>(&mut data),
    };
    plain.ok().map(<[u8]>::to_vec)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    /// The examples of FIPS 197, appendix C. The vector turns the block that must come out into padding and nothing else.
    #[test]
    fn published_blocks_come_out_right() {
        let iv: Vec<u8> = hex("00112233445566778899aabbccddeeff").iter().map(|byte| byte ^ 16).collect();
        for (key, cipher) in [
            ("000102030405060708090a0b0c0d0e0f", "69c4e0d86a7b0430d8cdb78070b4c55a"),
            ("000102030405060708090a0b0c0d0e0f1011121314151617", "dda97ca4864cdfe06eaf70a0ec0d7191"),
            ("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "8ea2b7ca516745bfeafc49904b496089"),
        ] {
            assert_eq!(decrypt(&hex(key), &iv, &hex(cipher)), Some(Vec::new()), "{key}");
        }
    }

    #[test]
    fn what_cannot_be_right_is_nothing() {
        let (key, iv) = ([1; 16], [2; 16]);
        assert_eq!(decrypt(&key, &iv, &[]), None);
        assert_eq!(decrypt(&key, &iv, &[0; 15]), None);
        assert_eq!(decrypt(&key[..5], &iv, &[0; 16]), None);
        assert_eq!(decrypt(&key, &iv[..5], &[0; 16]), None);
        assert_eq!(decrypt(&key, &iv, &[0; 32]), None, "the padding is wrong");
    }
}
