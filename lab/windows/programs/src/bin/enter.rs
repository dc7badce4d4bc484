//! The first process in a container: starts the process that `netd` requested.
//!
//! Wine converts a Unix argument list into its own command line, hides some Unix
//! variables, and returns only eight bits of an exit code. A container must see
//! exactly what its spec says, so `netd` creates a directory with the request
//! (`order`) and a named pipe (`report`), passes its path in `CASEMENT_ENTER`, and
//! starts this program. It calls `CreateProcessW` as requested and writes the
//! lines `started ID`, `failed CODE` and `exit CODE` to the pipe.
//!
//! The request is UTF-8 text in fields that end with a NUL: working directory,
//! command line, then any number of `NAME=value`.
#![cfg_attr(windows, allow(unsafe_code))] // CreateProcessW, and environment variables of a single-threaded process.

#[cfg(not(windows))]
fn main() {
    eprintln!("enter: this program runs only on Windows");
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

    /// Prefixes of variables that are not passed to the container.
    const HIDDEN_VARIABLES: [&str; 3] = ["WINE", "CASEMENT_", "LC_"];

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
        let dir = env::var("CASEMENT_ENTER").map_err(io::Error::other)?;
        let request = fs::read_to_string(Path::new(&dir).join("order"))?;
        let mut report = File::options()
            .write(true)
            .open(Path::new(&dir).join("report"))?;
        match start(&request) {
            Ok(process) => {
                writeln!(report, "started {}", process.dwProcessId)?;
                writeln!(report, "exit {}", wait(&process)?)
            }
            Err(error) => writeln!(report, "failed {}", error.raw_os_error().unwrap_or(31)),
        }
    }

    fn start(request: &str) -> io::Result<PROCESS_INFORMATION> {
        let mut fields = request.split_terminator('\0');
        let directory = fields.next().unwrap_or(r"C:\");
        let command = fields.next().unwrap_or("");
        set_environment(fields);
        env::set_current_dir(directory)?;
        create_process(command)
    }

    fn set_environment<'a>(entries: impl Iterator<Item = &'a str>) {
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy().to_uppercase();
            if HIDDEN_VARIABLES
                .iter()
                .any(|prefix| text.starts_with(prefix))
            {
                // SAFETY: this program has one thread.
                unsafe { env::remove_var(&name) };
            }
        }
        for (name, value) in entries.filter_map(|entry| entry.split_once('=')) {
            if !name.is_empty() {
                // SAFETY: as above; neither contains a NUL, and the name contains no `=`.
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
        // SAFETY: the command line is a writable buffer with a trailing NUL, the
        // two structures live until the call returns, and the rest may be null.
        let created = unsafe {
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
        if created == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(process)
    }

    fn wait(process: &PROCESS_INFORMATION) -> io::Result<u32> {
        let mut code = 0;
        // SAFETY: the handles of the process created above; closed once.
        let succeeded = unsafe {
            WaitForSingleObject(process.hProcess, INFINITE);
            let succeeded = GetExitCodeProcess(process.hProcess, &mut code);
            CloseHandle(process.hThread);
            CloseHandle(process.hProcess);
            succeeded
        };
        if succeeded == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(code)
    }
}
