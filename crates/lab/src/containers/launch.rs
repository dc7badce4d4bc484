//! Starts a process in a container.
//!
//! The command is `ip netns exec`, `unshare` (for the computer name), `setsid`, Wine
//! and `enter.exe`, which creates the requested process and reports its state through
//! a named pipe.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use lab_wire::container::StartProcess;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::overlay_drive::check_id;
use super::terminal::Terminal;
use super::{Container, ContainerError, command_line, processes};

/// The first process of a container boots its Wine prefix.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// Sets the host name of the new UTS namespace, then runs the command.
const SET_HOSTNAME: &str = r#"hostname "$0" && exec "$@""#;

pub(super) struct RunningProcess {
    /// PID of the first Linux process.
    pub(super) pid: u32,
    /// stdout, and stderr unless there is a terminal.
    pub(super) outputs: Vec<File>,
    pub(super) input: Option<File>,
    pub(super) terminal: Option<Terminal>,
    pub(super) reports: Receiver<Report>,
    /// The environment entry of the process and its descendants.
    pub(super) marker: String,
    /// Removed when the process ends.
    _dir: RunDir,
}

/// A state change of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    Started,
    /// `CreateProcess` failed with this Win32 error code.
    Failed(u32),
    /// The process ended by itself with this exit code.
    Exit(u32),
    /// The first Linux process ended.
    Gone,
}

/// Starts a process and waits until it is running.
pub(super) fn launch(
    wine: &str,
    container: &Container,
    start: &StartProcess,
) -> Result<RunningProcess, ContainerError> {
    let dir = RunDir::create(container, start)?;
    let pipe_path = dir.path.join("report");
    // Opened for reading and writing, so that neither open nor read depends on
    // whether Wine has started; `Gone` marks the end instead of EOF.
    let pipe = File::options()
        .read(true)
        .write(true)
        .open(&pipe_path)
        .map_err(ContainerError::file("open", &pipe_path))?;
    let mut command = build_command(wine, container, start, &dir.name);
    let not_started = |error: io::Error| ContainerError::NotStarted(error.to_string());
    let terminal = set_streams(&mut command, start).map_err(not_started)?;
    let mut child = command.spawn().map_err(not_started)?;
    // The command holds copies of the process's file descriptors.
    drop(command);
    let (outputs, input) = streams(&mut child, terminal.as_ref()).map_err(not_started)?;
    let pid = child.id();
    let reports = read_reports(pipe, child).map_err(not_started)?;
    let running = RunningProcess {
        pid,
        outputs,
        input: input.filter(|_| start.stdin),
        terminal,
        reports,
        marker: match start.exec.as_str() {
            "" => container.drive.marker(),
            _ => process_marker(start),
        },
        _dir: dir,
    };
    wait_until_started(running)
}

fn wait_until_started(running: RunningProcess) -> Result<RunningProcess, ContainerError> {
    let error = match running.reports.recv_timeout(START_TIMEOUT) {
        Ok(Report::Started) => return Ok(running),
        Ok(Report::Failed(code)) => ContainerError::CreateProcess(code),
        Ok(Report::Exit(_) | Report::Gone) => {
            ContainerError::NotStarted(first_line(running.outputs.last()))
        }
        Err(_) => {
            ContainerError::NotStarted(format!("timed out after {} s", START_TIMEOUT.as_secs()))
        }
    };
    let _ = processes::kill(&running.marker);
    Err(error)
}

/// Does not block: the process has ended.
fn first_line(output: Option<&File>) -> String {
    let mut lines = output
        .map(BufReader::new)
        .into_iter()
        .flat_map(BufRead::lines);
    match lines.next() {
        Some(Ok(line)) => line,
        _ => "the process ended without output".to_owned(),
    }
}

fn process_marker(start: &StartProcess) -> String {
    format!("CASEMENT_PROCESS={}/{}", start.key.container, start.exec)
}

fn build_command(wine: &str, container: &Container, start: &StartProcess, run: &str) -> Command {
    let mut arguments: Vec<&str> = Vec::new();
    if let Some(network) = &container.network {
        arguments.extend(["ip", "netns", "exec", network]);
    }
    if !container.hostname.is_empty() {
        arguments.extend([
            "unshare",
            "--uts",
            "sh",
            "-c",
            SET_HOSTNAME,
            &container.hostname,
        ]);
    }
    arguments.push("setsid");
    if start.terminal {
        arguments.push("--ctty");
    }
    arguments.extend([wine, r"C:\lab\enter.exe"]);
    let mut command = Command::new(arguments[0]);
    let (name, value) = ("CASEMENT_PROCESS", process_marker(start));
    command
        .args(&arguments[1..])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("LANG", "C.UTF-8")
        .env("WINEPREFIX", container.drive.prefix())
        .env("WINEDEBUG", "-all")
        .env("CASEMENT_ENTER", format!(r"C:\lab\run\{run}"))
        .env(name, value.trim_start_matches("CASEMENT_PROCESS="))
        .current_dir("/");
    if start.terminal {
        command.env("TERM", "xterm-256color");
    }
    command
}

/// Connects pipes, or a terminal if one was requested.
fn set_streams(command: &mut Command, start: &StartProcess) -> io::Result<Option<Terminal>> {
    if !start.terminal {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(match start.stdin {
            true => Stdio::piped(),
            false => Stdio::null(),
        });
        return Ok(None);
    }
    let (terminal, process_end) = Terminal::open()?;
    command
        .stdin(process_end.try_clone()?)
        .stdout(process_end.try_clone()?)
        .stderr(process_end);
    Ok(Some(terminal))
}

/// Outputs of the process to read from, and its input to write to.
fn streams(
    child: &mut Child,
    terminal: Option<&Terminal>,
) -> io::Result<(Vec<File>, Option<File>)> {
    if let Some(terminal) = terminal {
        return Ok((vec![terminal.handle()?], Some(terminal.handle()?)));
    }
    let outputs = [
        child.stdout.take().map(OwnedFd::from),
        child.stderr.take().map(OwnedFd::from),
    ];
    let input = child.stdin.take().map(OwnedFd::from).map(File::from);
    Ok((
        outputs.into_iter().flatten().map(File::from).collect(),
        input,
    ))
}

/// Parses the lines of the named pipe. A thread waits for the child and writes `gone`,
/// so that there is always a last report.
fn read_reports(pipe: File, mut child: Child) -> io::Result<Receiver<Report>> {
    let mut writer = pipe.try_clone()?;
    thread::spawn(move || {
        let _ = child.wait();
        let _ = writer.write_all(b"gone\n");
    });
    let (sender, reports) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            let Some(report) = parse(&line) else { continue };
            if sender.send(report).is_err() || report == Report::Gone {
                break;
            }
        }
    });
    Ok(reports)
}

fn parse(line: &str) -> Option<Report> {
    let (state, number) = line.split_once(' ').unwrap_or((line, "0"));
    let number = number.trim_end().parse().ok()?;
    Some(match state {
        "started" => Report::Started,
        "failed" => Report::Failed(number),
        "exit" => Report::Exit(number),
        "gone" => Report::Gone,
        _ => return None,
    })
}

/// The directory with the input of `enter.exe` and its report pipe.
struct RunDir {
    name: String,
    path: PathBuf,
}

impl RunDir {
    fn create(container: &Container, start: &StartProcess) -> Result<Self, ContainerError> {
        let name = match start.exec.as_str() {
            "" => "first".to_owned(),
            exec => format!("exec-{}", check_id(exec)?),
        };
        let path = container.drive.drive_c().join("lab/run").join(&name);
        fs::create_dir_all(&path).map_err(ContainerError::file("create", &path))?;
        let dir = Self { name, path };
        dir.write(start)?;
        Ok(dir)
    }

    fn write(&self, start: &StartProcess) -> Result<(), ContainerError> {
        let directory = match start.directory.as_str() {
            "" => r"C:\",
            directory => directory,
        };
        let command = command_line::text(&start.command);
        let parts = [directory, &command].into_iter();
        let parts = parts.chain(start.environment.iter().map(String::as_str));
        let input: String = parts.flat_map(|part| [part, "\0"]).collect();
        write(&self.path.join("order"), &input)?;
        let report = self.path.join("report");
        mknodat(CWD, &report, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(|error| ContainerError::File("create", report, error.into()))
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        // Fails if the drive was removed already.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn write(path: &Path, text: &str) -> Result<(), ContainerError> {
    fs::write(path, text).map_err(ContainerError::file("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_parsed() {
        assert_eq!(parse("started 36"), Some(Report::Started));
        assert_eq!(parse("exit 3221225786\r"), Some(Report::Exit(0xC000_013A)));
        assert_eq!(parse("failed 2"), Some(Report::Failed(2)));
        assert_eq!(parse("gone"), Some(Report::Gone));
        assert_eq!(parse("hello"), None);
    }
}
