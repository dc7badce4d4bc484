//! The progress display: one line per host, and one for all of them.
//!
//! Pure: state in, lines out.

use std::time::Duration;

use crate::clock;
use crate::output::{Symbols, cut};

const BAR_WIDTH: usize = 18;
/// Longer names are cut, to leave room for the step.
const MAX_NAME_WIDTH: usize = 20;
const STAGE_WIDTH: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Waiting,
    Running,
    Done,
    Failed,
    Canceled,
}

/// One host.
#[derive(Debug, Clone)]
pub struct Row {
    pub name: String,
    pub state: State,
    pub stage: &'static str,
    /// The current step, what is waited for, or the result.
    pub text: String,
    /// From 0 to 1.
    pub fraction: f64,
    pub elapsed: Duration,
}

impl Row {
    pub fn waiting(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            state: State::Waiting,
            stage: "",
            text: String::new(),
            fraction: 0.0,
            elapsed: Duration::ZERO,
        }
    }
}

/// How and where the lines are drawn.
#[derive(Debug, Clone, Copy)]
pub struct Canvas<'a> {
    pub width: usize,
    pub height: usize,
    pub symbols: &'a Symbols,
}

/// If not all hosts fit, failed ones come first, then running ones; the rest is counted.
pub fn lines(rows: &[Row], elapsed: Duration, canvas: Canvas<'_>) -> Vec<String> {
    let mut order: Vec<&Row> = rows.iter().collect();
    // One line for all hosts, one for the count of hidden ones, one that stays free.
    let room = canvas.height.saturating_sub(3).max(1);
    if rows.len() > room {
        order.sort_by_key(|row| urgency(row.state));
        order.truncate(room);
    }
    let widest = order.iter().map(|row| row.name.chars().count()).max();
    let name_width = widest.unwrap_or(0).min(MAX_NAME_WIDTH);
    let mut lines: Vec<String> = order
        .iter()
        .map(|row| line(row, name_width, canvas))
        .collect();
    if rows.len() > order.len() {
        let hidden = rows.len() - order.len();
        let plural = if hidden == 1 { "" } else { "s" };
        let ellipsis = canvas.symbols.ellipsis;
        let text = format!("  {ellipsis} and {hidden} more host{plural}");
        lines.push(cut(&text, canvas.width, canvas.symbols));
    }
    if rows.len() > 1 {
        lines.push(total(rows, elapsed, name_width, canvas));
    }
    lines
}

fn urgency(state: State) -> u8 {
    match state {
        State::Failed => 0,
        State::Running | State::Canceled => 1,
        State::Waiting => 2,
        State::Done => 3,
    }
}

fn line(row: &Row, name_width: usize, canvas: Canvas<'_>) -> String {
    let symbols = canvas.symbols;
    let name = cut(&row.name, name_width, symbols);
    let time = match row.state {
        State::Waiting => String::new(),
        _ => clock::minutes(row.elapsed),
    };
    let middle = match row.state {
        State::Waiting => "waiting".to_owned(),
        State::Done => format!("{} {}", symbols.done, row.text),
        State::Failed => format!(
            "{} {:<STAGE_WIDTH$} {}",
            symbols.failed, row.stage, row.text
        ),
        State::Running | State::Canceled => {
            let bar = bar(row.fraction, symbols);
            format!("{bar}  {:<STAGE_WIDTH$} {}", row.stage, row.text)
        }
    };
    fit(&format!("  {name:<name_width$}  {middle}"), &time, canvas)
}

fn total(rows: &[Row], elapsed: Duration, name_width: usize, canvas: Canvas<'_>) -> String {
    let count = |state: State| rows.iter().filter(|row| row.state == state).count();
    let (done, failed) = (count(State::Done), count(State::Failed));
    #[expect(clippy::cast_precision_loss, reason = "a fraction of a bar")]
    let fraction = rows.iter().map(fraction).sum::<f64>() / rows.len() as f64;
    let failed = match failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let bar = bar(fraction, canvas.symbols);
    let text = format!("{bar}  {done} of {} hosts done{failed}", rows.len());
    let text = format!("  {:<name_width$}  {text}", "all");
    fit(&text, &clock::minutes(elapsed), canvas)
}

fn fraction(row: &Row) -> f64 {
    match row.state {
        State::Done | State::Failed => 1.0,
        State::Waiting => 0.0,
        State::Running | State::Canceled => row.fraction,
    }
}

fn bar(fraction: f64, symbols: &Symbols) -> String {
    let [full, end, rest] = symbols.bar;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the fraction is between 0 and 1"
    )]
    let filled = (fraction.clamp(0.0, 1.0) * BAR_WIDTH as f64).floor() as usize;
    let parts = (0..BAR_WIDTH).map(|at| match at.cmp(&filled) {
        std::cmp::Ordering::Less => full,
        std::cmp::Ordering::Equal => end,
        std::cmp::Ordering::Greater => rest,
    });
    parts.collect()
}

/// The text on the left, the time on the right.
fn fit(text: &str, time: &str, canvas: Canvas<'_>) -> String {
    let room = canvas.width.saturating_sub(time.chars().count() + 1);
    let text = cut(text, room, canvas.symbols);
    let line = format!("{text:<room$} {time}");
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{ASCII, UNICODE};

    fn canvas(width: usize, height: usize) -> Canvas<'static> {
        Canvas {
            width,
            height,
            symbols: &UNICODE,
        }
    }

    fn row(name: &str, state: State, fraction: f64, text: &str) -> Row {
        Row {
            state,
            stage: "join",
            text: text.to_owned(),
            fraction,
            elapsed: Duration::from_secs(74),
            ..Row::waiting(name)
        }
    }

    fn rows() -> [Row; 4] {
        let failure = "the kubelet stopped 2 s after its start, and its output is long";
        [
            row("windows01", State::Running, 0.5, "service kubelet"),
            row("w2", State::Failed, 0.5, failure),
            row("w3", State::Done, 1.0, "57 changed"),
            Row::waiting("w4"),
        ]
    }

    #[test]
    fn each_host_has_a_line_and_all_hosts_have_one() {
        let shown = lines(&rows(), Duration::from_secs(90), canvas(80, 24));
        let expected = [
            "  windows01  ━━━━━━━━━╺┄┄┄┄┄┄┄┄  join     service kubelet                   1:14",
            "  w2         ✗ join     the kubelet stopped 2 s after its start, and its o… 1:14",
            "  w3         ✓ 57 changed                                                   1:14",
            "  w4         waiting",
            "  all        ━━━━━━━━━━━╺┄┄┄┄┄┄  1 of 4 hosts done, 1 failed                1:30",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn plain_terminals_get_ascii() {
        let canvas = Canvas {
            symbols: &ASCII,
            ..canvas(60, 24)
        };
        let shown = lines(&rows(), Duration::from_secs(90), canvas);
        let expected = [
            "  windows01  #########>--------  join     service ku... 1:14",
            "  w2         x join     the kubelet stopped 2 s afte... 1:14",
            "  w3         + 57 changed                               1:14",
            "  w4         waiting",
            "  all        ###########>------  1 of 4 hosts done,...  1:30",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn two_hundred_hosts_fit_a_screen_with_failures_first() {
        let mut rows: Vec<Row> = (0..200)
            .map(|at| row(&format!("w{at}"), State::Done, 1.0, "57 changed"))
            .collect();
        rows[150] = row("w150", State::Failed, 0.1, "not found");
        rows[199] = row("w199", State::Running, 0.1, "file");
        let shown = lines(&rows, Duration::from_secs(5), canvas(80, 24));
        assert!(shown.len() < 24, "{shown:#?}");
        assert!(shown[0].contains("w150"), "{shown:#?}");
        assert!(shown[1].contains("w199"), "{shown:#?}");
        assert!(
            shown.iter().any(|line| line.contains("more hosts")),
            "{shown:#?}"
        );
        assert!(
            shown.iter().all(|line| line.chars().count() <= 80),
            "{shown:#?}"
        );
    }

    #[test]
    fn terminals_without_width_do_not_panic() {
        let rows = [row("w1", State::Running, 2.0, "file")];
        for width in 0..12 {
            for line in lines(&rows, Duration::ZERO, canvas(width, width)) {
                assert!(line.chars().count() <= width.max(6), "{line}");
            }
        }
    }
}
