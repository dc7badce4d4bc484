//! Data on standard output.

use std::io::Write;

use casement_diag::Problem;

use crate::failure::CommandError;

/// Prints a text. Whoever closes the pipe has read enough: no fault.
pub fn print(text: &str) -> Result<(), CommandError> {
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

/// A line as a terminal of this width has room for it; the last column stays free.
pub fn cut(line: &str, width: Option<usize>) -> String {
    let most = width.map_or(usize::MAX, |width| width.saturating_sub(1));
    if line.chars().count() <= most {
        return line.to_owned();
    }
    let kept: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_where_the_terminal_ends() {
        assert_eq!(cut("0123456789", None), "0123456789");
        assert_eq!(cut("0123456789", Some(11)), "0123456789");
        assert_eq!(cut("0123456789", Some(8)), "012345…");
    }
}
