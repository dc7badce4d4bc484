//! Starts a process in a container.
//!
//! The way in is `ip netns exec`, `unshare` (for the computer name), `setsid`,
//! Wine, and `enter.exe`, which makes the process that was asked for and
//! reports on it through a named pipe (see that program).

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use lab_wire::container::ProcessStart;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::drive::plain;
use super::terminal::Terminal;
use super::{Container, ContainerError, census, command_line};

/// How long the first process of a container may take: a Wine prefix boots.
const PATIENCE: Duration = Duration::from_secs(120);

/// Sets the computer name of a fresh UTS namespace, then goes on.
const NAMED: &str = r#"hostname "$0" && exec "$@""#;

/// A process that has started.
pub(super) struct Running {
    /// Its way-in process, as Linux counts.
    pub(super) pid: u32,
    /// What it writes to; the second is standard error, where that is apart.
    pub(super) outputs: Vec<File>,
    /// What it reads from.
    pub(super) input: Option<File>,
    /// Its console.
    pub(super) terminal: Option<Terminal>,
    /// How it ends, in time.
    pub(super) reports: Receiver<Report>,
    /// What it and all that it starts have in their environment.
    pub(super) marker: String,
    /// The folder with its order and its reports, for its life.
    _folder: RunFolder,
}

/// What is heard about a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    /// It runs.
    Started,
    /// It could not be made, for a Win32 error code.
    Failed(u32),
    /// It has ended by itself, with this code.
    Exit(u32),
    /// The way-in process is no more.
    Gone,
}

/// Starts it and waits until it runs.
pub(super) fn launch(
    wine: &str,
    container: &Container,
    start: &ProcessStart,
) -> Result<Running, ContainerError> {
    let folder = RunFolder::create(container, start)?;
    let pipe_path = folder.path.join("report");
    // Opened for both so that neither opening nor reading depends on whether
    // Wine has come up; the end is told by `Gone`, not by the end of the file.
    let pipe = File::options()
        .read(true)
        .write(true)
        .open(&pipe_path)
        .map_err(ContainerError::file("open", &pipe_path))?;
    let mut command = way_in(wine, container, start, &folder.name);
    let broken = |error: io::Error| ContainerError::Silent(error.to_string());
    let terminal = connect(&mut command, start).map_err(broken)?;
    let mut child = command.spawn().map_err(broken)?;
    // The command holds our copies of the process's ends.
    drop(command);
    let (outputs, input) = streams(&mut child, terminal.as_ref()).map_err(broken)?;
    let pid = child.id();
    let reports = listen(pipe, child).map_err(broken)?;
    let running = Running {
        pid,
        outputs,
        input: input.filter(|_| start.stdin),
        terminal,
        reports,
        marker: match start.exec.as_str() {
            "" => container.drive.marker(),
            _ => process_marker(start),
        },
        _folder: folder,
    };
    began(running)
}

fn began(running: Running) -> Result<Running, ContainerError> {
    let reason = match running.reports.recv_timeout(PATIENCE) {
        Ok(Report::Started) => return Ok(running),
        Ok(Report::Failed(code)) => ContainerError::Refused(code),
        Ok(Report::Exit(_) | Report::Gone) => ContainerError::Silent(said(running.outputs.last())),
        Err(_) => ContainerError::Silent(format!("nothing within {} s", PATIENCE.as_secs())),
    };
    let _ = census::end(&running.marker);
    Err(reason)
}

/// What a way in that failed had to say; its last process has ended.
fn said(output: Option<&File>) -> String {
    let mut lines = output
        .map(BufReader::new)
        .into_iter()
        .flat_map(BufRead::lines);
    match lines.next() {
        Some(Ok(line)) => line,
        _ => "it ended without a word".to_owned(),
    }
}

fn process_marker(start: &ProcessStart) -> String {
    format!("CASEMENT_PROCESS={}/{}", start.key.container, start.exec)
}

fn way_in(wine: &str, container: &Container, start: &ProcessStart, run: &str) -> Command {
    let mut words: Vec<&str> = Vec::new();
    if let Some(network) = &container.network {
        words.extend(["ip", "netns", "exec", network]);
    }
    if !container.hostname.is_empty() {
        words.extend(["unshare", "--uts", "sh", "-c", NAMED, &container.hostname]);
    }
    words.push("setsid");
    if start.terminal {
        words.push("--ctty");
    }
    words.extend([wine, r"C:\lab\enter.exe"]);
    let mut command = Command::new(words[0]);
    let (name, value) = ("CASEMENT_PROCESS", process_marker(start));
    command
        .args(&words[1..])
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

/// Gives the command its three streams, or one console for them.
fn connect(command: &mut Command, start: &ProcessStart) -> io::Result<Option<Terminal>> {
    if !start.terminal {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(match start.stdin {
            true => Stdio::piped(),
            false => Stdio::null(),
        });
        return Ok(None);
    }
    let (ours, theirs) = Terminal::open()?;
    command
        .stdin(theirs.try_clone()?)
        .stdout(theirs.try_clone()?)
        .stderr(theirs);
    Ok(Some(ours))
}

/// Our ends: what to read from, and what to write to.
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

/// Turns the lines in the named pipe into reports; also those of a thread that
/// waits for the child, so that there is always a last one.
fn listen(pipe: File, mut child: Child) -> io::Result<Receiver<Report>> {
    let mut last_word = pipe.try_clone()?;
    thread::spawn(move || {
        let _ = child.wait();
        let _ = last_word.write_all(b"gone\n");
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
    let (word, number) = line.split_once(' ').unwrap_or((line, "0"));
    let number = number.trim_end().parse().ok()?;
    Some(match word {
        "started" => Report::Started,
        "failed" => Report::Failed(number),
        "exit" => Report::Exit(number),
        "gone" => Report::Gone,
        _ => return None,
    })
}

/// Where `enter.exe` finds its order.
struct RunFolder {
    name: String,
    path: PathBuf,
}

impl RunFolder {
    fn create(container: &Container, start: &ProcessStart) -> Result<Self, ContainerError> {
        let name = match start.exec.as_str() {
            "" => "first".to_owned(),
            exec => format!("exec-{}", plain(exec)?),
        };
        let path = container.drive.drive_c().join("lab/run").join(&name);
        fs::create_dir_all(&path).map_err(ContainerError::file("create", &path))?;
        let folder = Self { name, path };
        folder.write(start)?;
        Ok(folder)
    }

    fn write(&self, start: &ProcessStart) -> Result<(), ContainerError> {
        let directory = match start.directory.as_str() {
            "" => r"C:\",
            directory => directory,
        };
        let command = command_line::text(&start.command);
        let parts = [directory, &command].into_iter();
        let parts = parts.chain(start.environment.iter().map(String::as_str));
        let order: String = parts.flat_map(|part| [part, "\0"]).collect();
        write(&self.path.join("order"), &order)?;
        let report = self.path.join("report");
        mknodat(CWD, &report, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .map_err(|error| ContainerError::File("create", report, error.into()))
    }
}

impl Drop for RunFolder {
    fn drop(&mut self) {
        // The drive may be gone already.
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
    fn reports_are_one_word_and_a_number() {
        assert_eq!(parse("started 36"), Some(Report::Started));
        assert_eq!(parse("exit 3221225786\r"), Some(Report::Exit(0xC000_013A)));
        assert_eq!(parse("failed 2"), Some(Report::Failed(2)));
        assert_eq!(parse("gone"), Some(Report::Gone));
        assert_eq!(parse("hello"), None);
    }
}
