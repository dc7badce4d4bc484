//! Compares hosts with what the file asks for; changes nothing.

use casement_plan::{ClusterFacts, PlanError, linux, windows};
use casement_resource::wire::ObservedStep;
use casement_resource::{Diff, NodeDocument, Stage};
use casement_spec::Host;

use crate::agent_client::AgentClient;
use crate::error::RunError;
use crate::fleet::Fleet;
use crate::host_agent::HostAgent as _;
use crate::run_host::ObservedDocument;

#[derive(Debug)]
pub struct HostSurvey {
    pub name: String,
    /// The operating system, as the host reports it.
    pub system: String,
    /// One for each step of each stage that could be planned.
    pub steps: Vec<SurveyedStep>,
    /// Stages that cannot be planned before the host has joined.
    pub after_join: Vec<Stage>,
    /// The same steps by document, for the run that changes the host.
    pub documents: Vec<ObservedDocument>,
}

impl HostSurvey {
    /// How many steps would change something.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.steps.iter().filter(|step| !step.in_sync()).count()
    }

    /// Whether nothing is to be changed, now or after the join.
    #[must_use]
    pub fn in_sync(&self) -> bool {
        self.after_join.is_empty() && self.pending() == 0
    }
}

#[derive(Debug)]
pub struct SurveyedStep {
    pub stage: Stage,
    /// The step's name for people, its kind first.
    pub name: String,
    pub step: ObservedStep,
}

impl SurveyedStep {
    #[must_use]
    pub fn in_sync(&self) -> bool {
        self.step.in_sync()
    }
}

/// The name of a host, and what was found on it.
pub type SurveyResult = (String, Result<HostSurvey, RunError>);

/// Surveys all connected hosts at once.
pub async fn survey(fleet: &mut Fleet, facts: &ClusterFacts) -> Vec<SurveyResult> {
    let mut clients = std::mem::take(&mut fleet.clients);
    let surveys = clients.iter_mut();
    let surveys = surveys.map(|client| survey_host(fleet, client, facts));
    let surveys = fleet.concurrency.all(surveys).await;
    let names = clients.iter().map(|client| client.name().to_owned());
    let surveys = names.zip(surveys).collect();
    fleet.clients = clients;
    surveys
}

async fn survey_host(
    fleet: &Fleet,
    client: &mut AgentClient,
    facts: &ClusterFacts,
) -> Result<HostSurvey, RunError> {
    let name = client.name().to_owned();
    let (planned, after_join) = documents(fleet, fleet.host(&name)?, facts)?;
    let (mut steps, mut documents) = (Vec::new(), Vec::new());
    for document in planned {
        let observed = client.observe(&document).await?;
        let names = document.steps().iter().map(|step| step.resource.identity());
        let all_in_sync = observed.steps.iter().all(ObservedStep::in_sync);
        let stage = document.stage();
        let surveyed = names.zip(observed.steps.iter().cloned());
        steps.extend(surveyed.map(|(name, step)| SurveyedStep { stage, name, step }));
        // Where a step changes, the agent gets the document anyway.
        if all_in_sync && !observed.kept.in_sync() {
            steps.push(kept_document(stage, observed.kept.clone())?);
        }
        documents.push(ObservedDocument::new(document, observed));
    }
    Ok(HostSurvey {
        name,
        system: client.facts().product.clone(),
        steps,
        after_join,
        documents,
    })
}

/// The document that the agent keeps the host to, as a step of its own.
fn kept_document(stage: Stage, diff: Diff) -> Result<SurveyedStep, RunError> {
    Ok(SurveyedStep {
        stage,
        name: format!("agentDocument {}", stage.name()),
        step: ObservedStep {
            id: format!("kept-{}", stage.name())
                .parse()
                .map_err(PlanError::from)?,
            result: Ok(diff),
        },
    })
}

/// The documents that can be planned now, and the stages that cannot.
pub fn documents(
    fleet: &Fleet,
    host: &Host,
    facts: &ClusterFacts,
) -> Result<(Vec<NodeDocument>, Vec<Stage>), RunError> {
    let (cluster, inputs) = (&fleet.cluster, &fleet.inputs);
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
