//! The HTML page.

use casement_diag::Problem;
use casement_resource::Change;
use casement_spec::Cluster;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::run::{HostRun, Run, StepResult, StepRun};
use crate::time;
use crate::timeline::{color, timeline};
use crate::topology::topology;

/// A run as one HTML page. Without a cluster file it has no topology.
#[must_use]
pub fn page(run: &Run, cluster: Option<&Cluster>) -> String {
    let name = cluster.map_or("unknown cluster", |cluster| cluster.metadata.name.as_str());
    let title = format!("casement {}: {name}", run.verb);
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(include_str!("page.css"))) }
            }
            body {
                h1 { (title) }
                h2 { "Summary" }
                (summary(run))
                (failures(run))
                @if let Some(cluster) = cluster {
                    h2 { "Topology" }
                    (topology(cluster, run))
                }
                h2 { "Timeline" }
                (legend(run))
                (timeline(run))
                h2 { "Changes" }
                (objects(run))
                @for host in &run.hosts {
                    (host_steps(host))
                }
                // The data of the page, for programs.
                script type="application/json" id="run" { (PreEscaped(data(run))) }
            }
        }
    };
    markup.into_string()
}

fn summary(run: &Run) -> Markup {
    let changed: u32 = run.hosts.iter().map(|host| host.changed).sum();
    let failed = run.hosts.iter().filter(|it| it.error.is_some()).count();
    let outcome = run.outcome_name();
    html! {
        p.summary {
            b class=(outcome) { (outcome) }
            @if run.is_incomplete() { " after " } @else { " in " }
            span #took { (time::duration(run.milliseconds)) }
            ": " span #hosts { (run.hosts.len()) } (plural(run.hosts.len(), " host")) ", "
            span #changed { (changed) } (plural(changed as usize, " change")) " on hosts, "
            span #objects { (run.objects.len()) } (plural(run.objects.len(), " cluster object")) " changed, "
            span #failed { (failed) } (plural(failed, " host")) " failed."
        }
        @if run.is_incomplete() {
            p { "There is no summary: the run was killed, or is still in progress. Run the same command again to resume." }
        }
        p.small { "Started " (run.began) " (UTC), casement " (run.version) "." }
    }
}

/// The colors of the timeline.
fn legend(run: &Run) -> Markup {
    let first = run.hosts.iter().max_by_key(|host| host.stages.len());
    let stages = first.map(|host| host.stages.as_slice());
    html! {
        p.small {
            @for stage in stages.unwrap_or_default() {
                span class={ "key part-" (color(&stage.name)) } {} " " (stage.name) " "
            }
        }
    }
}

fn failures(run: &Run) -> Markup {
    html! {
        @for host in &run.hosts {
            @if let Some(error) = &host.error {
                div.failure {
                    b { (host.name) }
                    ": " (error.what)
                    @for step in host.steps.iter().filter(|it| it.result == StepResult::Failed) {
                        (failure(step))
                    }
                }
            }
        }
    }
}

fn failure(step: &StepRun) -> Markup {
    html! {
        @if let Some(Problem { code, what, detail, help }) = &step.step.error {
            p {
                code { (code) } " in " code { (step.step.identity()) } ": " (what)
                @for (label, value) in detail { br; (label) " " code { (value) } }
                br; "help: " (help)
            }
        }
    }
}

fn objects(run: &Run) -> Markup {
    html! {
        @if !run.objects.is_empty() {
            details open {
                summary { "Cluster objects (" (run.objects.len()) ")" }
                ul { @for object in &run.objects { li { code { (object) } } } }
            }
        }
    }
}

fn host_steps(host: &HostRun) -> Markup {
    html! {
        details {
            summary { (host.name) " (" (host.steps.len()) (plural(host.steps.len(), " step")) ")" }
            table {
                thead { tr { th { "Step" } th { "Stage" } th { "Status" } th { "Duration" } th { "Changes" } } }
                tbody {
                    @for step in &host.steps {
                        tr class=(step.result.name()) {
                            td { code { (step.step.identity()) } }
                            td { (step.stage) }
                            td { (step.result.name()) }
                            td.number { (time::duration(step.to.saturating_sub(step.from))) }
                            td { @for change in &step.step.changes { (field_change(change)) } }
                        }
                    }
                }
            }
        }
    }
}

fn field_change(change: &Change) -> Markup {
    html! {
        div {
            (change.field) ": "
            @if let Some(before) = &change.before { del { (before) } " → " }
            @if let Some(after) = &change.after { ins { (after) } } @else { "(none)" }
        }
    }
}

/// JSON that cannot close the script element around it.
fn data(run: &Run) -> String {
    // Only maps with non-string keys fail to serialize, and there are none.
    let json = serde_json::to_string(run).unwrap_or_default();
    json.replace('<', "\\u003c")
}

fn plural(count: usize, noun: &str) -> String {
    match count {
        1 => noun.to_owned(),
        _ => format!("{noun}s"),
    }
}
