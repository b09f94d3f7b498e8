//! The first line: the run, its progress, its cost.

use crate::state::ScreenState;
use crate::{amounts, theme, wrap};
use ratatui::text::{Line, Span};

/// Less of a title says nothing.
const TITLE_MIN: usize = 12;
const BAR_WIDTH: usize = 12;
const SHORT_BAR_WIDTH: usize = 6;
const GAP: usize = 3;
/// A context this full is about to be condensed.
const CONTEXT_FULL: u64 = 80;

/// How much is left out, the least wanted first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Without {
    Nothing,
    Tokens,
    LongWords,
    LongBar,
    CostLimit,
    OurName,
    Bar,
    Context,
}

const LEVELS: [Without; 8] = [
    Without::Nothing,
    Without::Tokens,
    Without::LongWords,
    Without::LongBar,
    Without::CostLimit,
    Without::OurName,
    Without::Bar,
    Without::Context,
];

/// Tries the fullest set of facts first; the narrowest is shown whatever happens.
pub fn line(state: &ScreenState, width: usize) -> Line<'static> {
    let room = |level| width.checked_sub(columns(&facts(state, level)) + wrap::columns(name(level)) + TITLE_MIN);
    let level = LEVELS.into_iter().find(|level| room(*level).is_some()).unwrap_or(Without::Context);
    let facts = facts(state, level);
    let room = width.saturating_sub(columns(&facts));
    let title = wrap::cut(&format!("{}{}", name(level), state.title), room);
    let fill = room.saturating_sub(wrap::columns(&title));
    let mut spans = vec![Span::styled(title, theme::TITLE), Span::raw(" ".repeat(fill))];
    for fact in facts {
        spans.push(Span::raw(" ".repeat(GAP - 1)));
        spans.push(fact);
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}

fn columns(facts: &[Span<'static>]) -> usize {
    facts.iter().map(|fact| fact.width() + GAP).sum()
}

fn name(level: Without) -> &'static str {
    if level < Without::OurName { " ralph ▸ " } else { " " }
}

fn facts(state: &ScreenState, level: Without) -> Vec<Span<'static>> {
    let mut facts = vec![Span::styled(iteration(state, level), theme::STRONG)];
    let most = state.limits.iterations;
    if most > 0 && level < Without::Bar {
        let width = if level < Without::LongBar { BAR_WIDTH } else { SHORT_BAR_WIDTH };
        // What is done is done, with however few iterations.
        let done = state.is_done();
        let bar = amounts::bar(u64::from(if done { most } else { state.iteration }), u64::from(most), width);
        facts.push(Span::styled(bar, theme::ACCENT));
    }
    facts.push(Span::raw(amounts::clock(state.elapsed_ms())));
    let spending = state.spending();
    if level < Without::Tokens {
        facts.push(Span::raw(format!("{} tokens", amounts::count(spending.tokens.total()))));
    }
    let limit = state.limits.run.usd.filter(|_| level < Without::CostLimit);
    let of = limit.map(|usd| format!(" of {}", amounts::usd(usd)));
    facts.push(Span::raw(format!("{}{}", amounts::usd(spending.usd), of.unwrap_or_default())));
    if let Some(percent) = amounts::percent(state.context_tokens, state.context_window)
        && level < Without::Context
    {
        let style = if percent < CONTEXT_FULL { theme::DIM } else { theme::STRONG };
        facts.push(Span::styled(format!("ctx {percent} %"), style));
    }
    facts
}

fn iteration(state: &ScreenState, level: Without) -> String {
    match (state.iteration, state.limits.iterations) {
        (now, 0) if level < Without::LongWords => format!("iteration {now}"),
        (now, most) if level < Without::LongWords => format!("iteration {now} of {most}"),
        (now, 0) => format!("#{now}"),
        (now, most) => format!("{now}/{most}"),
    }
}
