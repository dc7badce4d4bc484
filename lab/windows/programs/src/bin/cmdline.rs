//! What stands between the lab's sshd and `cmd`.
//!
//! Windows' OpenSSH hands a client's command to `cmd /c` to the letter. A Linux
//! process can only give a Windows program words, which Wine quotes anew; so
//! the command comes in an environment variable and is put together here.

/// What Wine says of a process that ended before it had begun; on a busy machine
/// that happens now and then, and nothing has run.
#[cfg(windows)]
const STILLBORN: i32 = 1359;

#[cfg(windows)]
fn main() {
    use std::os::windows::process::CommandExt;
    use std::process::{Command, exit};
    use std::time::Duration;

    const VARIABLE: &str = "CASEMENT_LAB_COMMAND";
    let system = std::env::var("SystemRoot").unwrap_or_else(|_| r"C:\windows".to_owned());
    let mut cmd = Command::new(format!(r"{system}\system32\cmd.exe"));
    if let Some(line) = std::env::var_os(VARIABLE) {
        // One piece: between pieces Rust puts blanks, which `echo` would show.
        let mut rest = std::ffi::OsString::from("/c \"");
        rest.push(line);
        rest.push("\"");
        cmd.raw_arg(rest);
    }
    cmd.env_remove(VARIABLE);
    for attempt in 1.. {
        match cmd.status() {
            Ok(status) => exit(status.code().unwrap_or(1)),
            Err(error) if error.raw_os_error() == Some(STILLBORN) && attempt < 5 => {
                std::thread::sleep(Duration::from_millis(200));
            }
            Err(error) => {
                eprintln!("cmd.exe could not be started: {error}");
                exit(255);
            }
        }
    }
}

#[cfg(not(windows))]
fn main() {
    eprintln!("cmdline is a Windows program");
}
