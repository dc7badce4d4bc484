//! What shells run on: a subset of cmd on a local folder as drive C, and the real agent on
//! a backend.

use std::fs;
use std::io::PipeReader;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use casement_node::state::Layout;
use casement_resource::{Blob, Sha256};
use tokio::task::AbortHandle;

use crate::shell::OutputWriter;

/// What the agent runs on.
pub trait Backend: Send + Sync {
    /// The folder that is drive C.
    fn drive(&self) -> &Path;

    fn layout(&self) -> &Layout;

    /// The boot count. Commands do not survive a boot.
    fn boots(&self) -> u32 {
        0
    }

    /// Called with each connection, which the backend may abort.
    fn track_connection(&self, _connection: AbortHandle) {}

    /// `casement-node channel`; returns whether it succeeded.
    fn channel(&self, agent: Sha256, stdin: &mut PipeReader, stdout: OutputWriter) -> bool;

    /// `casement-node receive`; returns whether it succeeded.
    fn receive(&self, expected: &Blob, stdin: &mut PipeReader, stdout: &mut OutputWriter) -> bool;
}

pub struct Host {
    pub backend: Box<dyn Backend>,
    pub lines: Mutex<Vec<String>>,
    /// certutil fails, as if a security product blocked it.
    pub certutil_blocked: Mutex<bool>,
    /// The value of `PROCESSOR_ARCHITECTURE`.
    pub processor: Mutex<&'static str>,
}

struct Streams<'a> {
    stdin: &'a mut PipeReader,
    stdout: &'a mut OutputWriter,
    stderr: &'a mut OutputWriter,
}

impl Host {
    pub fn new(backend: impl Backend + 'static) -> Arc<Self> {
        Arc::new(Self {
            backend: Box::new(backend),
            lines: Mutex::default(),
            certutil_blocked: Mutex::default(),
            processor: Mutex::new("AMD64"),
        })
    }

    /// The local path of a path on the host.
    pub fn local_path(&self, path: &str) -> PathBuf {
        let inside = path
            .strip_prefix("C:\\")
            .unwrap_or_else(|| panic!("{path}"));
        self.backend.drive().join(inside.replace('\\', "/"))
    }

    /// Runs a line as cmd would and returns the exit code.
    pub fn run(
        &self,
        line: &str,
        mut stdin: PipeReader,
        mut stdout: OutputWriter,
        mut stderr: OutputWriter,
    ) -> u32 {
        self.lines.lock().unwrap().push(line.to_owned());
        let mut streams = Streams {
            stdin: &mut stdin,
            stdout: &mut stdout,
            stderr: &mut stderr,
        };
        let mut code = 0;
        for part in line.split(" & ") {
            for (at, command) in part.split(" && ").enumerate() {
                if at > 0 && code != 0 {
                    break;
                }
                code = self.command(command.trim(), &mut streams);
            }
        }
        code
    }

    fn command(&self, command: &str, streams: &mut Streams<'_>) -> u32 {
        let quiet = command.ends_with(" >nul") || command.ends_with(" 2>nul");
        let command = command.trim_end_matches(" >nul").trim_end_matches(" 2>nul");
        let quoted: Vec<PathBuf> = command
            .split('"')
            .skip(1)
            .step_by(2)
            .filter(|path| *path != "^")
            .map(|path| self.local_path(path))
            .collect();
        let path = |at: usize| quoted.get(at).unwrap_or_else(|| panic!("{command}"));
        let name = command.split([' ', '"']).next().unwrap();
        let exit_code = |result: std::io::Result<()>| u32::from(result.is_err());
        match name {
            "mkdir" => exit_code(fs::create_dir_all(path(0))),
            "del" => {
                let removed = quoted.iter().map(fs::remove_file);
                u32::from(removed.filter(Result::is_err).count() > 0)
            }
            "move" => exit_code(fs::rename(path(0), path(1))),
            "rmdir" => exit_code(fs::remove_dir(path(0))),
            "findstr" => exit_code(self.copy_lines(path(0), streams.stdin)),
            "certutil" => self.certutil(command, &quoted, quiet, streams),
            "if" => {
                let exit = |code: &str| code.trim_matches(['(', ')']).parse().unwrap();
                let codes: Vec<&str> = command.split("exit ").skip(1).collect();
                let code = codes[usize::from(!path(0).exists())];
                exit(code.split(')').next().unwrap())
            }
            "cmd" => self.program(command, path(0), streams),
            "echo" => {
                let text = command.trim_start_matches("echo ");
                let processor = *self.processor.lock().unwrap();
                let text = text.replace("%OS%", "Windows_NT");
                let text = text.replace("%PROCESSOR_ARCHITECTURE%", processor);
                exit_code(streams.stdout.write_all(format!("{text}\r\n").as_bytes()))
            }
            "sort" => {
                let mut text = String::new();
                streams.stdin.read_to_string(&mut text).unwrap();
                let mut lines: Vec<&str> = text.lines().collect();
                lines.sort_unstable();
                exit_code(streams.stdout.write_all(lines.join("\r\n").as_bytes()))
            }
            "exit" => command.trim_start_matches("exit ").parse().unwrap(),
            other => {
                let text = format!("'{other}' is not recognized\r\n");
                streams.stderr.write_all(text.as_bytes()).unwrap();
                1
            }
        }
    }

    /// `findstr "^" > FILE` copies all lines.
    fn copy_lines(&self, to: &Path, stdin: &mut PipeReader) -> std::io::Result<()> {
        let mut text = Vec::new();
        stdin.read_to_end(&mut text)?;
        fs::write(to, text)
    }

    fn certutil(
        &self,
        command: &str,
        paths: &[PathBuf],
        quiet: bool,
        streams: &mut Streams<'_>,
    ) -> u32 {
        if *self.certutil_blocked.lock().unwrap() {
            let text = "This program is blocked by group policy.\r\n";
            streams.stderr.write_all(text.as_bytes()).unwrap();
            return 1;
        }
        let Ok(content) = fs::read(&paths[0]) else {
            let text = "CertUtil: -hashfile command FAILED: 0x80070002\r\n";
            streams.stdout.write_all(text.as_bytes()).unwrap();
            return 2;
        };
        if command.contains("-decode") {
            assert!(quiet);
            let text: String = String::from_utf8(content)
                .unwrap()
                .split_whitespace()
                .collect();
            return u32::from(fs::write(&paths[1], STANDARD.decode(text).unwrap()).is_err());
        }
        let text = format!(
            "SHA256-Hash der Datei:\r\n{}\r\nCertUtil: erfolgreich.\r\n",
            Sha256::of(&content)
        );
        streams.stdout.write_all(text.as_bytes()).unwrap();
        0
    }

    /// `cmd /c "PATH" SUBCOMMAND …`: the agent, if the file exists.
    fn program(&self, command: &str, path: &Path, streams: &mut Streams<'_>) -> u32 {
        let Ok(content) = fs::read(path) else {
            let text = "The system cannot find the path specified.\r\n";
            streams.stderr.write_all(text.as_bytes()).unwrap();
            return 1;
        };
        let args: Vec<&str> = command
            .rsplit('"')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        let succeeded = match args.as_slice() {
            ["channel"] => {
                let stdout = streams.stdout.duplicate();
                let agent = Sha256::of(&content);
                self.backend.channel(agent, streams.stdin, stdout)
            }
            ["receive", hash, size] => {
                let expected = Blob {
                    sha256: hash.parse().unwrap(),
                    size: size.parse().unwrap(),
                };
                let (stdin, stdout) = (&mut *streams.stdin, &mut *streams.stdout);
                self.backend.receive(&expected, stdin, stdout)
            }
            other => panic!("unexpected agent arguments {other:?}"),
        };
        u32::from(!succeeded)
    }
}
