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
