//! Programs of Linux.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};

use super::{Linux, system_failure};
use crate::platform::{Ended, Program, Programs, Result};

const KEPT: usize = 64 * 1024;

impl Programs for Linux {
    fn run(&self, program: &Program) -> Result<Ended> {
        let name = program.arguments.first().cloned().unwrap_or_default();
        run(program).map_err(|error| system_failure(format!("`{name}` could not be run"), &error))
    }
}

fn run(program: &Program) -> io::Result<Ended> {
    let (name, arguments) = program
        .arguments
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program"))?;
    let (mut reader, writer) = io::pipe()?;
    let mut child = Command::new(name)
        .args(arguments)
        .envs(&program.environment)
        .current_dir(program.folder.as_str())
        .stdin(Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .process_group(0)
        .spawn()?;
    let output = thread::spawn(move || last_bytes(&mut reader));
    let code = wait(&mut child, program.deadline)?;
    // What it has started must not hold the pipe open, nor live on.
    end_group(&child);
    let output = output.join().unwrap_or_default();
    Ok(Ended {
        code,
        output: String::from_utf8_lossy(&output).into_owned(),
    })
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<i32>> {
    let started = Instant::now();
    let end = id(child).and_then(|it| pidfd_open(it, PidfdFlags::empty()).ok());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.code());
        }
        let left = limit.saturating_sub(started.elapsed());
        if left.is_zero() {
            end_group(child);
            child.wait()?;
            return Ok(None);
        }
        match &end {
            Some(end) => {
                let left = Timespec::try_from(left).map_err(io::Error::other)?;
                // One that is interrupted looks again.
                let _ = poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&left));
            }
            // A kernel before 5.3 has no such thing.
            None => thread::sleep(left.min(Duration::from_millis(20))),
        }
    }
}

fn id(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

fn end_group(child: &Child) {
    if let Some(group) = id(child) {
        // Nobody left in the group is what is wanted.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn last_bytes(reader: &mut impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return kept,
            Ok(count) => kept.extend_from_slice(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return kept,
        }
        let excess = kept.len().saturating_sub(KEPT);
        kept.drain(..excess);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn shell(script: &str, deadline: Duration) -> Ended {
        let program = Program {
            arguments: ["sh", "-c", script].map(str::to_owned).to_vec(),
            environment: BTreeMap::from([("WORD".to_owned(), "hello".to_owned())]),
            folder: "/".parse().unwrap(),
            deadline,
        };
        run(&program).unwrap()
    }

    #[test]
    fn both_streams_and_the_code_are_kept() {
        let ended = shell(
            "echo $WORD; echo there >&2; exit 3",
            Duration::from_secs(20),
        );
        assert_eq!(ended.code, Some(3));
        assert_eq!(ended.output, "hello\nthere\n");
    }

    #[test]
    fn what_takes_too_long_is_ended_with_its_children() {
        let ended = shell("sleep 600 & sleep 600", Duration::from_millis(50));
        assert_eq!(ended.code, None);
    }
}
