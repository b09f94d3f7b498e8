//! Keys that `openssl` has encrypted; they open nothing.

use super::*;

const PASSPHRASE: &str = "tr0ub";

const PLAIN: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgeney60ofYxhrDB6/d5jFQ6gv1SZ/YyM2HV4NOHs5b7yhRANCAAS3\
                     MQq0bCDwteztLQXE4YBqc2lUmnsJZJvtotMmIdX3zlywb1+BS28LicVWqSrZJOu8AVFCfRZ54mUH6fzvm831";

/// `-v2 aes-256-cbc`.
const AES_256: &str = "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAhiOa7XfICDaAICCAAw
DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEED71oso7eit5Pp7Rz7xjkM8EgZB/
yRkvH0qHJIMUCQoLGWfFj5r6/P0sfr+DhztvV1gV4ARCOwZB7M1iwujN2gTBNQMJ
K4AixHepvyoUkQDKciSs/sRnnpIs1ukZVNQ1fzy2e2Cl3yzneOJ/LORHvpTU5iC5
8uB/AQxUn96XvwLLvtbl45unooYyBcqjR/3XVhwrAl/ZpHPiupgvWimQemTzgxo=";

/// `-v2 aes-128-cbc -v2prf hmacWithSHA1`.
const AES_128: &str = "MIHeMEkGCSqGSIb3DQEFDTA8MBsGCSqGSIb3DQEFDDAOBAg/DPxt4HLqDwICCAAw
HQYJYIZIAWUDBAECBBDkJXnVLRIE/mrxjWQlispABIGQIpZt0MkvvzooTuPDrTmI
eKSlFsZ9L+jauWPPV4tQGLyNvUKiZFUYwLHWP107sSmzFC25Qj7YiZHNldY/wzci
jG2PPl8B7tzGWhyZP/rasn/B0Js3tAO7d+ZQZntY7a12ePP8NRQCMlLRNYY6k3Y1
Z2lO0muhHooSgXiegeb27DTymdCr2R2ow8OT2okDKRjp";

/// `-v2 des3`.
const DES: &str = "MIHjME4GCSqGSIb3DQEFDTBBMCkGCSqGSIb3DQEFDDAcBAg+hUpg6xOiGwICCAAw
DAYIKoZIhvcNAgkFADAUBggqhkiG9w0DBwQIqajhpzbE614EgZCNEbju21FPZr9i
e8Jjl573h9ZXQEgDA+km7+PAYJiFAVq1UHJ76XY8MhRsvjLSdXiF90i8AixxK79R
6kraHe7Uf6CpiWfxDMhpNvDYSCJ8ySUFUbxQ2IHDJv9broMe9BerwLnt0JiA5/oW
a1M+3+b+Uskt/CwsTSsFjenl+AuzX/MjBU/8roRHoHBxYKJdBIA=";

fn pem(body: &str) -> String {
    format!("before\n{BEGIN}\n{body}\n{END}\nafter\n")
}

#[test]
fn keys_of_openssl_are_opened_by_their_passphrase() {
    for body in [AES_256, AES_128] {
        assert!(is_encrypted(&pem(body)));
        let opened = decrypt(&pem(body), PASSPHRASE).unwrap();
        assert!(opened.contains(PLAIN) && opened.starts_with("before") && opened.contains("after"), "{opened}");
        assert!(!is_encrypted(&opened));
        assert_eq!(decrypt(&pem(body), "wrong"), Err(KeyError::Passphrase));
    }
}

#[test]
fn other_forms_are_named_and_broken_ones_do_no_harm() {
    assert_eq!(decrypt(&pem(DES), PASSPHRASE), Err(KeyError::Form));
    assert_eq!(decrypt("Proc-Type: 4,ENCRYPTED", PASSPHRASE), Err(KeyError::Form));
    let der = STANDARD.decode(AES_256.split_whitespace().collect::<String>()).unwrap();
    for cut in 0..der.len() {
        let broken = pem(&STANDARD.encode(&der[..cut]));
        assert!(decrypt(&broken, PASSPHRASE).is_err(), "{cut}");
    }
}
