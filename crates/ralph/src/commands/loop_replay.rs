//! `ralph --replay [FILE]`: a recording on the screen, or as lines where there is none.

use super::loop_run::{Show, Stdout};
use super::{loop_prices, loop_screen};
use crate::failure::{Ended, Failure};
use arguments::loop_flags::Recording;
use resolve::Environment;
use runner::{Folder, PlainSink, Sink};
use std::path::Path;
use tui::replay::{Recording as Recorded, RecordingContext};
use wire::ExitCode;

pub fn run(recording: &Recording, show: Show, environment: &Environment) -> Ended {
    let folder = Folder::new(&environment.cwd);
    let file = match recording {
        Recording::File(file) => {
            let here = environment.cwd.join(file);
            let run = file.to_str().filter(|_| !here.exists()).and_then(|id| runner::find(&folder, Some(id)).ok());
            run.map_or(here, |id| folder.events(&id))
        }
        Recording::Newest => match runner::find(&folder, None) {
            Ok(id) => folder.events(&id),
            // Where another loop left its log.
            Err(_) if folder.ralph().join("events.log").is_file() => folder.ralph().join("events.log"),
            Err(error) => return Err(error.into()),
        },
    };
    let here = &environment.cwd;
    if show == Show::Screen {
        on_screen(&file, here)?;
    } else {
        as_lines(&file, here, show)?;
    }
    Ok(ExitCode::Success)
}

fn on_screen(file: &Path, folder: &Path) -> Result<(), Failure> {
    let opened = std::fs::File::open(file);
    let opened = opened.map_err(|error| Failure::failed(format!("{} cannot be read: {error}", file.display())))?;
    let title = file.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = folder.display().to_string();
    let about = RecordingContext { title: &title, folder: &folder, price: loop_prices::usd };
    let recording = Recorded::read(std::io::BufReader::new(opened), about).map_err(Failure::failed)?;
    tui::play(recording, loop_screen::stop)
        .map_err(|error| Failure::failed(format!("the screen cannot be shown: {error}")).hint("Try --no-tui."))
}

fn as_lines(file: &Path, folder: &Path, show: Show) -> Result<(), Failure> {
    let mut sink: Box<dyn Sink> = match show {
        Show::Json => show.sink(None),
        _ => Box::new(PlainSink::within(Stdout, folder)),
    };
    runner::replay(file, loop_prices::usd, |event| sink.event(event)).map_err(Failure::failed)
}
