//! What hosts are, against what the file says they should be; changes nothing.

use casement_plan::{ClusterFacts, PlanError, linux, windows};
use casement_resource::wire::ObservedStep;
use casement_resource::{Diff, NodeDocument, Resource, Stage};
use casement_run::RunError;
use casement_run::api::Api;
use casement_run::link::Link;
use casement_spec::Host;

use crate::controller::Controller;

/// One host's answer.
#[derive(Debug)]
pub struct HostSurvey {
    /// The host.
    pub name: String,
    /// Its system, in words.
    pub system: String,
    /// One for each step of each stage that could be planned.
    pub steps: Vec<Seen>,
    /// Stages that need what only comes later.
    pub open: Vec<Stage>,
}

/// One step as it was seen.
#[derive(Debug)]
pub struct Seen {
    /// What it is about, for people.
    pub what: String,
    /// The answer.
    pub step: ObservedStep,
}

impl Seen {
    /// Whether nothing is to be done.
    pub fn is_right(&self) -> bool {
        self.step.is_right()
    }
}

/// Looks at all hosts at once.
pub async fn survey(
    controller: &mut Controller,
) -> Result<Vec<(String, Result<HostSurvey, RunError>)>, RunError> {
    let facts = controller.kube.facts().await?;
    let mut links = std::mem::take(&mut controller.links);
    let looks = links.iter_mut().map(|link| look(controller, link, &facts));
    let looked = controller.at_once.all(looks).await;
    let names = links.iter().map(|link| link.name().to_owned());
    let answers = names.zip(looked).collect();
    controller.links = links;
    Ok(answers)
}

async fn look(
    controller: &Controller,
    link: &mut Link,
    facts: &ClusterFacts,
) -> Result<HostSurvey, RunError> {
    let name = link.name().to_owned();
    let hosts = &controller.cluster.spec.hosts;
    let host = hosts.iter().find(|host| host.name.as_str() == name);
    let host = host.ok_or_else(|| RunError::NotInSpec(name.clone()))?;
    let (documents, open) = documents(controller, host, facts)?;
    let mut steps = Vec::new();
    for document in &documents {
        let observed = link.observe(document).await?;
        let about = document.steps().iter().map(|step| about(&step.resource));
        let all_right = observed.steps.iter().all(ObservedStep::is_right);
        let seen = about.zip(observed.steps);
        steps.extend(seen.map(|(what, step)| Seen { what, step }));
        // Where a step changes, the agent hears of the document anyway.
        if all_right && !observed.kept.is_right() {
            steps.push(kept(document.stage(), observed.kept)?);
        }
    }
    Ok(HostSurvey {
        name,
        system: link.facts().product.clone(),
        steps,
        open,
    })
}

/// What the agent holds the host to, as a step of its own.
fn kept(stage: Stage, diff: Diff) -> Result<Seen, RunError> {
    let stage = stage.name();
    Ok(Seen {
        what: format!("what the agent keeps ({stage})"),
        step: ObservedStep {
            id: format!("kept-{stage}").parse().map_err(PlanError::from)?,
            seen: Ok(diff),
        },
    })
}

/// The documents that can be made now, and the stages that cannot.
pub fn documents(
    controller: &Controller,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<(Vec<NodeDocument>, Vec<Stage>), RunError> {
    let (cluster, inputs) = (&controller.cluster, &controller.inputs);
    if !host.os.is_windows() {
        return Ok((vec![linux::network(cluster, host, facts)?], Vec::new()));
    }
    let mut documents = vec![
        windows::prepare(cluster, host, inputs)?,
        windows::join(cluster, host, facts)?,
    ];
    match windows::network(cluster, host, facts) {
        Ok(document) => documents.push(document),
        Err(PlanError::NoPodNetwork(_)) => return Ok((documents, vec![Stage::Network])),
        Err(error) => return Err(error.into()),
    }
    Ok((documents, Vec::new()))
}

/// A resource in a few words, its kind first.
fn about(resource: &Resource) -> String {
    resource.identity()
}
