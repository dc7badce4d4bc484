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
    fn a_line_is_cut_where_the_terminal_ends() {
        assert_eq!(cut("0123456789", usize::MAX), "0123456789");
        assert_eq!(cut("0123456789", 10), "0123456789");
        assert_eq!(cut("0123456789", 7), "012345…");
    }
}
