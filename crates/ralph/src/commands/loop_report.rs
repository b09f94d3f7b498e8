//! `ralph report [RUN]`: a run as one HTML file, as Markdown, or its screen as a picture.

use super::{loop_prices, loop_resume};
use crate::failure::{Ended, Failure};
use crate::say;
use report::{Extras, Report};
use resolve::{Environment, runtime};
use runner::{Folder, RunInfo};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use wire::ExitCode;

const USAGE: &str = "usage: ralph report [RUN] [-o FILE] [--md | --screen [--until SEQ]]";

/// Of a prompt or a todo list; the page cuts it again.
const SOURCE_MAX: u64 = 64 * 1024;
/// Of the picture, in cells.
const COLUMNS: u16 = 100;
const ROWS: u16 = 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Html,
    Markdown,
    Screen,
}

struct Wanted {
    name: Option<String>,
    file: Option<PathBuf>,
    form: Form,
    until: u64,
}

fn parse(words: &[String]) -> Result<Wanted, Failure> {
    let mut wanted = Wanted { name: None, file: None, form: Form::Html, until: u64::MAX };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--md" => wanted.form = Form::Markdown,
            "--screen" => wanted.form = Form::Screen,
            "-o" | "--output" => {
                wanted.file = Some(words.next().ok_or_else(|| Failure::usage("option '-o' needs a file."))?.into());
            }
            "--until" => {
                let number = words.next().and_then(|text| text.parse().ok());
                let needed = || Failure::usage("option '--until' needs the number of a line of the recording.");
                wanted.until = number.ok_or_else(needed)?;
            }
            flag if flag.starts_with('-') => {
                return Err(Failure::usage(format!("unknown option '{flag}'")).hint(USAGE));
            }
            name if wanted.name.is_none() => wanted.name = Some(name.to_owned()),
            name => return Err(Failure::usage(format!("'{name}' is one run too many")).hint(USAGE)),
        }
    }
    Ok(wanted)
}

pub fn run(words: &[String], environment: &Environment) -> Ended {
    say::out(&made(words, environment)?);
    Ok(ExitCode::Success)
}

fn made(words: &[String], environment: &Environment) -> Result<String, Failure> {
    let wanted = parse(words)?;
    let folder = Folder::new(&environment.cwd);
    let info = runner::load(&folder, &runner::find(&folder, wanted.name.as_deref())?)?;
    let text = match wanted.form {
        Form::Screen => screen(&folder, &info, wanted.until)?,
        Form::Html => report::html(&told(&folder, &info)?, &extras(&folder, &info, environment)),
        Form::Markdown => report::markdown(&told(&folder, &info)?, &extras(&folder, &info, environment)),
    };
    let Some(file) = &wanted.file else { return Ok(text) };
    let place = environment.cwd.join(file);
    std::fs::write(&place, text)
        .map_err(|error| Failure::failed(format!("{} cannot be written: {error}", place.display())))?;
    Ok(format!("{}\n", place.display()))
}

fn events(folder: &Folder, info: &RunInfo, mut each: impl FnMut(u64, cycle::LoopEvent)) -> Result<(), Failure> {
    let file = folder.events(&info.id);
    let fail = |error: std::io::Error| Failure::failed(format!("{} cannot be read: {error}", file.display()));
    let mut follower = runner::run_socket::Follower::open(&file, loop_prices::usd, (1, 0)).map_err(fail)?;
    while let Some(numbered) = follower.next_event().map_err(fail)? {
        each(numbered.seq, numbered.event);
    }
    Ok(())
}

fn told(folder: &Folder, info: &RunInfo) -> Result<Report, Failure> {
    let mut report = Report::default();
    events(folder, info, |_, event| report.fold(&event))?;
    Ok(report)
}

fn screen(folder: &Folder, info: &RunInfo, until: u64) -> Result<String, Failure> {
    let mut shown = Vec::new();
    events(folder, info, |seq, event| {
        if seq <= until {
            shown.push(event);
        }
    })?;
    Ok(tui::picture(&shown, COLUMNS, ROWS))
}

/// What is not in the recording. Whatever cannot be had is left out.
fn extras(folder: &Folder, info: &RunInfo, environment: &Environment) -> Extras {
    let typed = loop_resume::recorded(info.start.as_ref()).options;
    let prompt = folder.find_prompt(typed.prompt.as_deref().map(Path::new));
    let goal = typed.goal.map(|path| folder.root().join(path));
    let files = [goal, prompt, Some(folder.find_todo(typed.todo.as_deref().map(Path::new)))];
    let sources = files.into_iter().flatten().filter_map(|path| {
        let name = path.strip_prefix(folder.root()).unwrap_or(&path).display().to_string();
        Some((name, read(folder, &path)?))
    });
    let rules = resolve::confined_checks(environment, &mut Vec::new()).ok().flatten();
    let diff = runtime()
        .ok()
        .and_then(|runtime| runtime.block_on(runner::run_diff(folder, info, &environment.vars, rules.as_ref())));
    let offset = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::system()).offset().seconds();
    Extras { sources: sources.collect(), diff, zone_offset_ms: i64::from(offset) * 1000 }
}

/// Agents write here: no link leads out of the folder.
fn read(folder: &Folder, path: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    runner::open_source(folder, path).ok()?.take(SOURCE_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned()).filter(|text| !text.trim().is_empty())
}
