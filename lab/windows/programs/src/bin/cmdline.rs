//! Runs the command of an SSH client in `cmd`, for the lab's sshd.
//!
//! OpenSSH on Windows passes the command of a client to `cmd /c` unchanged. A
//! Linux process can only pass an argument list to a Windows program, which Wine
//! quotes again; so the command line is passed in an environment variable.

/// Wine's error for a process that ended before it was started, which happens
/// occasionally under load; nothing has run, so a retry is safe.
#[cfg(windows)]
const ERROR_INTERNAL_ERROR: i32 = 1359;

#[cfg(windows)]
fn main() {
    use std::os::windows::process::CommandExt;
    use std::process::{Command, exit};
    use std::time::Duration;

    const VARIABLE: &str = "CASEMENT_LAB_COMMAND";
    let system = std::env::var("SystemRoot").unwrap_or_else(|_| r"C:\windows".to_owned());
    let mut cmd = Command::new(format!(r"{system}\system32\cmd.exe"));
    if let Some(line) = std::env::var_os(VARIABLE) {
        // One argument: Rust separates arguments with spaces, which `echo` would print.
        let mut rest = std::ffi::OsString::from("/c \"");
        rest.push(line);
        rest.push("\"");
        cmd.raw_arg(rest);
    }
    cmd.env_remove(VARIABLE);
    for attempt in 1.. {
        match cmd.status() {
            Ok(status) => exit(status.code().unwrap_or(1)),
            Err(error) if error.raw_os_error() == Some(ERROR_INTERNAL_ERROR) && attempt < 5 => {
                std::thread::sleep(Duration::from_millis(200));
            }
            Err(error) => {
                eprintln!("failed to start cmd.exe: {error}");
                exit(255);
            }
        }
    }
}

#[cfg(not(windows))]
fn main() {
    eprintln!("cmdline: this program runs only on Windows");
}
