//! Is the loop getting nowhere? Work that repeats is fine as long as something changes.
//!
//! Signs are weighed: no change and the same words again weigh more than no change with new words, and
//! a tree seen before is no change at all (there and back again). A change of strategy comes first, the
//! end after that did not help either. Deliberately absent: a count of iterations that "look alike".

use std::collections::VecDeque;

/// Three iterations that plainly repeat themselves, or six that only talk.
const CHANGE_AT: u32 = 6;
/// As many again after the strategy changed.
const STOP_AT: u32 = 12;
/// Same words, nothing changed.
const REPEATED: u32 = 2;
/// New words, nothing changed; or the same check failed again although something did change.
const DOUBTFUL: u32 = 1;
/// Loops that go round in a circle do so in a small one.
const SEEN_MAX: usize = 20;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Stuck {
    points: u32,
    trees: VecDeque<u64>,
    words: VecDeque<u64>,
    failed_check: Option<u64>,
}

/// The signs of progress of one iteration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IterationSigns {
    /// Of all files; where nobody can tell, words are all there is.
    pub tree: Option<u64>,
    pub words: u64,
    pub failed_check: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StuckLevel {
    Progress,
    NoProgress,
    ChangeStrategy,
    Stop,
}

impl Stuck {
    /// The state of the files before the first iteration.
    pub(crate) fn begin(&mut self, tree: Option<u64>) {
        remember(&mut self.trees, tree);
    }

    pub(crate) fn observe(&mut self, sign: IterationSigns) -> StuckLevel {
        let new_words = !self.words.contains(&sign.words);
        let moved = sign.tree.map_or(new_words, |tree| !self.trees.contains(&tree));
        let same_check = sign.failed_check.is_some() && sign.failed_check == self.failed_check;
        remember(&mut self.words, Some(sign.words));
        remember(&mut self.trees, sign.tree);
        self.failed_check = sign.failed_check;
        let weight = match (moved, new_words) {
            (true, _) if !same_check => 0,
            (false, false) => REPEATED,
            _ => DOUBTFUL,
        };
        if weight == 0 {
            self.points = 0;
            return StuckLevel::Progress;
        }
        let before = self.points;
        self.points += weight;
        match self.points {
            STOP_AT.. => StuckLevel::Stop,
            CHANGE_AT.. if before < CHANGE_AT => StuckLevel::ChangeStrategy,
            _ => StuckLevel::NoProgress,
        }
    }
}

fn remember(seen: &mut VecDeque<u64>, value: Option<u64>) {
    let Some(value) = value.filter(|value| !seen.contains(value)) else { return };
    seen.push_back(value);
    if seen.len() > SEEN_MAX {
        seen.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(signs: &[(Option<u64>, u64, Option<u64>)]) -> Vec<StuckLevel> {
        let mut stuck = Stuck::default();
        stuck.begin(Some(0));
        let sign = |&(tree, words, failed_check)| IterationSigns { tree, words, failed_check };
        signs.iter().map(|one| stuck.observe(sign(one))).collect()
    }

    #[test]
    fn work_that_changes_something_is_never_stuck_however_alike_it_sounds() {
        let signs: Vec<_> = (1..50).map(|tree| (Some(tree), 7, None)).collect();
        assert!(run(&signs).iter().all(|standing| *standing == StuckLevel::Progress));
    }

    #[test]
    fn the_same_words_and_no_change_change_the_strategy_and_then_stop() {
        let standings = run(&[(Some(0), 7, None); 8]);
        // The first has new words: one point; then two each.
        let change = standings.iter().position(|standing| *standing == StuckLevel::ChangeStrategy);
        let stop = standings.iter().position(|standing| *standing == StuckLevel::Stop);
        assert_eq!((change, stop), (Some(3), Some(6)), "{standings:?}");
    }

    #[test]
    fn talk_without_change_takes_longer() {
        let signs: Vec<_> = (1..20).map(|words| (Some(0), words, None)).collect();
        let standings = run(&signs);
        assert_eq!(standings.iter().position(|standing| *standing == StuckLevel::Stop), Some(11));
    }

    #[test]
    fn there_and_back_again_is_no_progress() {
        let signs: Vec<_> = (0..30).map(|turn| (Some(turn % 2), 7, None)).collect();
        assert!(run(&signs).contains(&StuckLevel::Stop));
    }

    #[test]
    fn a_check_that_fails_the_same_way_each_time_counts_in_spite_of_changes() {
        let signs: Vec<_> = (1..20).map(|tree| (Some(tree), 7, Some(3))).collect();
        let standings = run(&signs);
        assert_eq!(standings[0], StuckLevel::Progress);
        assert_eq!(standings.iter().position(|standing| *standing == StuckLevel::ChangeStrategy), Some(6));
    }

    #[test]
    fn progress_forgives() {
        let mut signs = vec![(Some(0), 7, None); 4];
        signs.push((Some(1), 7, None));
        signs.extend(vec![(Some(1), 7, None); 2]);
        assert!(!run(&signs).contains(&StuckLevel::Stop));
    }

    #[test]
    fn without_a_repository_new_words_are_progress() {
        let signs: Vec<_> = (1..20).map(|words| (None, words, None)).collect();
        assert!(run(&signs).iter().all(|standing| *standing == StuckLevel::Progress));
        assert!(run(&[(None, 7, None); 9]).contains(&StuckLevel::Stop));
    }
}
