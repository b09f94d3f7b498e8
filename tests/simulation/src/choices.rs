//! Every random decision of a schedule, on a tape that can be played again and made shorter.
//!
//! A choice is a small number, and 0 is always the plainest: a tape that ends goes on with zeros, and a tape with smaller
//! numbers is a simpler schedule.

#[derive(Debug, Clone)]
pub struct Choices {
    state: u64,
    /// `Some` plays a tape instead of drawing.
    played: Option<Vec<u16>>,
    tape: Vec<u16>,
    /// Where each step of the world begins on the tape.
    marks: Vec<usize>,
}

impl Choices {
    pub fn drawn(seed: u64) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d,
            played: None,
            tape: Vec::new(),
            marks: Vec::new(),
        }
    }

    pub fn played(tape: Vec<u16>) -> Self {
        Self { state: 0, played: Some(tape), tape: Vec::new(), marks: Vec::new() }
    }

    /// The choices that were made.
    pub fn tape(&self) -> &[u16] {
        &self.tape
    }

    /// A step begins here: what belongs together can be left out together.
    pub fn mark(&mut self) {
        self.marks.push(self.tape.len());
    }

    pub fn marks(&self) -> &[usize] {
        &self.marks
    }

    /// One of `count`: 0 up to `count - 1`.
    pub fn pick(&mut self, count: usize) -> usize {
        let count = count.clamp(1, usize::from(u16::MAX));
        let drawn = match &self.played {
            Some(played) => usize::from(played.get(self.tape.len()).copied().unwrap_or(0)).min(count - 1),
            None => (self.word() >> 16) as usize % count,
        };
        self.tape.push(drawn as u16);
        drawn
    }

    /// True in `percent` of a hundred cases; false is the plain one.
    pub fn happens(&mut self, percent: usize) -> bool {
        // Two values only, so that a shorter tape can say no.
        let drawn = match &self.played {
            Some(played) => played.get(self.tape.len()).copied().unwrap_or(0).min(1),
            None => u16::from((self.word() >> 16) as usize % 100 < percent),
        };
        self.tape.push(drawn);
        drawn == 1
    }

    /// splitmix64
    fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}
