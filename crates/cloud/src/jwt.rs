//! One signed token: RS256, as Google's token endpoint takes it from a service account.
//!
//! Deliberately absent: other algorithms, and reading tokens.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::{rand, signature};
use serde_json::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum JwtError {
    #[error("the private key is not a PEM block of PKCS #8")]
    Pem,
    #[error("the private key is not an RSA key of 2048 bits or more")]
    Key,
    #[error("signing failed")]
    Signing,
}

/// The claims, signed with the key of a PEM block.
pub fn sign_rs256(claims: &Value, private_key_pem: &str) -> Result<String, JwtError> {
    let key = signature::RsaKeyPair::from_pkcs8(&der(private_key_pem)?).map_err(|_| JwtError::Key)?;
    let header = URL_SAFE_NO_PAD.encode(r#"{"alg":"RS256"}"#);
    let text = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
    let mut signed = vec![0; key.public().modulus_len()];
    key.sign(&signature::RSA_PKCS1_SHA256, &rand::SystemRandom::new(), text.as_bytes(), &mut signed)
        .map_err(|_| JwtError::Signing)?;
    Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signed)))
}

fn der(pem: &str) -> Result<Vec<u8>, JwtError> {
    let (_, after) = pem.split_once("-----BEGIN PRIVATE KEY-----").ok_or(JwtError::Pem)?;
    let (body, _) = after.split_once("-----END PRIVATE KEY-----").ok_or(JwtError::Pem)?;
    let body: String = body.chars().filter(|sign| !sign.is_whitespace()).collect();
    STANDARD.decode(body).map_err(|_| JwtError::Pem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Made for this test with `openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048`.
    const KEY: &str = include_str!("../testdata/test-only.pem");

    #[test]
    fn a_token_can_be_verified_with_the_public_key() {
        let token = sign_rs256(&json!({"iss": "bot", "exp": 5}), KEY).unwrap();
        let (text, signed) = token.rsplit_once('.').unwrap();
        let key = signature::RsaKeyPair::from_pkcs8(&der(KEY).unwrap()).unwrap();
        let public =
            signature::UnparsedPublicKey::new(&signature::RSA_PKCS1_2048_8192_SHA256, key.public().as_ref().to_vec());
        public.verify(text.as_bytes(), &URL_SAFE_NO_PAD.decode(signed).unwrap()).unwrap();
        assert!(public.verify(b"another text", &URL_SAFE_NO_PAD.decode(signed).unwrap()).is_err());
        let parts: Vec<&str> = text.split('.').collect();
        assert_eq!(URL_SAFE_NO_PAD.decode(parts[0]).unwrap(), br#"{"alg":"RS256"}"#);
        assert_eq!(URL_SAFE_NO_PAD.decode(parts[1]).unwrap(), br#"{"iss":"bot","exp":5}"#);
    }

    #[test]
    fn what_is_no_key_is_said() {
        assert_eq!(sign_rs256(&json!({}), "nothing"), Err(JwtError::Pem));
        let broken = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----";
        assert_eq!(sign_rs256(&json!({}), broken), Err(JwtError::Key));
    }
}
