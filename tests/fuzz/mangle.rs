//! From good inputs to nearly good ones.

use crate::dice::Dice;

/// Long inputs are slow and find little that short ones do not.
const LENGTH_MAX: usize = 4096;

/// Pieces that mean something to one parser or another.
const PIECES: [&str; 48] = [
    "{",
    "}",
    "[",
    "]",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    ":",
    ",",
    "null",
    "-1",
    "1e999",
    "18446744073709551616",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "data: ",
    "event: ",
    "\u{feff}",
    "\0",
    "é",
    "😀",
    "$(",
    ")",
    "`",
    "${x:-",
    "<<E\n",
    "\nE\n",
    ";",
    "&&",
    "|",
    "&",
    "> /etc/x",
    "2>&1",
    "#",
    "rm -rf /",
    "'",
    "../",
    "/",
    "~",
    "./",
    "*",
    "**",
    "(",
    "---\n",
    "@",
];

pub fn any(dice: &mut Dice, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = dice.pick(corpus).clone();
    for _ in 0..=dice.below(6) {
        change(dice, &mut bytes, corpus);
    }
    bytes.truncate(LENGTH_MAX);
    bytes
}

fn change(dice: &mut Dice, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
    let (start, end) = span(dice, bytes.len());
    match dice.below(9) {
        0 => drop(bytes.drain(start..end)),
        1 => bytes.truncate(end),
        2 => {
            let piece: Vec<u8> = bytes[start..end].to_vec();
            bytes.splice(start..start, piece.repeat(1 + dice.below(8)));
        }
        3 | 4 => {
            let piece = dice.pick(&PIECES).bytes();
            bytes.splice(start..start, piece);
        }
        5 => {
            let piece = dice.pick(&PIECES).bytes();
            bytes.splice(start..end, piece);
        }
        6 => {
            let other = dice.pick(corpus);
            let (from, to) = span(dice, other.len());
            bytes.splice(start..end, other[from..to].iter().copied());
        }
        7 => bytes[start..end].iter_mut().take(4).for_each(|byte| *byte = dice.next() as u8),
        _ => {
            if let Some(byte) = bytes.get_mut(start) {
                *byte ^= 1 << dice.below(8);
            }
        }
    }
}

/// Short spans are drawn more often than long ones.
fn span(dice: &mut Dice, length: usize) -> (usize, usize) {
    let start = dice.below(length + 1);
    let most = if dice.chance(80) { 12 } else { length };
    (start, (start + dice.below(most + 1)).min(length))
}
