//! What stands between the lab's sshd and `cmd`.
//!
//! Windows' OpenSSH hands a client's command to `cmd /c` to the letter. A Linux
//! process can only give a Windows program words, which Wine quotes anew; so
//! the command comes in an environment variable and is put together here.

#[cfg(windows)]
fn main() {
    use std::os::windows::process::CommandExt;
    use std::process::{Command, exit};

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
    match cmd.status() {
        Ok(status) => exit(status.code().unwrap_or(1)),
        Err(error) => {
            eprintln!("cmd.exe could not be started: {error}");
            exit(255);
        }
    }
}

#[cfg(not(windows))]
fn main() {
    eprintln!("cmdline is a Windows program");
}
