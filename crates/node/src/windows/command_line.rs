//! Splitting of command lines by the rules of Windows.
#![allow(unsafe_code, reason = "a shell function of the Windows API")]

use std::path::Path;

use windows_sys::Win32::Foundation::LocalFree;
use windows_sys::Win32::UI::Shell::CommandLineToArgvW;

use super::wide::{from_pointer, wide};

/// The same in every version.
pub const AGENT: &str = "casement-node.exe";

pub fn split(line: &str) -> Vec<String> {
    if line.trim().is_empty() {
        // For an empty line Windows returns the path of this executable.
        return Vec::new();
    }
    let line = wide(line);
    let mut count = 0;
    // SAFETY: NUL-terminated text and a writable pointer; the result is freed below.
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

/// Whether a command line runs any version of the agent with this command (`host
/// kubelet`).
pub fn is_agent(line: &str, command: &[&str]) -> bool {
    let parts = split(line);
    let (program, arguments) = match parts.as_slice() {
        [program, option, _, arguments @ ..] if option == "--state-dir" => (program, arguments),
        [program, arguments @ ..] => (program, arguments),
        [] => return false,
    };
    let file = Path::new(program).file_name().unwrap_or_default();
    file.eq_ignore_ascii_case(AGENT)
        && arguments.len() >= command.len()
        && command
            .iter()
            .zip(arguments)
            .all(|(expected, found)| expected.eq_ignore_ascii_case(found))
}
