//! Data on standard output, talk on standard error, and both in the log file.

use std::io::Write;

use casement_diag::Problem;

use crate::failure::CommandError;
use crate::log_file;

/// Prints a text. Whoever closes the pipe has read enough: no fault.
pub fn print(text: &str) -> Result<(), CommandError> {
    log_file::write(text);
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let what = "standard output cannot be written";
            let problem = Problem::new("CAS-FILE-006", what, "send it to a file");
            Err(problem.seen("it says", error).into())
        }
        _ => Ok(()),
    }
}

/// Talk on standard error, in whole lines.
pub fn say(text: &str) {
    eprint!("{text}{}", log_file::line_end(text));
    log_file::write(text);
}

/// A problem on standard error, below what it is about. The log file is as wide as
/// it has to be.
pub fn say_problem(about: &str, problem: &Problem) {
    eprint!("{about}{}", self::problem(problem));
    log_file::write(&format!("{about}{}", problem.folded(usize::MAX)));
}

/// A problem as it is shown on standard error.
pub fn problem(problem: &Problem) -> String {
    let room = terminal_size::terminal_size_of(std::io::stderr());
    problem.folded(room.map_or(usize::MAX, |(width, _)| width.0.into()))
}

/// `a`, `a and b`, `a, b and c`; of many only the first.
pub fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [a, b, c, _, _, rest @ ..] => format!("{a}, {b}, {c} and {} more", rest.len() + 2),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// So many bytes, for people.
pub fn amount(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

/// At most so many characters; a cut is shown.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_the_first_are_told() {
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b", "c", "d"]), "a, b, c and d");
        assert_eq!(listed(&["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
    }

    #[test]
    fn a_line_is_cut_where_the_terminal_ends() {
        assert_eq!(cut("0123456789", usize::MAX), "0123456789");
        assert_eq!(cut("0123456789", 10), "0123456789");
        assert_eq!(cut("0123456789", 7), "012345…");
    }
}
