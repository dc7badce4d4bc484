//! `casement plan --offline`: what the file alone tells.

use std::path::Path;

use casement_diag::Problem;
use casement_plan::PlanError;
use casement_plan::offline::{HostPlan, documents};
use serde_json::json;

use crate::failure::CommandError;
use crate::fetch::Programs;
use crate::{controller, output, render, spec_file};

/// Prints the documents of all hosts that casement may change.
pub fn plan(file: &Path, assume: bool, json: bool) -> Result<(), CommandError> {
    let mut cluster = spec_file::read(file)?.cluster;
    spec_file::resolve(&mut cluster, file)?;
    let (inputs, _) = controller::read_inputs(&cluster, &Programs::new())?;
    let facts = render::facts(&cluster, assume)?;
    let plans = documents(&cluster, &inputs, &facts).map_err(|error| told(&error))?;
    if json {
        let hosts = plans.iter().map(|plan| {
            json!({
                "name": plan.host.name,
                "documents": plan.documents,
                "knownAfterJoin": plan.open,
                "programsWithoutHash": plan.open_programs,
            })
        });
        let document = json!({"hosts": hosts.collect::<Vec<_>>()});
        return output::print(&format!("{document:#}\n"));
    }
    let text: String = plans.iter().flat_map(lines).collect();
    let steps = plans.iter().flat_map(|plan| &plan.documents);
    let steps: usize = steps.map(|document| document.steps().len()).sum();
    let hosts = plans.len();
    output::print(&format!(
        "{text}\n{steps} steps on {hosts} hosts. No host was asked.\n"
    ))
}

fn lines(plan: &HostPlan<'_>) -> Vec<String> {
    let mut lines = vec![format!("{}\n", plan.host.name)];
    for program in &plan.open_programs {
        lines.push(format!(
            "  ? artifact {program}: its hash is not known yet (`artifacts.overrides`)\n"
        ));
    }
    for step in plan.documents.iter().flat_map(|document| document.steps()) {
        let disruptive = if step.disruptive {
            "  (may cut connections)"
        } else {
            ""
        };
        lines.push(format!("  + {}{disruptive}\n", step.resource.identity()));
    }
    for stage in &plan.open {
        lines.push(format!("  + stage {stage:?}: known after join\n"));
    }
    lines
}

/// What a person is told when there is no plan.
pub fn told(error: &PlanError) -> Problem {
    let remedy = "mend the cluster file and run the command again";
    Problem::new("CAS-PLAN-001", error.to_string(), remedy)
}
