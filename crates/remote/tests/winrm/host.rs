//! What stands behind the shells: a little of cmd, over a folder here that is
//! drive C, and the real agent on whichever machine is given.

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

use crate::shell::Tap;

/// What the agent runs on.
pub trait Machine: Send + Sync {
    /// The folder that is drive C.
    fn drive(&self) -> &Path;

    /// Where the agent keeps things.
    fn layout(&self) -> &Layout;

    /// How often it was booted: nothing that ran before runs afterwards.
    fn boots(&self) -> u32 {
        0
    }

    /// A connection to the machine, which it may want to drop.
    fn carry(&self, _wire: AbortHandle) {}

    /// `casement-node channel`; whether it ended well.
    fn channel(&self, agent: Sha256, stdin: &mut PipeReader, stdout: Tap) -> bool;

    /// `casement-node receive`; whether it ended well.
    fn receive(&self, expected: &Blob, stdin: &mut PipeReader, stdout: &mut Tap) -> bool;
}

pub struct Host {
    pub machine: Box<dyn Machine>,
    pub lines: Mutex<Vec<String>>,
    /// Stands for a security product that does not like what it sees.
    pub no_certutil: Mutex<bool>,
    /// What cmd says that it is.
    pub processor: Mutex<&'static str>,
}

struct Streams<'a> {
    stdin: &'a mut PipeReader,
    stdout: &'a mut Tap,
    stderr: &'a mut Tap,
}

impl Host {
    pub fn new(machine: impl Machine + 'static) -> Arc<Self> {
        Arc::new(Self {
            machine: Box::new(machine),
            lines: Mutex::default(),
            no_certutil: Mutex::default(),
            processor: Mutex::new("AMD64"),
        })
    }

    /// Where a path of the host is here.
    pub fn there(&self, path: &str) -> PathBuf {
        let inside = path
            .strip_prefix("C:\\")
            .unwrap_or_else(|| panic!("{path}"));
        self.machine.drive().join(inside.replace('\\', "/"))
    }

    /// Runs a line as cmd would, and says its exit code.
    pub fn run(&self, line: &str, mut stdin: PipeReader, mut stdout: Tap, mut stderr: Tap) -> u32 {
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
            .map(|path| self.there(path))
            .collect();
        let path = |at: usize| quoted.get(at).unwrap_or_else(|| panic!("{command}"));
        let word = command.split([' ', '"']).next().unwrap();
        let done = |done: std::io::Result<()>| u32::from(done.is_err());
        match word {
            "mkdir" => done(fs::create_dir_all(path(0))),
            "del" => {
                let removed = quoted.iter().map(fs::remove_file);
                u32::from(removed.filter(Result::is_err).count() > 0)
            }
            "move" => done(fs::rename(path(0), path(1))),
            "rmdir" => done(fs::remove_dir(path(0))),
            "findstr" => done(self.copy_lines(path(0), streams.stdin)),
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
                done(streams.stdout.write_all(format!("{text}\r\n").as_bytes()))
            }
            "sort" => {
                let mut text = String::new();
                streams.stdin.read_to_string(&mut text).unwrap();
                let mut lines: Vec<&str> = text.lines().collect();
                lines.sort_unstable();
                done(streams.stdout.write_all(lines.join("\r\n").as_bytes()))
            }
            "exit" => command.trim_start_matches("exit ").parse().unwrap(),
            other => {
                let text = format!("'{other}' is not recognized\r\n");
                streams.stderr.write_all(text.as_bytes()).unwrap();
                1
            }
        }
    }

    /// `findstr "^" > FILE`: every line, with an end.
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
        if *self.no_certutil.lock().unwrap() {
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
        let said = format!(
            "SHA256-Hash der Datei:\r\n{}\r\nCertUtil: erfolgreich.\r\n",
            Sha256::of(&content)
        );
        streams.stdout.write_all(said.as_bytes()).unwrap();
        0
    }

    /// `cmd /c "PATH" VERB …`: the agent, if that is what is there.
    fn program(&self, command: &str, path: &Path, streams: &mut Streams<'_>) -> u32 {
        let Ok(content) = fs::read(path) else {
            let text = "The system cannot find the path specified.\r\n";
            streams.stderr.write_all(text.as_bytes()).unwrap();
            return 1;
        };
        let words: Vec<&str> = command
            .rsplit('"')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        let well = match words.as_slice() {
            ["channel"] => {
                let stdout = streams.stdout.again();
                let agent = Sha256::of(&content);
                self.machine.channel(agent, streams.stdin, stdout)
            }
            ["receive", hash, size] => {
                let expected = Blob {
                    sha256: hash.parse().unwrap(),
                    size: size.parse().unwrap(),
                };
                let (stdin, stdout) = (&mut *streams.stdin, &mut *streams.stdout);
                self.machine.receive(&expected, stdin, stdout)
            }
            other => panic!("the agent does not know {other:?}"),
        };
        u32::from(!well)
    }
}
