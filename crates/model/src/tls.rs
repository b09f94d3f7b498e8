//! What the user says about TLS: a certificate that names us to the server, and how the server's own is judged.
//!
//! Deliberately absent: keys in a hardware token, and certificates of our own: this binary trusts what the system trusts.

use crate::config::TlsOptions;
use crate::encrypted_key;
use std::path::{Path, PathBuf};

/// A certificate chain or a key longer than this is something else.
const FILE_MAX: u64 = 1 << 20;

/// Which certificates are trusted, as `CLAUDE_CODE_CERT_STORE` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CertStore {
    System,
    /// Those of the program itself, of which this one has none.
    Bundled,
}

impl CertStore {
    /// The stores of a list such as `bundled,system`; the word that is none of them otherwise.
    pub fn parse(list: &str) -> Result<Vec<Self>, &str> {
        let words = list.split(',').map(str::trim).filter(|word| !word.is_empty());
        words
            .map(|word| match word.to_ascii_lowercase().as_str() {
                "system" => Ok(Self::System),
                "bundled" => Ok(Self::Bundled),
                _ => Err(word),
            })
            .collect()
    }
}

/// Why our certificate cannot be used. Nothing is sent without it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    #[error("CLAUDE_CODE_CLIENT_KEY is set, but CLAUDE_CODE_CLIENT_CERT is not; set both")]
    NoCertificate,
    #[error("{variable} {} cannot be read: {why}", file.display())]
    Unreadable { variable: &'static str, file: PathBuf, why: String },
    #[error(
        "the key in {} is encrypted; set CLAUDE_CODE_CLIENT_KEY_PASSPHRASE",
        .0.display()
    )]
    NoPassphrase(PathBuf),
    #[error("the key in {} cannot be decrypted: {why}", file.display())]
    Encrypted { file: PathBuf, why: encrypted_key::KeyError },
    #[error("{} and its key are not a certificate and a key in PEM form: {why}", file.display())]
    NotPem { file: PathBuf, why: String },
}

impl TlsOptions {
    /// Whether the files can be used at all, to be told before the run.
    pub fn check(&self) -> Result<(), TlsError> {
        self.identity().map(drop)
    }

    /// The certificate and the key that are shown to a server which asks for them.
    pub(crate) fn identity(&self) -> Result<Option<reqwest::Identity>, TlsError> {
        let (Some(pem), Some(cert)) = (self.identity_pem()?, &self.client_cert) else { return Ok(None) };
        let not_pem = |error: reqwest::Error| TlsError::NotPem { file: cert.clone(), why: error.to_string() };
        reqwest::Identity::from_pem(pem.as_bytes()).map(Some).map_err(not_pem)
    }

    /// The same as PEM, decrypted.
    pub fn identity_pem(&self) -> Result<Option<String>, TlsError> {
        let Some(cert) = &self.client_cert else {
            return if self.client_key.is_some() { Err(TlsError::NoCertificate) } else { Ok(None) };
        };
        let mut pem = read("CLAUDE_CODE_CLIENT_CERT", cert)?;
        let key_file = self.client_key.as_ref().unwrap_or(cert);
        let key = match &self.client_key {
            Some(file) => read("CLAUDE_CODE_CLIENT_KEY", file)?,
            None => String::new(),
        };
        pem.push('\n');
        pem.push_str(&key);
        if encrypted_key::is_encrypted(&pem) {
            let passphrase = self.key_passphrase.as_ref().ok_or_else(|| TlsError::NoPassphrase(key_file.clone()))?;
            pem = encrypted_key::decrypt(&pem, passphrase.expose())
                .map_err(|why| TlsError::Encrypted { file: key_file.clone(), why })?;
        }
        Ok(Some(pem))
    }
}

fn read(variable: &'static str, file: &Path) -> Result<String, TlsError> {
    let unreadable = |why: String| TlsError::Unreadable { variable, file: file.to_owned(), why };
    let size = std::fs::metadata(file).map_err(|error| unreadable(error.to_string()))?.len();
    if size > FILE_MAX {
        return Err(unreadable("it is too long for a certificate or a key".to_owned()));
    }
    std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_are_words_of_a_list() {
        assert_eq!(CertStore::parse("bundled, System"), Ok(vec![CertStore::Bundled, CertStore::System]));
        assert_eq!(CertStore::parse("system,mine"), Err("mine"));
        assert_eq!(CertStore::parse(""), Ok(vec![]));
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        let none = TlsOptions::default();
        assert!(none.identity().unwrap().is_none());
        let key = TlsOptions { client_key: Some("/k".into()), ..TlsOptions::default() };
        assert_eq!(key.check(), Err(TlsError::NoCertificate));
        let missing = TlsOptions { client_cert: Some("/nowhere/c.pem".into()), ..TlsOptions::default() };
        let said = missing.check().unwrap_err().to_string();
        assert!(said.contains("CLAUDE_CODE_CLIENT_CERT") && said.contains("/nowhere/c.pem"), "{said}");
    }
}
