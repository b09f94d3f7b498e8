//! The report as Markdown, for a pull request. Agents' words stand in fenced blocks that they cannot close.

use crate::model::{Report, amount, outcome};
use crate::text::{block, line, moment};
use crate::{Extras, diff};
use cycle::amounts::{count, duration, usd};

/// Iterations in the table.
const TOLD_MAX: usize = 100;
/// Of a diff in a comment: hosts take some ten thousand characters.
const DIFF_MAX: usize = 32 * 1024;

pub fn markdown(report: &Report, extras: &Extras) -> String {
    let mut page = format!("# {}\n\n", inline(report.title()));
    match &report.verdict {
        Some(verdict) => {
            let unchecked = if verdict.unchecked { " (unchecked)" } else { "" };
            page.push_str(&format!("**{}{unchecked}**: {}\n\n", verdict.verdict.word(), inline(&verdict.reason)));
        }
        None => page.push_str("**not ended**\n\n"),
    }
    page.push_str(&format!(
        "Run `{}` of {} · {} iterations · {} · {} · {} tokens\n\n",
        code(report.run()),
        moment(report.started, extras.zone_offset_ms),
        report.iterations.len(),
        usd(report.cost_usd()),
        duration(report.verdict.as_ref().map_or(0, |verdict| verdict.elapsed_ms)),
        count(report.tokens().total())
    ));
    questions(&mut page, report);
    checks(&mut page, report);
    changes(&mut page, report, extras);
    iterations(&mut page, report);
    page.push_str(&format!("See it again: `ralph --replay {}`\n", code(report.run())));
    page
}

fn questions(page: &mut String, report: &Report) {
    if report.asked.is_empty() {
        return;
    }
    page.push_str("## Questions and answers\n\n");
    for asked in &report.asked {
        page.push_str(&fenced("", &asked.question));
        match &asked.answer {
            Some(answer) => page.push_str(&format!("Answer:\n\n{}", fenced("", answer))),
            None => page.push_str("Not answered.\n\n"),
        }
    }
}

fn checks(page: &mut String, report: &Report) {
    let last = report.last_checks();
    if last.is_empty() {
        return;
    }
    page.push_str("## Checks\n\n");
    for check in last {
        let mark = if check.passed { "✓" } else { "✗" };
        page.push_str(&format!("- {mark} `{}` ({})\n", code(&check.command), duration(check.duration_ms)));
    }
    page.push('\n');
}

fn changes(page: &mut String, report: &Report, extras: &Extras) {
    let commits = report.commits();
    if commits.is_empty() && extras.diff.is_none() {
        return;
    }
    page.push_str("## What changed\n\n");
    for commit in commits {
        page.push_str(&format!("- `{}`\n", code(commit)));
    }
    let Some(text) = &extras.diff else {
        page.push('\n');
        return;
    };
    let (files, more) = diff::parse(text);
    for file in &files {
        page.push_str(&format!("- `{}` +{} −{}\n", code(&file.path), file.added, file.removed));
    }
    if more > 0 {
        page.push_str(&format!("- and {more} more files\n"));
    }
    if !text.trim().is_empty() {
        let shown = cycle::bounded(text, DIFF_MAX);
        page.push_str(&format!(
            "\n<details><summary>diff</summary>\n\n{}</details>\n",
            fence("diff", &cycle::clean::block(&shown))
        ));
    }
    page.push('\n');
}

fn iterations(page: &mut String, report: &Report) {
    page.push_str("## Iterations\n\n| | outcome | files | cost | time |\n|---|---|---|---|---|\n");
    let hidden = report.iterations.len().saturating_sub(TOLD_MAX);
    for one in report.iterations.iter().skip(hidden) {
        let files = one.receipt.changed.files.len() as u64 + one.receipt.changed.more_files;
        page.push_str(&format!(
            "| {} | {} | {files} | {} | {} |\n",
            one.number,
            outcome(&one.receipt.outcome).0,
            usd(amount(one.receipt.cost_usd)),
            duration(one.receipt.duration_ms)
        ));
    }
    page.push('\n');
    let last = report.iterations.last().map(|one| one.receipt.summary.as_str());
    if let Some(summary) = last.filter(|summary| !summary.trim().is_empty()) {
        page.push_str(&format!("The agent's last words:\n\n{}", fenced("", summary)));
    }
}

/// One line in which nothing is markup.
fn inline(text: &str) -> String {
    let mut safe = String::new();
    for c in line(text).chars() {
        if c.is_ascii_punctuation() && !matches!(c, '.' | ',' | ':' | ';' | '?' | '/' | '-' | '\'' | '%') {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

/// For a code span.
fn code(text: &str) -> String {
    line(text).replace('`', "'")
}

fn fenced(kind: &str, text: &str) -> String {
    fence(kind, &block(text))
}

/// Longer than any row of backticks inside.
fn fence(kind: &str, text: &str) -> String {
    let mut longest = 0;
    let mut row = 0;
    for c in text.chars() {
        row = if c == '`' { row + 1 } else { 0 };
        longest = longest.max(row);
    }
    let ticks = "`".repeat((longest + 1).max(3));
    format!("{ticks}{kind}\n{}\n{ticks}\n\n", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cannot_become_markup() {
        assert_eq!(fence("", "a ```` b"), "`````\na ```` b\n`````\n\n");
        assert_eq!(inline("<img src=x> [a](b)"), "\\<img src\\=x\\> \\[a\\]\\(b\\)");
        assert_eq!(code("a`b"), "a'b");
    }
}
