//! `casement logs`: a service's log, or everything that a colleague needs to see
//! what is wrong with a host.

mod bundle;

use std::path::PathBuf;
use std::time::Duration;

use casement_diag::Problem;
use casement_remote::{
    Connection, Dial as _, HostOs, ProcessEvent, RemoteError, RemotePath, Transport as _,
};
use casement_resource::Secret;
use clap::Args;

use crate::controller::FileArgs;
use crate::failure::CommandError;
use crate::way::Ways;
use crate::{controller, mask, output, spec_file, told};

/// Show the log of a service on a host, or collect what is known about the host.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// The host, as the file names it
    host: String,
    /// The service
    #[arg(default_value = "kubelet", value_parser = service)]
    service: String,
    #[command(flatten)]
    file: FileArgs,
    /// How many of the last lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    lines: usize,
    /// Go on as the log grows, until Ctrl-C
    #[arg(long)]
    follow: bool,
    /// Collect logs, events, networks, configurations and versions into one
    /// archive, without secrets
    #[arg(long, conflicts_with_all = ["follow", "lines"])]
    bundle: bool,
    /// Where to write the archive; HOST.tar.gz unless named
    #[arg(long, value_name = "FILE", requires = "bundle")]
    out: Option<PathBuf>,
}

/// A service's name is a part of paths and command lines.
fn service(text: &str) -> Result<String, String> {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
    match !text.is_empty() && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("a service has letters, digits, `-` and `_`".to_owned()),
    }
}

/// Runs the verb.
pub async fn run_logs(arguments: LogsArgs) -> Result<(), CommandError> {
    let cluster = spec_file::read_to_act(&arguments.file.file)?;
    let host = spec_file::host(&cluster, &arguments.host, "name a host as the file does")?;
    let mut ways = Ways::with_host_keys(arguments.file.host_keys());
    let way = ways.to(&cluster, host)?;
    let os = controller::system(host);
    let remote = |error: RemoteError| told::remote(&error);
    let session = way.connect().await.map_err(remote)?;
    controller::say_new_keys(&ways.new_keys());
    let known = spec_file::secrets(&cluster);
    if arguments.bundle {
        let agent = crate::agents::find_for(os, arguments.file.agent_dir.as_deref())?;
        let parts = bundle::collect(&session, agent, &cluster)
            .await
            .map_err(remote)?;
        let out = arguments
            .out
            .unwrap_or_else(|| format!("{}.tar.gz", host.name).into());
        bundle::write(&out, &parts, &known)?;
        return output::print(&format!("{}\n", out.display()));
    }
    let log = Log {
        session: &session,
        os,
        service: &arguments.service,
    };
    let text = log.tail(arguments.lines).await.map_err(remote)?;
    let Some((text, mut end)) = text else {
        let what = format!("`{}` has no log of `{}`", host.name, arguments.service);
        let problem = Problem::new("CAS-CTL-025", what, "name a service that runs there");
        return Err(problem.seen("looked at", log.place()).into());
    };
    output::print(&mask::masked(&text, &known))?;
    if !arguments.follow {
        return Ok(());
    }
    tokio::select! {
        _ = tokio::signal::ctrl_c() => Ok(()),
        ended = log.follow(&mut end, &known) => ended,
    }
}

/// A log on a host.
struct Log<'a> {
    session: &'a Connection,
    os: HostOs,
    service: &'a str,
}

impl Log<'_> {
    fn path(&self) -> RemotePath {
        let name = self.service;
        RemotePath::new(&match self.os {
            HostOs::Windows => format!(r"C:\var\log\{name}\{name}.log"),
            HostOs::Linux => format!("/var/log/{name}/{name}.log"),
        })
    }

    fn place(&self) -> String {
        match self.os {
            HostOs::Windows => self.path().native(),
            HostOs::Linux => format!("the journal of {}.service", self.service),
        }
    }

    /// The last lines, and where the file ends.
    async fn tail(&self, lines: usize) -> Result<Option<(String, u64)>, RemoteError> {
        if self.os == HostOs::Linux {
            let line = format!("journalctl -u {} -n {lines} --no-pager -q", self.service);
            let output = self.session.start(&line).await?;
            output.send_eof().await;
            let text = String::from_utf8_lossy(&output.output().await?.stdout).into_owned();
            return Ok(Some((text, 0)).filter(|(text, _)| !text.is_empty()));
        }
        let Some(bytes) = bundle::read(self.session, &self.path()).await? else {
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes);
        let all: Vec<&str> = text.split_inclusive('\n').collect();
        let last = all.get(all.len().saturating_sub(lines)..);
        let last = last.unwrap_or_default().concat();
        Ok(Some((last, bytes.len() as u64)))
    }

    /// Prints what comes, until the host says nothing more.
    async fn follow(&self, end: &mut u64, known: &[Secret]) -> Result<(), CommandError> {
        let remote = |error: RemoteError| told::remote(&error);
        if self.os == HostOs::Linux {
            let line = format!("journalctl -u {} -n 0 --no-pager -q -f", self.service);
            let mut process = self.session.start(&line).await.map_err(remote)?;
            while let Some(event) = process.next().await {
                if let ProcessEvent::Stdout(bytes) = event {
                    let text = String::from_utf8_lossy(&bytes);
                    output::print(&mask::masked(&text, known))?;
                }
            }
            return Ok(());
        }
        loop {
            let more = self.since(end).await.map_err(remote)?;
            output::print(&mask::masked(&more, known))?;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    }

    /// What came since; a log that was begun anew is read from its start.
    async fn since(&self, end: &mut u64) -> Result<String, RemoteError> {
        let path = self.path();
        let bytes = match self.session {
            Connection::Ssh(session) => {
                let sftp = session.sftp().await?;
                let size = sftp.stat(&path).await?.map_or(0, |it| it.size);
                if size < *end {
                    *end = 0;
                }
                sftp.read_from(&path, *end).await?
            }
            Connection::WinRm(_) => {
                let all = bundle::read(self.session, &path).await?.unwrap_or_default();
                let known = usize::try_from(*end).unwrap_or(usize::MAX);
                let start = if all.len() < known { 0 } else { known };
                all.get(start..).unwrap_or_default().to_vec()
            }
        };
        *end += bytes.len() as u64;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
