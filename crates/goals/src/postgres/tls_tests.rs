//! TLS against a real server with certificates made for it.

use crate::store::{Place, Store};
use testkit::postgres::Postgres;

fn open(address: &str) -> Result<Store, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let place = Place::Postgres(address.to_owned());
    runtime.block_on(Store::open(&place)).map_err(|error| error.with_hint())
}

#[test]
fn a_server_is_believed_only_with_the_right_certificate() {
    use std::io::Write as _;
    let server = match Postgres::start_with_tls() {
        Ok(server) => server,
        Err(why) => {
            let _ = writeln!(std::io::stderr(), "LEFT OUT: TLS to PostgreSQL: {why}");
            return;
        }
    };
    let address = |words: &str| format!("{}{words}", server.tls_address("goals"));
    server.database("goals").unwrap();
    let file = |name: &str| server.folder().join(name).display().to_string();
    let right = file("ca.pem");
    for mode in ["require", "verify-ca", "verify-full", "prefer"] {
        open(&address(&format!("?sslmode={mode}&sslrootcert={right}"))).unwrap();
    }
    let secured = server.sql("postgres", "select count(*) from pg_stat_ssl where ssl").unwrap();
    assert!(secured.parse::<u32>().is_ok(), "{secured}");
    let empty = file("empty.pem");
    std::fs::write(&empty, "").unwrap();
    for (words, said) in [
        // Signed by somebody else; never a plain connection instead.
        (format!("?sslmode=verify-full&sslrootcert={}", file("other.pem")), "certificate"),
        (format!("?sslrootcert={}", file("other.pem")), "certificate"),
        (String::new(), "certificate"),
        (format!("?sslrootcert={}", file("missing.pem")), "missing.pem cannot be used"),
        (format!("?sslrootcert={empty}"), "there is no certificate in it"),
        ("?sslmode=perhaps".to_owned(), "cannot be read"),
    ] {
        let error = open(&address(&words)).err().unwrap_or_else(|| panic!("{words} was accepted"));
        assert!(error.contains(said) && !error.contains("geheim"), "{words}: {error}");
    }
    // The right one, but for another name.
    let elsewhere = address(&format!("?sslrootcert={right}")).replace("@localhost:", "@127.0.0.1:");
    let error = open(&elsewhere).err().unwrap();
    assert!(error.contains("certificate"), "{error}");
    // The server takes no plain connection: what got in was secured.
    let error = open(&address("?sslmode=disable")).err().unwrap();
    assert!(error.contains("pg_hba") || error.contains("encryption") || error.contains("refused"), "{error}");
}
