//! Credentials of ours that must not leave by the back door: a command that prints its environment
//! would put them into the stream, the transcript, the conversation and the file of its output.

use options::Options;
use serde_json::Value;
use settings::Found;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::rc::Rc;
use turn::{CallContent, CallResult};

/// Shorter values are no real credentials, and would be found in ordinary text.
const SHORTEST: usize = 8;

const HIDDEN: &str = "[secret]";

const VARIABLES: [&str; 4] = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"];

/// Headers of the user's own whose names say that their values are credentials.
const TELLING_NAMES: [&str; 5] = ["auth", "key", "token", "secret", "cookie"];

/// Clones share what is learned later.
#[derive(Clone, Default)]
pub struct Secrets(Rc<RefCell<Vec<String>>>);

impl Secrets {
    pub fn of(options: &Options) -> Self {
        let secrets = Self::default();
        let from_env = options.env.iter().filter(|(name, _)| VARIABLES.iter().any(|known| name == known));
        secrets.learn(from_env.filter_map(|(_, value)| value.to_str()));
        for (name, value) in &options.access.client.custom_headers {
            let name = name.to_ascii_lowercase();
            if TELLING_NAMES.iter().any(|telling| name.contains(telling)) {
                secrets.learn(value.split_whitespace().last());
            }
        }
        if let Some(chosen) = &options.access.credentials.chosen {
            secrets.learn(found(&chosen.found));
        }
        secrets
    }

    /// More of them: what a helper or a renewal gave.
    pub fn learn<S: Into<String>>(&self, more: impl IntoIterator<Item = S>) {
        let mut known = self.0.borrow_mut();
        known.extend(more.into_iter().map(Into::into).filter(|secret| secret.len() >= SHORTEST));
        // The longest first, so that a part of one never spoils the whole.
        known.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        known.dedup();
    }

    pub fn list(&self) -> Vec<String> {
        self.0.borrow().clone()
    }

    /// The result of a call without them.
    pub fn hide(&self, mut outcome: CallResult) -> CallResult {
        match &mut outcome.content {
            CallContent::Text(text) => self.hide_in(text),
            CallContent::Blocks(blocks) => blocks.iter_mut().for_each(|block| self.hide_in_value(block)),
        }
        self.hide_in_value(&mut outcome.structured);
        if let Some(file) = outcome.structured["persistedOutputPath"].as_str() {
            self.hide_in_file(Path::new(file));
        }
        outcome
    }

    /// Overwrites them in a file that holds a command's output. A file that cannot be opened shows nothing.
    pub fn hide_in_file(&self, path: &Path) {
        if let Ok(Some(file)) = output_file(path) {
            for secret in &*self.0.borrow() {
                let _ = overwrite(&file, secret.as_bytes());
            }
        }
    }

    pub fn hide_value(&self, mut value: Value) -> Value {
        self.hide_in_value(&mut value);
        value
    }

    /// A text without them.
    pub fn hide_text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        self.hide_in(&mut text);
        text
    }

    fn hide_in(&self, text: &mut String) {
        for secret in &*self.0.borrow() {
            if text.contains(secret.as_str()) {
                *text = text.replace(secret.as_str(), HIDDEN);
            }
        }
    }

    fn hide_in_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.hide_in(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.hide_in_value(item)),
            Value::Object(map) => map.values_mut().for_each(|item| self.hide_in_value(item)),
            _ => {}
        }
    }
}

/// Only a plain file of its own: where the command put a link, writing would change what it leads to.
fn output_file(path: &Path) -> io::Result<Option<File>> {
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let about = file.metadata()?;
    Ok((about.is_file() && about.nlink() == 1).then_some(file))
}

/// Read at a time.
const CHUNK: usize = 1024 * 1024;

/// Output kept by the tools is shorter; of what a background task floods the rest stays as it is.
const LOOKED_AT: u64 = 64 * 1024 * 1024;

/// In place and without changing its length, since the model may have been told line numbers and sizes.
fn overwrite(file: &File, secret: &[u8]) -> io::Result<()> {
    let mut cover = HIDDEN.as_bytes().to_vec();
    cover.resize(secret.len(), b'*');
    let mut chunk = vec![0; CHUNK + secret.len()];
    let mut at = 0;
    while at < LOOKED_AT {
        let count = read_at(file, &mut chunk, at)?;
        for place in memchr::memmem::find_iter(&chunk[..count], secret) {
            file.write_all_at(&cover, at + place as u64)?;
        }
        if count < chunk.len() {
            break;
        }
        // The chunks overlap by one secret, so that none hides on a border.
        at += CHUNK as u64;
    }
    Ok(())
}

/// As much as there is, up to the buffer's length.
fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], at + filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

fn found(found: &Found) -> Vec<String> {
    match found {
        Found::AuthToken(secret) | Found::ApiKey(secret) | Found::OAuthToken(secret) | Found::ApiKeyFile(secret) => {
            vec![secret.expose().to_owned()]
        }
        Found::TokenAndKey { token, key } => vec![token.expose().to_owned(), key.expose().to_owned()],
        Found::OAuthFile(login) => {
            let refresh = login.refresh.as_ref().map(|secret| secret.expose().to_owned());
            std::iter::once(login.access.expose().to_owned()).chain(refresh).collect()
        }
        Found::Helper { .. } => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn no_part_of_a_result_shows_them() {
        let secrets = Secrets::default();
        secrets.learn(["sk-ant-very-secret", "short"]);
        let hidden =
            secrets.hide(CallResult::text("KEY=sk-ant-very-secret\n", json!({"stdout": ["sk-ant-very-secret"]})));
        assert!(!format!("{hidden:?}").contains("very-secret"));
        assert_eq!(secrets.list(), ["sk-ant-very-secret"]);
    }

    #[test]
    fn in_a_file_only_they_change_and_links_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let [output, link, twin] = ["output", "link", "twin"].map(|name| folder.path().join(name));
        let secrets = Secrets::default();
        secrets.learn(["sk-ant-very-secret"]);
        // One at the start, one across the border of two chunks, one at the end.
        let mut text = format!("sk-ant-very-secret{}", "x".repeat(CHUNK - 24));
        text.push_str("sk-ant-very-secret and sk-ant-very-secret");
        std::fs::write(&output, &text).unwrap();
        secrets.hide_in_file(&output);
        let hidden = std::fs::read_to_string(&output).unwrap();
        assert_eq!(hidden, text.replace("sk-ant-very-secret", "[secret]**********"));

        std::fs::write(&output, &text).unwrap();
        std::os::unix::fs::symlink(&output, &link).unwrap();
        secrets.hide_in_file(&link);
        std::fs::hard_link(&output, &twin).unwrap();
        secrets.hide_in_file(&twin);
        assert_eq!(std::fs::read_to_string(&output).unwrap(), text);
    }
}
