//! `casement doctor`: what is wrong, why, and what to do about it.

use casement_plan::{ClusterFacts, PlanError};
use casement_resource::{Condition, HostPath, NodeDocument, Resource, Stage, Step, Wait};
use casement_run::RunError;
use casement_run::link::Link;
use casement_spec::Host;
use casement_verify::{
    Finding, HostSeen, NodeSeen, PodSeen, RequestSeen, Seen, StepSeen, Wanted, diagnose,
};
use clap::Args;
use serde_json::{Value, json};

use crate::controller::{Controller, FleetArgs};
use crate::failure::CommandError;
use crate::survey::{HostSurvey, documents, survey};
use crate::{output, spec_file, told};

/// Say what is wrong with hosts and cluster, and why.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    fleet: FleetArgs,
    /// The host; all of them unless named
    host: Option<String>,
    /// Print JSON
    #[arg(short, long, value_parser = ["table", "json"], default_value = "table")]
    output: String,
}

/// The exit code for a fault that was found.
pub const FOUND: u8 = 5;
/// How much of a log or a configuration is read.
const READ: u32 = 64 * 1024;
/// The services that a Windows node cannot be without.
const SERVICES: [&str; 2] = ["containerd", "kubelet"];

/// Runs the verb.
pub async fn run_doctor(arguments: DoctorArgs) -> Result<(), CommandError> {
    let mut controller = Controller::open(&arguments.fleet).await?;
    if let Some(host) = &arguments.host {
        spec_file::host(&controller.cluster, host, "casement doctor HOST")?;
    }
    let seen = look(&mut controller).await?;
    for link in std::mem::take(&mut controller.links) {
        link.close().await;
    }
    let mut findings = diagnose(&seen);
    if arguments.host.is_some() {
        findings.retain(|finding| finding.host == arguments.host);
    }
    print(&findings, &seen, &arguments.output)?;
    match findings.is_empty() {
        true => Ok(()),
        false => Err(CommandError::told(FOUND)),
    }
}

async fn look(controller: &mut Controller) -> Result<Seen, CommandError> {
    let surveys = survey(controller).await;
    let surveys = surveys.map_err(|error| told::problem(&error))?;
    let troubles = controller.kube.cluster.troubles().await;
    let troubles = troubles.map_err(|error| told::cluster(&error))?;
    let facts = controller.facts().await;
    let facts = &facts.map_err(|error| told::problem(&error))?;
    let mut links = std::mem::take(&mut controller.links);
    let examined = links.iter_mut().zip(surveys).map(|(link, (_, survey))| {
        let controller = &*controller;
        async move {
            match survey {
                Ok(survey) => examine(controller, link, facts, survey).await,
                Err(error) => Err(error),
            }
        }
    });
    let examined = controller.at_once.all(examined).await;
    let mut hosts = Vec::new();
    for (link, examined) in links.iter().zip(examined) {
        hosts.push(match examined {
            Ok(host) => host,
            Err(error) => unreachable(controller, link.name(), &error)?,
        });
    }
    for (name, error) in &controller.lost {
        hosts.push(unreachable(controller, name, error)?);
    }
    controller.links = links;
    Ok(Seen {
        hosts,
        nodes: troubles
            .nodes
            .into_iter()
            .map(|node| NodeSeen {
                name: node.facts.name,
                ready: node.facts.ready,
                message: node.message,
                addresses: node.facts.addresses,
            })
            .collect(),
        pods: troubles
            .pods
            .into_iter()
            .map(|pod| PodSeen {
                name: pod.name,
                node: pod.node,
                reason: pod.reason,
                message: pod.message,
            })
            .collect(),
        requests: troubles
            .requests
            .into_iter()
            .map(|request| RequestSeen {
                name: request.name,
                user: request.user,
                node: request.node,
            })
            .collect(),
    })
}

/// One host: what differs there, which services stand, and the files that tell why.
async fn examine(
    controller: &Controller,
    link: &mut Link,
    facts: &ClusterFacts,
    survey: HostSurvey,
) -> Result<HostSeen, RunError> {
    let host = spec(controller, &survey.name)?;
    let mut seen = HostSeen::new(&survey.name, wanted(controller, host));
    seen.facts = Some(link.facts().clone());
    // A host that has not joined has nothing to be compared with yet.
    if !survey.open.is_empty() {
        return Ok(seen);
    }
    let wrong = survey.steps.into_iter().filter(|step| !step.is_right());
    seen.wrong = wrong
        .map(|step| StepSeen {
            id: step.step.id.to_string(),
            what: step.what,
            seen: step.step.seen,
        })
        .collect();
    if !host.os.is_windows() {
        return Ok(seen);
    }
    let observed = link.observe(&standing(&seen.name)?).await?;
    let stopped = observed.steps.into_iter().filter(|step| !step.is_right());
    seen.wrong.extend(stopped.map(|step| StepSeen {
        what: step.id.to_string(),
        id: step.id.to_string(),
        seen: step.seen,
    }));
    let planned = documents(controller, host, facts)?.0;
    let place = |id: &str| place_of(&planned, id);
    let is_wrong = |id: &str| seen.wrong.iter().any(|step| step.id == id);
    let questions = [
        is_wrong("runs-kubelet").then(|| place("service-kubelet")),
        is_wrong("containerd-config").then(|| place("containerd-config")),
        is_wrong("proxy-config").then(|| place("proxy-config")),
        Some(place("service-kube-proxy")),
    ];
    let mut answers = Vec::new();
    for question in questions {
        answers.push(match question.flatten() {
            Some(path) => link.read(&path, READ).await?,
            None => None,
        });
    }
    let mut answers = answers.into_iter();
    seen.kubelet_log = answers.next().flatten();
    seen.containerd = answers.next().flatten();
    seen.proxy = answers.next().flatten();
    seen.proxy_log = answers.next().flatten();
    Ok(seen)
}

/// The file that a step writes, or logs to.
fn place_of(documents: &[NodeDocument], id: &str) -> Option<HostPath> {
    let steps = documents.iter().flat_map(|document| document.steps());
    let mut steps = steps.filter(|step| step.id.as_str() == id);
    match &steps.next()?.resource {
        Resource::File(file) => Some(file.path.clone()),
        Resource::SecretFile(file) => Some(file.path.clone()),
        Resource::Service(service) => service.definition.log_file.clone(),
        _ => None,
    }
}

/// A document that is only ever looked at: do the services run?
fn standing(host: &str) -> Result<NodeDocument, RunError> {
    let steps = SERVICES.iter().map(|name| {
        let wait = Wait {
            condition: Condition::ServiceRunning((*name).to_owned()),
            timeout_seconds: 1,
            remedy: None,
        };
        Ok(Step {
            id: format!("runs-{name}").parse()?,
            after: Vec::new(),
            disruptive: false,
            resource: Resource::Wait(wait),
        })
    });
    let steps = steps.collect::<Result<_, PlanError>>()?;
    let document = NodeDocument::new(host.to_owned(), Stage::Prepare, steps);
    Ok(document.map_err(PlanError::from)?)
}

fn spec<'a>(controller: &'a Controller, name: &str) -> Result<&'a Host, RunError> {
    let mut hosts = controller.cluster.spec.hosts.iter();
    let host = hosts.find(|host| host.name.as_str() == name);
    host.ok_or_else(|| RunError::NotInSpec(name.to_owned()))
}

fn wanted(controller: &Controller, host: &Host) -> Wanted {
    let cluster = &controller.cluster;
    let (_, minor) = cluster.spec.kubernetes.version.minor();
    Wanted {
        address: host.address.into(),
        windows: host.os.is_windows(),
        network: cluster.spec.network.hns_network.to_string(),
        cni_folder: r"C:\etc\cni\net.d".to_owned(),
        minor: u32::try_from(minor).unwrap_or(u32::MAX),
    }
}

fn unreachable(
    controller: &Controller,
    name: &str,
    error: &RunError,
) -> Result<HostSeen, CommandError> {
    let host = spec(controller, name).map_err(|error| told::problem(&error))?;
    let mut seen = HostSeen::new(name, wanted(controller, host));
    seen.unreachable = Some(told::problem(error));
    Ok(seen)
}

fn print(findings: &[Finding], seen: &Seen, form: &str) -> Result<(), CommandError> {
    if form == "json" {
        let all: Vec<Value> = findings.iter().map(as_json).collect();
        return output::print(&format!("{:#}\n", json!({ "findings": all })));
    }
    let mut text = String::new();
    for finding in findings {
        text += &format!("{finding}\n");
    }
    let hosts = seen.hosts.len();
    text += &match findings.len() {
        0 => format!("Nothing is wrong: {hosts} hosts, their Nodes and their pods are well.\n"),
        1 => "1 cause found.\n".to_owned(),
        count => format!("{count} causes found.\n"),
    };
    output::print(&text)
}

fn as_json(finding: &Finding) -> Value {
    let problem = &finding.problem;
    let seen = problem.seen.iter();
    let seen = seen.map(|(label, value)| json!({"label": label, "value": value}));
    json!({
        "host": finding.host, "code": problem.code, "what": problem.what,
        "seen": seen.collect::<Vec<_>>(), "remedy": problem.remedy,
    })
}
