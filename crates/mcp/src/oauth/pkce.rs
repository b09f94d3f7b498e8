//! Proof that whoever redeems a code is whoever asked for it (RFC 7636), and the state of one login.

use super::error::LoginError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom as _, SystemRandom};

/// Bytes of a secret: the standard's recommendation.
const RANDOM: usize = 32;

/// A text that nobody can guess.
pub(super) fn random() -> Result<String, LoginError> {
    let mut bytes = [0; RANDOM];
    SystemRandom::new().fill(&mut bytes).map_err(|_| LoginError::Setup("this machine has no random numbers".into()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// What the authorization server is told of the verifier.
pub(super) fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, verifier.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_challenge_is_the_standards() {
        // The example of RFC 7636, appendix B.
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
        assert_eq!(challenge(verifier), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
        let (one, other) = (random().unwrap(), random().unwrap());
        assert!(one != other && one.len() == 43, "{one}");
    }
}
