//! A shell with an environment of its own, for the tests of children.

use ralph_process::{Output, Spec, Stdin};
use std::time::Duration;

pub const PATIENCE: Duration = Duration::from_secs(20);

/// `sh -c script` with a search path and one more variable.
pub fn shell(script: &str, (name, value): (&str, &str)) -> Spec {
    Spec {
        program: "sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        env: vec![("PATH".into(), "/usr/bin:/bin".into()), (name.into(), value.into())],
        stdin: Stdin::Null,
        output: Output::Pipes,
        arg0: None,
    }
}
