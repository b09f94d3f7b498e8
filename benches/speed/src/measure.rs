//! One run of a binary in a scratch world, and what it used.

use mock::{Mock, Script};
use process::{Output, Spec, Stdin, Timed};
use serde_json::Value;
use std::path::Path;

/// In the line after which a session has needed all the memory it will need. Not every agent begins that line with it.
const RESULT: &str = "\"type\":\"result\"";

/// A folder, a home and a model for a few runs of one binary.
pub struct Stage {
    root: tempfile::TempDir,
    script: Script,
    piped: Option<String>,
}

impl Stage {
    pub fn new(script: Script) -> Result<Self, String> {
        let root = tempfile::tempdir().map_err(|error| error.to_string())?;
        for name in ["wd", "home"] {
            std::fs::create_dir(root.path().join(name)).map_err(|error| error.to_string())?;
        }
        std::fs::write(root.path().join("wd/a.txt"), "one\ntwo\n").map_err(|error| error.to_string())?;
        Ok(Self { root, script, piped: None })
    }

    /// With this text on standard input.
    pub fn piping(mut self, text: String) -> Self {
        self.piped = Some(text);
        self
    }

    /// A fresh model, one run, its measurements. Anything but exit 0 is an error: a fast failure is no result.
    pub fn run(&self, binary: &Path, args: &[&str]) -> Result<Timed, String> {
        let folder = self.root.path().join("wd");
        let script = self.script.clone().substitute("$WD", &folder.display().to_string());
        let mock = Mock::start(script).map_err(|error| error.to_string())?;
        let done = process::timed(&self.spec(binary, args, &mock.url()), RESULT).map_err(|error| error.to_string())?;
        if done.exit.success() {
            return Ok(done);
        }
        let last = done.lines.last().map(|(_, line)| line.as_str()).unwrap_or_default();
        Err(format!("{} {}: exit {}: {last}", binary.display(), args.join(" "), done.exit.shell_code()))
    }

    fn spec(&self, binary: &Path, args: &[&str], url: &str) -> Spec {
        let home = self.root.path().join("home");
        Spec {
            program: binary.into(),
            args: args.iter().map(Into::into).collect(),
            cwd: self.root.path().join("wd"),
            env: vec![
                ("HOME".into(), home.into()),
                ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into()),
                ("ANTHROPIC_API_KEY".into(), "sk-ant-bench-000000".into()),
                ("IS_SANDBOX".into(), "1".into()),
                ("ANTHROPIC_BASE_URL".into(), url.into()),
                ("DISABLE_AUTOUPDATER".into(), "1".into()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC".into(), "1".into()),
            ],
            stdin: self.piped.as_ref().map_or(Stdin::Null, |text| Stdin::Bytes(text.clone().into_bytes())),
            output: Output::Pipes,
            arg0: Some("claude".into()),
        }
    }
}

/// When the first event of this kind was read, in milliseconds from the start.
pub fn event_at(run: &Timed, kind: &str, subtype: Option<&str>) -> Option<f64> {
    run.lines.iter().find_map(|(at, line)| {
        let event: Value = serde_json::from_str(line).ok()?;
        let is_it = event["type"] == kind && subtype.is_none_or(|subtype| event["subtype"] == subtype);
        is_it.then_some(at.as_secs_f64() * 1000.0)
    })
}

pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
