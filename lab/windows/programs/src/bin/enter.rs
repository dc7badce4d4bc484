//! The first program in a container: becomes what `netd` ordered.
//!
//! Wine takes a Unix argument list and makes a command line of its own from
//! it, keeps some Unix variables back, and gives Unix only eight bits of an
//! exit code. A container must see exactly what its spec says, so `netd` puts
//! an order beside a named pipe into a folder, names the folder in
//! `CASEMENT_ENTER`, and starts this program. It calls `CreateProcessW` with
//! the order's text and writes `started ID`, `failed CODE` and `exit CODE`
//! lines into the pipe.
//!
//! The order is UTF-8 text in parts that end with a NUL: working directory,
//! command line, then `NAME=value` any number of times.
#![cfg_attr(windows, allow(unsafe_code))] // CreateProcessW, and variables before any thread.

#[cfg(not(windows))]
fn main() {
    eprintln!("enter: this program is for Windows");
}

#[cfg(windows)]
fn main() -> std::process::ExitCode {
    windows::main()
}

#[cfg(windows)]
mod windows {
    use std::fs::{self, File};
    use std::io::{self, Write};
    use std::path::Path;
    use std::process::ExitCode;
    use std::{env, mem, ptr};

    use windows_sys::Win32::Foundation::CloseHandle;
    use windows_sys::Win32::System::Threading::{
        CreateProcessW, GetExitCodeProcess, INFINITE, PROCESS_INFORMATION, STARTUPINFOW,
        WaitForSingleObject,
    };

    /// Variables that are about Wine or about this program, not the container.
    const NOT_FOR_CONTAINERS: [&str; 3] = ["WINE", "CASEMENT_", "LC_"];

    pub fn main() -> ExitCode {
        match enter() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("enter: {error}");
                ExitCode::FAILURE
            }
        }
    }

    fn enter() -> io::Result<()> {
        let folder = env::var("CASEMENT_ENTER").map_err(io::Error::other)?;
        let order = fs::read_to_string(Path::new(&folder).join("order"))?;
        let mut report = File::options()
            .write(true)
            .open(Path::new(&folder).join("report"))?;
        match begin(&order) {
            Ok(process) => {
                writeln!(report, "started {}", process.dwProcessId)?;
                writeln!(report, "exit {}", wait(&process)?)
            }
            Err(error) => writeln!(report, "failed {}", error.raw_os_error().unwrap_or(31)),
        }
    }

    fn begin(order: &str) -> io::Result<PROCESS_INFORMATION> {
        let mut parts = order.split_terminator('\0');
        let directory = parts.next().unwrap_or(r"C:\");
        let command = parts.next().unwrap_or("");
        set_environment(parts);
        env::set_current_dir(directory)?;
        create_process(command)
    }

    fn set_environment<'a>(entries: impl Iterator<Item = &'a str>) {
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy().to_uppercase();
            if NOT_FOR_CONTAINERS
                .iter()
                .any(|start| text.starts_with(start))
            {
                // SAFETY: this program has one thread.
                unsafe { env::remove_var(&name) };
            }
        }
        for (name, value) in entries.filter_map(|entry| entry.split_once('=')) {
            if !name.is_empty() {
                // SAFETY: as above; neither part can hold a NUL, and the name no `=`.
                unsafe { env::set_var(name, value) };
            }
        }
    }

    fn create_process(command: &str) -> io::Result<PROCESS_INFORMATION> {
        let mut command: Vec<u16> = command.encode_utf16().chain([0]).collect();
        // SAFETY: both structures are plain numbers and pointers; zero is their empty state.
        let (mut startup, mut process): (STARTUPINFOW, PROCESS_INFORMATION) =
            unsafe { (mem::zeroed(), mem::zeroed()) };
        startup.cb = u32::try_from(size_of::<STARTUPINFOW>()).unwrap_or(0);
        // SAFETY: the command line is a writable buffer that ends with NUL, the
        // two structures live until the call returns, and the rest may be null.
        let done = unsafe {
            CreateProcessW(
                ptr::null(),
                command.as_mut_ptr(),
                ptr::null(),
                ptr::null(),
                1,
                0,
                ptr::null(),
                ptr::null(),
                &startup,
                &mut process,
            )
        };
        if done == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(process)
    }

    fn wait(process: &PROCESS_INFORMATION) -> io::Result<u32> {
        let mut code = 0;
        // SAFETY: the handles are those of the process just made, closed once.
        let known = unsafe {
            WaitForSingleObject(process.hProcess, INFINITE);
            let known = GetExitCodeProcess(process.hProcess, &mut code);
            CloseHandle(process.hThread);
            CloseHandle(process.hProcess);
            known
        };
        if known == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(code)
    }
}
