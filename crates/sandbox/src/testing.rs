//! Commands for the tests.

use process::{Output, Spec, Stdin};
use std::path::Path;

/// A program without arguments.
pub(crate) fn spec(program: &str, cwd: &Path) -> Spec {
    Spec {
        program: program.into(),
        args: Vec::new(),
        cwd: cwd.to_owned(),
        env: Vec::new(),
        stdin: Stdin::Null,
        output: Output::Pipes,
        arg0: None,
    }
}
