//! The speed table: our binary, beside a reference binary where one is given by path, on one scripted
//! API on loopback.
//!
//! `cargo run --release -p ralph-bench -- [--ours PATH] [--reference PATH] [--runs N]`
//! Build what is measured with `cargo build --profile dist`; its path is the default of `--ours`.

mod measure;
mod scenarios;
mod table;

use std::path::PathBuf;

const USAGE: &str = "usage: ralph-bench [--ours PATH] [--reference PATH] [--runs N]";

struct Asked {
    ours: PathBuf,
    reference: Option<PathBuf>,
    runs: usize,
}

#[expect(clippy::print_stdout, clippy::print_stderr, reason = "a table for people is what this program is for")]
fn main() -> std::process::ExitCode {
    match asked().and_then(|asked| run(&asked)) {
        Ok(text) => {
            println!("{text}");
            std::process::ExitCode::SUCCESS
        }
        Err(problem) => {
            eprintln!("{problem}");
            std::process::ExitCode::FAILURE
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "a program of its own, with arguments of its own")]
fn asked() -> Result<Asked, String> {
    let mut asked = Asked { ours: PathBuf::from("target/dist/ralph"), reference: None, runs: 20 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(USAGE)?;
        match word.as_str() {
            "--ours" => asked.ours = value.into(),
            "--reference" => asked.reference = Some(value.into()),
            "--runs" => asked.runs = value.parse().map_err(|_| USAGE)?,
            _ => return Err(USAGE.into()),
        }
    }
    let absolute =
        |path: PathBuf| path.canonicalize().map_err(|error| format!("{} cannot be used: {error}", path.display()));
    asked.ours = absolute(asked.ours)?;
    asked.reference = asked.reference.map(absolute).transpose()?;
    Ok(asked)
}

fn run(asked: &Asked) -> Result<String, String> {
    let ours = scenarios::all(&asked.ours, asked.runs)?;
    let reference = asked.reference.as_ref().map(|path| scenarios::all(path, asked.runs.div_ceil(4))).transpose()?;
    Ok(table::markdown(&ours, reference.as_deref()))
}
