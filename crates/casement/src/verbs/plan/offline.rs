//! `casement plan --offline`: a plan from the cluster file alone.

use std::path::Path;

use casement_diag::Problem;
use casement_plan::PlanError;
use casement_plan::offline::{HostPlan, documents};
use casement_report::{Action, Step};

use crate::counts::Counts;
use crate::failure::CommandError;
use crate::fetch::Programs;
use crate::fleet;
use crate::json::{self, HostStep, PlanHost};
use crate::output;
use crate::spec_file;
use crate::verbs::render;

/// Prints the documents of all managed hosts.
pub fn plan(file: &Path, assume: bool, json: bool) -> Result<(), CommandError> {
    let mut cluster = spec_file::read(file)?.cluster;
    spec_file::resolve(&mut cluster, file)?;
    let (inputs, _) = fleet::read_inputs(&cluster, &Programs::new())?;
    let facts = render::facts(&cluster, assume)?;
    let plans = documents(&cluster, &inputs, &facts).map_err(|error| problem(&error))?;
    if json {
        return json::print(&document(&plans));
    }
    let text: String = plans.iter().flat_map(lines).collect();
    let steps = plans.iter().flat_map(|plan| &plan.documents);
    let steps: usize = steps.map(|document| document.steps().len()).sum();
    output::print(&format!(
        "{text}\nPlan: {} on {}. No host was contacted.\n",
        output::count(steps, "step"),
        output::count(plans.len(), "host"),
    ))
}

fn document(plans: &[HostPlan<'_>]) -> json::Plan {
    let hosts: Vec<PlanHost> = plans.iter().map(host).collect();
    let mut summary = Counts::default();
    for step in hosts.iter().flat_map(|host| &host.steps) {
        summary.count(step.step.action);
    }
    json::Plan {
        offline: true,
        hosts,
        read_only: Vec::new(),
        cluster: Vec::new(),
        summary,
    }
}

/// Without the host's state, every step would create something.
fn host(plan: &HostPlan<'_>) -> PlanHost {
    let steps = plan.documents.iter().flat_map(|document| {
        document.steps().iter().map(|step| HostStep {
            host: plan.host.name.to_string(),
            stage: document.stage(),
            step: Step::new(&step.id, &step.resource.identity(), Action::Create),
            disruptive: step.disruptive,
        })
    });
    PlanHost {
        name: plan.host.name.to_string(),
        steps: steps.collect(),
        known_after_join: plan.deferred.clone(),
        programs_without_hash: plan
            .missing_programs
            .iter()
            .map(ToString::to_string)
            .collect(),
        documents: plan.documents.clone(),
        ..PlanHost::default()
    }
}

fn lines(plan: &HostPlan<'_>) -> Vec<String> {
    let mut lines = vec![format!("{}\n", plan.host.name)];
    for program in &plan.missing_programs {
        lines.push(format!(
            "  ? artifact {program}: unknown hash (not in `artifacts.overrides`)\n"
        ));
    }
    for step in plan.documents.iter().flat_map(|document| document.steps()) {
        let disruptive = if step.disruptive {
            "  (the connection may drop)"
        } else {
            ""
        };
        lines.push(format!("  + {}{disruptive}\n", step.resource.identity()));
    }
    for stage in &plan.deferred {
        lines.push(format!("  + stage {stage:?}: known after join\n"));
    }
    lines
}

pub fn problem(error: &PlanError) -> Problem {
    let help = "fix the cluster file and run the command again";
    Problem::new("CAS-PLAN-001", error.to_string(), help)
}
