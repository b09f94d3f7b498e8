//! The TLS options of a database address that the driver does not read: the certificate to trust.
//!
//! Every certificate is verified, with the host's name, in every mode; so `verify-ca` and `verify-full` are `require` here.

use percent_encoding::percent_decode_str;
use std::path::PathBuf;

/// An address as the driver reads it, and what it does not read.
#[derive(Debug, PartialEq, Eq)]
pub struct Address {
    pub text: String,
    /// Only certificates that this file vouches for; the machine's roots where it is not given.
    pub root_file: Option<PathBuf>,
}

impl Address {
    pub fn read(address: &str) -> Self {
        let Some((place, query)) = address.split_once('?') else {
            return Self { text: address.to_owned(), root_file: None };
        };
        let mut kept = Vec::new();
        let mut root_file = None;
        for pair in query.split('&') {
            match pair.split_once('=') {
                // As for other programs: the machine's own.
                Some(("sslrootcert", "system")) => {}
                Some(("sslrootcert", file)) => {
                    root_file = Some(PathBuf::from(percent_decode_str(file).decode_utf8_lossy().into_owned()));
                }
                Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
                _ => kept.push(pair),
            }
        }
        let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
        Self { text: format!("{place}{query}"), root_file }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_certificate_is_read_and_the_rest_is_the_drivers() {
        for (address, text, file) in [
            ("postgres://u@h/d", "postgres://u@h/d", None),
            ("postgres://u@h/d?sslmode=verify-full", "postgres://u@h/d?sslmode=require", None),
            ("postgres://h/d?sslrootcert=%2Fetc%2Fca.pem", "postgres://h/d", Some("/etc/ca.pem")),
            ("postgres://h/d?a=b&sslrootcert=/x&sslmode=verify-ca", "postgres://h/d?a=b&sslmode=require", Some("/x")),
            ("postgres://h/d?sslrootcert=system&sslmode=disable", "postgres://h/d?sslmode=disable", None),
            ("postgres://h/d?sslrootcert=50%", "postgres://h/d", Some("50%")),
        ] {
            let read = Address::read(address);
            assert_eq!((read.text.as_str(), read.root_file), (text, file.map(PathBuf::from)), "{address}");
        }
    }
}
