//! `casement logs`: a service's log, or everything that a colleague needs to see
//! what is wrong with a host.

#[path = "logs/bundle.rs"]
mod bundle;

use std::path::PathBuf;
use std::time::Duration;

use casement_diag::Problem;
use casement_plan::log_file;
use casement_remote::AgentHome;
use casement_resource::{HostPath, Secret};
use casement_run::RunError;
use casement_run::link::Link;
use casement_spec::{Cluster, Host};
use clap::Args;

use crate::controller::FileArgs;
use crate::failure::CommandError;
use crate::way::Ways;
use crate::{agents, controller, mask, output, spec_file, told};

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

/// How much of a log is read in one go; what an agent tells at most.
const READ: u32 = 64 * 1024;
/// How often somebody who follows a log looks again.
const AGAIN: Duration = Duration::from_millis(500);

/// Runs the verb.
pub async fn run_logs(arguments: LogsArgs) -> Result<(), CommandError> {
    let cluster = spec_file::read_to_act(&arguments.file.file)?;
    let host = spec_file::host(&cluster, &arguments.host, "name a host as the file does")?;
    let known = spec_file::secrets(&cluster);
    let mut link = call(&cluster, host, &arguments.file).await?;
    let told = if arguments.bundle {
        let out = arguments.out.clone();
        let out = out.unwrap_or_else(|| format!("{}.tar.gz", host.name).into());
        bundle::write(&mut link, &cluster, &out, &known).await
    } else {
        show(&mut link, host, &arguments, &known).await
    };
    link.close().await;
    told
}

/// Opens a conversation with one host.
async fn call(cluster: &Cluster, host: &Host, file: &FileArgs) -> Result<Link, CommandError> {
    controller::check_managed(host)?;
    let mut ways = Ways::with_host_keys(file.host_keys());
    let way = ways.to(cluster, host)?;
    let agent = agents::find_for(controller::system(host), file.agent_dir.as_deref())?;
    let link = Link::open_at(&way, AgentHome::new(agent), &controller::own_name()).await;
    controller::say_new_keys(&ways.new_keys());
    Ok(link.map_err(problem)?)
}

fn problem(error: RunError) -> Problem {
    told::problem(&error)
}

/// Prints the end of a log, and goes on where that is wanted.
async fn show(
    link: &mut Link,
    host: &Host,
    arguments: &LogsArgs,
    known: &[Secret],
) -> Result<(), CommandError> {
    let place = log_file(host, &arguments.service);
    let path: HostPath = place.parse().map_err(|error| {
        let what = format!("`{place}` is no path: {error}");
        Problem::new("CAS-CTL-025", what, "name a service that runs there")
    })?;
    let (text, mut end) = link.read_since(&path, READ, None).await.map_err(problem)?;
    let Some(text) = text else {
        let what = format!("`{}` has no log of `{}`", host.name, arguments.service);
        let problem = Problem::new("CAS-CTL-025", what, "name a service that runs there");
        return Err(problem.seen("looked at", place).into());
    };
    output::print(&mask::masked(last_lines(&text, arguments.lines), known))?;
    if !arguments.follow {
        return Ok(());
    }
    let follow = async {
        loop {
            tokio::time::sleep(AGAIN).await;
            let since = link.read_since(&path, READ, Some(end)).await;
            let (more, now) = since.map_err(problem)?;
            end = now;
            output::print(&mask::masked(&more.unwrap_or_default(), known))?;
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => Ok(()),
        ended = follow => ended,
    }
}

/// So many lines from the end of a text.
fn last_lines(text: &str, lines: usize) -> &str {
    let begins = text.match_indices('\n').map(|(at, _)| at + 1);
    let mut begins: Vec<_> = std::iter::once(0).chain(begins).collect();
    begins.retain(|begin| *begin < text.len());
    let begin = begins.len().checked_sub(lines).map(|at| begins.get(at));
    let begin = begin.map_or(0, |begin| begin.copied().unwrap_or(text.len()));
    text.get(begin..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_whole_ones() {
        let text = "one\ntwo\nthree\n";
        assert_eq!(last_lines(text, 2), "two\nthree\n");
        assert_eq!(last_lines(text, 9), text);
        assert_eq!(last_lines(text, 0), "");
        assert_eq!(last_lines("one\nhalf", 1), "half");
        assert_eq!(last_lines("", 3), "");
    }
}
