//! The picture of a run: one line for each host, and one for all of them.
//!
//! Pure: what happened comes in, lines go out. Nothing here knows a terminal.

use std::time::Duration;

use crate::clock;
use crate::output::cut;

const BAR: usize = 18;
/// Longer names are cut: the rest of the line says more.
const NAME: usize = 20;
const PART: usize = 8;

/// What a host is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Nothing was heard of it yet.
    Waiting,
    /// At work since then.
    Working,
    /// Finished.
    Done,
    /// It did not go on.
    Failed,
    /// Somebody stopped it.
    Stopped,
}

/// One host.
#[derive(Debug, Clone)]
pub struct Row {
    /// The host.
    pub name: String,
    /// What it is at.
    pub state: State,
    /// Which part of the run.
    pub part: &'static str,
    /// The step, or what is waited for.
    pub text: String,
    /// How much of its work is done, of 1.
    pub share: f64,
    /// How long its work has taken.
    pub elapsed: Duration,
}

impl Row {
    /// A host of which nothing is known yet.
    pub fn waiting(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            state: State::Waiting,
            part: "",
            text: String::new(),
            share: 0.0,
            elapsed: Duration::ZERO,
        }
    }
}

/// The lines for a screen of this size. Hosts that failed come first, then those
/// at work, then the rest; those for whom there is no room are counted.
pub fn lines(rows: &[Row], elapsed: Duration, width: usize, height: usize) -> Vec<String> {
    let mut order: Vec<&Row> = rows.iter().collect();
    // One line for all hosts, one that counts, one that stays free.
    let room = height.saturating_sub(3).max(1);
    if rows.len() > room {
        order.sort_by_key(|row| urgency(&row.state));
        order.truncate(room);
    }
    let widest = order.iter().map(|row| row.name.chars().count()).max();
    let name_width = widest.unwrap_or(0).min(NAME);
    let mut lines: Vec<String> = order
        .iter()
        .map(|row| line(row, name_width, width))
        .collect();
    if rows.len() > order.len() {
        let hidden = rows.len() - order.len();
        lines.push(cut(&format!("  … and {hidden} more hosts"), width));
    }
    if rows.len() > 1 {
        lines.push(all(rows, elapsed, name_width, width));
    }
    lines
}

fn urgency(state: &State) -> u8 {
    match state {
        State::Failed => 0,
        State::Working | State::Stopped => 1,
        State::Waiting => 2,
        State::Done => 3,
    }
}

fn line(row: &Row, name_width: usize, width: usize) -> String {
    let name = cut(&row.name, name_width);
    let time = match row.state {
        State::Waiting => String::new(),
        _ => clock::minutes(row.elapsed),
    };
    let middle = match row.state {
        State::Waiting => "waits".to_owned(),
        State::Done => format!("✓ {}", row.text),
        State::Failed => format!("✗ {:<PART$} {}", row.part, row.text),
        State::Working | State::Stopped => {
            format!("{}  {:<PART$} {}", bar(row.share), row.part, row.text)
        }
    };
    fit(&format!("  {name:<name_width$}  {middle}"), &time, width)
}

fn all(rows: &[Row], elapsed: Duration, name_width: usize, width: usize) -> String {
    let count = |state: State| rows.iter().filter(|row| row.state == state).count();
    let (done, failed) = (count(State::Done), count(State::Failed));
    #[expect(clippy::cast_precision_loss, reason = "a share of a bar")]
    let share = rows.iter().map(share).sum::<f64>() / rows.len() as f64;
    let failed = match failed {
        0 => String::new(),
        failed => format!(", {failed} failed"),
    };
    let text = format!(
        "{}  {done} of {} hosts done{failed}",
        bar(share),
        rows.len()
    );
    let text = format!("  {:<name_width$}  {text}", "all");
    fit(&text, &clock::minutes(elapsed), width)
}

fn share(row: &Row) -> f64 {
    match row.state {
        State::Done | State::Failed => 1.0,
        State::Waiting => 0.0,
        State::Working | State::Stopped => row.share,
    }
}

fn bar(share: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the share is between 0 and 1"
    )]
    let full = (share.clamp(0.0, 1.0) * BAR as f64).floor() as usize;
    let mut text = "━".repeat(full);
    if full < BAR {
        text.push('╺');
        text.push_str(&"┄".repeat(BAR - full - 1));
    }
    text
}

/// The text at the left, the time at the right, one line.
fn fit(text: &str, time: &str, width: usize) -> String {
    let room = width.saturating_sub(time.chars().count() + 1);
    let text = cut(text, room);
    let line = format!("{text:<room$} {time}");
    line.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, state: State, share: f64, text: &str) -> Row {
        Row {
            state,
            part: "join",
            text: text.to_owned(),
            share,
            elapsed: Duration::from_secs(74),
            ..Row::waiting(name)
        }
    }

    #[test]
    fn each_host_has_a_line_and_all_of_them_one() {
        let rows = [
            row("windows01", State::Working, 0.5, "service-kubelet"),
            row(
                "w2",
                State::Failed,
                0.5,
                "the kubelet stopped 2 s after its start, and what it said is long",
            ),
            row("w3", State::Done, 1.0, "57 changed"),
            Row::waiting("w4"),
        ];
        let shown = lines(&rows, Duration::from_secs(90), 80, 24);
        let expected = [
            "  windows01  ━━━━━━━━━╺┄┄┄┄┄┄┄┄  join     service-kubelet                   1:14",
            "  w2         ✗ join     the kubelet stopped 2 s after its start, and what…  1:14",
            "  w3         ✓ 57 changed                                                   1:14",
            "  w4         waits",
            "  all        ━━━━━━━━━━━╺┄┄┄┄┄┄  1 of 4 hosts done, 1 failed                1:30",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn two_hundred_hosts_fit_a_screen_and_failures_are_on_it() {
        let mut rows: Vec<Row> = (0..200)
            .map(|at| row(&format!("w{at}"), State::Done, 1.0, "57 changed"))
            .collect();
        rows[150] = row("w150", State::Failed, 0.1, "it is not there");
        rows[199] = row("w199", State::Working, 0.1, "file");
        let shown = lines(&rows, Duration::from_secs(5), 80, 24);
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
    fn a_screen_of_no_width_is_no_fault() {
        let rows = [row("w1", State::Working, 2.0, "file")];
        for width in 0..12 {
            for line in lines(&rows, Duration::ZERO, width, width) {
                assert!(line.chars().count() <= width.max(6), "{line}");
            }
        }
    }
}
