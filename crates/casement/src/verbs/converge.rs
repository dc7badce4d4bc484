//! `casement converge DOC --hosts FILE`: hosts become what a bare node document
//! says, with no cluster around them. For benchmarks and for finding faults.

#[path = "converge/hosts.rs"]
mod hosts;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

use casement_diag::Problem;
use casement_remote::{Agent, AgentHome, HostOs, Places, RemoteError, hash_file};
use casement_resource::{NodeDocument, Resource};
use casement_run::RunError;
use casement_run::apply::Happening;
use casement_run::job::Job;
use casement_run::link::Link;
use casement_run::many::AtOnce;
use casement_run::secrets::NoSecrets;
use casement_run::source::Blobs;
use casement_run::stop::Stop;
use casement_run::unavailable::Away;
use clap::Args;
use serde_json::Value;

use crate::failure::CommandError;
use crate::progress::{Progress, ProgressArgs, RunRecord};
use crate::signals::Heed;
use crate::{agents, clock, controller, output, signals, told};
use hosts::Machine;

/// Make hosts what a bare node document says.
#[derive(Debug, Args)]
pub struct ConvergeArgs {
    /// The node document, in JSON; `{{ name }}` in its texts stands for a value
    /// that each host has of its own
    document: PathBuf,
    /// The hosts, in JSON: how each is reached, and its values
    #[arg(long, value_name = "FILE")]
    hosts: PathBuf,
    /// How many hosts are worked on at once
    #[arg(long, value_name = "N", default_value_t)]
    parallel: AtOnce,
    /// A file that an artifact of the document comes from; may be given again
    #[arg(long = "blob", value_name = "FILE")]
    blobs: Vec<PathBuf>,
    /// The folder with casement-node and casement-node.exe
    #[arg(long)]
    agent_dir: Option<PathBuf>,
    #[command(flatten)]
    pub progress: ProgressArgs,
}

/// What is the same for all hosts.
struct Work {
    blobs: Blobs,
    run: String,
    controller: String,
    stop: Stop,
    progress: Progress,
}

/// Runs the verb.
pub async fn run_converge(arguments: ConvergeArgs) -> Result<(), CommandError> {
    let heed = signals::heed("converge");
    let written = hosts::read(&arguments.document)?;
    let machines = hosts::machines(&arguments.hosts)?;
    let documents = machines
        .iter()
        .map(|machine| document(&arguments.document, &written, machine))
        .collect::<Result<Vec<_>, Problem>>()?;
    let agents = find_agents(&machines, arguments.agent_dir.as_deref())?;
    let blobs = find_blobs(&arguments.blobs, &documents)?;
    let run = controller::run_name();
    let record = RunRecord::begin("converge", &run);
    let names: Vec<&str> = machines.iter().map(|it| it.way.name()).collect();
    let progress = Progress::begin(&arguments.progress, &names, record);
    let work = Work {
        blobs,
        run,
        controller: controller::own_name(),
        stop: heed.working(&progress),
        progress,
    };
    let jobs = machines.iter().zip(&documents).map(|(machine, document)| {
        let (work, agents) = (&work, &agents);
        async move {
            let result = work.carry_out(machine, document, agents).await;
            let ended = result.as_ref().copied();
            work.progress.ended(machine.way.name(), ended);
            (machine.way.name(), result)
        }
    });
    let mut results = arguments.parallel.all(jobs).await;
    results.sort_by_key(|(name, _)| *name);
    conclude(&work.progress, &results, &heed)
}

impl Work {
    async fn carry_out(
        &self,
        machine: &Machine,
        document: &NodeDocument,
        agents: &BTreeMap<HostOs, Agent>,
    ) -> Result<u32, RunError> {
        let agent = agents.get(&machine.os).cloned();
        let agent = agent.ok_or_else(|| RunError::NoAgent {
            host: machine.way.name().to_owned(),
            os: machine.os,
        })?;
        let home = match &machine.state_dir {
            None => AgentHome::new(agent),
            Some(folder) => AgentHome::within(agent, Places::below(machine.os, folder)),
        };
        let open = Link::open_at(&machine.way, home, &self.controller);
        let mut link = self.stop.heeded(machine.way.name(), open).await?;
        link.heed(self.stop.clone());
        let tell = |happening: Happening<'_>| self.progress.hear(&happening);
        let job = Job {
            blobs: &self.blobs,
            run: &self.run,
            stop: &self.stop,
            tell: &tell,
        };
        // All of them may be away at once.
        let away = &mut Away::default();
        let result = job.converge(&mut link, document, &NoSecrets, away).await;
        link.close().await;
        result
    }
}

/// The document for one host.
fn document(path: &Path, written: &Value, machine: &Machine) -> Result<NodeDocument, Problem> {
    let name = machine.way.name();
    let wrong = |said: String| {
        Problem::new(
            "CAS-CTL-021",
            format!("`{}` is no document for `{name}`", path.display()),
            "mend the document, or give the host its values in the hosts file",
        )
        .seen("it says", said)
    };
    let mut value = machine.filled(written).map_err(wrong)?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("host".to_owned(), Value::from(name));
    }
    NodeDocument::try_from(value).map_err(|error| wrong(error.to_string()))
}

/// The agents of those systems that the hosts run.
fn find_agents(
    machines: &[Machine],
    folder: Option<&Path>,
) -> Result<BTreeMap<HostOs, Agent>, Problem> {
    let mut found = BTreeMap::new();
    for machine in machines {
        if let Entry::Vacant(place) = found.entry(machine.os) {
            place.insert(agents::find_for(machine.os, folder)?);
        }
    }
    Ok(found)
}

/// Which file each artifact comes from. A file is known by its size, because its
/// hash is checked whenever it is sent; only where two have the same size are
/// they hashed before anybody asks for them.
fn find_blobs(files: &[PathBuf], documents: &[NodeDocument]) -> Result<Blobs, Problem> {
    let told = |error: RemoteError| told::remote(&error);
    let mut blobs = Blobs::new();
    let steps = documents.iter().flat_map(NodeDocument::steps);
    for step in steps {
        let Resource::Artifact(artifact) = &step.resource else {
            continue;
        };
        if blobs.contains_key(&artifact.sha256) {
            continue;
        }
        let size = |file: &&PathBuf| file.metadata().is_ok_and(|it| it.len() == artifact.size);
        let alike: Vec<&PathBuf> = files.iter().filter(size).collect();
        let file = match alike.as_slice() {
            [file] => Some(*file),
            alike => {
                let mut right = None;
                for file in alike {
                    if hash_file(file).map_err(told)?.0 == artifact.sha256 {
                        right = Some(*file);
                    }
                }
                right
            }
        };
        let Some(file) = file else {
            return Err(Problem::new(
                "CAS-CTL-022",
                format!("no file was given for `{}`", artifact.destination),
                "name it with --blob",
            )
            .seen("sha256", artifact.sha256)
            .seen("size", format!("{} bytes", artifact.size)));
        };
        blobs.insert(artifact.sha256, file.clone().into());
    }
    Ok(blobs)
}

fn conclude(
    progress: &Progress,
    results: &[(&str, Result<u32, RunError>)],
    heed: &Heed,
) -> Result<(), CommandError> {
    progress.finish();
    let stopped = |it: &Result<u32, RunError>| matches!(it, Err(RunError::Stopped { .. }));
    for (host, result) in results {
        if let Err(error) = result
            && !stopped(result)
        {
            output::say_problem(&format!("\n{host}\n"), &progress.problem(host, error));
        }
    }
    let failed = results
        .iter()
        .filter(|(_, it)| it.is_err() && !stopped(it))
        .count();
    let halted = results.iter().filter(|(_, it)| stopped(it)).count();
    let changed = results
        .iter()
        .filter(|(_, it)| matches!(it, Ok(1..)))
        .count();
    let outcome = match (failed, halted) {
        (0, 0) => "done",
        (_, 0) => "failed",
        _ => "stopped",
    };
    let summary = results.iter().map(|(host, it)| match it {
        Ok(changed) => serde_json::json!({"name": host, "changed": changed}),
        Err(error) => serde_json::json!({"name": host, "error": error.to_string()}),
    });
    progress.close(outcome, &summary.collect::<Vec<_>>());
    let (took, hosts) = (clock::duration(heed.elapsed()), results.len());
    match (failed, halted) {
        (0, 0) => {
            let done = format!("Done in {took}: {hosts} hosts, {changed} of them changed.\n");
            output::print(&done)
        }
        (_, 0) => {
            output::say(&format!("{failed} of {hosts} hosts failed after {took}"));
            Err(CommandError::told(1))
        }
        _ => Err(heed.stopped()),
    }
}
