//! Packs the page's files, so that the program carries a third of them (docs/speed.md, "Size").

#![expect(clippy::disallowed_methods, reason = "this is how a build script is told and tells")]

use flate2::Compression;
use flate2::write::GzEncoder;
use std::env::var_os;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

const FOLDERS: [&str; 2] = ["page", "page/vendor"];

fn main() -> io::Result<()> {
    let out = var_os("OUT_DIR").map(PathBuf::from).ok_or_else(|| io::Error::other("cargo has not set OUT_DIR"))?;
    for folder in FOLDERS {
        println!("cargo::rerun-if-changed={folder}");
        fs::create_dir_all(out.join(folder))?;
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_file() {
                pack(&path, &out.join(&path))?;
            }
        }
    }
    Ok(())
}

fn pack(from: &Path, to: &Path) -> io::Result<()> {
    let mut packed = GzEncoder::new(fs::File::create(to)?, Compression::best());
    packed.write_all(&fs::read(from)?)?;
    packed.finish().map(drop)
}
