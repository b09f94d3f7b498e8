//! The recording of a loop, and an agent's lines in it.

use runner::Folder;

pub fn load(bytes: &[u8]) {
    let folder = Folder::new(super::scratch());
    let file = folder.events("run");
    std::fs::create_dir_all(folder.run("run")).expect("a folder");
    std::fs::write(&file, bytes).expect("a file");
    let info = runner::load(&folder, "run").expect("a file that can be read");
    assert!(info.memory.spent.usd.is_finite() && info.memory.spent.usd >= 0.0, "{:?}", info.memory.spent);
    let counted = info.receipts.iter().map(|(iteration, _)| *iteration).max().unwrap_or(0);
    assert!(info.memory.iterations <= counted, "{} of {counted}", info.memory.iterations);
    // Only a file without events has nothing to play.
    let _ = runner::replay(&file, |_, _| 0.0, |_| ());
}
