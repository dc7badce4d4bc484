//! `casement logs`: the log of a service, or a support bundle of a host.

mod bundle;

use std::path::PathBuf;
use std::time::Duration;

use casement_diag::Problem;
use casement_plan::log_file;
use casement_remote::AgentHome;
use casement_resource::service_names::KUBELET;
use casement_resource::{HostPath, Secret};
use casement_run::RunError;
use casement_run::agent_client::AgentClient;
use casement_spec::{Cluster, Host};
use clap::Args;

use crate::endpoints::HostEndpoints;
use crate::failure::CommandError;
use crate::fleet::FileArgs;
use crate::{agents, errors, fleet, mask, output, spec_file};

/// Show the log of a service on a host, or collect a support bundle.
#[derive(Debug, Args)]
pub struct LogsArgs {
    /// Host name in the cluster file
    host: String,
    /// Service
    #[arg(default_value = KUBELET, value_parser = service)]
    service: String,
    #[command(flatten)]
    file: FileArgs,
    /// Number of lines from the end
    #[arg(short = 'n', long, value_name = "N", default_value_t = 200)]
    lines: usize,
    /// Follow the log until Ctrl-C
    #[arg(long)]
    follow: bool,
    /// Collect logs, events, networks, configurations and versions into an archive,
    /// without secrets
    #[arg(long, conflicts_with_all = ["follow", "lines"])]
    bundle: bool,
    /// Archive file; HOST.tar.gz by default
    #[arg(long, value_name = "FILE", requires = "bundle")]
    out: Option<PathBuf>,
}

/// Restricted because it becomes part of paths and command lines.
fn service(text: &str) -> Result<String, String> {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_".contains(it);
    match !text.is_empty() && text.chars().all(plain) {
        true => Ok(text.to_owned()),
        false => Err("a service name has only letters, digits, `-` and `_`".to_owned()),
    }
}

/// Bytes per request; the maximum of the agent.
const READ_LIMIT: u32 = 64 * 1024;
const FOLLOW_INTERVAL: Duration = Duration::from_millis(500);

pub async fn run_logs(arguments: LogsArgs) -> Result<(), CommandError> {
    let cluster = spec_file::read_to_act(&arguments.file.file)?;
    let host = spec_file::host(
        &cluster,
        &arguments.host,
        "use a host name from the cluster file",
    )?;
    let secrets = spec_file::secrets(&cluster);
    let mut client = connect(&cluster, host, &arguments.file).await?;
    let result = if arguments.bundle {
        let out = arguments.out.clone();
        let out = out.unwrap_or_else(|| format!("{}.tar.gz", host.name).into());
        bundle::write(&mut client, &cluster, &out, &secrets).await
    } else {
        show(&mut client, host, &arguments, &secrets).await
    };
    client.close().await;
    result
}

async fn connect(
    cluster: &Cluster,
    host: &Host,
    file: &FileArgs,
) -> Result<AgentClient, CommandError> {
    fleet::check_managed(host)?;
    let mut endpoints = HostEndpoints::with_host_keys(file.host_keys());
    let endpoint = endpoints.to(cluster, host)?;
    let agent = agents::find_for(fleet::system(host), file.agent_dir.as_deref())?;
    let home = AgentHome::new(agent);
    let client = AgentClient::open_at(&endpoint, home, &fleet::controller_name()).await;
    fleet::report_new_keys(&endpoints.new_keys());
    Ok(client.map_err(problem)?)
}

fn problem(error: RunError) -> Problem {
    errors::problem(&error)
}

/// Prints the end of a log, and follows it with `--follow`.
async fn show(
    client: &mut AgentClient,
    host: &Host,
    arguments: &LogsArgs,
    secrets: &[Secret],
) -> Result<(), CommandError> {
    let log = log_file(host, &arguments.service);
    let path: HostPath = log.parse().map_err(|error| {
        let what = format!("`{log}` is not a valid path: {error}");
        Problem::new("CAS-CTL-025", what, "use a service that runs on the host")
    })?;
    let (text, mut end) = client
        .read_since(&path, READ_LIMIT, None)
        .await
        .map_err(problem)?;
    let Some(text) = text else {
        let what = format!(
            "`{}` has no log for service `{}`",
            host.name, arguments.service
        );
        let help = "use a service that runs on the host";
        let problem = Problem::new("CAS-CTL-025", what, help);
        return Err(problem.detail("searched", log).into());
    };
    output::print(&mask::masked(last_lines(&text, arguments.lines), secrets))?;
    if !arguments.follow {
        return Ok(());
    }
    let follow = async {
        loop {
            tokio::time::sleep(FOLLOW_INTERVAL).await;
            let since = client.read_since(&path, READ_LIMIT, Some(end)).await;
            let (more, position) = since.map_err(problem)?;
            end = position;
            output::print(&mask::masked(&more.unwrap_or_default(), secrets))?;
        }
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => Ok(()),
        result = follow => result,
    }
}

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
    fn last_lines_are_complete() {
        let text = "one\ntwo\nthree\n";
        assert_eq!(last_lines(text, 2), "two\nthree\n");
        assert_eq!(last_lines(text, 9), text);
        assert_eq!(last_lines(text, 0), "");
        assert_eq!(last_lines("one\nhalf", 1), "half");
        assert_eq!(last_lines("", 3), "");
    }
}
