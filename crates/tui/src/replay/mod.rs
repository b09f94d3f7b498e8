//! A recorded run on the same screen, with speed, pause and seek.

mod player;
mod recording;

pub use player::{Control, Player, Playing};
pub use recording::{ReadError, Recording, RecordingContext};
