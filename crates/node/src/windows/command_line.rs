//! Command lines, taken apart as Windows itself does it.
#![allow(unsafe_code, reason = "a shell function of the Windows API")]

use std::path::Path;

use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::UI::Shell::CommandLineToArgvW;

use super::wide::{from_pointer, wide};

/// The file name that casement's agent has in every version.
pub const AGENT: &str = "casement-node.exe";

/// Program and arguments of a command line.
pub fn split(line: &str) -> Vec<String> {
    if line.trim().is_empty() {
        // Windows would answer with this very program.
        return Vec::new();
    }
    let line = wide(line);
    let mut count = 0;
    // SAFETY: terminated text and a place; the answer is freed below.
    unsafe {
        let arguments = CommandLineToArgvW(line.as_ptr(), &mut count);
        if arguments.is_null() {
            return Vec::new();
        }
        let count = usize::try_from(count).unwrap_or_default();
        let split = (0..count)
            .map(|at| from_pointer(*arguments.add(at)))
            .collect();
        LocalFree(arguments.cast());
        split
    }
}

/// Whether a command line is that of an agent, of whatever version, that does
/// something (`host kubelet`).
pub fn is_agent(line: &str, does: &[&str]) -> bool {
    let words = split(line);
    let (program, arguments) = match words.as_slice() {
        [program, option, _, arguments @ ..] if option == "--state-dir" => (program, arguments),
        [program, arguments @ ..] => (program, arguments),
        [] => return false,
    };
    let file = Path::new(program).file_name().unwrap_or_default();
    file.eq_ignore_ascii_case(AGENT)
        && arguments.len() >= does.len()
        && does
            .iter()
            .zip(arguments)
            .all(|(wanted, found)| wanted.eq_ignore_ascii_case(found))
}
