//! `casement converge DOC --hosts FILE`: applies a node document to hosts, without a
//! cluster. For benchmarks and debugging.

mod hosts;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use casement_diag::Problem;
use casement_remote::{Agent, AgentHome, AgentPaths, HostOs, RemoteError, hash_file};
use casement_report::record::HostSummary;
use casement_resource::wire::Outcome;
use casement_resource::{NodeDocument, Resource};
use casement_run::RunError;
use casement_run::agent_client::AgentClient;
use casement_run::apply::RunEvent;
use casement_run::blob_source::Blobs;
use casement_run::cancel::CancelToken;
use casement_run::concurrency::Concurrency;
use casement_run::job::Job;
use casement_run::run_host::RunHost;
use casement_run::secrets::NoSecrets;
use casement_run::unavailable::UnavailablePermit;
use clap::Args;
use serde_json::Value;

use crate::failure::CommandError;
use crate::progress::{Progress, ProgressArgs, RunRecord};
use crate::signals::InterruptWatch;
use crate::{agents, clock, fleet, output, signals};
use hosts::ConvergeHost;

const HOSTS_FILE: &str = "\
Hosts file:
  {
    \"user\": \"root\", \"key\": \"id_ed25519\", \"knownHosts\": \"known_hosts\",
    \"hosts\": [
      {\"name\": \"a\", \"address\": \"10.3.0.1\", \"values\": {\"zone\": \"north\"}},
      {\"name\": \"b\", \"address\": \"10.3.0.2\", \"port\": 2222, \"os\": \"windows\"}
    ]
  }

  Each host needs `name` and `address`. `user`, `key` and `knownHosts` are set for all
  hosts or for each. `port`, `os` (`linux` or `windows`), `stateDir` (where the agent
  keeps its state) and `values` are optional. Paths are relative to the directory of the
  file.";

/// Apply a node document to hosts, without a cluster.
#[derive(Debug, Args)]
#[command(after_long_help = HOSTS_FILE)]
pub struct ConvergeArgs {
    /// Node document (JSON); `{{ name }}` in its strings is replaced by a value of each host
    document: PathBuf,
    /// Hosts file (JSON): how to connect to each host, and its values
    #[arg(long, value_name = "FILE")]
    hosts: PathBuf,
    /// Number of hosts to process at the same time
    #[arg(long, value_name = "N", default_value_t)]
    parallel: Concurrency,
    /// File with the content of an artifact of the document; can be repeated
    #[arg(long = "blob", value_name = "FILE")]
    blobs: Vec<PathBuf>,
    /// Directory with casement-node and casement-node.exe
    #[arg(long)]
    agent_dir: Option<PathBuf>,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

struct Executor {
    blobs: Blobs,
    run: String,
    controller: String,
    cancel: CancelToken,
    progress: Progress,
}

pub async fn run_converge(arguments: ConvergeArgs) -> Result<(), CommandError> {
    let interrupts = signals::watch("converge");
    let template = hosts::read(&arguments.document)?;
    let hosts = hosts::load(&arguments.hosts)?;
    let documents = hosts
        .iter()
        .map(|host| document(&arguments.document, &template, host))
        .collect::<Result<Vec<_>, Problem>>()?;
    let agents = find_agents(&hosts, arguments.agent_dir.as_deref())?;
    let blobs = find_blobs(&arguments.blobs, &documents)?;
    let run = fleet::run_name();
    let record = RunRecord::begin("converge", &run, false);
    let names: Vec<&str> = hosts.iter().map(|it| it.endpoint.name()).collect();
    let progress = Progress::begin(&arguments.progress, &names, record);
    let executor = Executor {
        blobs,
        run,
        controller: fleet::controller_name(),
        cancel: interrupts.begin_changes(&progress),
        progress,
    };
    let jobs = hosts.iter().zip(&documents).map(|(host, document)| {
        let (executor, agents) = (&executor, &agents);
        async move {
            let result = executor.converge(host, document, agents).await;
            let name = host.endpoint.name();
            executor.progress.host_ended(name, result.as_ref().copied());
            (name, result)
        }
    });
    let mut results = arguments.parallel.all(jobs).await;
    results.sort_by_key(|(name, _)| *name);
    conclude(&executor.progress, &results, &interrupts)
}

impl Executor {
    async fn converge(
        &self,
        host: &ConvergeHost,
        document: &NodeDocument,
        agents: &BTreeMap<HostOs, Agent>,
    ) -> Result<u32, RunError> {
        let agent = agents.get(&host.os).cloned();
        let agent = agent.ok_or_else(|| RunError::NoAgent {
            host: host.endpoint.name().to_owned(),
            os: host.os,
        })?;
        let home = match &host.state_dir {
            None => AgentHome::new(agent),
            Some(dir) => AgentHome::with_paths(agent, AgentPaths::below(host.os, dir)),
        };
        let open = AgentClient::open_at(&host.endpoint, home, &self.controller);
        let mut client = self.cancel.run(host.endpoint.name(), open).await?;
        client.set_cancel_token(self.cancel.clone());
        let on_event = |event: RunEvent<'_>| self.progress.on_run_event(&event);
        let job = Job {
            blobs: &self.blobs,
            run: &self.run,
            cancel: &self.cancel,
            on_event: &on_event,
        };
        // No limit of unavailable hosts.
        let permit = &mut UnavailablePermit::default();
        let mut host = RunHost::new(&mut client, Vec::new());
        let result = job.converge(&mut host, document, &NoSecrets, permit).await;
        client.close().await;
        result
    }
}

fn document(path: &Path, template: &Value, host: &ConvergeHost) -> Result<NodeDocument, Problem> {
    let name = host.endpoint.name();
    let invalid = |cause: String| {
        Problem::new(
            "CAS-CTL-021",
            format!("`{}` is not a valid document for `{name}`", path.display()),
            "fix the document, or add the values of the host to the hosts file",
        )
        .detail("cause", cause)
    };
    let mut value = host.fill(template).map_err(invalid)?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("host".to_owned(), Value::from(name));
    }
    NodeDocument::try_from(value).map_err(|error| invalid(error.to_string()))
}

fn find_agents(
    hosts: &[ConvergeHost],
    dir: Option<&Path>,
) -> Result<BTreeMap<HostOs, Agent>, Problem> {
    let mut found = BTreeMap::new();
    for host in hosts {
        if let Entry::Vacant(entry) = found.entry(host.os) {
            entry.insert(agents::find_for(host.os, dir)?);
        }
    }
    Ok(found)
}

/// The file for each artifact. Files are matched by size, because the hash is checked on
/// upload; they are hashed here only if several have the same size.
fn find_blobs(files: &[PathBuf], documents: &[NodeDocument]) -> Result<Blobs, Problem> {
    let problem = |error: RemoteError| error.problem();
    let mut blobs = Blobs::new();
    let steps = documents.iter().flat_map(NodeDocument::steps);
    for step in steps {
        let Resource::Artifact(artifact) = &step.resource else {
            continue;
        };
        if blobs.contains_key(&artifact.sha256) {
            continue;
        }
        let same_size = |file: &&PathBuf| file.metadata().is_ok_and(|it| it.len() == artifact.size);
        let candidates: Vec<&PathBuf> = files.iter().filter(same_size).collect();
        let file = match candidates.as_slice() {
            [file] => Some(*file),
            candidates => {
                let mut found = None;
                for file in candidates {
                    if hash_file(file).map_err(problem)?.0 == artifact.sha256 {
                        found = Some(*file);
                    }
                }
                found
            }
        };
        let Some(file) = file else {
            return Err(Problem::new(
                "CAS-CTL-022",
                format!("no file was given for `{}`", artifact.destination),
                "add it with `--blob FILE`",
            )
            .detail("sha256", artifact.sha256)
            .detail("size", format!("{} bytes", artifact.size)));
        };
        blobs.insert(artifact.sha256, file.clone().into());
    }
    Ok(blobs)
}

fn conclude(
    progress: &Progress,
    results: &[(&str, Result<u32, RunError>)],
    interrupts: &InterruptWatch,
) -> Result<(), CommandError> {
    progress.finish();
    let is_canceled = |it: &Result<u32, RunError>| matches!(it, Err(RunError::Canceled { .. }));
    for (host, result) in results {
        if let Err(error) = result
            && !is_canceled(result)
        {
            progress.report_failure(host, error);
        }
    }
    let failed = results
        .iter()
        .filter(|(_, it)| it.is_err() && !is_canceled(it))
        .count();
    let canceled = results.iter().filter(|(_, it)| is_canceled(it)).count();
    let changed = results
        .iter()
        .filter(|(_, it)| matches!(it, Ok(1..)))
        .count();
    let outcome = match (failed, canceled) {
        (0, 0) => Outcome::Done,
        (_, 0) => Outcome::Failed,
        _ => Outcome::Stopped,
    };
    let summaries = results.iter().map(|(host, it)| HostSummary {
        name: (*host).to_owned(),
        changed: *it.as_ref().unwrap_or(&0),
        error: it.as_ref().err().map(|error| progress.problem(host, error)),
        ..HostSummary::default()
    });
    progress.close(outcome, summaries.collect());
    let elapsed = clock::duration(interrupts.elapsed());
    let hosts = output::count(results.len(), "host");
    match (failed, canceled) {
        (0, 0) => {
            let done = format!("Done in {elapsed}: {hosts}, {changed} changed.\n");
            output::print(&done)
        }
        (_, 0) => {
            output::message(&format!("{failed} of {hosts} failed after {elapsed}."));
            Err(CommandError::reported(1))
        }
        _ => Err(interrupts.stopped()),
    }
}
