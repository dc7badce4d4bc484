//! The differences between two texts, line by line.

use std::fmt::Write as _;

/// Unchanged lines around a change.
const CONTEXT: usize = 2;
/// Lines of output; the rest is counted.
const MAX_LINES: usize = 40;
/// Above this product of line counts, everything between the first and the last difference is
/// shown as one change.
const MAX_CELLS: usize = 4_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Keep,
    Remove,
    Add,
}

/// The first differences, as in a unified diff with the line numbers of `expected`.
pub fn diff(expected: &str, actual: &str) -> String {
    let old: Vec<&str> = expected.split_inclusive('\n').collect();
    let new: Vec<&str> = actual.split_inclusive('\n').collect();
    let lines = operations(&old, &new);
    let changed: Vec<usize> = (0..lines.len())
        .filter(|at| lines.get(*at).is_some_and(|(op, ..)| *op != Op::Keep))
        .collect();
    let near = |at: usize| changed.iter().any(|change| change.abs_diff(at) <= CONTEXT);
    let mut text = String::new();
    let (mut number, mut shown, mut gap) = (0, 0, true);
    for (at, (op, line)) in lines.iter().enumerate() {
        number += usize::from(*op != Op::Add);
        if !near(at) {
            gap = true;
            continue;
        }
        if shown == MAX_LINES {
            let more = changed.iter().filter(|change| **change >= at).count();
            let _ = writeln!(text, "… and {more} more changed lines");
            break;
        }
        if gap {
            let _ = writeln!(text, "@@ line {}", number.max(1));
            gap = false;
        }
        let sign = match op {
            Op::Keep => ' ',
            Op::Remove => '-',
            Op::Add => '+',
        };
        let _ = writeln!(text, "{sign}{}", visible(line));
        shown += 1;
    }
    text
}

/// What a terminal would hide: carriage returns, trailing spaces, a missing newline.
fn visible(line: &str) -> String {
    let (line, end) = match line.strip_suffix('\n') {
        Some(line) => (line, ""),
        None => (line, " (no newline at the end)"),
    };
    let text = line.replace('\r', "\\r").replace('\u{1b}', "\\e");
    let trimmed = text.trim_end_matches(' ');
    let spaces = "·".repeat(text.len() - trimmed.len());
    format!("{trimmed}{spaces}{end}")
}

/// All lines of both texts, with the longest common subsequence kept.
fn operations<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(Op, &'t str)> {
    let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (before, old) = old.split_at(prefix);
    let (_, new) = new.split_at(prefix);
    let pairs = old.iter().rev().zip(new.iter().rev());
    let suffix = pairs.take_while(|(a, b)| a == b).count();
    let (old, after) = old.split_at(old.len() - suffix);
    let (new, _) = new.split_at(new.len() - suffix);
    let keep = |lines: &[&'t str]| {
        lines
            .iter()
            .map(|line| (Op::Keep, *line))
            .collect::<Vec<_>>()
    };
    let mut lines = keep(before);
    lines.extend(middle(old, new));
    lines.extend(keep(after));
    lines
}

fn middle<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<(Op, &'t str)> {
    let removed = old.iter().map(|line| (Op::Remove, *line));
    let added = new.iter().map(|line| (Op::Add, *line));
    if old.len() * new.len() > MAX_CELLS {
        return removed.chain(added).collect();
    }
    // common[at][other]: the length of the longest common subsequence of the two rests.
    let mut common = vec![vec![0_u32; new.len() + 1]; old.len() + 1];
    let get = |common: &[Vec<u32>], at: usize, other: usize| -> u32 {
        let row = common.get(at);
        row.and_then(|row| row.get(other)).copied().unwrap_or(0)
    };
    for (at, a) in old.iter().enumerate().rev() {
        for (other, b) in new.iter().enumerate().rev() {
            let longest = if a == b {
                get(&common, at + 1, other + 1) + 1
            } else {
                get(&common, at + 1, other).max(get(&common, at, other + 1))
            };
            if let Some(cell) = common.get_mut(at).and_then(|row| row.get_mut(other)) {
                *cell = longest;
            }
        }
    }
    let (mut at, mut other, mut lines) = (0, 0, Vec::new());
    loop {
        match (old.get(at), new.get(other)) {
            (Some(a), Some(b)) if a == b => {
                lines.push((Op::Keep, *a));
                (at, other) = (at + 1, other + 1);
            }
            (Some(a), b)
                if b.is_none() || get(&common, at + 1, other) >= get(&common, at, other + 1) =>
            {
                lines.push((Op::Remove, *a));
                at += 1;
            }
            (_, Some(b)) => {
                lines.push((Op::Add, *b));
                other += 1;
            }
            (_, None) => return lines,
        }
    }
}
