//! `casement doctor`: diagnoses problems of hosts and cluster.

use casement_plan::{ClusterFacts, PlanError};
use casement_resource::host_paths::WINDOWS_CNI_CONFIGURATION;
use casement_resource::service_names::{CONTAINERD, KUBE_PROXY, KUBELET};
use casement_resource::step_ids::{self, CONTAINERD_CONFIG, PROXY_CONFIG};
use casement_resource::{Condition, HostPath, NodeDocument, Resource, Stage, Step, Wait};
use casement_run::RunError;
use casement_run::agent_client::AgentClient;
use casement_spec::Host;
use casement_verify::{
    DriftedStep, ExpectedState, Finding, HostObservation, Observation, diagnose,
};
use clap::Args;

use crate::failure::CommandError;
use crate::fleet::{self, FleetArgs};
use crate::json::{self, DoctorFinding};
use crate::{errors, output, spec_file};
use casement_run::cluster_api::ClusterApi as _;
use casement_run::fleet::Fleet;
use casement_run::host_agent::HostAgent as _;
use casement_run::survey::{HostSurvey, documents, survey};

/// Diagnose problems with the hosts and the cluster.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Host; all hosts by default
    host: Option<String>,
    /// Output format
    #[arg(short, long, value_parser = ["table", "json"], default_value = "table")]
    output: String,
}

/// The exit code if problems were found.
pub const PROBLEMS_FOUND: u8 = 5;
/// How many bytes of a log or a configuration are read.
const READ_LIMIT: u32 = 64 * 1024;
/// The services that every Windows node needs.
const SERVICES: [&str; 2] = [CONTAINERD, KUBELET];

pub async fn run_doctor(arguments: DoctorArgs) -> Result<(), CommandError> {
    let (mut fleet, _) = fleet::open(&arguments.fleet).await?;
    if let Some(host) = &arguments.host {
        spec_file::host(
            &fleet.cluster,
            host,
            "use a host name from the cluster file",
        )?;
    }
    let observation = observe(&mut fleet).await?;
    for client in std::mem::take(&mut fleet.clients) {
        client.close().await;
    }
    let mut findings = diagnose(&observation);
    if arguments.host.is_some() {
        findings.retain(|finding| finding.host == arguments.host);
    }
    let healthy = findings.is_empty();
    print(findings, &observation, &arguments.output)?;
    match healthy {
        true => Ok(()),
        false => Err(CommandError::reported(PROBLEMS_FOUND)),
    }
}

async fn observe(fleet: &mut Fleet) -> Result<Observation, CommandError> {
    let facts = fleet.kube.facts().await;
    let facts = &facts.map_err(|error| errors::problem(&error))?;
    let surveys = survey(fleet, facts).await;
    let cluster = fleet.kube.cluster.diagnose().await;
    let cluster = cluster.map_err(|error| error.problem())?;
    let mut clients = std::mem::take(&mut fleet.clients);
    let surveyed = clients.iter_mut().zip(surveys);
    let observed = surveyed.map(|(client, (_, survey))| {
        let fleet = &*fleet;
        async move {
            match survey {
                Ok(survey) => observe_host(fleet, client, facts, survey).await,
                Err(error) => Err(error),
            }
        }
    });
    let observed = fleet.concurrency.all(observed).await;
    let mut hosts = Vec::new();
    for (client, observed) in clients.iter().zip(observed) {
        hosts.push(match observed {
            Ok(host) => host,
            Err(error) => unreachable(fleet, client.name(), &error)?,
        });
    }
    for (name, error) in &fleet.unreachable {
        hosts.push(unreachable(fleet, name, error)?);
    }
    fleet.clients = clients;
    Ok(Observation { hosts, cluster })
}

/// Drifted steps, stopped services, and the logs and files that show the cause.
async fn observe_host(
    fleet: &Fleet,
    client: &mut AgentClient,
    facts: &ClusterFacts,
    survey: HostSurvey,
) -> Result<HostObservation, RunError> {
    let host = fleet.host(&survey.name)?;
    let mut observation = HostObservation::new(&survey.name, expected(fleet, host));
    observation.facts = Some(client.facts().clone());
    // Before the join, there is nothing to compare with.
    if !survey.after_join.is_empty() {
        return Ok(observation);
    }
    let drifted = survey.steps.into_iter().filter(|step| !step.in_sync());
    observation.drifted = drifted
        .map(|step| DriftedStep {
            id: step.step.id.to_string(),
            title: step.name,
            result: step.step.result,
        })
        .collect();
    if !host.os.is_windows() {
        return Ok(observation);
    }
    let observed = client.observe(&service_checks(&observation.name)?).await?;
    let stopped = observed.steps.into_iter().filter(|step| !step.in_sync());
    observation.drifted.extend(stopped.map(|step| DriftedStep {
        title: step.id.to_string(),
        id: step.id.to_string(),
        result: step.result,
    }));
    let planned = documents(fleet, host, facts)?.0;
    let file = |id: &str| file_of(&planned, id);
    let is_drifted = |id: &str| observation.drifted.iter().any(|step| step.id == id);
    let files = [
        is_drifted(&step_ids::runs(KUBELET)).then(|| file(&step_ids::service(KUBELET))),
        is_drifted(CONTAINERD_CONFIG).then(|| file(CONTAINERD_CONFIG)),
        is_drifted(PROXY_CONFIG).then(|| file(PROXY_CONFIG)),
        Some(file(&step_ids::service(KUBE_PROXY))),
    ];
    let mut contents = Vec::new();
    for file in files {
        contents.push(match file.flatten() {
            Some(path) => client.read(&path, READ_LIMIT).await?,
            None => None,
        });
    }
    let mut contents = contents.into_iter();
    observation.kubelet_log = contents.next().flatten();
    observation.containerd = contents.next().flatten();
    observation.proxy = contents.next().flatten();
    observation.proxy_log = contents.next().flatten();
    Ok(observation)
}

/// The file that a step writes, or the log of its service.
fn file_of(documents: &[NodeDocument], id: &str) -> Option<HostPath> {
    let steps = documents.iter().flat_map(|document| document.steps());
    let mut steps = steps.filter(|step| step.id.as_str() == id);
    match &steps.next()?.resource {
        Resource::File(file) => Some(file.path.clone()),
        Resource::SecretFile(file) => Some(file.path.clone()),
        Resource::Service(service) => service.definition.log_file.clone(),
        _ => None,
    }
}

/// A document that is only observed: whether the services run.
fn service_checks(host: &str) -> Result<NodeDocument, RunError> {
    let steps = SERVICES.iter().map(|name| {
        let wait = Wait {
            condition: Condition::ServiceRunning((*name).to_owned()),
            timeout_seconds: 1,
            help: None,
        };
        Ok(Step {
            id: step_ids::runs(name).parse()?,
            after: Vec::new(),
            disruptive: false,
            resource: Resource::Wait(wait),
        })
    });
    let steps = steps.collect::<Result<_, PlanError>>()?;
    let document = NodeDocument::new(host.to_owned(), Stage::Prepare, steps);
    Ok(document.map_err(PlanError::from)?)
}

fn expected(fleet: &Fleet, host: &Host) -> ExpectedState {
    let cluster = &fleet.cluster;
    let (_, minor) = cluster.spec.kubernetes.version.minor();
    ExpectedState {
        address: host.address.into(),
        windows: host.os.is_windows(),
        network: cluster.spec.network.hns_network.to_string(),
        cni_dir: WINDOWS_CNI_CONFIGURATION.to_owned(),
        minor: u32::try_from(minor).unwrap_or(u32::MAX),
    }
}

fn unreachable(
    fleet: &Fleet,
    name: &str,
    error: &RunError,
) -> Result<HostObservation, CommandError> {
    let host = fleet.host(name).map_err(|error| errors::problem(&error))?;
    let mut observation = HostObservation::new(name, expected(fleet, host));
    observation.unreachable = Some(errors::problem(error));
    Ok(observation)
}

fn print(
    findings: Vec<Finding>,
    observation: &Observation,
    format: &str,
) -> Result<(), CommandError> {
    if format == "json" {
        let hosts = observation.hosts.iter().map(|host| host.name.clone());
        let findings = findings.into_iter().map(|finding| DoctorFinding {
            host: finding.host,
            error: finding.problem,
        });
        return json::print(&json::Doctor {
            hosts: hosts.collect(),
            findings: findings.collect(),
        });
    }
    let mut text = String::new();
    for finding in &findings {
        text += &format!("{finding}\n");
    }
    let hosts = output::count(observation.hosts.len(), "host");
    text += &match findings.len() {
        0 => format!("No problems found: checked {hosts} with Nodes and pods.\n"),
        count => format!("{} found.\n", output::count(count, "problem")),
    };
    output::print(&output::encode(&text))
}
