//! The report as one HTML file. It holds no script, and its policy allows none, whatever escapes us.

use crate::Extras;
use crate::chart::{self, Bar};
use crate::diff::{self, DiffFile, DiffLine};
use crate::model::{Iteration, Report, amount, outcome};
use crate::style::CSS;
use crate::text::{block, escape, line, moment};
use cycle::amounts::{count, duration, usd};
use cycle::{IterationOutcome, VerdictKind};

/// Iterations that are told one by one; the charts have all.
const TOLD_MAX: usize = 300;
/// Sources and warnings.
const SOURCES_MAX: usize = 4;
const WARNINGS_MAX: usize = 30;

pub fn html(report: &Report, extras: &Extras) -> String {
    let title = line(report.title());
    let mut page = format!(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n<meta name=color-scheme content=\"light dark\">\n\
         <title>{} · ralph</title>\n<style>{CSS}</style></head><body>\n",
        escape(&title)
    );
    header(&mut page, report, extras);
    charts(&mut page, report);
    sources(&mut page, report, extras);
    questions(&mut page, report);
    checks(&mut page, report);
    changes(&mut page, report, extras);
    iterations(&mut page, report);
    warnings(&mut page, report);
    replay(&mut page, report);
    page.push_str("</body></html>\n");
    page
}

fn header(page: &mut String, report: &Report, extras: &Extras) {
    let start = report.start.as_ref();
    page.push_str(&format!("<header><h1>{}</h1>\n", escape(&line(report.title()))));
    if let Some(start) = start {
        let when = moment(report.started, extras.zone_offset_ms);
        page.push_str(&format!(
            "<div class=dim>run {} · {} · {} · {}</div>\n",
            escape(&line(&start.run)),
            escape(&when),
            escape(&line(&start.backend)),
            escape(&line(&start.model))
        ));
    }
    page.push_str(&verdict(report));
    let tokens = report.tokens();
    let elapsed = report.verdict.as_ref().map_or(report.last_at.saturating_sub(report.started), |v| v.elapsed_ms);
    let numbers = [
        (
            report.verdict.as_ref().map_or(report.iterations.len().to_string(), |v| v.iterations.to_string()),
            "iterations",
        ),
        (usd(report.cost_usd()), "cost"),
        (duration(elapsed), "time"),
        (count(tokens.total()), "tokens"),
        (report.commits().len().to_string(), "commits"),
    ];
    let facts: String =
        numbers.iter().map(|(number, word)| format!("<li><b>{}</b><span>{word}</span></li>", escape(number))).collect();
    page.push_str(&format!("<ul class=facts>{facts}</ul></header>\n"));
}

fn verdict(report: &Report) -> String {
    let Some(verdict) = &report.verdict else {
        return "<p class=verdict>not ended</p>\n".to_owned();
    };
    // A limit or a stop that somebody wanted is not wrong.
    let class = match verdict.verdict {
        VerdictKind::Done => "good",
        VerdictKind::Failed | VerdictKind::Stuck | VerdictKind::Blocked => "bad",
        VerdictKind::Limit | VerdictKind::Interrupted | VerdictKind::Terminated => "dim",
    };
    let unchecked = if verdict.unchecked { " (unchecked)" } else { "" };
    let word = verdict.verdict.word();
    format!("<p class=\"verdict {class}\">{word}{unchecked}: {}</p>\n", escape(&line(&verdict.reason)))
}

fn is_bad(outcome: &IterationOutcome) -> bool {
    matches!(outcome, IterationOutcome::Failed { .. } | IterationOutcome::NotDone | IterationOutcome::Cut)
}

fn charts(page: &mut String, report: &Report) {
    let bars = |of: fn(&Iteration) -> f64| -> Vec<Bar> {
        let bar = |one: &Iteration| Bar { number: one.number, amount: of(one), is_bad: is_bad(&one.receipt.outcome) };
        report.iterations.iter().map(bar).collect()
    };
    let cost = chart::bars("Cost of each iteration", &bars(|one| amount(one.receipt.cost_usd)), usd);
    let time =
        chart::bars("Time of each iteration", &bars(|one| one.receipt.duration_ms as f64), |ms| duration(ms as u64));
    if !(cost.is_empty() && time.is_empty()) {
        page.push_str(&format!("<div class=charts>{cost}{time}</div>\n"));
    }
}

fn section(page: &mut String, title: &str) {
    page.push_str(&format!("<h2>{}</h2>\n", escape(title)));
}

fn pre(text: &str) -> String {
    format!("<pre>{}</pre>\n", escape(&block(text)))
}

fn sources(page: &mut String, report: &Report, extras: &Extras) {
    if extras.sources.is_empty() && report.work.is_none() && report.steered.is_empty() {
        return;
    }
    section(page, "What was asked");
    if let Some(work) = &report.work {
        let id = work.id.as_ref().map_or(String::new(), |id| format!("{id} "));
        page.push_str(&format!("<p><b>{}</b></p>\n", escape(&line(&format!("{id}{}", work.title)))));
        if !work.text.trim().is_empty() {
            page.push_str(&pre(&work.text));
        }
    }
    for (name, text) in extras.sources.iter().take(SOURCES_MAX) {
        let name = escape(&line(name)).into_owned();
        page.push_str(&format!(
            "<details open><summary>{name} <span class=dim>as it is now</span></summary>{}</details>\n",
            pre(text)
        ));
    }
    for (iteration, text) in &report.steered {
        page.push_str(&format!("<p class=dim>said in iteration {iteration}:</p>{}", quote(text)));
    }
}

fn quote(text: &str) -> String {
    format!("<blockquote>{}</blockquote>\n", escape(&block(text)))
}

fn questions(page: &mut String, report: &Report) {
    if report.asked.is_empty() {
        return;
    }
    section(page, "Questions and answers");
    for asked in &report.asked {
        page.push_str(&pre(&asked.question));
        if !asked.options.is_empty() {
            let options: Vec<String> = asked.options.iter().map(|option| line(option)).collect();
            page.push_str(&format!("<p class=dim>{}</p>\n", escape(&line(&options.join(" · ")))));
        }
        match &asked.answer {
            Some(answer) => page.push_str(&quote(answer)),
            None => page.push_str("<p class=bad>not answered</p>\n"),
        }
    }
}

fn check(check: &cycle::CheckFinished) -> String {
    let (mark, class) = if check.passed { ("✓", "good") } else { ("✗", "bad") };
    let head = format!(
        "<span class={class}>{mark}</span> <code>{}</code> <span class=dim>{} · code {}</span>",
        escape(&line(&check.command)),
        duration(check.duration_ms),
        check.exit_code
    );
    if check.output.trim().is_empty() {
        return format!("<div>{head}</div>\n");
    }
    format!("<details><summary>{head}</summary>{}</details>\n", pre(&check.output))
}

fn checks(page: &mut String, report: &Report) {
    let last = report.last_checks();
    section(page, "Checks");
    if last.is_empty() {
        page.push_str("<p class=dim>No check ran.</p>\n");
    }
    for one in last {
        page.push_str(&check(one));
    }
}

fn changes(page: &mut String, report: &Report, extras: &Extras) {
    section(page, "What changed");
    let commits = report.commits();
    if !commits.is_empty() {
        let items: String = commits.iter().map(|one| format!("<li><code>{}</code></li>", escape(&line(one)))).collect();
        page.push_str(&format!("<ul class=files>{items}</ul>\n"));
    }
    match &extras.diff {
        Some(text) => {
            let (files, more) = diff::parse(text);
            if files.is_empty() {
                page.push_str("<p class=dim>No file differs.</p>\n");
            }
            for file in &files {
                page.push_str(&diff_file(file));
            }
            if more > 0 {
                page.push_str(&format!("<p class=dim>and {more} more files</p>\n"));
            }
        }
        None => page.push_str(&touched(report)),
    }
}

fn diff_file(file: &DiffFile) -> String {
    let piece = |class: &str, mark: &str, text: &str| {
        format!("<span class={class}>{mark}{}</span>", escape(&cycle::clean::line(text)))
    };
    let lines: String = file
        .lines
        .iter()
        .map(|one| match one {
            DiffLine::Added(text) => piece("add", "+", text),
            DiffLine::Removed(text) => piece("del", "-", text),
            DiffLine::Hunk(text) => piece("hunk", "", text),
            DiffLine::Context(text) => piece("ctx", " ", text),
        })
        .collect();
    let more = if file.more > 0 { format!("<p class=dim>and {} more lines</p>", file.more) } else { String::new() };
    format!(
        "<details open><summary><code>{}</code> <span class=good>+{}</span> <span class=bad>−{}</span></summary><pre class=diff>{lines}</pre>{more}</details>\n",
        escape(&line(&file.path)),
        file.added,
        file.removed
    )
}

/// Where git cannot be asked: what the receipts say.
fn touched(report: &Report) -> String {
    let files = report.iterations.iter().flat_map(|one| &one.receipt.changed.files);
    let mut names: Vec<String> = files.map(|file| line(&file.path)).collect();
    names.sort();
    names.dedup();
    if names.is_empty() {
        return "<p class=dim>No file changed, or nobody knows: there is no diff.</p>\n".to_owned();
    }
    let items: String = names.iter().map(|name| format!("<li><code>{}</code></li>", escape(name))).collect();
    format!("<ul class=files>{items}</ul>\n")
}

fn iterations(page: &mut String, report: &Report) {
    section(page, "Iterations");
    let hidden = report.iterations.len().saturating_sub(TOLD_MAX);
    if hidden > 0 {
        page.push_str(&format!("<p class=dim>{hidden} earlier iterations are only in the charts.</p>\n"));
    }
    for one in report.iterations.iter().skip(hidden) {
        page.push_str(&iteration(one));
    }
}

fn iteration(one: &Iteration) -> String {
    let receipt = &one.receipt;
    let (word, class) = outcome(&receipt.outcome);
    let files = counted(receipt.changed.files.len() as u64 + receipt.changed.more_files, "file");
    let mut body = String::new();
    if !receipt.summary.trim().is_empty() {
        body.push_str(&pre(&receipt.summary));
    }
    if let Some(blocking) = &receipt.blocking {
        body.push_str(&format!("<p class=bad>In the way:</p>{}", pre(blocking)));
    }
    let touched = receipt.changed.files.iter();
    let touched: String = touched
        .map(|file| format!("<li><code>{}</code> +{} −{}</li>", escape(&line(&file.path)), file.added, file.removed))
        .collect();
    if !touched.is_empty() {
        body.push_str(&format!("<ul class=files>{touched}</ul>\n"));
    }
    one.checks.iter().for_each(|finished| body.push_str(&check(finished)));
    format!(
        "<details><summary>{} <span class=\"{class}\">{word}</span> <span class=dim>{files} · {} · {} · {}</span></summary>{body}</details>\n",
        one.number,
        usd(amount(receipt.cost_usd)),
        duration(receipt.duration_ms),
        counted(receipt.tool_calls, "call")
    )
}

/// `1 file`, `2 files`.
fn counted(number: u64, word: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {word}{plural}")
}

fn warnings(page: &mut String, report: &Report) {
    if report.warnings.is_empty() {
        return;
    }
    section(page, "Warnings");
    let items: String =
        report.warnings.iter().take(WARNINGS_MAX).map(|text| format!("<li>{}</li>", escape(&line(text)))).collect();
    page.push_str(&format!("<ul class=files>{items}</ul>\n"));
}

fn replay(page: &mut String, report: &Report) {
    section(page, "See it again");
    let run = escape(&line(report.run())).into_owned();
    let folder = report.start.as_ref().map_or(String::new(), |start| line(&start.folder));
    page.push_str(&format!(
        "<pre>cd {}\nralph --replay {run}   # on a screen, as it went\nralph show {run}       # iteration by iteration</pre>\n",
        escape(&folder)
    ));
}

#[cfg(test)]
#[path = "html_tests.rs"]
mod tests;
