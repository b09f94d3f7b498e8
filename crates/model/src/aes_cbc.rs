//! AES-CBC, decryption only: for private keys that their owner has encrypted with a passphrase. Pure.
//!
//! Written out here because nothing in the tree that may be used offers it, and it is small. Deliberately absent:
//! encryption, and protection against somebody who measures our time: the key and its passphrase are the user's own, and
//! are read once from the user's own files.

const BLOCK: usize = 16;

type State = [u8; BLOCK];

/// The plain text, without its padding; `None` where key, vector or padding cannot be right.
pub(crate) fn decrypt(key: &[u8], iv: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    let mut before: State = iv.try_into().ok()?;
    if data.is_empty() || !data.len().is_multiple_of(BLOCK) {
        return None;
    }
    let boxes = Boxes::new();
    let keys = round_keys(key, &boxes)?;
    let mut plain = Vec::with_capacity(data.len());
    for block in data.chunks_exact(BLOCK) {
        let block: State = block.try_into().ok()?;
        let mut state = block;
        decrypt_block(&mut state, &keys, &boxes);
        plain.extend(state.iter().zip(before).map(|(byte, chained)| byte ^ chained));
        before = block;
    }
    let padding = usize::from(*plain.last()?);
    let is_padding = |byte: &u8| usize::from(*byte) == padding;
    if padding == 0 || padding > BLOCK || !plain[plain.len() - padding..].iter().all(is_padding) {
        return None;
    }
    plain.truncate(plain.len() - padding);
    Some(plain)
}

/// Multiplication by x in the field of AES.
const fn double(byte: u8) -> u8 {
    (byte << 1) ^ if byte & 0x80 == 0 { 0 } else { 0x1b }
}

fn multiply(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 == 1 {
            product ^= a;
        }
        a = double(a);
        b >>= 1;
    }
    product
}

/// The substitution and its inverse.
struct Boxes {
    forward: [u8; 256],
    inverse: [u8; 256],
}

impl Boxes {
    /// Walks the field by its generator 3 and the generator's inverse, so that each element meets its reciprocal.
    fn new() -> Self {
        let mut boxes = Self { forward: [0; 256], inverse: [0; 256] };
        let (mut element, mut reciprocal) = (1u8, 1u8);
        loop {
            element ^= double(element);
            reciprocal ^= reciprocal << 1;
            reciprocal ^= reciprocal << 2;
            reciprocal ^= reciprocal << 4;
            if reciprocal & 0x80 != 0 {
                reciprocal ^= 0x09;
            }
            let rotations = (1..5).fold(reciprocal, |sum, by| sum ^ reciprocal.rotate_left(by));
            boxes.set(element, rotations ^ 0x63);
            if element == 1 {
                break;
            }
        }
        boxes.set(0, 0x63);
        boxes
    }

    fn set(&mut self, from: u8, to: u8) {
        self.forward[usize::from(from)] = to;
        self.inverse[usize::from(to)] = from;
    }
}

/// One key a round, and one before the first.
fn round_keys(key: &[u8], boxes: &Boxes) -> Option<Vec<State>> {
    let rounds = match key.len() {
        16 => 10,
        24 => 12,
        32 => 14,
        _ => return None,
    };
    let own = key.len() / 4;
    let mut words: Vec<[u8; 4]> = key.chunks_exact(4).filter_map(|word| word.try_into().ok()).collect();
    let mut constant = 1u8;
    for at in own..4 * (rounds + 1) {
        let mut word = words[at - 1];
        if at % own == 0 {
            word.rotate_left(1);
            word = word.map(|byte| boxes.forward[usize::from(byte)]);
            word[0] ^= constant;
            constant = double(constant);
        } else if own > 6 && at % own == 4 {
            word = word.map(|byte| boxes.forward[usize::from(byte)]);
        }
        for (byte, earlier) in word.iter_mut().zip(words[at - own]) {
            *byte ^= earlier;
        }
        words.push(word);
    }
    let keys = words.chunks_exact(4).filter_map(|four| State::try_from(four.concat()).ok());
    Some(keys.collect())
}

fn decrypt_block(state: &mut State, keys: &[State], boxes: &Boxes) {
    for (round, key) in keys.iter().enumerate().rev() {
        let (is_first, is_last) = (round + 1 == keys.len(), round == 0);
        for (byte, of_key) in state.iter_mut().zip(key) {
            *byte ^= of_key;
        }
        if is_last {
            return;
        }
        if !is_first {
            unmix(state);
        }
        *state = std::array::from_fn(|at| {
            // Row r of the state was moved r columns to the left.
            let (column, row) = (at / 4, at % 4);
            boxes.inverse[usize::from(state[(column + 4 - row) % 4 * 4 + row])]
        });
    }
}

fn unmix(state: &mut State) {
    for column in state.chunks_exact_mut(4) {
        let [a, b, c, d] = [column[0], column[1], column[2], column[3]];
        let mixed = |a, b, c, d| multiply(a, 14) ^ multiply(b, 11) ^ multiply(c, 13) ^ multiply(d, 9);
        column.copy_from_slice(&[mixed(a, b, c, d), mixed(b, c, d, a), mixed(c, d, a, b), mixed(d, a, b, c)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    /// The examples of FIPS 197, appendix C.
    #[test]
    fn published_blocks_come_out_right() {
        let plain = "00112233445566778899aabbccddeeff";
        for (key, cipher) in [
            ("000102030405060708090a0b0c0d0e0f", "69c4e0d86a7b0430d8cdb78070b4c55a"),
            ("000102030405060708090a0b0c0d0e0f1011121314151617", "dda97ca4864cdfe06eaf70a0ec0d7191"),
            ("000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f", "8ea2b7ca516745bfeafc49904b496089"),
        ] {
            let boxes = Boxes::new();
            let mut state: State = hex(cipher).try_into().unwrap();
            decrypt_block(&mut state, &round_keys(&hex(key), &boxes).unwrap(), &boxes);
            assert_eq!(state.to_vec(), hex(plain), "{key}");
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
