//! Checks a signature from what arrived, with a hash and a MAC of this test's own, so that no mistake is shared with
//! the code under test.

use mock::Recorded;

/// Panics unless the request is signed with this secret for this region and service.
pub fn verify(request: &Recorded, secret: &str, region: &str, service: &str) {
    let authorization = &request.headers["authorization"];
    let part = |name: &str| {
        let rest = authorization.split_once(name).unwrap_or_else(|| panic!("{authorization}")).1;
        rest.split([',', ' ']).next().unwrap_or_default().to_owned()
    };
    let (signed, signature) = (part("SignedHeaders="), part("Signature="));
    let date = &request.headers["x-amz-date"];
    let scope = format!("{}/{region}/{service}/aws4_request", &date[..8]);
    assert!(authorization.contains(&format!("/{scope},")), "{authorization}");
    for name in ["host", "x-amz-date", "x-amz-content-sha256"] {
        assert!(signed.split(';').any(|one| one == name), "{name} is not signed: {signed}");
    }
    let payload = hex(&sha256(request.body.to_string().as_bytes()));
    assert_eq!(request.headers["x-amz-content-sha256"], payload, "the hash is that of the body");
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let path: Vec<String> = path.split('/').map(escaped).collect();
    let headers: String = signed.split(';').map(|name| format!("{name}:{}\n", request.headers[name].trim())).collect();
    let canonical = format!("POST\n{}\n{query}\n{headers}\n{signed}\n{payload}", path.join("/"));
    let text = format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{}", hex(&sha256(canonical.as_bytes())));
    let mut key = hmac(format!("AWS4{secret}").as_bytes(), &date.as_bytes()[..8]);
    for word in [region, service, "aws4_request"] {
        key = hmac(&key, word.as_bytes());
    }
    assert_eq!(signature, hex(&hmac(&key, text.as_bytes())), "signed: {canonical}");
}

fn escaped(segment: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    segment
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn hmac(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut block = [0; 64];
    if key.len() > 64 {
        block[..32].copy_from_slice(&sha256(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |pad: u8| block.iter().map(|byte| byte ^ pad).collect::<Vec<u8>>();
    let inner = sha256(&[&padded(0x36), message].concat());
    sha256(&[&padded(0x5c)[..], &inner].concat())
}

/// The first 32 bits of the fractional parts of the roots of primes: square roots of 8, cube roots of 64.
fn constants() -> ([u32; 8], [u32; 64]) {
    let primes: Vec<u128> = (2u128..).filter(|n| (2..*n).all(|d| n % d != 0)).take(64).collect();
    // The greatest root whose power does not exceed the number times 2 to the 64th or 96th.
    let root = |of: u128, power: u32| {
        let (mut low, mut high) = (0u128, 1u128 << 40);
        while low < high {
            let middle = (low + high).div_ceil(2);
            if middle.pow(power) <= of { low = middle } else { high = middle - 1 }
        }
        (low & 0xffff_ffff) as u32
    };
    let mut squares = [0; 8];
    let mut cubes = [0; 64];
    squares.iter_mut().zip(&primes).for_each(|(into, prime)| *into = root(prime << 64, 2));
    cubes.iter_mut().zip(&primes).for_each(|(into, prime)| *into = root(prime << 96, 3));
    (squares, cubes)
}

fn sha256(message: &[u8]) -> [u8; 32] {
    let (mut state, rounds) = constants();
    let mut padded = message.to_vec();
    padded.push(0x80);
    while padded.len() % 64 != 56 {
        padded.push(0);
    }
    padded.extend((message.len() as u64 * 8).to_be_bytes());
    for block in padded.chunks(64) {
        let mut words = [0u32; 64];
        for (word, bytes) in words.iter_mut().zip(block.chunks(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for at in 16..64 {
            let (a, b) = (words[at - 15], words[at - 2]);
            let first = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let second = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            words[at] = words[at - 16].wrapping_add(first).wrapping_add(words[at - 7]).wrapping_add(second);
        }
        let mut v = state;
        for at in 0..64 {
            let big = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
            let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
            let one = v[7].wrapping_add(big).wrapping_add(choice).wrapping_add(rounds[at]).wrapping_add(words[at]);
            let small = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
            let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
            let two = small.wrapping_add(majority);
            v = [one.wrapping_add(two), v[0], v[1], v[2], v[3].wrapping_add(one), v[4], v[5], v[6]];
        }
        state.iter_mut().zip(v).for_each(|(into, word)| *into = into.wrapping_add(word));
    }
    let mut out = [0; 32];
    out.chunks_mut(4).zip(state).for_each(|(into, word)| into.copy_from_slice(&word.to_be_bytes()));
    out
}

#[test]
fn the_hash_is_the_published_one() {
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(hex(&sha256(b"abc")), expected);
    let long = "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
    assert_eq!(hex(&sha256(b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")), long);
}
