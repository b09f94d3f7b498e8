//! AWS's `config` and `credentials` files: sections of `name = value` lines.
//!
//! Unknown names are kept; nested values (an indented block under `s3 =`) are skipped, because nothing here
//! needs them. Deliberately absent: reading the files and deciding which profile is meant.

use std::collections::BTreeMap;

/// Which of the two files a text is from: they name their sections differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// `[default]`, `[profile NAME]`, `[sso-session NAME]`.
    Config,
    /// `[NAME]`.
    Credentials,
}

pub type Section = BTreeMap<String, String>;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProfileFile {
    pub profiles: BTreeMap<String, Section>,
    pub sso_sessions: BTreeMap<String, Section>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is neither a [section] nor name = value")]
pub struct ProfileFileError {
    pub line: usize,
}

enum Place {
    Nowhere,
    Profile(String),
    SsoSession(String),
}

pub fn parse(text: &str, kind: FileKind) -> Result<ProfileFile, ProfileFileError> {
    let mut file = ProfileFile::default();
    let mut place = Place::Nowhere;
    for (at, line) in text.lines().enumerate() {
        let is_nested = line.starts_with([' ', '\t']);
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', ';']) || is_nested {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            let name = header.split(']').next().unwrap_or_default().trim();
            place = section(name, kind);
            if let Place::Profile(name) = &place {
                file.profiles.entry(name.clone()).or_default();
            }
            continue;
        }
        let (name, value) = line.split_once('=').ok_or(ProfileFileError { line: at + 1 })?;
        let into = match &place {
            Place::Nowhere => continue,
            Place::Profile(name) => file.profiles.entry(name.clone()).or_default(),
            Place::SsoSession(name) => file.sso_sessions.entry(name.clone()).or_default(),
        };
        into.insert(name.trim().to_ascii_lowercase(), without_comment(value).to_owned());
    }
    Ok(file)
}

fn section(name: &str, kind: FileKind) -> Place {
    let (first, rest) = name.split_once([' ', '\t']).map_or((name, ""), |(first, rest)| (first, rest.trim()));
    match (kind, first, rest) {
        (FileKind::Credentials, _, _) | (FileKind::Config, "default", "") => Place::Profile(name.to_owned()),
        (FileKind::Config, "profile", rest) if !rest.is_empty() => Place::Profile(unquoted(rest)),
        (FileKind::Config, "sso-session", rest) if !rest.is_empty() => Place::SsoSession(unquoted(rest)),
        (FileKind::Config, _, _) => Place::Nowhere,
    }
}

fn unquoted(name: &str) -> String {
    name.trim_matches(['"', '\'']).to_owned()
}

/// A comment behind a value begins with a blank and a sign; a sign inside a value is part of it.
fn without_comment(value: &str) -> &str {
    let end = [" #", " ;", "\t#", "\t;"].iter().filter_map(|sign| value.find(sign)).min().unwrap_or(value.len());
    value[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_name_their_sections_in_their_own_way() {
        let config = "# mine\n[default]\nregion = eu-west-1 # near\n[profile dev]\nrole_arn=arn:aws:iam::1:role/x\ns3 =\n  max = 3\n\
                      [sso-session corp]\nsso_region = us-east-1\n[services x]\nlost = 1\n";
        let file = parse(config, FileKind::Config).unwrap();
        assert_eq!(file.profiles["default"]["region"], "eu-west-1");
        assert_eq!(file.profiles["dev"]["role_arn"], "arn:aws:iam::1:role/x");
        assert_eq!(file.profiles["dev"].len(), 2);
        assert_eq!(file.sso_sessions["corp"]["sso_region"], "us-east-1");
        assert_eq!(file.profiles.len(), 2);
        let keys =
            parse("[dev]\naws_access_key_id = A\naws_secret_access_key = a=b#c\n", FileKind::Credentials).unwrap();
        assert_eq!(keys.profiles["dev"]["aws_secret_access_key"], "a=b#c");
        assert_eq!(parse("[profile dev]\nx = 1\n", FileKind::Credentials).unwrap().profiles["profile dev"]["x"], "1");
    }

    #[test]
    fn a_line_that_is_no_setting_is_named() {
        assert_eq!(parse("[a]\nx = 1\nnonsense\n", FileKind::Credentials), Err(ProfileFileError { line: 3 }));
        assert_eq!(parse("", FileKind::Config), Ok(ProfileFile::default()));
    }
}
