//! Running programs on Linux.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::{Linux, system_failure};
use crate::platform::{Program, ProgramExit, Programs, Result};

const MAX_OUTPUT_BYTES: usize = 64 * 1024;

impl Programs for Linux {
    fn run(&self, program: &Program) -> Result<ProgramExit> {
        let name = program.arguments.first().cloned().unwrap_or_default();
        run(program).map_err(|error| system_failure(format!("failed to run `{name}`"), &error))
    }
}

fn run(program: &Program) -> io::Result<ProgramExit> {
    let (name, arguments) = program
        .arguments
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program"))?;
    let (mut reader, writer) = io::pipe()?;
    let mut child = Command::new(name)
        .args(arguments)
        .envs(&program.environment)
        .current_dir(program.working_dir.as_str())
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    let output = thread::spawn(move || read_last_bytes(&mut reader));
    let code = wait(&mut child, program.timeout)?;
    // Its children must not keep the pipe open or outlive it.
    kill_group(&child);
    let output = output.join().unwrap_or_default();
    Ok(ProgramExit {
        code,
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}

fn wait(child: &mut Child, timeout: Duration) -> io::Result<Option<i32>> {
    let started = Instant::now();
    let pidfd = pid(child).and_then(|it| pidfd_open(it, PidfdFlags::empty()).ok());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        let remaining = timeout.saturating_sub(started.elapsed());
        if remaining.is_zero() {
            kill_group(child);
            child.wait()?;
            return Ok(None);
        }
        match &pidfd {
            Some(pidfd) => {
                let remaining = Timespec::try_from(remaining).map_err(io::Error::other)?;
                // Interrupted polls are repeated by the loop.
                let _ = poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&remaining));
            }
            // Kernels before 5.3 have no pidfds.
            None => thread::sleep(remaining.min(Duration::from_millis(20))),
        }
    }
}

fn pid(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

fn kill_group(child: &Child) {
    if let Some(group) = pid(child) {
        // The group may be empty already.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn read_last_bytes(reader: &mut impl Read) -> Vec<u8> {
    let mut output = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return output,
            Ok(count) => output.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return output,
        }
        let excess = output.len().saturating_sub(MAX_OUTPUT_BYTES);
        output.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn shell(script: &str, deadline: Duration) -> ProgramExit {
        let program = Program {
            arguments: ["sh", "-c", script].map(str::to_owned).to_vec(),
            environment: BTreeMap::from([("WORD".to_owned(), "hello".to_owned())]),
            working_dir: "/".parse().unwrap(),
            timeout: deadline,
        };
        run(&program).unwrap()
    }

    #[test]
    fn output_has_both_streams_and_exit_code_is_kept() {
        let ended = shell(
            "echo $WORD; echo there >&2; exit 3",
            Duration::from_secs(20),
        );
        assert_eq!(ended.code, Some(3));
        assert_eq!(ended.output, "hello\nthere\n");
    }

    #[test]
    fn program_that_times_out_is_killed_with_its_children() {
        let ended = shell("sleep 600 & sleep 600", Duration::from_millis(50));
        assert_eq!(ended.code, None);
    }
}
