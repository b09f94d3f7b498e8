//! The first line: what runs, how far it is, what it took.

use crate::state::State;
use crate::{amounts, theme, wrap};
use ratatui::text::{Line, Span};

/// Less of a title says nothing.
const TITLE_MIN: usize = 12;
const BAR_WIDTH: usize = 12;
const GAP: usize = 3;
const LEVELS: usize = 6;

/// Tries the fullest set of facts first; the narrowest is shown whatever happens.
pub fn line(state: &State, width: usize) -> Line<'static> {
    let variants: [_; LEVELS] = std::array::from_fn(|level| facts(state, level));
    let columns = |facts: &[Span<'static>]| facts.iter().map(|fact| fact.width() + GAP).sum::<usize>();
    let title_room = " ralph ▸ ".chars().count() + TITLE_MIN;
    let chosen = variants.iter().find(|facts| columns(facts) + title_room <= width).unwrap_or(&variants[LEVELS - 1]);
    let room = width.saturating_sub(columns(chosen));
    let title = wrap::cut(&format!(" ralph ▸ {}", state.title), room);
    let fill = room.saturating_sub(wrap::columns(&title));
    let mut spans = vec![Span::styled(title, theme::TITLE), Span::raw(" ".repeat(fill))];
    for fact in chosen {
        spans.push(Span::raw(" ".repeat(GAP - 1)));
        spans.push(fact.clone());
        spans.push(Span::raw(" "));
    }
    Line::from(spans)
}

/// Level 0 has everything, every further level has less: tokens, words, the bar, the limit, the context.
fn facts(state: &State, level: usize) -> Vec<Span<'static>> {
    let mut facts = vec![Span::styled(iteration(state, level), theme::STRONG)];
    let most = state.limits.iterations;
    if most > 0 && level < 3 {
        let bar = amounts::bar(u64::from(state.iteration), u64::from(most), BAR_WIDTH);
        facts.push(Span::styled(bar, theme::ACCENT));
    }
    facts.push(Span::raw(amounts::clock(state.elapsed_ms())));
    let spending = state.spending();
    if level < 1 {
        facts.push(Span::raw(format!("{} tokens", amounts::count(spending.tokens.total()))));
    }
    let of = state.limits.run.usd.filter(|_| level < 4).map(|usd| format!(" of {}", amounts::usd(usd)));
    facts.push(Span::raw(format!("{}{}", amounts::usd(spending.usd), of.unwrap_or_default())));
    if let Some(percent) = amounts::percent(state.context_tokens, state.context_window)
        && level < 5
    {
        facts.push(Span::styled(format!("ctx {percent} %"), theme::DIM));
    }
    facts
}

fn iteration(state: &State, level: usize) -> String {
    match (state.iteration, state.limits.iterations) {
        (now, 0) if level < 2 => format!("iteration {now}"),
        (now, most) if level < 2 => format!("iteration {now} of {most}"),
        (now, 0) => format!("#{now}"),
        (now, most) => format!("{now}/{most}"),
    }
}
